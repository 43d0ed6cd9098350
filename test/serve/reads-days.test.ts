// The days of a list are answered once hot runs have proven what the API means by them.

import { expect, it } from 'vitest'
import { addDays } from '../../src/clock.ts'
import { entries, readEntry } from '../../src/profile/profile.ts'
import { openReads } from './reads-rig.ts'

it('a range of departure is refused until a hot run has seen both of its days, and then answered', async () => {
  await using rig = await openReads({ sandbox: { size: 30 }, env: { HOT_WINDOW: '3d' } })
  const { sandbox, app } = rig.mirror
  const today = new Date().toISOString().slice(0, 10)
  const path = `/v3/rentals?departureMinDate=${addDays(today, -8)}&departureMaxDate=${addDays(today, 4)}&perPage=100`
  const refused = await rig.get(path)
  expect([refused.status, refused.json]).toEqual([
    400,
    expect.objectContaining({ errors: [expect.objectContaining({ field: 'departureMinDate' })] }),
  ])

  // A record of each of the days that a hot run asks for: seven days back and the window, and a day more on both sides.
  const departures = [addDays(today, -8), addDays(today, 4)]
  const rows = sandbox.truth({ only: ['rentals'] }).rentals ?? []
  sandbox.mutate(
    departures.map((day, index) => ({
      record: 'rentals',
      op: 'update',
      id: String(rows[index]?.key.id),
      set: { departureDatetime: `${day}T10:00:00+00:00` },
    })),
  )
  await rig.mirror.sync({ streams: ['rentals'], hot: true })
  expect(await readEntry(app.database.pool, entries.bounds, 'rentals')).toBe('included')
  const [served, real] = [await rig.get(path), await rig.ask(path)]
  expect([served.status, served.json]).toEqual([200, real.json])
  expect((real.json as unknown[]).length).toBeGreaterThanOrEqual(2)

  // Whether a departure shortly after midnight counts for its day or for that in UTC, is not known.
  sandbox.mutate([
    {
      record: 'rentals',
      op: 'update',
      id: String(rows[0]?.key.id),
      set: { departureDatetime: `${addDays(today, 4)}T00:30:00+02:00` },
    },
  ])
  await rig.mirror.sync({ streams: ['rentals'] })
  expect((await rig.get(path)).status).toBe(200)
  const edge = path.replace(`departureMaxDate=${addDays(today, 4)}`, `departureMaxDate=${addDays(today, 3)}`)
  expect((await rig.get(edge)).status).toBe(400)
})
