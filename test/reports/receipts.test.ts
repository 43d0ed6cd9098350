// report.receipts: each payment line on the day on which it was first seen, and what came of it. The sums of each day are compared
// with what the payloads of the day and of the day before come to.

import fc from 'fast-check'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { grantCompanies, revokeCompanies } from '../../src/serve/access/company-access.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { asRole, stateOf } from '../helpers/roles.ts'
import { openMirror, rowOf, tableOf } from '../helpers/rows.ts'
import { type ApiRecord, type ApiWorld, at, codeOf } from './api-world.ts'
import { forget, histories, type State, show, told } from './rental-histories.ts'

const mirror = opened(openMirror)
beforeAll(async () => {
  const methods = [
    rowOf('rental_payment_methods', { id: 1, name: 'Cash' }),
    rowOf('rental_payment_methods', { id: 2, name: 'Card' }),
  ]
  await mirror.write({ tables: [tableOf('rental_payment_methods', 1, methods)] })
})
beforeEach(() => forget(mirror))

const dayOf = (round: number): string => `2026-09-${String(round + 1).padStart(2, '0')}`

/** Shows a state, as if on a day of September. */
async function showOn(round: number, state: State): Promise<void> {
  const [last] = await mirror.all<{ seq: string | null; now: string }>(
    'select max(seq) as seq, clock_timestamp()::text as now from mirror.change_log',
  )
  await show(mirror, state)
  const moment = `${dayOf(round)}T10:00:00Z`
  await mirror.all('update mirror.change_log set changed_at = $1 where seq > coalesce($2, 0)', [moment, last?.seq])
  await mirror.all('update mirror.rental_payments set _changed_at = $1 where _changed_at >= $2', [moment, last?.now])
}

type Line = Readonly<Record<'day' | 'rental_id' | 'payment_id' | 'entry', string>> & {
  readonly company_id: string | null
  readonly currency: string | null
  readonly method: string | null
  readonly vat_rate: string | null
  readonly amount: string | null
  readonly first_seen_at: Date
}
const receipts = (from = dayOf(0), to = dayOf(29)) =>
  mirror.all<Line>('select * from report.receipts($1, $2)', [from, to])

/** By currency, method and rate, in cents, without what comes to nothing. */
type Sums = Readonly<Record<string, number>>
const sumsOf = (parts: readonly (readonly [by: readonly unknown[], amount: unknown])[]): Sums => {
  const sums: Record<string, number> = {}
  for (const [by, amount] of parts) {
    const group = by.map((each) => (each === null || each === undefined ? '-' : String(each))).join(' ')
    sums[group] = (sums[group] ?? 0) + Math.round(Number(amount ?? 0) * 100)
  }
  return Object.fromEntries(Object.entries(sums).filter(([, cents]) => cents !== 0))
}
const sumsOfLines = (lines: readonly Line[]): Sums =>
  sumsOf(
    lines.map(({ currency, method, vat_rate: rate, amount }) => [[currency, method, rate && Number(rate)], amount]),
  )

const methodOf = (method: unknown): unknown => {
  const id = at(method, 'id')
  return id === undefined ? method : id === 1 ? 'Cash' : 'Card'
}

/** The one rate of the boat and the options of a rental; null: there are several, or none is named. */
function rateOf(world: ApiWorld, rental: unknown): unknown {
  const own = (table: string): readonly ApiRecord[] =>
    world.rows(table).flatMap(({ key, record }) => (key.rental_id === rental ? [record] : []))
  const rates = new Set([...own('rental_resources'), ...own('rental_options')].flatMap(({ vatRate }) => vatRate ?? []))
  return rates.size === 1 ? [...rates][0] : null
}

const sumsOfPayments = (world: ApiWorld): Sums =>
  sumsOf(
    world
      .rows('rental_payments')
      .map(({ key, record }) => [
        [codeOf(record.currency), methodOf(record.method), rateOf(world, key.rental_id)],
        record.price,
      ]),
  )
const minus = (now: Sums, before: Sums): Sums =>
  Object.fromEntries(
    [...new Set([...Object.keys(now), ...Object.keys(before)])]
      .map((group) => [group, (now[group] ?? 0) - (before[group] ?? 0)] as const)
      .filter(([, cents]) => cents !== 0),
  )
const nameOf = (rental: unknown, payment: unknown): string => `${rental} ${payment}`
const namesIn = (world: ApiWorld): ReadonlySet<string> =>
  new Set(world.rows('rental_payments').map(({ key }) => nameOf(key.rental_id, key.id)))

it('adds up to what the payments of each day are more than those of the day before, in random histories', async () => {
  await fc.assert(
    fc.asyncProperty(histories(3, 5), fc.nat(30), async (states, pruned) => {
      await forget(mirror)
      const worlds: ApiWorld[] = [await told(mirror)]
      for (const [round, state] of states.entries()) {
        await showOn(round, state)
        worlds.push(await told(mirror))
      }
      const lines = await receipts()
      const first = new Map<string, string>()
      for (const [round, world] of worlds.slice(1).entries()) {
        const before = worlds[round] as ApiWorld
        const ofDay = lines.filter(({ day }) => day === dayOf(round))
        expect(ofDay).toEqual(await receipts(dayOf(round), dayOf(round)))
        expect(sumsOfLines(ofDay)).toEqual(minus(sumsOfPayments(world), sumsOfPayments(before)))
        const [there, gone] = [namesIn(world), namesIn(before)]
        for (const name of there) if (!first.has(name)) first.set(name, dayOf(round))
        for (const name of new Set([...there, ...gone])) {
          const own = ofDay.filter((line) => nameOf(line.rental_id, line.payment_id) === name)
          const count = (entry: string): number => own.filter((line) => line.entry === entry).length
          // Without an amount, there is nothing to take back.
          if (gone.has(name)) expect(count('receipt'), name).toBe(0)
          else expect(count('receipt'), name).toBe(1)
          if (there.has(name)) expect(count('reversal'), name).toBe(0)
          for (const line of own) expect(line.first_seen_at.toISOString().slice(0, 10)).toBe(first.get(name))
        }
      }
      // Whatever the log no longer has, all of it comes to what is there now.
      await mirror.all(
        'delete from mirror.change_log where seq in (select seq from mirror.change_log order by seq limit $1)',
        [pruned],
      )
      expect(sumsOfLines(await receipts())).toEqual(sumsOfPayments(worlds.at(-1) as ApiWorld))
    }),
    { numRuns: runsOf(60) },
  )
})

describe('a payment line', () => {
  const rental = (company: number, price: number, more: object = {}) => ({
    record: { status: 'VALIDATED' },
    resource: { vatRate: 20, resource: { id: `boat ${company}`, company: { id: company } } },
    payments: [{ id: 1, price, currency: 'EUR', method: { id: 1 } }],
    options: [],
    ...more,
  })
  const shown = async () =>
    (await receipts()).map(({ day, company_id: company, entry, vat_rate: rate, amount }) =>
      [day.slice(8), company, entry, rate, amount].join(' '),
    )

  it('is a receipt, then corrections, then a reversal, each of the company of its day; one that returns is a receipt again', async () => {
    await showOn(0, { 1: rental(1, 100) })
    await showOn(1, { 1: rental(1, 120.5) })
    await showOn(2, { 1: rental(2, 120.5) })
    await showOn(3, { 1: rental(2, 100) })
    await showOn(4, {})
    await showOn(5, { 1: rental(2, 80) })
    expect(await shown()).toEqual([
      ...['01 1 receipt 20 100', '02 1 correction 20 20.5', '04 2 correction 20 -20.5'],
      ...['05 2 reversal 20 -100', '06 2 receipt 20 80'],
    ])
  })

  it('changes its VAT rate when the boat or an option has another one, and has none while they differ', async () => {
    await showOn(0, { 1: rental(1, 100) })
    await showOn(1, { 1: rental(1, 100, { options: [{ id: 7, vatRate: 10 }] }) })
    await showOn(2, {
      1: rental(1, 100, { resource: { ...rental(1, 100).resource, vatRate: 10 }, options: [{ id: 7, vatRate: 10 }] }),
    })
    expect(await shown()).toEqual([
      ...['01 1 receipt 20 100', '02 1 correction 20 -100', '02 1 correction  100'],
      ...['03 1 correction  -100', '03 1 correction 10 100'],
    ])
  })

  it('counts from what the log still knows first', async () => {
    await showOn(0, { 1: rental(1, 100) })
    await showOn(1, { 1: rental(1, 120) })
    await mirror.all(`delete from mirror.change_log where operation = 'insert'`)
    expect(await shown()).toEqual(['02 1 receipt 20 100', '02 1 correction 20 20'])
    await mirror.all('delete from mirror.change_log')
    expect(await shown()).toEqual(['02 1 receipt 20 120'])
    expect(await receipts(dayOf(2))).toEqual([])
  })

  it('refuses days that are reversed or missing, also where there is nothing', async () => {
    for (const [from, to] of [
      [dayOf(1), dayOf(0)],
      [dayOf(1), null],
      [null, dayOf(1)],
    ])
      await expect(mirror.all('select * from report.receipts($1, $2)', [from, to])).rejects.toMatchObject({
        code: '22023',
        message: `The days are ${from} to ${to}.`,
        hint: 'Name the first day, then the last, which is included.',
      })
  })

  it('is of the day in TIME_ZONE', async () => {
    await showOn(0, { 1: rental(1, 100) })
    await mirror.all(`update sync.settings set time_zone = 'Pacific/Auckland'`)
    try {
      await mirror.all(`update mirror.change_log set changed_at = '2026-09-01T12:30:00Z'`)
      expect(await receipts(dayOf(0), dayOf(0))).toEqual([])
      expect(await receipts(dayOf(1), dayOf(1))).toMatchObject([{ day: '2026-09-02', amount: '100' }])
    } finally {
      await mirror.all(`update sync.settings set time_zone = 'UTC'`)
    }
  })

  it('is told to who may read reports, and to a restricted role if it was of its company', async () => {
    const mark = Math.random().toString(36).slice(2, 8)
    const [reader, shop] = [`reader_${mark}`, `shop_${mark}`]
    await mirror.all(
      `create role ${reader} nologin in role boat_mirror_reader; create role ${shop} nologin in role boat_mirror_reader`,
    )
    await mirror.db.transaction((client) => grantCompanies(client, shop, ['2']))
    try {
      await showOn(0, { 1: rental(1, 100), 2: rental(2, 50) })
      const seen = (role: string) =>
        asRole(mirror.db.pool, role, async (client) => {
          const { rows } = await client.query<Line>('select * from report.receipts($1, $2)', [dayOf(0), dayOf(0)])
          return rows.map(({ amount }) => amount)
        }).catch(stateOf)
      expect(await seen(reader)).toEqual(['100', '50'])
      expect(await seen(shop)).toEqual(['50'])
      expect(await seen('boat_mirror_enqueue')).toBe('42501')
    } finally {
      await mirror.db.transaction((client) => revokeCompanies(client, shop))
      await mirror.all(`drop role ${reader}, ${shop}`)
    }
  })
})
