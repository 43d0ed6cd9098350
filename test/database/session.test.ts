// Every connection of the program has the same settings, whatever its role is set to: each kind is opened as a role without
// settings, and as one on which all that a role can be set to is set otherwise.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer, connect as openSocket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { openClient, withClient } from '../../src/database/session.ts'
import type { Queryable } from '../../src/database/sql.ts'
import { readTogether } from '../../src/database/together.ts'
import { bullPool, migrateQueue } from '../../src/jobs/postgres/queue-tables.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { findPgBouncer, startPgBouncer } from '../helpers/pgbouncer.ts'
import { quiet } from '../helpers/rows.ts'

/** Settings that a role keeps, each with the reason. What is in none of these lists must be the same in every session. */
const speed = 'changes how long an answer takes, not the answer: for the administrator to choose'
const logged = 'changes what the server logs or counts, not what it answers'
const unused = 'nothing of ours uses it'
const kept: Readonly<Record<string, readonly string[]>> = {
  'an administrator lets the role work as another': ['role', 'session_authorization'],
  'respected, and refused by name (schema/suitable.ts)': ['default_transaction_read_only'],
  'of a transaction, which each begins with its own': [
    'transaction_isolation',
    'transaction_read_only',
    'transaction_deferrable',
  ],
  'names files of the server': ['local_preload_libraries', 'session_preload_libraries', 'dynamic_library_path'],
  'where and how tables are stored is for the administrator to choose': [
    ...['default_table_access_method', 'default_tablespace', 'temp_tablespaces', 'default_toast_compression'],
    ...['allow_in_place_tablespaces', 'file_copy_method', 'extension_control_path'],
  ],
  'what damage does is for the administrator to choose': ['zero_damaged_pages', 'ignore_checksum_failure'],
  'limits of the server that protect it': ['temp_file_limit', 'max_stack_depth'],
  'whether a peer is alive': [
    'tcp_keepalives_idle',
    'tcp_keepalives_interval',
    'tcp_keepalives_count',
    'client_connection_check_interval',
  ],
  'triggers of superusers are theirs': ['event_triggers'],
  [unused]: [
    ...['xmlbinary', 'xmloption', 'default_text_search_config', 'lo_compat_privileges', 'password_encryption', 'seed'],
    ...['lc_messages', 'lc_monetary', 'lc_numeric', 'lc_time', 'icu_validation_level', 'allow_system_table_mods'],
    ...['plpgsql.check_asserts', 'plpgsql.print_strict_params', 'escape_string_warning'],
    ...['scram_iterations', 'wal_sender_timeout', 'md5_password_warnings'],
  ],
  'an ambiguous name in a function of ours would be an error by default': ['plpgsql.variable_conflict'],
  [speed]: [
    'deadlock_timeout',
    'commit_delay',
    'commit_siblings',
    'synchronize_seqscans',
    'update_process_title',
    'gin_pending_list_limit',
    // Of the category Vacuuming from Postgres 18 on.
    ...['vacuum_failsafe_age', 'vacuum_freeze_min_age', 'vacuum_freeze_table_age', 'vacuum_multixact_failsafe_age'],
    ...['vacuum_multixact_freeze_min_age', 'vacuum_multixact_freeze_table_age'],
  ],
}
const keptCategories: Readonly<Record<string, string>> = {
  'Query Tuning': speed,
  'Resource Usage': speed,
  'Write-Ahead Log': speed,
  Vacuuming: speed,
  Autovacuum: speed,
  'Reporting and Logging': logged,
  Statistics: logged,
  'Process Title': logged,
  'Client Connection Defaults / Statement Behavior / Vacuum': speed,
  'Developer Options': 'for those who work on Postgres',
}
/** In one of these categories, and the same all the same. */
const never = ['jit', 'client_min_messages', 'synchronous_commit']

type Setting = {
  readonly name: string
  readonly setting: string
  readonly category: string
  readonly vartype: string
  readonly min_val: string
  readonly max_val: string
  readonly enumvals: readonly string[] | null
}

const keptNames = new Set(Object.values(kept).flat())
const isKept = ({ name, category }: Setting): boolean =>
  keptNames.has(name) ||
  (!never.includes(name) && Object.keys(keptCategories).some((known) => category.startsWith(known)))

/** Limits are long enough to open a connection on a busy machine, and shorter than ours. */
const limitMs = '7000'
const values: Readonly<Record<string, string>> = {
  search_path: 'public, pg_catalog',
  DateStyle: 'German, DMY',
  TimeZone: 'Pacific/Kiritimati',
  timezone_abbreviations: 'India',
  client_encoding: 'LATIN1',
  application_name: 'another',
  restrict_nonsystem_relation_kind: 'view',
  createrole_self_grant: 'set, inherit',
  statement_timeout: limitMs,
  lock_timeout: limitMs,
  idle_in_transaction_session_timeout: limitMs,
  idle_session_timeout: limitMs,
  transaction_timeout: limitMs,
  tcp_user_timeout: limitMs,
  synchronous_commit: 'off',
  'plpgsql.extra_errors': 'all',
  'plpgsql.extra_warnings': 'all',
}

/** Another value than the one it has. */
function hostile(setting: Setting): string {
  const { name, vartype, min_val: least, max_val: most, enumvals } = setting
  const known = values[name]
  if (known !== undefined) return known
  if (vartype === 'bool') return setting.setting === 'on' ? 'off' : 'on'
  if (vartype === 'enum') return (enumvals ?? []).find((value) => value !== setting.setting) ?? ''
  if (vartype === 'integer' || vartype === 'real') return setting.setting === least ? most : least
  throw new Error(`What is a hostile value of ${name}? Name it here, or say why a role may keep its own.`)
}

const all = `select name, setting, category, vartype, min_val, max_val, enumvals from pg_catalog.pg_settings
  where context = 'user' or context = 'superuser' and current_setting('is_superuser') = 'on' order by name`
/** Only a session in which a function of plpgsql has run has the settings of plpgsql. */
const withPlpgsql = `do $$ begin perform 1; end $$`

type Role = { readonly url: string; readonly isSuperuser: boolean }
type Kind = (role: Role) => Promise<readonly Setting[]>

async function settingsOf(db: Queryable): Promise<readonly Setting[]> {
  await db.query(withPlpgsql)
  return (await db.query<Setting>(all)).rows
}

async function ofPool(
  role: Role,
  look: (db: ReturnType<typeof openDatabase>) => Promise<readonly Setting[]>,
  ms?: number,
) {
  const db = openDatabase({
    url: role.url,
    applicationName: 'boat-mirror',
    max: 1,
    log: quiet,
    ...(ms === undefined ? {} : { statementTimeoutMs: ms }),
  })
  return await look(db).finally(() => db.close())
}

async function ofQueue(role: Role, pooling: 'none' | 'transaction'): Promise<readonly Setting[]> {
  const pool = bullPool({ databaseUrl: role.url, log: quiet, pooling }, 1)
  try {
    return await settingsOf(pool.connection() as unknown as Queryable)
  } finally {
    await pool.end()
  }
}

const inTransaction: Kind = (role) => ofPool(role, (db) => db.transaction(settingsOf))
const read: Kind = (role) =>
  ofPool(role, async ({ pool }) => {
    const [, answer] = await readTogether(pool, [
      { name: null, text: `select pg_catalog.count(*) from mirror.changes`, values: [] },
      { name: null, text: all, values: [] },
    ])
    return answer?.rows ?? []
  })

const kinds: Readonly<Record<string, Kind>> = {
  'the pool': (role) => ofPool(role, ({ pool }) => settingsOf(pool)),
  'the pool of migrate, whose statements may last': (role) => ofPool(role, ({ pool }) => settingsOf(pool), 0),
  'a transaction': inTransaction,
  'a read of several statements': read,
  'a connection of its own': (role) => withClient({ url: role.url, applicationName: 'x' }, settingsOf),
  'the connection that listens': (role) =>
    withClient({ url: role.url, applicationName: 'x', lasting: true }, settingsOf),
  'the pool of the queue': (role) => ofQueue(role, 'none'),
}
const pooledKinds: Readonly<Record<string, Kind>> = {
  'a transaction': inTransaction,
  'a read of several statements': read,
  'the pool of the queue': (role) => ofQueue(role, 'transaction'),
}

const mark = randomBytes(6).toString('hex')
const password = 'a'.repeat(12)
const names = ['plain', 'super'].flatMap((kind) => [`${kind}_${mark}`, `${kind}_hostile_${mark}`])
let database: TestDatabase

const roleOf = (name: string): Role => ({
  url: Object.assign(new URL(database.url), { username: name, password }).href,
  isSuperuser: name.startsWith('super'),
})

beforeAll(async () => {
  database = await createTestDatabase()
  await database.pool.query('revoke create on schema public from public') // as it is since Postgres 15
  for (const name of names)
    await database.pool.query(
      `create role ${name} login ${name.startsWith('super') ? 'superuser' : ''} password '${password}' in role boat_mirror_partner`,
    )
  for (const kind of ['plain', 'super']) {
    const settings = await withClient({ url: roleOf(`${kind}_${mark}`).url, applicationName: 'x' }, settingsOf)
    for (const setting of settings.filter((each) => !isKept(each)))
      await database.pool.query(
        `alter role ${kind}_hostile_${mark} set ${setting.name} = ${values[setting.name] && setting.name === 'search_path' ? values[setting.name] : `'${hostile(setting)}'`}`,
      )
  }
})
afterAll(async () => {
  for (const name of names) await database.pool.query(`drop owned by ${name}; drop role ${name}`)
  await database[Symbol.asyncDispose]()
})

/** The settings that are not the same, as `name: expected → found`. */
async function differences(look: Kind, kind: 'plain' | 'super', through: (url: string) => string = (url) => url) {
  const settings = async (name: string): Promise<Map<string, string>> => {
    const role = roleOf(name)
    const found = await look({ ...role, url: through(role.url) })
    expect(found.length).toBeGreaterThan(100)
    return new Map(found.map((each) => [each.name, each.setting]))
  }
  const [wanted, found] = [await settings(`${kind}_${mark}`), await settings(`${kind}_hostile_${mark}`)]
  return [...found]
    .filter(([name, value]) => wanted.get(name) !== value)
    .map(([name, value]) => `${name}: ${wanted.get(name)} → ${value}`)
}

describe('a session has its own settings, whatever its role has', () => {
  for (const [name, look] of Object.entries(kinds))
    it(`in ${name}`, async () => {
      expect(await differences(look, 'plain')).toEqual([])
      expect(await differences(look, 'super')).toEqual([])
    })

  const program = findPgBouncer()
  it.skipIf(program === undefined)('behind a transaction pooler', async () => {
    const roles = Object.fromEntries(names.map((name) => [name, password]))
    const settings = { pool_mode: 'transaction', default_pool_size: '1' } as const
    await using bouncer = await startPgBouncer(program ?? '', inject('runFolder'), inject('adminUrl'), settings, roles)
    for (const [name, look] of Object.entries(pooledKinds))
      expect({ name, found: await differences(look, 'super', bouncer.through) }).toEqual({ name, found: [] })
  })

  it('and the role migrates an empty database', async () => {
    await using empty = await createTestDatabase({ migrated: false })
    const name = `super_hostile_${mark}`
    const url = Object.assign(new URL(empty.url), { username: name, password }).href
    expect((await migrate(url)).applied).toContain('0001_schemas')
    await migrateQueue(url, quiet)
  })
})

describe('a setting that cannot be overcome', () => {
  const open = (url: string) => openClient({ url, applicationName: 'x' }).then((client) => client.end())

  it('is refused by name: one that only a superuser may change', async () => {
    const name = `plain_hostile_${mark}`
    await database.pool.query(`alter role ${name} set session_replication_role = replica`)
    await expect(open(roleOf(name).url)).rejects.toMatchObject({
      code: 'DATABASE_UNSUITABLE',
      message: expect.stringContaining('session_replication_role'),
    })
    await database.pool.query(`alter role ${name} reset session_replication_role`)
  })

  it('is refused by name: a time limit that is over before it can be raised', async () => {
    const name = `plain_hostile_${mark}`
    await database.pool.query(`alter role ${name} set idle_session_timeout = 100`)
    const target = new URL(database.url)
    // A line on which each answer, once the session has started, takes longer than the limit.
    const line = createServer((client) => {
      const server = openSocket(Number(target.port), '127.0.0.1')
      let started = false
      server.on('data', (chunk) => {
        started ||= chunk.includes('server_version')
        client.write(chunk)
      })
      client.on('data', (chunk) => (started ? setTimeout(() => server.write(chunk), 2_000) : server.write(chunk)))
      for (const socket of [client, server])
        socket
          .on('error', () => {})
          .on('close', () => {
            client.destroy()
            server.destroy()
          })
    }).listen(0, '127.0.0.1')
    await once(line, 'listening')
    try {
      const { port } = line.address() as AddressInfo
      await expect(open(Object.assign(new URL(roleOf(name).url), { port }).href)).rejects.toMatchObject({
        code: 'DATABASE_UNSUITABLE',
        message: expect.stringContaining('idle_session_timeout'),
        remedy: expect.stringContaining('alter role'),
      })
    } finally {
      line.close()
      await database.pool.query(`alter role ${name} set idle_session_timeout = ${limitMs}`)
    }
  })
})

// As at a restart: an error that nobody listens for would end the process.
it('a session that Postgres ends with its first answer is a failure to connect, of a pool and of a single connection', async () => {
  const message = (kind: string, body: Buffer): Buffer => {
    const head = Buffer.from([...Buffer.from(kind), 0, 0, 0, 0])
    head.writeInt32BE(body.length + 4, 1)
    return Buffer.concat([head, body])
  }
  const ended = Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')
  const answer = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I')), message('E', ended)])
  const server = createServer((socket) => socket.once('data', () => socket.end(answer))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `postgres://nobody@127.0.0.1:${(server.address() as AddressInfo).port}/nowhere`
  const pool = openDatabase({ url, applicationName: 'test', max: 1, log: quiet })
  try {
    const refused = { code: '57P01' }
    await expect(openClient({ url, applicationName: 'test' })).rejects.toMatchObject(refused)
    await expect(pool.pool.query('select 1')).rejects.toMatchObject(refused)
  } finally {
    await pool.close()
    server.close()
  }
})

it('only one file opens connections', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const opening = files.filter((file) => {
    const text = readFileSync(join('src', file), 'utf8')
    return /from 'pg'/.test(text) && /new (pg\.)?(Client|Pool)\(/.test(text)
  })
  // The embedded server is asked, before our database exists, whether it is there.
  expect(opening.sort()).toEqual(['database/session.ts', 'embedded/connection.ts'])
})
