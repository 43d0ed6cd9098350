// Schema report as a whole: explained, readable without seeing persons, told the zone, and kept when a program is upgraded.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { saveTimeZone } from '../../src/mirror/repeatable/report-time-zone.ts'
import { type ReportView, reportStatements } from '../../src/mirror/repeatable/report-view.ts'
import { reportViews } from '../../src/mirror/repeatable/report-views.ts'
import { openReports, type Reports } from './report-support.ts'

let reports: Reports
beforeAll(async () => {
  reports = await openReports()
})
afterAll(() => reports[Symbol.asyncDispose]())

describe('schema report', () => {
  it('has the views of the contract', async () => {
    const rows = await reports.rows<{ name: string }>(
      `select viewname as name from pg_views where schemaname = 'report' order by 1`,
    )
    expect(rows.map(({ name }) => name)).toEqual([
      'balances',
      'calendar',
      'cancellations',
      'departures',
      'fleet',
      'freshness',
      'occupancy',
      'rentals',
      'revenue',
    ])
  })

  it('explains every view and every column', async () => {
    const bare = await reports.rows(
      `select c.oid::regclass::text as object from pg_class c
         where c.relnamespace = 'report'::regnamespace and obj_description(c.oid, 'pg_class') is null
       union all
       select c.oid::regclass::text || '.' || a.attname from pg_class c
         join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         where c.relnamespace = 'report'::regnamespace and c.relkind = 'v' and coalesce(col_description(c.oid, a.attnum), '') = ''`,
    )
    expect(bare).toEqual([])
  })

  it('says of money and days what the API does not tell', async () => {
    const comments = new Map(reportViews.map(({ name, comment }) => [name, comment]))
    for (const name of ['rentals', 'revenue', 'balances', 'cancellations'])
      expect(comments.get(name), name).toContain("the one a rental's payments agree on, else the deposit's, else null")
    for (const name of ['rentals', 'revenue', 'departures', 'cancellations'])
      expect(comments.get(name), name).toContain('the offset in the date-time itself, else of TIME_ZONE')
  })

  it('says nothing of a person but a number', async () => {
    const texts = (stream: string): object =>
      Object.fromEntries(
        streamNamed(stream)
          .columns.filter(({ personal, type }) => personal === true && type === 'text')
          .map(({ name }) => [name, 'Ada']),
      )
    const departure = `${await reports.day(1)}T09:00:00Z`
    const known = { status: 'VALIDATED', total_to_pay: 5, departure_datetime: departure, user_id: 7 }
    const payload = { departureDatetime: departure, message: 'Ada', user: { id: 7, firstName: 'Ada' } }
    await reports.add('users', { id: 7, ...texts('users'), _payload: { firstName: 'Ada' } })
    await reports.add('user_licenses', { user_id: 7, ...texts('user_licenses') })
    await reports.add('rentals', { id: 1, ...known, ...texts('rentals'), _payload: payload })
    await reports.add('rental_crew_members', { rental_id: 1, id: 1, ...texts('rental_crew_members') })
    for (const { name } of reportViews) {
      const rows = await reports.rows<{ text: string }>(`select v::text as text from report.${name} v`)
      expect(
        rows.filter(({ text }) => text.includes('Ada')),
        name,
      ).toEqual([])
      if (name === 'departures' || name === 'balances') expect(rows, name).toHaveLength(1)
    }
  })

  it('is read by boat_mirror_reader, who may not read the tables', async () => {
    const client = await reports.pool.connect()
    try {
      await client.query('begin')
      await client.query('set local role boat_mirror_reader')
      for (const { name, orderBy } of reportViews)
        await client.query(`select * from report.${name} order by ${orderBy} limit 1`)
      await client.query(`select * from report.calendar('2026-01-01', '2026-01-02')`)
      await expect(client.query('select 1 from mirror.rentals')).rejects.toMatchObject({ code: '42501' })
    } finally {
      await client.query('rollback')
      client.release()
    }
  })
})

describe('TIME_ZONE', () => {
  it('decides what today is', async () => {
    const today = async (): Promise<unknown> =>
      (await reports.rows(`select min(date)::text as day from report.calendar`))[0]?.day
    await reports.add('resources', { id: 'A-1' })
    // Two zones 26 hours apart never have the same day.
    await saveTimeZone(reports.url, 'Pacific/Kiritimati')
    const east = await today()
    await saveTimeZone(reports.url, 'Etc/GMT+12')
    const west = await today()
    await saveTimeZone(reports.url, 'UTC')
    expect(Date.parse(String(east)) - Date.parse(String(west))).toBeGreaterThanOrEqual(86_400_000)
  })

  it('is refused when Postgres does not know it', async () => {
    const error = await saveTimeZone(reports.url, 'Mars/Olympus').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(BoatMirrorError)
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('Mars/Olympus') })
  })
})

describe('an upgrade', () => {
  const view = (columns: ReportView['columns']): ReportView => ({
    name: 'upgraded',
    comment: 'For a test.',
    columns,
    source: 'from (select 1 as a) x',
    orderBy: 'a',
  })
  const one: ReportView['columns'] = { a: ['x.a', 'First.'] }

  it('keeps what people built on a view that got another column', async () => {
    await reports.pool.query(reportStatements(view(one)))
    await reports.pool.query('create view public.mine as select a from report.upgraded')
    await reports.pool.query(reportStatements(view({ ...one, b: ['x.a + 1', 'Second.'] })))
    expect(await reports.rows('select m.a, v.b from public.mine m, report.upgraded v')).toEqual([{ a: 1, b: 2 }])
    await reports.pool.query('drop view report.upgraded cascade')
  })

  it('makes a view anew that lost a column', async () => {
    await reports.pool.query(reportStatements(view({ b: ['x.a + 1', 'Second.'], ...one })))
    await reports.pool.query(reportStatements(view(one)))
    expect(await reports.rows('select * from report.upgraded')).toEqual([{ a: 1 }])
    await reports.pool.query('drop view report.upgraded')
  })
})
