// `privacy apply`: what is stored comes under new settings, from any point at which it was stopped, and nobody writes by the
// former ones any more.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streams } from '../../src/catalog/catalog.ts'
import { rewritesOf } from '../../src/cli/commands/privacy.ts'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/database/database.ts'
import { createLogger } from '../../src/log.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { createSandbox, type Sandbox } from '../../src/sandbox/index.ts'
import { type ApplyOptions, applySettings } from '../../src/state/privacy/apply.ts'
import { privacyOf } from '../../src/state/privacy/privacy.ts'
import { nobodyErased } from '../../src/state/privacy/protect.ts'
import { privacySettings } from '../../src/state/privacy/rules.ts'
import { type CommandLine, openCommandLine } from '../cli/program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { markEverybody, marker, tablesWith } from './markers.ts'

const PERSONAL_DATA_KEY = 'a key for tests, and nothing else'
const hash = { PERSONAL_DATA: 'hash', PERSONAL_DATA_KEY }
const drop = { PERSONAL_DATA: 'drop' }
const people = ['countries', 'user_identities', 'user_licenses', 'rental_crew_members']
const log = createLogger('silent')

let sandbox: Sandbox
/** A mirror that keeps values, with some in every place where there can be any. */
let kept: TestDatabase
let settings: Record<string, string>
let command: CommandLine
let erasedUser = ''

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
  settings = {
    API_BASE_URL: sandbox.url,
    API_AUTH: 'none',
    API_RATE_LIMIT: '0',
    SLOT_DAYS: '0',
    PRICE_DAYS: '0',
    CALENDAR_YEARS: '0',
  }
  command = await openCommandLine(settings)
  await writeFile(
    join(command.folder, 'columns.yaml'),
    'privacy: { users.email: drop, users.civility: keep, rentals.message: drop }\n',
  )
  const userIds = (sandbox.truth({ only: ['users'] }).users ?? []).map(({ key }) => Number(key.id))
  const [odd, wrong, wished, refused, clashing = 0, erased] = userIds
  erasedUser = String(erased)
  for (const round of ['', ' again']) {
    markEverybody(sandbox, round)
    sandbox.mutate([
      { record: 'users', op: 'update', id: odd, set: { firstName: { given: marker }, email: [marker] } },
      { record: 'users', op: 'update', id: wrong, set: { deactivated: `${marker} is no boolean` } },
    ])
    await run(['sync', ...people, '--full'], on(kept), [3])
  }
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
  await kept.pool.query(`update sync.runs set error = $1 where id = 1`, [
    `${marker}: check on mirror.users is not of this program.`,
  ])
}, 120_000)

afterAll(async () => {
  await command?.[Symbol.asyncDispose]()
  await sandbox?.close()
  await kept?.[Symbol.asyncDispose]()
})

/** The tables in which a marker stands but for what is still to be sent. */
async function leaks(database: TestDatabase): Promise<Readonly<Record<string, number>>> {
  const { rows } = await database.pool.query<{ waiting: number }>(
    `select count(*)::int as waiting from outbox.queue where status in ('queued', 'conflict') and body::text like $1`,
    [`%${marker}%`],
  )
  const { 'outbox.queue': changes = 0, ...found } = await tablesWith(database.pool, marker)
  return changes === rows[0]?.waiting ? found : { ...found, 'outbox.queue': changes }
}

/** Rows of the mirror and of the quarantine, without what only says when. */
async function content(database: TestDatabase): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const tables = [
    ...streams.map(
      ({ name }) => `select to_jsonb(t) - '{_read_at,_changed_at,_source}'::text[] as row from mirror.${name} t`,
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

/** Live records of which a row differs, as the log names them. */
async function differing(one: TestDatabase, other: TestDatabase): Promise<readonly string[]> {
  const found: string[] = []
  for (const { name, key } of streams) {
    const object = `jsonb_build_object(${key.map((column) => `'${column}', t.${column}`).join(', ')})::text`
    const rowsOf = async ({ pool }: TestDatabase) =>
      (
        await pool.query(
          `select ${object} as key, (to_jsonb(t) - '_changed_at')::text as row from mirror.${name} t where _deleted_at is null`,
        )
      ).rows
    const before = new Map((await rowsOf(one)).map(({ key, row }) => [key, row]))
    for (const { key, row } of await rowsOf(other)) if (before.get(key) !== row) found.push(name + key)
  }
  return found
}

describe.each([
  { name: 'hash', env: hash },
  { name: 'drop', env: drop },
  { name: 'drop after hash', env: drop, first: hash },
  {
    name: 'columns of their own',
    env: { ...hash, BOAT_MIRROR_CONFIG: 'columns.yaml' },
  },
])('from keep to $name', ({ env, first }) => {
  let database: TestDatabase
  let before = ''
  let planned: { rows: object }
  let afterDryRun = ''
  let applied: unknown

  beforeAll(async () => {
    database = await createTestDatabase({ copyOf: kept })
    await database.pool.query(`select mirror.next_changes('partner', 1)`)
    await database.pool.query(
      `select mirror.ack_changes('partner', cursor) from mirror.changes_since(null, 1000000) order by seq desc limit 1`,
    )
    if (first !== undefined) await apply(database, first)
    before = await lastEntry(database)
    planned = await apply(database, env, ['--dry-run'])
    afterDryRun = await lastEntry(database)
    applied = await apply(database, env)
  }, 60_000)
  afterAll(() => database?.[Symbol.asyncDispose]())

  it('a dry run says what will change, and changes nothing', () => {
    expect(afterDryRun).toBe(before)
    expect(planned).toMatchObject({ dryRun: true, difference: expect.stringContaining('PERSONAL_DATA is') })
    expect(planned.rows).toMatchObject({ 'mirror.users': expect.any(Number), 'outbox.queue': expect.any(Number) })
    expect(applied).toEqual({ ...planned, dryRun: false, rereads: false })
  })

  it.skipIf('BOAT_MIRROR_CONFIG' in env)(
    'leaves no value of a person in any table, and hashes where they are asked for',
    async () => {
      expect(await leaks(database)).toEqual({})
      const { 'outbox.queue': _, ...hashed } = await tablesWith(database.pool, 'bmh1:')
      if (env.PERSONAL_DATA === 'hash')
        expect(Object.keys(hashed)).toEqual(
          expect.arrayContaining(['mirror.users', 'mirror.rentals', 'sync.quarantine']),
        )
      else expect(hashed).toEqual({})
    },
  )

  it('tells the feed once of each record that changed, and history nothing of what it was', async () => {
    const told = await updates(database, before)
    if (first === undefined) expect(Object.keys(told).sort()).toEqual([...(await differing(kept, database))].sort())
    expect([...new Set(Object.values(told))]).toEqual([1])
    const { rows } = await database.pool.query(
      `select stream, key, operation, diff from mirror.next_changes('partner', 100000)`,
    )
    expect(rows.filter(({ operation }) => operation === 'update').length).toBe(rows.length)
    expect(JSON.stringify(rows)).not.toContain(marker)
    const { rows: history } = await database.pool.query(
      `select h.record from mirror.users u, mirror.history('users', jsonb_build_object('id', u.id)) h
       union all select diff from mirror.changes`,
    )
    expect(history.length).toBeGreaterThan(10)
    expect(JSON.stringify(history)).not.toContain(marker)
  })

  it('is the mirror that a sync under these settings makes', async () => {
    const fresh = await createTestDatabase()
    await run(['sync', ...people], on(fresh, env), [3])
    await run(['privacy', 'erase', erasedUser], on(fresh, env))
    // Another sync finds nothing to write.
    const last = await lastEntry(database)
    await run(['sync', ...people], on(database, env), [3])
    const written = Object.keys(await updates(database, last))
    if (env.PERSONAL_DATA === 'hash') expect(written).toEqual([])
    // Of a document nothing is left.
    else expect(written.filter((record) => !/^user_(identities|licenses)/.test(record))).toEqual([])
    const expected = await content(fresh)
    const found = await content(database)
    for (const [table, rows] of Object.entries(expected)) expect(found[table], table).toEqual(rows)
    await fresh[Symbol.asyncDispose]()
  }, 60_000)

  it('changes nothing when it is run again', async () => {
    const last = await lastEntry(database)
    expect(await apply(database, env)).toEqual({ dryRun: false, difference: null, rereads: false, rows: {} })
    expect(await lastEntry(database)).toBe(last)
    expect((await command.run(['privacy', 'apply'], on(database, env))).stdout).toContain('Nothing to change')
  })
})

/** Applies settings to a database. Each call is stopped in the transaction of its second batch. */
async function applyBitByBit(database: TestDatabase, env: Record<string, string>): Promise<number> {
  const opened = openDatabase({ url: database.url, applicationName: 'apply test', max: 1, log })
  let batches = 0
  const options: ApplyOptions = {
    settings: privacySettings(readConfig(env, '/nonexistent')),
    streams: [],
    batchSize: 7,
    rewritesOf: async (...given) =>
      (await rewritesOf(...given)).map((rewrite) => ({
        ...rewrite,
        step: async (...step) => {
          const made = await rewrite.step(...step)
          if (++batches > 1) throw new Error('killed')
          return made
        },
      })),
  }
  try {
    for (let calls = 1; ; calls++) {
      batches = 0
      const isOver = await applySettings(opened, options).then(
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

describe('an apply that is stopped', () => {
  it.each([hash, drop])(
    'goes on where it was, at each batch, to the same end: $PERSONAL_DATA',
    async (env) => {
      await using whole = await createTestDatabase({ copyOf: kept })
      await using pieces = await createTestDatabase({ copyOf: kept })
      const before = await lastEntry(kept)
      await apply(whole, env)
      expect(await applyBitByBit(pieces, env)).toBeGreaterThan(50)
      expect(await leaks(pieces)).toEqual({})
      expect(await content(pieces)).toEqual(await content(whole))
      expect(await updates(pieces, before)).toEqual(await updates(whole, before))
      expect(await apply(pieces, env)).toMatchObject({ difference: null, rows: {} })
    },
    120_000,
  )

  it('may be followed by one for other settings', async () => {
    await using database = await createTestDatabase({ copyOf: kept })
    await database.pool.query(
      `update sync.privacy set mode = 'drop', set_at = now(), applying = '{"rereads": false, "recordHashes": "forgotten", "done": {"mirror.users": null}}'`,
    )
    expect(await apply(database, hash)).toMatchObject({ rereads: true, rows: { 'mirror.users': expect.any(Number) } })
    expect(await leaks(database)).toEqual({})
  })
})

describe('a process with the former settings', () => {
  it('writes nothing more, sends nothing, and stops', async () => {
    await using database = await createTestDatabase({ copyOf: kept })
    const worker = command.start(['worker'], on(database, { ...settings, PORT: '0', LOG_LEVEL: 'info' }))
    await expect.poll(() => worker.text(), { timeout: 30_000, interval: 100 }).toContain('Up, and on schedule')
    await apply(database, drop)
    markEverybody(sandbox, ' after')
    await database.pool.query(`select mirror.refresh('users')`)
    expect(await worker.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('PRIVACY_DIFFERS') })
    expect(await leaks(database)).toEqual({})
    const { rows } = await database.pool.query(
      `select status from sync.runs where status not in ('running', 'done', 'partial')`,
    )
    expect(rows).toEqual([])
  }, 60_000)

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
    await createPusher(mirror.app.pushContext).runOnce(AbortSignal.timeout(20_000))
    const { rows: changes } = await pool.query('select status, departed, request from outbox.queue')
    expect(changes).toEqual([{ status: 'queued', departed: false, request: null }])
    expect(mirror.sandbox.requests().filter(({ method }) => method === 'PUT').length).toBe(sentBefore)
  }, 60_000)
})

describe('back to keep', () => {
  it.each([hash, drop])(
    'reads everything again, and ends as the API shows it: $PERSONAL_DATA',
    async (env) => {
      const database = await createTestDatabase({ copyOf: kept })
      await apply(database, env)
      const applied = await apply(database, { PERSONAL_DATA: 'keep' })
      expect(applied).toMatchObject({ rereads: true, difference: expect.stringContaining('and keep here') })
      await run(['sync', ...people], on(database), [3])
      const truth = sandbox.truth({ only: ['users'] }).users ?? []
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
    },
    60_000,
  )

  it('another key replaces the hashes of rows', async () => {
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
    expect(after.length).toBe(before.length)
    expect(same).toEqual([])
  }, 60_000)
})

/** Tables with texts that need not be rewritten, and why. */
const holdNoPerson: Readonly<Record<string, string>> = {}

describe('each table of the database', () => {
  it('is rewritten, or is known to hold no person', async () => {
    const privacy = privacyOf(privacySettings(readConfig(hash, '/nonexistent')), {
      generation: '0',
      erased: nobodyErased,
    })
    const rewritten = await rewritesOf(kept.pool, privacy, { rereads: false, recordHashes: 'keyed', done: {} })
    const { rows } = await kept.pool.query<{ name: string; own: string }>(
      `select format('%I.%I', n.nspname, c.relname) as name, format('%s.%s', n.nspname, c.relname) as own
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'm') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and exists (
         select from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
           and a.atttypid::regtype::text ~ '^(text|character|name|json|bytea|"char"|xml|hstore)')`,
    )
    const done = new Set(rewritten.map(({ table }) => table.replaceAll('"', '')))
    const open = rows.map(({ own }) => own).filter((name) => !done.has(name) && !(name in holdNoPerson))
    expect(open.sort()).toEqual([])
    expect(Object.keys(holdNoPerson).filter((name) => !rows.some(({ own }) => own === name))).toEqual([])
  })
})
