// A year of a rental business, month by month, as real syncs bring it: what closes and receipts come to against the API's records.

import { expect, it, vi } from 'vitest'
import { isFull } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import type { Row } from './answer-parts.ts'
import { months } from './answers-about-months.ts'
import { ApiWorld } from './api-world.ts'

vi.setConfig({ testTimeout: 7_200_000 })

const rentals = isFull ? 20_000 : 300
/** Changes of all kinds in a month; as many rentals are canceled, priced anew or paid. */
const changes = rentals / 10

/** What makes the rows one, and in cents what they add up to; groups of nothing are omitted. */
function sumsOf(rows: readonly Row[], by: number, sign = 1, into: Record<string, number[]> = {}) {
  for (const row of rows) {
    const group = row.slice(0, by).map((cell) => (cell === null || cell === undefined ? '-' : String(cell)))
    const before = into[group.join(' ')]
    into[group.join(' ')] = row
      .slice(by)
      .map((cell, index) => Math.round(Number(cell ?? 0) * 100) * sign + (before?.[index] ?? 0))
  }
  return into
}
const withoutNothing = (sums: Readonly<Record<string, readonly number[]>>) =>
  Object.fromEntries(Object.entries(sums).filter(([, values]) => values.some((value) => value !== 0)))

const answerOf = (title: string, closed: ApiWorld, world: ApiWorld): readonly Row[] => {
  const answer = months[title]
  if (answer === undefined) throw new Error(`Nothing answers: ${title}`)
  return answer(closed, world)
}

it('closes each month to the cent, and gives each payment its day', async () => {
  await using mirror = await openTestMirror({ size: rentals }, { SLOT_DAYS: '0', PRICE_DAYS: '1', CALENDAR_YEARS: '1' })
  const { sandbox, app } = mirror
  const rowsOf = async (text: string, values: unknown[] = []): Promise<readonly Row[]> =>
    (await app.database.pool.query<unknown[]>({ text, values, rowMode: 'array' })).rows
  const streams = ['rentals', 'rental_resources', 'rental_options', 'rental_payments']
  let closed: ApiWorld | undefined
  let receipts: readonly Row[] = []
  for (let month = 1; month <= 12; month++) {
    const day = `2025-${String(month).padStart(2, '0')}-28`
    if (closed !== undefined) {
      sandbox.mutateRandomly(changes, month)
      const living = new ApiWorld(sandbox.truth({ only: ['rentals'] })).rentals.map(({ id }) => id)
      for (let n = 0; n < changes; n++) {
        const id = living[(n * 7 + month * 13) % living.length] ?? ''
        const set = [{ status: 'CANCELED_BY_CLIENT' }, { totalToPay: (10_011 * n) / 100 }, { totalPaid: n * 1.25 }][
          n % 3
        ]
        if (set !== undefined) sandbox.mutate([{ record: 'rentals', op: 'update', id, set }])
      }
    }
    const [[last]] = (await rowsOf('select coalesce(max(seq), 0) from mirror.change_log')) as [Row]
    const [[now]] = (await rowsOf('select clock_timestamp()::text')) as [Row]
    for (const run of await mirror.sync()) expect(run.status, run.stream).toBe('done')
    await rowsOf('update mirror.change_log set changed_at = $1 where seq > $2', [`${day}T12:00:00Z`, last])
    await rowsOf('update mirror.rental_payments set _changed_at = $1 where _changed_at >= $2', [
      `${day}T12:00:00Z`,
      now,
    ])

    const only = [...streams, 'companies', 'resources', 'rental_payment_methods']
    const world: ApiWorld = new ApiWorld(sandbox.truth({ only }))
    const name = `2025-${month}`
    await rowsOf('select report.close($1)', [name])
    const totals = await rowsOf(
      'select company_id, currency, rentals, amount, paid, due from report.close_totals($1)',
      [name],
    )
    expect(withoutNothing(sumsOf(totals, 2))).toEqual(
      withoutNothing(sumsOf(answerOf('Totals of a close', world, world), 2)),
    )
    // The same amounts as the reports have.
    const reported = await rowsOf(`select company_id, currency, sum(amount), sum(paid) from (
        select company_id, currency, total_to_pay as amount, total_paid as paid from report.revenue
        union all select company_id, currency, 0, total_paid from report.cancellations) r group by 1, 2`)
    const amounts = totals.map(([company, currency, , amount, paid]) => [company, currency, amount, paid])
    expect(withoutNothing(sumsOf(amounts, 2))).toEqual(withoutNothing(sumsOf(reported, 2)))

    const received = answerOf('Receipts of the last week by method and VAT rate', world, world).map(([, ...row]) => row)
    const seen = await rowsOf(
      'select currency, method, vat_rate::float8, sum(amount) from report.receipts($1, $1) group by 1, 2, 3',
      [day],
    )
    expect(withoutNothing(sumsOf(seen, 3))).toEqual(withoutNothing(sumsOf(receipts, 3, -1, sumsOf(received, 3))))
    receipts = received

    if (closed !== undefined) {
      const since = await rowsOf(
        `select what, currency, count(*), sum(amount_now) - sum(amount_then), sum(paid_now) - sum(paid_then)
         from report.since_close($1, $2) group by what, currency, currencies`,
        [`2025-${month - 1}`, name],
      )
      expect(sumsOf(since, 2)).toEqual(sumsOf(answerOf('What has changed since a close', closed, world), 2))
      expect(since.length).toBeGreaterThan(0)
    }
    closed = world
  }
})
