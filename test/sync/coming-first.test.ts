// What departs soon has all its details before anything is read of past rentals. Samples of the others come last.

import { expect, it } from 'vitest'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'

// Not with `npm test`: the details of 240 rentals.
it.skipIf(isQuick)(
  'nine of ten details that are read before the last coming departure has its own belong to coming departures',
  async () => {
    await using mirror = await openTestMirror({ size: 240 }, { API_PAGE_BASE: '1' })
    await mirror.sync({ streams: ['rental_options', 'rental_payments', 'rental_crew_members'] })
    const rentals = mirror.sandbox.truth({ only: ['rentals'] }).rentals ?? []
    const coming = new Set(
      rentals.flatMap(({ key, record }) =>
        Date.parse(String(record.departureDatetime)) > Date.now() ? String(key.id) : [],
      ),
    )
    const details = mirror.sandbox.requests().flatMap(({ path }) => /^\/v3\/rentals\/(\d+)/.exec(path)?.[1] ?? [])
    const isComing = (id: string): boolean => coming.has(id)
    // Without the samples, which are reads of the rentals themselves.
    const below = mirror.sandbox
      .requests()
      .flatMap(({ path }) => /^\/v3\/rentals\/(\d+)\/(?!user)/.exec(path)?.[1] ?? [])
    const before = below.slice(0, below.findLastIndex(isComing) + 1)
    expect(before.length).toBeGreaterThan(200)
    expect(before.filter(isComing).length / before.length).toBeGreaterThanOrEqual(0.9)
    // Nor do the next departures wait for samples of others: three of these show whether the list is a summary.
    const soon = new Set(
      rentals.flatMap(({ key, record: { departureDatetime, arrivalDatetime } }) =>
        Date.parse(String(arrivalDatetime)) > Date.now() &&
        Date.parse(String(departureDatetime)) < Date.now() + 30 * 86_400_000
          ? `/v3/rentals/${key.id}`
          : [],
      ),
    )
    const requests = mirror.sandbox.requests()
    const isOfSoon = (path: string): boolean => [...soon].some((rental) => path.startsWith(`${rental}/`))
    const lastOfSoon = requests.findLastIndex(({ path }) => isOfSoon(path))
    const others = requests
      .slice(0, lastOfSoon)
      .filter(({ path }) => /^\/v3\/rentals\/\d+$/.test(path) && !soon.has(path))
    expect(others.length).toBeLessThanOrEqual(3)
    // A sample of all of them was drawn as well.
    const rows = await mirror.all<{ compared: number; state: string }>(
      `select compared::int, state from sync.reads where endpoint = 'GET /v3/rentals/{rentalId}'`,
    )
    expect(rows[0]).toMatchObject({ state: 'redundant' })
    expect(rows[0]?.compared).toBeGreaterThanOrEqual(48)
    const over = new Set(details.filter((id) => !isComing(id)))
    expect(over.size).toBe(rentals.length - coming.size)
  },
)
