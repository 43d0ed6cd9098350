// Logical replication out of the mirror: the publications of docs/databases.md, made by an owner who is no superuser, and read by
// a client of `pgoutput`.

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Pool } from 'pg'
import { LogicalReplicationService, type Pgoutput, PgoutputPlugin } from 'pg-logical-replication'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { streams } from '../../src/catalog/catalog.ts'
import { type Mirror, openMirror } from '../../src/library.ts'
import { type OwnPostgres, openOwnPostgres } from '../helpers/postgres-server.ts'
import { askedVersion } from '../helpers/postgres-versions.ts'

type Row = Readonly<Record<string, unknown>>
type Change = Extract<Pgoutput.Message, { tag: 'insert' | 'update' | 'delete' }>

const [, section = ''] = readFileSync('docs/databases.md', 'utf8').split(/^## Logical replication$/m)
const statements = [...section.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, sql = '']) => sql)
const hasColumnLists = askedVersion() !== '14'
const publications = ['boat_mirror_partner', 'boat_mirror_log', ...(hasColumnLists ? ['boat_mirror_reader'] : [])]

/** Postgres keeps it outside of its row. */
const longMessage = randomBytes(4_000).toString('hex')

const keyOf = (table: string): readonly string[] => streams.find(({ name }) => name === table)?.key ?? ['seq']

/** The tables of a receiver that starts empty and applies each change. */
function replay(changes: readonly Change[]): ReadonlyMap<string, ReadonlyMap<string, Row>> {
  const tables = new Map<string, Map<string, Row>>()
  for (const change of changes) {
    const table = `${change.relation.schema}.${change.relation.name}`
    const rows = tables.get(table) ?? new Map<string, Row>()
    tables.set(table, rows)
    const named = (row: Row): string => JSON.stringify(keyOf(change.relation.name).map((column) => row[column]))
    if (change.tag === 'delete') rows.delete(named(change.key ?? {}))
    else {
      // A value that lies outside of the row and did not change is not sent again.
      const sent = Object.entries(change.new).filter(([, value]) => value !== undefined)
      rows.set(named(change.new), { ...rows.get(named(change.new)), ...Object.fromEntries(sent) })
    }
  }
  return tables
}

const sorted = (rows: Iterable<Row>): readonly string[] =>
  [...rows].map((row) => JSON.stringify(Object.entries(row).sort())).sort()

describe('the publications of docs/databases.md', () => {
  let server: OwnPostgres
  let owner: Pool
  let follower: Pool
  let sandbox: Sandbox
  let mirror: Mirror
  /** Entries that were deleted, one of them with its month. */
  let gone: readonly Row[]
  const received = new Map<string, readonly Change[]>()

  /** What the publication has sent up to the message `end`. */
  async function receive(publication: string): Promise<readonly Change[]> {
    const changes: Change[] = []
    const service = new LogicalReplicationService({ connectionString: String(follower.options.connectionString) })
    const ended = new Promise<void>((resolve, reject) => {
      service.on('error', reject)
      service.on('data', (_lsn, message: Pgoutput.Message) => {
        if (message.tag === 'insert' || message.tag === 'update' || message.tag === 'delete') changes.push(message)
        if (message.tag === 'message' && message.prefix === 'end') resolve()
      })
    })
    const plugin = new PgoutputPlugin({ protoVersion: 1, publicationNames: [publication], messages: true })
    await Promise.race([ended, service.subscribe(plugin, publication).then(() => ended)])
    await service.destroy()
    return changes
  }

  beforeAll(async () => {
    const folder = join(inject('runFolder'), `replication-${randomBytes(4).toString('hex')}`)
    server = await openOwnPostgres(folder, { wal_level: 'logical' })
    const admin = new Pool({ connectionString: server.url, max: 1 })
    await admin.query(
      `create role renter login createrole password 'x'; create role follower login replication password 'x'`,
    )
    await admin.query('create database rented owner renter')
    await admin.end()
    const as = (username: string): string =>
      Object.assign(new URL(server.url), { username, password: 'x', pathname: '/rented' }).href
    owner = new Pool({ connectionString: as('renter'), max: 1 })
    follower = new Pool({ connectionString: as('follower'), max: 1 })
    sandbox = await createSandbox({ size: 10 })
    mirror = await openMirror({
      ...{ databaseUrl: as('renter'), apiBaseUrl: sandbox.url, apiAuth: 'none', migrate: true },
      ...{ priceDays: 3, slotDays: 1, calendarYears: 0 },
    })
    for (const sql of hasColumnLists ? statements : statements.slice(0, 2)) await owner.query(sql)
    for (const name of publications)
      await follower.query(`select pg_create_logical_replication_slot($1, 'pgoutput')`, [name])

    const [rental, deleted] = sandbox.truth({ only: ['rentals'] }).rentals ?? []
    const update = { record: 'rentals', op: 'update', id: String(rental?.key.id) } as const
    sandbox.mutate([{ ...update, set: { message: longMessage } }])
    await mirror.sync()
    const set = { orderLink: 'https://example.com/replicated' }
    sandbox.mutate([
      { ...update, set },
      { record: 'rentals', op: 'delete', id: String(deleted?.key.id) },
    ])
    await mirror.sync({ full: true })
    // A month of the log that gets an entry and is dropped, and an entry that is deleted.
    while ((await owner.query('select mirror.make_log_month() as made')).rows[0].made);
    const entries = `insert into mirror.change_log (stream, key, operation, diff, changed_at) values ('x', '{}', 'insert', '{}', `
    gone = (
      await owner.query(
        `${entries} date_trunc('month', now()) + interval '2 months 1 day'), ('x', '{}', 'insert', '{}', now() - interval '2 years') returning *`,
      )
    ).rows
    await owner.query(`delete from mirror.change_log where changed_at < now() - interval '1 year'`)
    await owner.query(
      `select mirror.drop_log_month(partition) from mirror.log_partitions() where ends > now() + interval '2 months'`,
    )
    // What docs/databases.md says to do after an upgrade.
    for (const sql of hasColumnLists ? statements : statements.slice(0, 2))
      await owner.query(sql.replace(/^create .*$/gm, ''))
    await owner.query(`select pg_logical_emit_message(true, 'end', '')`)
    for (const name of publications) received.set(name, await receive(name))
  })
  afterAll(async () => {
    await mirror?.close()
    await sandbox?.close()
    await Promise.all([owner?.end(), follower?.end()])
    await server?.close()
  })

  it('boat_mirror_partner makes a copy of every table for a receiver that keeps long values which an update omits', async () => {
    const changes = received.get('boat_mirror_partner') ?? []
    const tables = replay(changes)
    expect([...tables.keys()].filter((name) => !streams.some((stream) => name === `mirror.${stream.name}`))).toEqual([])
    for (const { name } of streams) {
      const { rows } = await owner.query<Row>(`select * from mirror.${name}`)
      expect(sorted(tables.get(`mirror.${name}`)?.values() ?? []), name).toEqual(sorted(rows))
    }
    const updates = changes.flatMap((change) => (change.tag === 'update' ? [change.new] : []))
    expect(updates.filter((row) => 'message' in row && row.message === undefined)).not.toEqual([])
  })

  it('boat_mirror_log sends each entry once, by the root of the months, and no deletes', async () => {
    const changes = received.get('boat_mirror_log') ?? []
    expect(new Set(changes.map(({ tag, relation }) => `${tag} ${relation.schema}.${relation.name}`))).toEqual(
      new Set(['insert mirror.change_log']),
    )
    const { rows } = await owner.query<Row>('select * from mirror.change_log')
    expect(sorted(changes.map((change) => (change.tag === 'insert' ? change.new : {})))).toEqual(
      sorted([...rows, ...gone]),
    )
  })

  it.runIf(hasColumnLists)('boat_mirror_reader makes a copy of each view of mirror_views, and no person', async () => {
    const changes = received.get('boat_mirror_reader') ?? []
    const tables = replay(changes)
    const shown = streams.filter(({ document }) => document !== true).map(({ name }) => name)
    expect([...tables.keys()].filter((name) => !shown.includes(name.replace('mirror.', '')))).toEqual([])
    for (const name of shown) {
      const { rows } = await owner.query<Row>(`select * from mirror_views.${name}`)
      expect(sorted(tables.get(`mirror.${name}`)?.values() ?? []), name).toEqual(sorted(rows))
    }
    const { rows: users } = await owner.query<{ email: string }>(
      'select email from mirror.users where email is not null',
    )
    const emails = users.map(({ email }) => email)
    const sent = (publication: string): string =>
      JSON.stringify(received.get(publication)?.map((each) => ({ ...each, relation: null })))
    expect(emails.length).toBeGreaterThan(3)
    expect(emails.filter((email) => !sent('boat_mirror_partner').includes(email))).toEqual([])
    expect(emails.filter((email) => sent('boat_mirror_reader').includes(email))).toEqual([])
  })
})
