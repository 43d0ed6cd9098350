// What a role that is restricted to companies may read: every table, view and function is tried.

import type { PoolClient, QueryResultRow } from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { streams, withAncestors } from '../../src/catalog/catalog.ts'
import type { Column, StreamDef } from '../../src/catalog/types.ts'
import { openDatabase } from '../../src/database/database.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { companyPolicies } from '../../src/schema/company-policies.ts'
import { grantCompanies, revokeCompanies } from '../../src/serve/access/company-access.ts'
import { insertNewRecords } from '../../src/sync/remembered/new-records.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror, quiet, rowOf, tableOf } from '../helpers/rows.ts'

const denied = '42501'

/** Roles belong to the cluster, which test files share. */
const mark = Math.random().toString(36).slice(2, 8)
const [group, login, free] = [`group_${mark}`, `login_${mark}`, `free_${mark}`]

const mirror = opened(openMirror)
beforeAll(async () => {
  await mirror.all(`create role ${group} nologin; create role ${login} nologin in role ${group}, boat_mirror_partner;
    create role ${free} nologin in role boat_mirror_partner`)
  await mirror.write({ tables: streams.map((stream) => tableOf(stream.name, 1, rowsOf(stream))) })
  await mirror.all(
    `update mirror.rentals set resource_id = 'r' || (id / 10), company_id = case when id < 30 then id / 10 end, total_paid = null`,
  )
  await mirror.all(
    `update mirror.rental_payments set currency = '"EUR"';
     insert into sync.records (stream, key, detail_read_at) select 'rental_payments', unnest('{10,20}'::text[]), now()`,
  )
  await mirror.all(
    `insert into sync.quarantine (stream, key, endpoint, payload, reason) values ('rentals', '20', 'GET', '{}', 'no')`,
  )
  await mirror.all(`select report.close('close 1', 1), report.close('close 2', 2)`)
  await mirror.all(
    `insert into sync.pace_days (as_of, departure_month, company_id, currencies, rentals, days, amount, canceled, lead_days, with_lead)
     select '2026-01-01', '2026-02-01', company, '{EUR}', 1, 1, 1, 0, 0, 0 from unnest('{1,2,null}'::bigint[]) company;
     update sync.settings set pace_from = '2026-01-01', pace_until = '2026-01-02'`,
  )
  await restrict(group, ['1'])
})

const restrict = (role: string, companies: readonly string[]): Promise<void> =>
  mirror.db.transaction((client) => grantCompanies(client, role, companies))

/** Records 10 and 11 lead to company 1, record 20 to company 2, and record 30 to one that nobody knows yet. */
const numbers = [10, 11, 20, 30]
const company = (n: number): number | null => (n < 30 ? Math.floor(n / 10) : null)

function cellOf(stream: StreamDef, { name, type, path }: Column, n: number): string | number | null {
  if (name === 'company_id') return company(n)
  if (name === 'resource_id' || (name === 'id' && stream.name === 'resources')) return `r${Math.floor(n / 10)}`
  if (name === 'rental_id') return n
  if (name === 'id' && stream.name === 'companies') return Math.floor(n / 10)
  if (type === 'bigint' || type === 'numeric') return n
  if (type === 'text') return `text of ${n}`
  if (type === 'date' || name === 'start_datetime') return `2026-01-${n}`
  if (name === 'end_datetime') return `2026-01-${n + 1}`
  if (path === null) return null
  return null
}

function rowsOf(stream: StreamDef) {
  const once = new Map(
    numbers.map((n) => {
      const values = Object.fromEntries(stream.columns.map((column) => [column.name, cellOf(stream, column, n)]))
      return [stream.key.map((key) => values[key]).join(), rowOf(stream.name, values)] as const
    }),
  )
  return [...once.values()]
}

/** Runs as a role that has come as another; `[session, role]`. */
async function as<Row extends QueryResultRow>(
  [session, role]: readonly [string, string | null],
  sql: string,
): Promise<Row[] | string> {
  const client: PoolClient = await mirror.db.pool.connect()
  try {
    await client.query('begin')
    await client.query(`set local session authorization ${session}`)
    if (role !== null) await client.query(`set local role ${role}`)
    return (await client.query<Row>(sql)).rows
  } catch (error) {
    return String((error as { code?: string }).code)
  } finally {
    await client.query('rollback')
    client.release()
  }
}

const restricted = (): readonly [string, null] => [login, null]

/** The stream that rows of this one lead to a company by. */
const top = (stream: StreamDef): string => withAncestors(stream)[0]?.name ?? ''
const leads = (stream: StreamDef): boolean => ['companies', 'resources', 'rentals'].includes(top(stream))
const isPersonal = (stream: StreamDef): boolean => top(stream) === 'users'

type Relation = { schema: string; name: string; kind: string }
const relations = (): Promise<Relation[]> =>
  mirror.all<Relation>(
    `select n.nspname as schema, c.relname as name, c.relkind as kind from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('mirror', 'mirror_views', 'live', 'report', 'sync', 'outbox', 'company_access')
       and c.relkind in ('r', 'p', 'v', 'm') order by 1, 2`,
  )

describe('each table and view of a restricted role', () => {
  it('shows rows of its companies, or is refused, or tells of no record', async () => {
    const found = await relations()
    expect(found.length).toBeGreaterThan(150)
    const seen: Record<string, unknown> = {}
    for (const { schema, name } of found) {
      const rows = await as<{ row: string }>(restricted(), `select to_jsonb(t)::text as row from ${schema}.${name} t`)
      seen[`${schema}.${name}`] = typeof rows === 'string' ? rows : rows.map(({ row }) => JSON.parse(row))
    }
    for (const stream of streams)
      for (const schema of ['mirror', 'mirror_views', 'live']) {
        const rows = seen[`${schema}.${stream.name}`]
        if (rows === undefined) continue // no documents in mirror_views
        const where = `${schema}.${stream.name}`
        if (isPersonal(stream)) expect(rows, where).toBe(denied)
        else if (leads(stream)) {
          const own = (rows as { [key: string]: unknown }[]).map((row) => row[stream.key[0] ?? ''])
          const expected = { companies: ['1'], resources: ['r1'], rentals: ['10', '11'] }[top(stream)] ?? []
          expect([...new Set(own.map(String))].sort(), where).toEqual(expected)
        } else expect((rows as unknown[]).length, where).toBe(numbers.length)
      }
    const open = [
      'streams',
      'endpoints',
      'reads',
      'workers',
      'servers',
      'senders',
      'alerts',
      'settings',
      'traffic',
      'row_changes',
    ]
    const alsoOpen = [
      'gate',
      'pinned',
      'repeatable',
      'migrations',
      'records',
      'reasons',
      'closes',
      'closed_rentals',
      'pace_days',
    ]
    expect(seen['sync.pace_days']).toMatchObject([{ company_id: 1 }])
    expect(seen['report.pace']).toMatchObject([{ as_of: '2026-01-01' }, { as_of: '2026-01-02' }])
    expect((seen['sync.records'] as { key: string }[]).map(({ key }) => key)).toEqual(['10'])
    for (const name of ['closes', 'closed_rentals'])
      expect((seen[`sync.${name}`] as { company_id: unknown }[]).map((row) => row.company_id)).toContain(1)
    for (const { schema, name } of found) {
      const where = `${schema}.${name}`
      // An empty view answers so before it checks the role.
      if (schema === 'sync' && ![...open, ...alsoOpen].includes(name))
        expect([denied, []], where).toContainEqual(seen[where])
      if (schema === 'outbox' || schema === 'company_access') expect(seen[where], where).toBe(denied)
      if (schema !== 'report' || name === 'freshness') continue
      expect(Array.isArray(seen[where]), where).toBe(true)
      for (const row of seen[where] as { company_id: unknown }[]) expect(row.company_id, where).toBe(1)
    }
    // It reads the log through a view.
    expect(seen['mirror.change_log']).toEqual([])
    const changes = seen['mirror.changes'] as { stream: string; key: Record<string, unknown> }[]
    const changed = (name: string): unknown[] =>
      changes.filter(({ stream }) => stream === name).map(({ key }) => Object.values(key)[0])
    expect([changed('companies'), changed('resources'), changed('rentals')]).toEqual([[1], ['r1'], [10, 11]])
    expect(new Set(changed('rental_payments'))).toEqual(new Set([10, 11]))
    expect(changed('harbours')).toEqual(expect.arrayContaining(numbers))
    expect(changed('users')).toEqual([])
    const local = seen['mirror.rentals_local'] as { id: number }[]
    expect(local.map(({ id }) => id).sort()).toEqual([10, 11])
    expect((seen['report.rentals'] as unknown[]).length).toBe(2)
    expect((seen['report.freshness'] as unknown[]).length).toBe(streams.length)
  })

  it('has a policy where a row leads to a company, and where none is told', async () => {
    const policed = await mirror.all<{ name: string; secured: boolean }>(
      `select c.oid::regclass::text as name, c.relrowsecurity as secured from pg_policy p join pg_class c on c.oid = p.polrelid
       where p.polname = 'companies'`,
    )
    const names = policed.map(({ name }) => name)
    for (const stream of streams)
      expect(names.includes(`mirror.${stream.name}`), stream.name).toBe(leads(stream) || isPersonal(stream))
    expect(names).toContain('mirror.change_log')
    expect(policed.filter(({ secured }) => !secured)).toEqual([])
  })

  it('tells nothing by functions that fail on what is hidden', async () => {
    const [tables, views] = ['mirror.rentals r', 'live.rentals r']
    for (const source of [tables, views]) {
      const rows = await as(restricted(), `select id from ${source} where 1 / (r.total_to_pay - 20)::int < 5`)
      expect((rows as unknown[]).length, source).toBe(2)
    }
  })
})

describe('each function of a restricted role', () => {
  const key = `'{"id": 20}'`
  const calls: readonly (readonly [string, unknown])[] = [
    ['mirror.changes_since(null, 5)', 5],
    ['mirror.read_change_log(null, 5)', 5],
    ['mirror.positions_after(null, 10)', 0],
    [`mirror_log.company_changes()`, denied],
    [`mirror_log.first_diff('rentals', ${key}, 1, '{}')`, denied],
    [`mirror.next_positions(mirror.feed_epoch(), '0', 0, 10)`, 0],
    ['mirror.last_cursor()', 1],
    [`mirror.next_changes('of_${mark}', 5)`, 5],
    [`mirror.ack_changes('of_${mark}', '1.1.1.1')`, '22023'],
    [`mirror.reset_consumer('of_${mark}')`, 1],
    [`mirror.drop_consumer('of_${mark}')`, '22023'],
    [`mirror.waiting_since('1.1.0.0') w where w is not null`, 0],
    [`mirror.history('rentals', '{"id": 10}')`, 1],
    [`mirror.history('rentals', ${key})`, 0],
    [`mirror.history('users', ${key})`, denied],
    [`mirror.record_at('rentals', ${key}, now()) r where r is not null`, 0],
    [`mirror.record_before_log('rentals', ${key}) r where r.record <> '{}' or r.live`, 0],
    [`mirror.as_of('rentals', clock_timestamp())`, 2],
    [`mirror.as_of('rental_options', clock_timestamp())`, 2],
    [`mirror.as_of('users', clock_timestamp())`, denied],
    [`report.rentals_as_of(clock_timestamp())`, 2],
    [`mirror.refresh('rentals')`, denied],
    [`mirror.refresh('rentals', ${key})`, denied],
    [`mirror.refresh('rental_payments', '{"rental_id": 30, "id": 1}')`, denied],
    [`mirror.refresh('users', ${key})`, denied],
    [`mirror.refresh('harbours')`, denied],
    [`sync.lend_requests(10, 'read', 1, 0, false)`, denied],
    [`sync.take_from_quota('{1,2,3}', 'read', 1, 0, null, now())`, denied],
    [`sync.quota_windows('{1,2,3}', now())`, 3],
    [`sync.quota_pace('{1,2,3}', now())`, 1],
    [`company_access.of_rentals(20)`, denied],
    [`company_access.of_resources('r2')`, denied],
    [`outbox.enqueue('rental.delete', '{"rentalId": 20}')`, denied],
    [`report.calendar('2026-01-01', '2026-01-02')`, 2],
    [`report.blocks()`, 2],
    [`report.currencies_of(10) c where c = '{EUR}'`, 1],
    [`report.currencies_of(20) c where c <> '{}'`, 0],
    [`report.paid_in_lines(10) p where p = 10`, 1],
    [`report.paid_in_lines(20) p where p is not null`, 0],
    [`report.receipts(report.today() - 1, report.today() + 1)`, 2],
    [`report.close('of role ${mark}')`, 1],
    [`report.close('of another', 2)`, denied],
    [`report.close_totals('close 1')`, 1],
    [`report.close_totals('close 2')`, 'P0002'],
    [`report.since_close('close 1')`, 0],
    [`report.since_close('close 2')`, 'P0002'],
    [`report.remove_close('close 1')`, 1],
    [`report.remove_close('close 2')`, denied],
    [`sync.assert_may_close(1)`, 1],
    [`sync.assert_may_close(2)`, denied],
    [`sync.close_named('close 1')`, 1],
    [`sync.close_named('close 2')`, 'P0002'],
    [`report.today()`, 1],
    [`mirror.feed_epoch()`, 1],
    [`sync.history()`, 1],
    [`sync.folder()`, 1],
    [`mirror.refresh('rentals', '{"id": 10}')`, 1],
    [`mirror.refresh('companies', '{"id": 1}')`, 1],
    [`mirror.refresh('resource_options', '{"resource_id": "r1", "id": 10}')`, 1],
  ]
  for (const [call, answer] of calls)
    it(`${call.replaceAll(mark, 'role')}: ${typeof answer === 'string' ? 'refused' : 'answered'}`, async () => {
      const rows = await as(restricted(), `select * from ${call}`)
      expect(typeof rows === 'string' ? rows : rows.length).toBe(answer)
    })

  it('is tried here, or takes no name and returns nothing of a record', async () => {
    const found = await mirror.all<{ name: string }>(
      `select distinct p.oid::regproc::text as name from pg_proc p
       where p.pronamespace::regnamespace::text in ('mirror', 'mirror_log', 'report', 'sync')
         and p.prorettype <> 'trigger'::regtype and has_function_privilege('${login}', p.oid, 'execute') order by 1`,
    )
    const pure = [
      'mirror.cursor_mark',
      'mirror.cursor_parts',
      'mirror.is_assigned',
      'mirror.same_content',
      'mirror.unordered',
      'mirror.whole_diff',
      'report.assert_days',
      'report.currency_code',
      'report.status_word',
      'report.is_block_of_rental',
    ]
    const tried = calls.map(([call]) => call.slice(0, call.indexOf('(')))
    expect(found.map(({ name }) => name).filter((name) => !pure.includes(name) && !tried.includes(name))).toEqual([])
  })
})

describe('who is restricted', () => {
  const count = async (who: readonly [string, string | null]): Promise<unknown> => {
    const [direct, view] = [
      await as(who, 'select id from mirror.rentals'),
      await as(who, 'select rental_id from report.rentals'),
    ]
    return [direct, view].map((rows) => (typeof rows === 'string' ? rows : rows.length))
  }

  it('a member is, and does not leave it by becoming another role; others see everything', async () => {
    expect(await count([login, null])).toEqual([2, 2])
    expect(await count([login, 'boat_mirror_partner'])).toEqual([2, 2])
    expect(await count([free, null])).toEqual([4, 4])
    expect(await count([free, 'boat_mirror_partner'])).toEqual([4, 4])
  })

  it('an administrator who becomes a restricted role sees what that role sees', async () => {
    const [{ role: owner } = { role: '' }] = await mirror.all<{ role: string }>('select current_user as role')
    expect(await count([owner, login])).toEqual([2, 2])
    expect(await count([owner, null])).toEqual([4, 4])
  })

  it('the companies of several restricted roles add up', async () => {
    await restrict(login, ['2'])
    try {
      expect(await count([login, null])).toEqual([3, 3])
    } finally {
      await mirror.db.transaction((client) => revokeCompanies(client, login))
    }
    expect(await count([login, null])).toEqual([2, 2])
  })

  it('nobody any more when the last restriction is lifted, and the tables are without policies in force', async () => {
    await mirror.db.transaction((client) => revokeCompanies(client, group))
    try {
      expect(await count([login, null])).toEqual([4, 4])
      const secured = await mirror.all<{ name: string }>(
        `select oid::regclass::text as name from pg_class where relrowsecurity and relnamespace in ('mirror'::regnamespace, 'sync'::regnamespace) order by 1`,
      )
      expect(secured.map(({ name }) => name)).toEqual(['sync.quarantine', 'sync.unknown_fields', 'sync.webhook_batch'])
    } finally {
      await restrict(group, ['1'])
    }
    expect(await count([login, null])).toEqual([2, 2])
  })
})

describe('row level security in force', () => {
  it('a worker that does not own the tables writes as before', async () => {
    const worker = `worker_${mark}`
    await mirror.all(`create role ${worker} nologin; grant temporary on database ${await databaseName()} to ${worker};
      grant usage on schema mirror, sync, outbox to ${worker};
      grant all on all tables in schema mirror, sync, outbox to ${worker};
      grant execute on all functions in schema mirror, sync, outbox to ${worker};
      grant usage on all sequences in schema mirror, sync, outbox to ${worker}`)
    const url = `${mirror.url}?options=${encodeURIComponent(`-c role=${worker}`)}`
    const db = openDatabase({ url, applicationName: 'test', max: 1, log: quiet })
    const rows = Array.from({ length: 60 }, (_, n) => rowOf('harbours', { id: 1_000 + n, name: 'new' }))
    const states = rows.map(({ key }) => ({ stream: 'harbours', key: key.join(), listHash: 'x', isNew: true }))
    const written = await db.transaction(async (client) => {
      expect(await insertNewRecords(client, states)).toEqual(states)
      return (await applyWrites(client, { tables: [tableOf('harbours', 2, rows, { newKeys: true })] })).counts
    })
    await db.close()
    await mirror.all('delete from mirror.harbours where id >= 1000')
    expect(written.get('harbours')?.inserted).toBe(60)
  })

  const databaseName = async (): Promise<string> =>
    (await mirror.all<{ name: string }>('select quote_ident(current_database()) as name'))[0]?.name ?? ''

  it('a table that a later version adds is refused until it has a rule', async () => {
    await mirror.all('create table mirror.added_later as select 1 as id')
    await mirror.all(companyPolicies.sql)
    await mirror.all(`grant select on mirror.added_later to ${login}`)
    expect(await as(restricted(), 'select * from mirror.added_later')).toBe(denied)
    expect(await as([free, null], 'select * from mirror.rentals where id = 20')).toHaveLength(1)
    await mirror.all('drop table mirror.added_later')
  })
})
