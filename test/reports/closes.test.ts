// Closes: what each keeps, what has changed since, and that the differences are those of the totals, recomputed from `_payload`.

import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { erasePerson } from '../../src/mirror/persons.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { grantCompanies, revokeCompanies } from '../../src/serve/access/company-access.ts'
import { openCommandLine } from '../cli/program.ts'
import { isQuick } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { asRole, stateOf } from '../helpers/roles.ts'
import { openMirror, rowOf, tableOf } from '../helpers/rows.ts'
import type { ApiRental, ApiWorld } from './api-world.ts'
import { forget, histories, show, told } from './rental-histories.ts'

const mirror = opened(openMirror)
const ids = ['1', '2', '3', '4']

/** In cents: sums of floating-point numbers are not to the cent. */
const cents = (amount: unknown): number => Math.round(Number(amount ?? 0) * 100)

/** What counts of a rental. */
type Fact = {
  readonly group: string
  readonly takesPlace: boolean
  readonly amount: number
  readonly paid: number
  readonly due: number
  readonly rental: ApiRental
}
const factOf = (rental: ApiRental): Fact => {
  const total = rental.takesPlace ? (rental.record.totalToPay ?? null) : 0
  const [amount, paid] = [cents(total), cents(rental.paid)]
  const due = total === null || rental.paid === null ? 0 : amount - paid
  const group = `${rental.companyId} ${rental.currencies.join()}`
  return { group, takesPlace: rental.takesPlace, amount, paid, due, rental }
}
type Facts = ReadonlyMap<string, Fact>
const factsOf = (world: ApiWorld): Facts =>
  new Map(world.rentals.filter(({ status }) => status !== 'PENDING').map((each) => [each.id, factOf(each)]))

type Sums = Readonly<Record<string, readonly number[]>>
/** Sums by company and set of currencies; groups of which nothing is left are not compared. */
function sumsOf(rows: readonly { readonly group: string; readonly values: readonly number[] }[]): Sums {
  const sums: Record<string, number[]> = {}
  for (const { group, values } of rows) sums[group] = values.map((value, index) => value + (sums[group]?.[index] ?? 0))
  return Object.fromEntries(
    Object.entries(sums)
      .filter(([, values]) => values.some((value) => value !== 0))
      .sort(),
  )
}
const totalsOf = (facts: Facts, sign = 1) =>
  [...facts.values()].map(({ group, takesPlace, amount, paid, due }) => ({
    group,
    values: [takesPlace ? sign : 0, sign * amount, sign * paid, sign * due],
  }))

type Total = Readonly<Record<'company_id' | 'rentals' | 'amount' | 'paid' | 'due', string | null>> & {
  readonly currency: string | null
  readonly currencies: readonly string[]
}
const totals = (name: string) => mirror.all<Total>('select * from report.close_totals($1)', [name])
const groupOf = ({ company_id: company, currencies }: Pick<Total, 'company_id' | 'currencies'>): string =>
  `${company} ${currencies.join()}`

type Change = Readonly<Record<'what' | 'rental_id' | 'company_id' | 'currency', string>> & {
  readonly amount_then: string | null
  readonly amount_now: string | null
  readonly paid_then: string | null
  readonly paid_now: string | null
  readonly currencies: readonly string[]
  readonly changed: Readonly<Record<string, { readonly then: unknown; readonly now: unknown }>> | null
}
const since = (name: string, until: string | null = null) =>
  mirror.all<Change>('select * from report.since_close($1, $2)', [name, until])

/** What happened to a rental from one state to another; undefined: nothing that counts. */
function whatOf(then: Fact | undefined, now: Fact | undefined): string | undefined {
  if (then === undefined || now === undefined) return then === now ? undefined : now === undefined ? 'gone' : 'new'
  if (then.takesPlace !== now.takesPlace) return now.takesPlace ? 'reinstated' : 'canceled'
  const { amount, paid, due, group } = then
  return amount === now.amount && paid === now.paid && due === now.due && group === now.group ? undefined : 'changed'
}

/** Compares what changed since a close with what the payloads of both moments say. */
function compare(changes: readonly Change[], then: Facts, now: Facts): void {
  const moved = changes.map((each) => ({
    group: groupOf(each),
    values: [cents(each.amount_now) - cents(each.amount_then), cents(each.paid_now) - cents(each.paid_then)],
  }))
  const wanted = [...totalsOf(now), ...totalsOf(then, -1)].map(({ group, values: [, amount = 0, paid = 0] }) => ({
    group,
    values: [amount, paid],
  }))
  expect(sumsOf(moved)).toEqual(sumsOf(wanted))
  const said = new Map(changes.map(({ rental_id: id, what }) => [id, what]))
  for (const id of ids) {
    const what = whatOf(then.get(id), now.get(id))
    // Other fields than those of money may have changed, too.
    if (what !== undefined || (said.get(id) ?? 'changed') !== 'changed') expect([id, said.get(id)]).toEqual([id, what])
  }
}

it('differ by what has changed between them, to the cent, in random histories', async () => {
  let pairs = 0
  const property = fc.asyncProperty(histories(ids.length, 4), async (states) => {
    await forget(mirror)
    const known: { readonly name: string; readonly facts: Facts; readonly text: string }[] = []
    for (const [index, state] of states.entries()) {
      await show(mirror, state)
      const facts = factsOf(await told(mirror))
      const name = `close ${index}`
      const [made] = await mirror.all<{ rentals: string }>('select * from report.close($1)', [name])
      expect(Number(made?.rentals)).toBe(facts.size)
      const rows = await totals(name)
      const sums = rows.map((each) => ({
        group: groupOf(each),
        values: [Number(each.rentals), ...[each.amount, each.paid, each.due].map(cents)],
      }))
      expect(sumsOf(sums)).toEqual(sumsOf(totalsOf(facts)))
      for (const each of rows) expect(each.currency).toBe(each.currencies.length === 1 ? each.currencies[0] : null)
      for (const earlier of known) {
        const changes = await since(earlier.name, name)
        compare(changes, earlier.facts, facts)
        expect(await since(earlier.name)).toEqual(changes) // now is this close
        pairs++
      }
      known.push({ name, facts, text: JSON.stringify(rows) })
    }
    for (const { name, text } of known) {
      expect(await mirror.all('select rentals from report.close($1)', [name])).toHaveLength(1)
      expect(JSON.stringify(await totals(name))).toBe(text)
    }
  })
  await fc.assert(property, { numRuns: isQuick ? 8 : 600 })
  expect(pairs).toBeGreaterThanOrEqual(isQuick ? 8 : 1_000)
})

describe('a close', () => {
  const mark = Math.random().toString(36).slice(2, 8)
  const [reader, operator, shop, both] = ['reader', 'operator', 'shop', 'both'].map((name) => `${name}_${mark}`) as [
    ...[string, string, string, string],
  ]
  beforeAll(async () => {
    await mirror.all(`create role ${reader} nologin in role boat_mirror_reader; create role ${operator} nologin in role boat_mirror_operator;
      create role ${shop} nologin in role boat_mirror_reader; create role ${both} nologin in role boat_mirror_partner`)
    await mirror.db.transaction((client) => grantCompanies(client, shop, ['1']))
    await mirror.db.transaction((client) => grantCompanies(client, both, ['1', '2']))
  })
  afterAll(async () => {
    for (const role of [shop, both]) await mirror.db.transaction((client) => revokeCompanies(client, role))
    await mirror.all(`drop role ${reader}, ${operator}, ${shop}, ${both}`)
  })

  const rental = (company: number, record: object) => ({
    record: { status: 'VALIDATED', depositCurrency: 'EUR', totalPaid: 0, ...record },
    resource: { vatRate: 20, resource: { id: `boat ${company}`, company: { id: company } } },
    payments: [],
    options: [],
  })
  beforeEach(async () => {
    await forget(mirror)
    await show(mirror, { 1: rental(1, { totalToPay: 100, totalPaid: 30 }), 2: rental(2, { totalToPay: 50 }) })
  })

  /** From one value to another. */
  const was = (before: unknown, now: unknown) =>
    Object.fromEntries([
      ['then', before],
      ['now', now],
    ])

  const as = <T>(role: string, sql: string, values: unknown[] = []): Promise<T[] | string> =>
    asRole(mirror.db.pool, role, async (client) => (await client.query(sql, values)).rows as T[]).catch(stateOf)
  const close = (role: string, name: string, company: number | null = null) =>
    as<{ rentals: string }>(role, 'select * from report.close($1, $2)', [name, company])

  it('of the same name and company is the one that is there; the name for another company is refused', async () => {
    // Two at once make one.
    const both = [1, 2].map(() => mirror.all(`select * from report.close('march', 1)`))
    const [[first], again] = (await Promise.all(both)) as [unknown[], unknown[]]
    expect(again).toEqual([first])
    expect(first).toMatchObject({ name: 'march', company_id: '1', rentals: '1' })
    await show(mirror, {})
    expect(await mirror.all(`select * from report.close('march', 1)`)).toEqual([first])
    expect(await mirror.all('select * from report.closes')).toEqual([first])
    for (const company of ['2', 'null'])
      await expect(mirror.all(`select * from report.close('march', ${company})`)).rejects.toMatchObject({
        code: '22023',
      })
  })

  it('has no transaction id, by which it would hold the feed back, until what it keeps is read', async () => {
    const other = await mirror.db.pool.connect()
    try {
      await other.query('begin; lock mirror.rental_payments')
      const closing = mirror.all(`select * from report.close('april')`)
      const waiting = `select backend_xid::text as xid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      const [waits] = await vi.waitUntil(
        async () => ((found) => found.length > 0 && found)(await mirror.all(waiting)),
        {
          timeout: 600_000,
        },
      )
      await other.query('commit')
      expect(waits).toEqual({ xid: null })
      expect(await closing).toMatchObject([{ name: 'april' }])
    } finally {
      other.release()
    }
  })

  it('of a company that the mirror does not have is refused, and keeps nothing', async () => {
    await expect(mirror.all(`select * from report.close('typo', 99999)`)).rejects.toMatchObject({
      ...{ code: 'P0002', message: 'There is no company 99999 in the mirror.' },
    })
    expect(await mirror.all(`select * from report.closes where name = 'typo'`)).toEqual([])
  })

  it('is compared with one of the same company, and one that is not there is refused', async () => {
    await mirror.all(`select report.close('march', 1), report.close('april', 2)`)
    await expect(since('march', 'april')).rejects.toMatchObject({ code: '22023' })
    for (const sql of [
      `report.close_totals('x')`,
      `report.since_close('x')`,
      `report.since_close('march', 'x')`,
      `report.remove_close('x')`,
    ])
      await expect(mirror.all(`select * from ${sql}`), sql).rejects.toMatchObject({ code: 'P0002' })
  })

  it('says of each field what it was and is; a boat that was sold goes from one company to the other', async () => {
    await mirror.all(`select report.close('march')`)
    await show(mirror, {
      1: rental(2, { totalToPay: 100, totalPaid: 30 }),
      2: rental(2, { status: 'CANCELED_BY_CLIENT', totalToPay: 50, totalPaid: 10 }),
      3: rental(1, { totalToPay: '7.50', depositCurrency: 'GBP' }),
    })
    const sold = { rental_id: '1', what: 'changed', currency: 'EUR', changed: { company_id: was(1, 2) } }
    expect(await since('march')).toMatchObject([
      { ...sold, company_id: '1', amount_then: '100', amount_now: '0', paid_then: '30', paid_now: '0' },
      { ...sold, company_id: '2', amount_then: '0', amount_now: '100', paid_then: '0', paid_now: '30' },
      {
        ...{ rental_id: '2', what: 'canceled', amount_then: '50', amount_now: '0', paid_then: '0', paid_now: '10' },
        changed: {
          status: was('VALIDATED', 'CANCELED_BY_CLIENT'),
          takes_place: was(true, false),
          total_paid: was(0, 10),
        },
      },
      { rental_id: '3', what: 'new', currency: 'GBP', amount_then: '0', amount_now: '7.50', changed: null },
    ])
    expect(await as(shop, `select what, company_id, amount_now from report.since_close('march')`)).toEqual([
      { what: 'gone', company_id: '1', amount_now: '0' },
      { what: 'new', company_id: '1', amount_now: '7.50' },
    ])
  })

  it('is made and removed by operators and, of its company, by a role that sees only that one', async () => {
    expect(await close(reader, 'a')).toBe('42501')
    expect(await close(operator, 'a')).toMatchObject([{ rentals: '2' }])
    expect(await close(shop, 'b')).toMatchObject([{ company_id: '1', rentals: '1' }])
    expect(await close(shop, 'b', 1)).toMatchObject([{ company_id: '1' }])
    expect(await close(shop, 'c', 2)).toBe('42501')
    expect(await close(both, 'd')).toBe('42501')
    expect(await close(both, 'd', 2)).toMatchObject([{ company_id: '2', rentals: '1' }])
    expect(await as(reader, `select report.remove_close('b')`)).toBe('42501')
    for (const name of ['a', 'd']) expect(await as(shop, `select report.remove_close('${name}')`), name).toBe('42501')
    expect(await as(shop, `select report.remove_close('b')`)).toHaveLength(1)
    expect(await as(operator, `select report.remove_close('d')`)).toHaveLength(1)
    expect(await mirror.all('select name from report.closes')).toEqual([{ name: 'a' }])
    expect(await mirror.all('select distinct close_id from sync.closed_rentals')).toHaveLength(1)
  })

  it('is read by who may read reports, as far as they see its companies', async () => {
    await mirror.all(`select report.close('all'), report.close('one', 1), report.close('two', 2)`)
    const seen = 'select name, rentals from report.closes order by name'
    const everything = [
      { name: 'all', rentals: '2' },
      { name: 'one', rentals: '1' },
      { name: 'two', rentals: '1' },
    ]
    for (const role of [reader, operator, both]) {
      expect(await as(role, seen), role).toEqual(everything)
      expect(await as(role, `select company_id, amount from report.close_totals('all')`), role).toHaveLength(2)
    }
    expect(await as(shop, seen)).toEqual([{ name: 'all', rentals: '1' }, everything[1]])
    expect(await as(shop, `select company_id, amount, paid, due from report.close_totals('all')`)).toEqual([
      { company_id: '1', amount: '100', paid: '30', due: '70' },
    ])
    expect(await as(shop, `select * from report.close_totals('two')`)).toBe('P0002')
    expect(await as(shop, 'select distinct company_id from sync.closed_rentals')).toEqual([{ company_id: '1' }])
  })

  it('keeps no person, and outlives the erasure of one, other settings of privacy and another migrate', async () => {
    await mirror.write({ tables: [tableOf('users', 1, [rowOf('users', { id: 7, first_name: 'Ada' })])] })
    await show(mirror, { 1: rental(1, { totalToPay: 100, message: 'Call Ada', user: { id: 7, firstName: 'Ada' } }) })
    await mirror.all(`select report.close('march')`)
    const kept = `select (to_jsonb(k) - 'close_id')::text as text from sync.closed_rentals k`
    const before = [await mirror.all(kept), await totals('march')]
    expect(JSON.stringify(before)).not.toMatch(/Ada|7\b/)
    await mirror.db.transaction((client) => erasePerson(client, '7', true))
    await using cli = await openCommandLine({ DATABASE_URL: mirror.url, PERSONAL_DATA: 'drop' })
    expect(await cli.run(['privacy', 'apply'])).toMatchObject({ code: 0, stdout: expect.stringContaining('rentals') })
    await mirror.all(`update sync.repeatable set version = 'older'`)
    await migrate(mirror.url)
    expect([await mirror.all(kept), await totals('march')]).toEqual(before)
    expect(await since('march')).toEqual([])
  })
})
