// Schema report as a whole: explained, readable without seeing persons, in the zone of the settings, and kept by an upgrade.

import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { ViewDef } from '../../src/database/repeatable-step.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { reportViews } from '../../src/reports/report-views.ts'
import { saveReportSettings } from '../../src/reports/time-zone.ts'
import { replaceViews } from '../../src/schema/replace-views.ts'
import { opened } from '../helpers/opened.ts'
import { openReports } from './support.ts'

const reports = opened(() => openReports())

describe('schema report', () => {
  it('has the documented views', async () => {
    const rows = await reports.rows<{ name: string }>(
      `select viewname as name from pg_views where schemaname = 'report' order by 1`,
    )
    expect(rows.map(({ name }) => name)).toEqual([
      'balances',
      'calendar',
      'cancellations',
      'closes',
      'departures',
      'fleet',
      'freshness',
      'freshness_history',
      'occupancy',
      'overlaps',
      'pace',
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
    const comments = new Map<string, string>(reportViews.map(({ name, comment }) => [name, comment]))
    for (const name of ['rentals', 'revenue', 'balances', 'cancellations'])
      expect(comments.get(name), name).toContain(
        'the one that payments, deposit and options of a rental agree on, else null',
      )
    for (const name of ['rentals', 'revenue', 'departures', 'cancellations'])
      expect(comments.get(name), name).toContain('the offset in the date-time itself, else TIME_ZONE')
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
    await saveReportSettings(reports.pool, { timeZone: 'Pacific/Kiritimati', notTakingPlace: null })
    const east = await today()
    await saveReportSettings(reports.pool, { timeZone: 'Etc/GMT+12', notTakingPlace: null })
    const west = await today()
    await saveReportSettings(reports.pool, { timeZone: 'UTC', notTakingPlace: null })
    expect(Date.parse(String(east)) - Date.parse(String(west))).toBeGreaterThanOrEqual(86_400_000)
  })

  it('is refused when Postgres does not know it', async () => {
    const error = await saveReportSettings(reports.pool, { timeZone: 'Mars/Olympus', notTakingPlace: null }).catch(
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(BoatMirrorError)
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('Mars/Olympus') })
  })
})

describe('an upgrade', () => {
  const view = (columns: ViewDef['columns']): ViewDef => ({
    schema: 'report',
    name: 'upgraded',
    comment: 'For a test.',
    columns,
    source: 'from (select 1 as a) x',
  })
  const one: ViewDef['columns'] = { a: ['x.a', 'First.'] }
  const two: ViewDef['columns'] = { b: ['x.a + 1', 'Second.'], ...one }

  /** Replaces them as `migrate` does, and drops everything again. */
  const upgrade = async (
    steps: readonly (readonly ViewDef[] | string)[],
    look: (client: PoolClient) => Promise<void>,
  ): Promise<void> => {
    const client = await reports.pool.connect()
    try {
      await client.query('begin')
      for (const step of steps) await (typeof step === 'string' ? client.query(step) : replaceViews(client, step))
      await look(client)
    } finally {
      await client.query('rollback')
      client.release()
    }
  }

  it('keeps what people built on a view that got another column, wherever that stands in the list', async () => {
    await upgrade(
      [[view(one)], 'create view public.mine as select a from report.upgraded', [view(two)]],
      async (client) =>
        expect((await client.query('select m.a, v.b from public.mine m, report.upgraded v')).rows).toEqual([
          { a: 1, b: 2 },
        ]),
    )
  })

  it('makes a view anew that lost a column, with what of ours stands on it and with all grants', async () => {
    const upon: ViewDef = { ...view(one), name: 'upon', source: 'from report.upgraded x' }
    await upgrade(
      [
        [view(two), upon],
        'grant select on report.upgraded to public; grant select on report.upon to boat_mirror_reader with grant option',
        [view(one), upon],
      ],
      async (client) => {
        expect((await client.query('select * from report.upgraded')).rows).toEqual([{ a: 1 }])
        expect((await client.query('select * from report.upon')).rows).toEqual([{ a: 1 }])
        const { rows } = await client.query(
          `select relname, relacl::text as acl from pg_class where relname in ('upgraded', 'upon') order by 1`,
        )
        expect(rows).toEqual([
          { relname: 'upgraded', acl: expect.stringMatching(/[{,]=r\//) },
          { relname: 'upon', acl: expect.stringContaining('boat_mirror_reader=r*/') },
        ])
      },
    )
  })

  it('refuses to make a view anew that people built on, names what stands there and drops nothing', async () => {
    await upgrade([[view(two)], 'create view public.mine as select b from report.upgraded'], async (client) => {
      await client.query('savepoint before')
      await expect(replaceViews(client, [view(one)])).rejects.toMatchObject({
        code: 'DATABASE_SCHEMA',
        message: expect.stringMatching(/report\.upgraded .*mine.*Nothing was changed/),
      })
      await client.query('rollback to savepoint before')
      expect((await client.query('select * from public.mine')).rows).toEqual([{ b: 2 }])
    })
  })
})
