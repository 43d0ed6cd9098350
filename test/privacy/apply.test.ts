// `privacy apply`: values stored under other settings are erased, from any point at which it was stopped, and the next sync
// stores them under the new ones. Nobody writes by the former settings any more.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { streams } from '../../src/catalog/catalog.ts'
import { erasures } from '../../src/cli/commands/privacy.ts'
import { readConfig } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { createLogger } from '../../src/log.ts'
import { erasedMember } from '../../src/mirror/erasures.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { type ApplyOptions, applySettings } from '../../src/privacy/apply.ts'
import { privacySettings } from '../../src/privacy/rules.ts'
import { type CommandLine, openCommandLine } from '../cli/program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { markEverybody, marker, settingsFor, tablesWith } from './markers.ts'

const PERSONAL_DATA_KEY = 'a key for tests, and nothing else'
const hash = { PERSONAL_DATA: 'hash', PERSONAL_DATA_KEY }
const drop = { PERSONAL_DATA: 'drop' }
const people = ['countries', 'user_identities', 'user_licenses', 'rental_crew_members']
/** Streams whose records hold persons. */
const holders = ['users', 'user_identities', 'user_licenses', 'rental_crew_members', 'rentals']
const log = createLogger('silent')

let sandbox: Sandbox
/** A mirror that keeps values, with some in every place where there can be any. */
let kept: TestDatabase
let settings: Record<string, string>
let command: CommandLine
let erasedUser = ''
/** Users whose records cannot be mirrored as they are. */
let bad: readonly number[] = []

const on = (database: TestDatabase, env: Record<string, string> = {}) => ({ DATABASE_URL: database.url, ...env })

async function run(args: readonly string[], env: Record<string, string>, codes: readonly number[] = [0]) {
  const ended = await command.run(args, env)
  expect(codes, ended.stderr.slice(-3_000)).toContain(ended.code)
  return ended
}

/** What `privacy apply` says that it did. */
const apply = async (database: TestDatabase, env: Record<string, string>, more: readonly string[] = []) =>
  JSON.parse((await run(['privacy', 'apply', '--json', ...more], on(database, env))).stdout)

const enqueue = async (operation: string, target: object, body: object): Promise<string> => {
  const { rows } = await kept.pool.query('select outbox.enqueue($1, $2, $3) as id', [operation, target, body])
  return String(rows[0].id)
}

beforeAll(async () => {
  ;[sandbox, kept] = await Promise.all([createSandbox({ size: 6 }), createTestDatabase()])
  settings = settingsFor(sandbox)
  command = await openCommandLine(settings)
  await writeFile(
    join(command.folder, 'columns.yaml'),
    'privacy: { users.email: drop, users.civility: keep, rentals.message: drop }\n',
  )
  const userIds = (sandbox.truth({ only: ['users'] }).users ?? []).map(({ key }) => Number(key.id))
  const [odd = 0, wrong = 0, wished, refused, clashing = 0, erased] = userIds
  erasedUser = String(erased)
  for (const round of ['', ' again']) {
    markEverybody(sandbox, round)
    sandbox.mutate([
      { record: 'users', op: 'update', id: odd, set: { firstName: { given: marker }, email: [marker] } },
      { record: 'users', op: 'update', id: wrong, set: { deactivated: `${marker} is no boolean` } },
    ])
    await run(['sync', ...people, '--full'], on(kept), [3])
  }
  const { rows: quarantined } = await kept.pool.query(`select key from sync.quarantine where stream = 'users'`)
  bad = quarantined.map(({ key }) => Number(key))
  expect(bad).toContain(odd)
  await run(['privacy', 'erase', erasedUser], on(kept))
  // One change of each fate: done, refused, in conflict, waiting.
  await enqueue('user.update', { userId: wished }, { lastName: `${marker} wish` })
  sandbox.fault({ op: 'PUT /v3/users/{userId}', times: 1, respond: { status: 422, body: { detail: `${marker} no` } } })
  await enqueue('user.update', { userId: refused }, { lastName: `${marker} refused` })
  sandbox.mutate([{ record: 'users', op: 'update', id: clashing, set: { lastName: `${marker} theirs` } }])
  await enqueue('user.update', { userId: clashing }, { lastName: `${marker} ours` })
  await run(['push'], on(kept), [3])
  await run(['sync', ...people, '--full'], on(kept), [3])
  await enqueue('user.update', { userId: wished }, { lastName: `${marker} waits` })
  await kept.pool.query(
    `update outbox.queue set expires_at = null, next_attempt_at = 'infinity' where status = 'queued'`,
  )
  await kept.pool.query(
    `insert into sync.webhook_batch (id, end_cursor, changes, body) values ('msg_1', '1.1.1.1', 1, $1)`,
    [`{"was": "${marker}"}`],
  )
  for (const [id, words] of [
    [1, 'does not belong to Boat Mirror'],
    [2, 'is not of this program'], // as earlier versions wrote it
  ] as const)
    await kept.pool.query(`update sync.runs set error = $1 where id = $2`, [
      `${marker}: check on mirror.users ${words}.`,
      id,
    ])
})

afterAll(async () => {
  await command?.[Symbol.asyncDispose]()
  await sandbox?.close()
  await kept?.[Symbol.asyncDispose]()
})

/** The tables that contain a marker, except for what is still to be sent. */
async function leaks(database: TestDatabase): Promise<Readonly<Record<string, number>>> {
  const { rows } = await database.pool.query<{ waiting: number }>(
    `select count(*)::int as waiting from outbox.queue where status in ('queued', 'conflict') and body::text like $1`,
    [`%${marker}%`],
  )
  const { 'outbox.queue': changes = 0, ...found } = await tablesWith(database.pool, marker)
  return changes === rows[0]?.waiting ? found : { ...found, 'outbox.queue': changes }
}

/**
 * Rows of the mirror and of the quarantine, without what only says when. Not tombstones: under `drop` nothing is left of a
 * document; nor stubs: of countries that only an address names, none come from an address that was hashed.
 */
async function content(database: TestDatabase): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const tables = [
    ...streams.map(
      ({ name }) => `select to_jsonb(t) - '{_read_at,_changed_at,_source}'::text[] as row from mirror.${name} t
         where _deleted_at is null and strpos(_source, '#') = 0`,
    ),
    `select jsonb_build_object('stream', stream, 'payload', payload) as row from sync.quarantine`,
  ]
  const found: Record<string, readonly unknown[]> = {}
  for (const [index, sql] of tables.entries()) {
    const { rows } = await database.pool.query(`select * from (${sql}) all_rows order by row`)
    found[streams[index]?.name ?? 'quarantine'] = rows.map(({ row }) => row)
  }
  return found
}

/** Updates that the log has for each record, and the records that differ between two databases. */
async function updates(database: TestDatabase, after: string): Promise<Readonly<Record<string, number>>> {
  const { rows } = await database.pool.query(
    `select stream || key::text as record, count(*)::int as times from mirror.change_log where seq > $1 group by 1`,
    [after],
  )
  return Object.fromEntries(rows.map(({ record, times }) => [record, times]))
}

async function lastEntry(database: TestDatabase): Promise<string> {
  return (await database.pool.query('select max(seq) as seq from mirror.change_log')).rows[0].seq
}

/** Live records whose values were erased and not read again, as the log names them; not those in quarantine. */
async function erasedRecords({ pool }: TestDatabase): Promise<readonly string[]> {
  const found: string[] = []
  for (const { name, key } of streams) {
    const object = `jsonb_build_object(${key.map((column) => `'${column}', t.${column}`).join(', ')})::text`
    const { rows } = await pool.query(
      `select ${object} as key from mirror.${name} t where _payload ? $1 and _deleted_at is null
         and not exists (select from sync.quarantine q where q.stream = $2 and q.key = t.${key[0]}::text)`,
      [erasedMember, name],
    )
    found.push(...rows.map((row) => name + row.key))
  }
  return found
}

/** With `npm test`, the one with most rules. */
const ways = [
  { name: 'hash', env: hash },
  { name: 'drop', env: drop },
  { name: 'drop after hash', env: drop, first: hash },
  { name: 'columns of their own', env: { ...hash, BOAT_MIRROR_CONFIG: 'columns.yaml' } },
].slice(isQuick ? -1 : 0)

it.each(ways)(
  'from keep to $name: announced, erased, filled again, told to the feed twice, and the mirror that a first sync makes',
  async ({ env, first }) => {
    await using database = await createTestDatabase({ copyOf: kept })
    await database.pool.query(`select mirror.next_changes('partner', 1)`)
    await database.pool.query(
      `select mirror.ack_changes('partner', cursor) from mirror.changes_since(null, 1000000) order by seq desc limit 1`,
    )
    // An apply asks for all streams. What is due suffices.
    const readAgain = async (by: Record<string, string>) => {
      await database.pool.query('update sync.requests set finished_at = now() where finished_at is null')
      await run(['sync', ...people], on(database, by), [3])
    }
    if (first !== undefined) {
      await apply(database, first)
      await readAgain(first)
    }
    const before = await lastEntry(database)

    // A dry run says what will change, and changes nothing.
    const planned = await apply(database, env, ['--dry-run'])
    expect(await lastEntry(database)).toBe(before)
    expect(planned).toMatchObject({ dryRun: true, difference: expect.stringContaining('PERSONAL_DATA is') })
    expect(planned.rows).toMatchObject({ 'mirror.users': expect.any(Number), 'sync.quarantine': expect.any(Number) })
    if (first === undefined) expect(planned.rows).toMatchObject({ 'outbox.queue': expect.any(Number) })
    expect(await apply(database, env)).toEqual({ ...planned, dryRun: false })

    // No table holds a value of a person, or a hash of one.
    expect(await leaks(database)).toEqual({})
    expect(await tablesWith(database.pool, 'bmh1:')).toEqual({})
    const { rows: left } = await database.pool.query(
      `select count(*)::int as left from mirror.users where num_nonnulls(first_name, last_name, email, birth_date) > 0`,
    )
    expect(left).toEqual([{ left: 0 }])

    // The feed has one update for each record that was erased; it and history say nothing of what was there.
    const told = await updates(database, before)
    expect(Object.keys(told)).toEqual(expect.arrayContaining([...(await erasedRecords(database))]))
    expect(Object.keys(told).some((record) => record.startsWith('rentals'))).toBe(true)
    expect([...new Set(Object.values(told))]).toEqual([1])
    const { rows: fed } = await database.pool.query(
      `select stream, key, operation, diff from mirror.next_changes('partner', 100000)`,
    )
    if (first === undefined) expect(fed.filter(({ operation }) => operation !== 'update')).toEqual([])
    expect(JSON.stringify(fed)).not.toMatch(new RegExp(`${marker}|bmh1:`))
    const { rows: history } = await database.pool.query(
      `select h.record from mirror.users u, mirror.history('users', jsonb_build_object('id', u.id)) h
       union all select diff from mirror.changes`,
    )
    expect(history.length).toBeGreaterThan(10)
    expect(JSON.stringify(history)).not.toContain(marker)

    // Once more changes nothing.
    const last = await lastEntry(database)
    expect(await apply(database, env)).toEqual({ dryRun: false, difference: null, rereads: false, rows: {} })
    expect(await lastEntry(database)).toBe(last)
    expect((await command.run(['privacy', 'apply'], on(database, env))).stdout).toContain('Nothing to change')

    // The next sync fills every record, with one update each, and the mirror is the one that a first sync makes.
    await readAgain(env)
    expect(await erasedRecords(database)).toEqual([])
    const { rows: written } = await database.pool.query(
      `select stream || key::text as record, count(*)::int as times from mirror.change_log
       where seq > $1 and operation = 'update' and not diff ? 'company_id' group by 1 having count(*) > 1`,
      [last],
    )
    expect(written).toEqual([])
    // Where civilities are kept, they are.
    const gone = 'BOAT_MIRROR_CONFIG' in env ? `${marker}-` : marker
    const { 'outbox.queue': _, ...clear } = await tablesWith(database.pool, gone)
    expect(clear).toEqual({})
    await using fresh = await createTestDatabase()
    await run(['sync', ...people], on(fresh, env), [3])
    await run(['privacy', 'erase', erasedUser], on(fresh, env))
    const found = await content(database)
    for (const [table, rows] of Object.entries(await content(fresh))) expect(found[table], table).toEqual(rows)
  },
)

it('erases the records of persons alone, and fills each once where lists are summaries', async () => {
  await using mirror = await openTestMirror({ size: 6, summary: true }, settings)
  const { database } = mirror.app
  await mirror.sync()
  await mirror.sync()
  await database.pool.query(`update sync.privacy set mode = 'drop'`)
  const { rows: erased } = await applySettings(database, {
    ...{ settings: privacySettings(mirror.config), erasures, requestSync: async () => {} },
  })
  const tables = Object.keys(erased).filter((table) => table.startsWith('mirror.'))
  expect(tables.sort()).toEqual(['mirror.change_log', ...holders.map((name) => `mirror.${name}`)].sort())
  const { rows: last } = await database.pool.query('select max(seq) as seq from mirror.change_log')
  await mirror.sync()
  const { rows: filled } = await database.pool.query(
    `select stream, max(times)::int as most, sum(times)::int as entries from (
       select stream, key, count(*) as times from mirror.change_log where seq > $1 group by 1, 2) t group by 1 order by 1`,
    [last[0].seq],
  )
  expect(filled).toEqual(
    [...holders].sort().map((stream) => ({ stream, most: 1, entries: erased[`mirror.${stream}`] ?? -1 })),
  )
  expect(await mirror.differences()).toEqual([])
})

/** Applies settings to a database, in batches of a block. Each call is stopped after some transactions, then after more. */
async function applyBitByBit(database: TestDatabase, env: Record<string, string>): Promise<number> {
  const opened = openDatabase({ url: database.url, applicationName: 'apply test', max: 1, log })
  let left = 0
  const stopped: Database = {
    ...opened,
    transaction: async (...given) => {
      if (left-- === 0) throw new Error('killed')
      return await opened.transaction(...given)
    },
  }
  const options: ApplyOptions = {
    settings: privacySettings(readConfig(env, '/nonexistent')),
    requestSync: async () => {},
    batchBlocks: 1,
    erasures,
  }
  try {
    for (let calls = 1; ; calls++) {
      left = 7 * calls
      const isOver = await applySettings(stopped, options).then(
        () => true,
        (error: Error) => {
          if (error.message !== 'killed') throw error
          return false
        },
      )
      if (isOver) return calls
      if (calls === 1) await expect(run(['sync', 'users'], on(database, env))).rejects.toThrow('privacy apply')
    }
  } finally {
    await opened.close()
  }
}

it('finds a row that others move meanwhile to a block it has gone through', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await pool.query(`alter table mirror.users add column note text;
    insert into mirror.users (id, last_name, _payload, _source, _read_at)
      select n, '${marker}', jsonb_build_object('id', n), 'GET /v3/users', now() from generate_series(1, 400) n;
    delete from mirror.users where id <= 200`)
  await pool.query('vacuum mirror.users')
  const block = async (): Promise<number> =>
    (await pool.query('select (ctid::text::point)[0]::int as block from mirror.users where id = 300')).rows[0].block
  const opened = openDatabase({ url: database.url, applicationName: 'apply test', max: 1, log })
  const places: number[] = []
  let transactions = 0
  const moving: Database = {
    ...opened,
    transaction: async (...given) => {
      // The first one writes the settings; the others go through a block each.
      if (transactions++ === 3) {
        places.push(await block())
        // So long that it does not fit beside its former version.
        await pool.query(
          `update mirror.users set note = (select string_agg(md5(n::text), '') from generate_series(1, 45) n) where id = 300`,
        )
        places.push(await block())
      }
      return await opened.transaction(...given)
    },
  }
  try {
    await applySettings(moving, {
      ...{ settings: privacySettings(readConfig(drop, '/nonexistent')), requestSync: async () => {}, batchBlocks: 1 },
      erasures: erasures.filter(({ table }) => table === 'mirror.users'),
    })
  } finally {
    await opened.close()
  }
  expect(places.map((place) => place < 2)).toEqual([false, true])
  expect((await pool.query('select id from mirror.users where last_name is not null')).rows).toEqual([])
})

/** What is stopped and taken back is the same for both. */
const modes = isQuick ? [hash] : [hash, drop]

describe('an apply that is stopped', () => {
  it.each(modes)('is continued by the next one, from any batch, to the same end: $PERSONAL_DATA', async (env) => {
    await using whole = await createTestDatabase({ copyOf: kept })
    await using pieces = await createTestDatabase({ copyOf: kept })
    const before = await lastEntry(kept)
    await apply(whole, env)
    expect(await applyBitByBit(pieces, env)).toBeGreaterThan(5)
    expect(await leaks(pieces)).toEqual({})
    expect(await content(pieces)).toEqual(await content(whole))
    expect(await updates(pieces, before)).toEqual(await updates(whole, before))
    expect(await apply(pieces, env)).toMatchObject({ difference: null, rows: {} })
  })

  it('may be followed by one for other settings', async () => {
    await using database = await createTestDatabase({ copyOf: kept })
    await database.pool.query(`update sync.privacy set mode = 'drop', set_at = now(), applying = '{}'`)
    expect(await apply(database, hash)).toMatchObject({ rereads: true, rows: { 'mirror.users': expect.any(Number) } })
    expect(await leaks(database)).toEqual({})
  })
})

describe('a process with the former settings', () => {
  it('writes nothing more, sends nothing, and stops', async () => {
    await using database = await createTestDatabase({ copyOf: kept })
    await using api = await createSandbox({ size: 6 })
    await database.pool.query('update sync.settings set api = null') // the same API at another port
    const worker = command.start(
      ['worker'],
      on(database, { ...settings, API_BASE_URL: api.url, PORT: '0', LOG_LEVEL: 'info' }),
    )
    await expect.poll(() => worker.text(), { interval: 100 }).toContain('"event":"first_sync"')
    await apply(database, drop)
    markEverybody(api, ' after')
    await database.pool.query(`select mirror.refresh('users')`)
    expect(await worker.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('PRIVACY_DIFFERS') })
    expect(await leaks(database)).toEqual({})
    const { rows } = await database.pool.query(
      `select status from sync.runs where status not in ('running', 'done', 'partial')`,
    )
    expect(rows).toEqual([])
  })

  it('marks no change as sent', async () => {
    await using mirror = await openTestMirror({ size: 2 }, settings)
    const { pool } = mirror.app.database
    await mirror.sync({ streams: ['users'] })
    const { rows } = await pool.query(`select id::int from mirror.users limit 1`)
    const sentBefore = mirror.sandbox.requests().filter(({ method }) => method === 'PUT').length
    await pool.query('select outbox.enqueue($1, $2, $3)', [
      'user.update',
      { userId: rows[0].id },
      { lastName: `${marker} late` },
    ])
    await run(['privacy', 'apply'], { DATABASE_URL: mirror.config.databaseUrl ?? '', ...drop })
    await createPusher(mirror.app.pushContext).runOnce(AbortSignal.timeout(100_000))
    const { rows: changes } = await pool.query('select status, departed, request from outbox.queue')
    expect(changes).toEqual([{ status: 'queued', departed: false, request: null }])
    expect(mirror.sandbox.requests().filter(({ method }) => method === 'PUT').length).toBe(sentBefore)
  })
})

// What the first sync of each mode shows, the other way round.
describe.skipIf(isQuick)('back to keep', () => {
  it.each(modes)('reads everything again, and ends as the API shows it: $PERSONAL_DATA', async (env) => {
    const database = await createTestDatabase({ copyOf: kept })
    await apply(database, env)
    const applied = await apply(database, { PERSONAL_DATA: 'keep' })
    expect(applied).toMatchObject({ rereads: true, difference: expect.stringContaining('and keep here') })
    await run(['sync'], on(database), [3])
    const truth = (sandbox.truth({ only: ['users'] }).users ?? []).filter(({ key }) => !bad.includes(Number(key.id)))
    const { rows } = await database.pool.query(
      `select id::text, first_name, last_name, email, birth_date, _payload from mirror.users order by id`,
    )
    const { rows: open } = await database.pool.query(
      `select count(*)::int as open from sync.requests where finished_at is null and full_read`,
    )
    expect(open).toEqual([{ open: 0 }])
    expect(rows.length).toBe(truth.length)
    for (const row of rows) {
      const record = truth.find(({ key }) => String(key.id) === row.id)?.record
      expect(row._payload).toEqual(row.id === erasedUser ? { id: Number(row.id) } : record)
    }
    await database[Symbol.asyncDispose]()
  })

  // With `npm test`, the first key only.
  it.skipIf(isQuick)('another key replaces the hashes of rows', async () => {
    await using database = await createTestDatabase({ copyOf: kept })
    await apply(database, hash)
    const other = { ...hash, PERSONAL_DATA_KEY: 'another key for the tests' }
    const { rows: before } = await database.pool.query('select id, email from mirror.users where email is not null')
    expect(await apply(database, other)).toMatchObject({
      rereads: true,
      difference: 'its hashes were made with another PERSONAL_DATA_KEY',
    })
    await run(['sync', ...people], on(database, other), [3])
    const { rows: after } = await database.pool.query('select id, email from mirror.users where email like $1', [
      'bmh1:%',
    ])
    const same = after.filter(({ id, email }) => before.some((row) => row.id === id && row.email === email))
    expect(after.map(({ id }) => id)).toEqual(expect.arrayContaining(before.map(({ id }) => id)))
    expect(same).toEqual([])
  })
})

/** Tables with texts that need not be erased, by what they hold instead. */
const holdNoPerson: Readonly<Record<string, readonly string[]>> = {
  'ids of jobs and what wakes them': [
    'bullmq.dedup',
    'bullmq.dedup_next',
    'bullmq.event',
    'bullmq.job',
    'bullmq.job_dependency',
    'bullmq.job_log',
    'bullmq.meta',
    'bullmq.metrics',
    'bullmq.migration',
    'bullmq.rate_limit',
    'bullmq.relay_inbox',
    'bullmq.relay_node',
    'bullmq.relay_retained',
    'bullmq.relay_subscription',
    'bullmq.scheduler',
  ],
  'roles and companies': ['company_access.grants', 'sync.partners'],
  'the catalog, settings, and what was done to the schema': [
    'outbox.counted_roles',
    'outbox.installation',
    'outbox.operations',
    'sync.log_identity',
    'sync.migrations',
    'sync.privacy',
    'sync.repeatable',
    'sync.settings',
  ],
  'what was found out about the API, in numbers and names of fields': [
    'sync.endpoints',
    'sync.gate',
    'sync.pinned',
    'sync.reads',
    'sync.traffic',
  ],
  'names, money and days of rentals': ['sync.closed_rentals', 'sync.closes'],
  'names of streams and consumers, counts and times': [
    'sync.alerts',
    'sync.consumer_positions',
    'sync.freshness_days',
    'sync.pace_days',
    'sync.request_streams',
    'sync.row_changes',
    'sync.senders',
    'sync.streams',
    'sync.webhook_deliveries',
    'sync.servers',
    'sync.workers',
  ],
  'hashes of requests, tokens and keys': ['outbox.requests', 'sync.access_tokens', 'sync.calendar_keys', 'sync.fleets'],
  'keys of records, hashes of plans, and who decided': [
    'sync.decisions',
    'sync.erased',
    'sync.held',
    'sync.sweep_pages',
    'sync.sweep_parts',
    'sync.sweep_ranges',
  ],
}

describe('each table of the database', () => {
  it('is erased, or is known to hold no person', async () => {
    const { rows: months } = await kept.pool.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'mirror.change_log'::regclass`,
    )
    const { rows } = await kept.pool.query<{ name: string; own: string }>(
      `select format('%I.%I', n.nspname, c.relname) as name, format('%s.%s', n.nspname, c.relname) as own
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'm') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and exists (
         select from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
           and a.atttypid::regtype::text ~ '^(text|character|name|json|bytea|"char"|xml|hstore)')`,
    )
    const harmless = Object.values(holdNoPerson).flat()
    // Rows of sync.records are erased with those of the mirror.
    const done = new Set([...erasures.map(({ table }) => table), ...months.map(({ name }) => name), 'sync.records'])
    const open = rows.map(({ own }) => own).filter((name) => !done.has(name) && !harmless.includes(name))
    expect(open.sort()).toEqual([])
    expect(harmless.filter((name) => !rows.some(({ own }) => own === name))).toEqual([])
  })
})
