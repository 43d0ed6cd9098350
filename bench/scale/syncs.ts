// Many syncs of a small world of which a hundredth changes each time, a hundred of them a day: what is kept of them must not
// grow with their number.

import { Pool } from 'pg'
import { openApp } from '../../src/app.ts'
import { sleep } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { startSyncWorker } from '../../src/jobs/worker.ts'
import { createLogger } from '../../src/log.ts'
import { pruneHistory } from '../../src/mirror/history.ts'
import { createRequest } from '../../src/sync/due/requests.ts'
import { type Databases, openWorld, type World } from '../world.ts'

export type TableSize = { readonly table: string; readonly rows: number; readonly bytes: number }

export type SyncsResult = {
  readonly syncs: number
  /** After the first fifth, and after all of them. */
  readonly early: readonly TableSize[]
  readonly late: readonly TableSize[]
}

const rentals = 200
const streams = ['rentals', 'rental_options', 'rental_payments']
const aDay = 100
const prunedEvery = 10
const log = createLogger('error')

/** Carries out so many syncs. Between them the traces of the earlier ones grow older, and what is old enough goes. */
export async function measureSyncs(syncs: number, databases: Databases): Promise<SyncsResult> {
  const world = await openWorld(rentals)
  const databaseUrl = await databases.create()
  const pool = new Pool({ connectionString: databaseUrl, max: 2 })
  const config = readConfig({ DATABASE_URL: databaseUrl, HISTORY_DAYS: '1' }, '/nonexistent')
  const app = await openApp({ config, log, apiUrl: world.url, sandbox: true, schema: 'migrate', patienceMs: 60_000 })
  const backend = await app.openQueue(new AbortController().signal)
  const worker = await startSyncWorker({ context: app.syncContext, backend, log, beginsAtOnce: true })
  let early: readonly TableSize[] = []
  try {
    for (let sync = 1; sync <= syncs; sync++) {
      await changeSome(world, sync)
      const request = await createRequest(pool, { trigger: 'bench', streams, full: false })
      worker.poke()
      await ended(pool, request)
      if (sync % prunedEvery === 0) {
        await growOlder(pool, `${prunedEvery / aDay} days`)
        await pruneHistory(pool, { historyDays: config.historyDays })
      }
      if (sync === Math.ceil(syncs / 5)) early = await tableSizes(pool)
    }
    return { syncs, early, late: await tableSizes(pool) }
  } finally {
    await worker.stop()
    await app[Symbol.asyncDispose]()
    await pool.end()
    await world.close()
    await databases.drop(databaseUrl)
  }
}

async function changeSome(world: World, sync: number): Promise<void> {
  const answer = await fetch(
    `${world.url}/v3/rentals?order=creationDateAsc&perPage=2&page=${(sync % (rentals / 2)) + 1}`,
  )
  const records = (await answer.json()) as readonly { readonly id: number }[]
  await world.mutate(
    records.map(({ id }) => ({ record: 'rentals', op: 'update', id, set: { message: `changed before sync ${sync}` } })),
  )
}

async function ended(pool: Pool, request: string): Promise<void> {
  for (;;) {
    const { rows } = await pool.query('select from sync.requests where id = $1 and finished_at is not null', [request])
    if (rows.length > 0) return
    await sleep(20)
  }
}

/** Moves what was done into the past, as if each sync had come a hundredth of a day after the one before. */
async function growOlder(pool: Pool, by: string): Promise<void> {
  const tables = {
    'sync.runs': ['started_at', 'finished_at', 'swept_at'],
    'sync.requests': ['requested_at', 'finished_at'],
    'sync.tasks': ['created_at', 'finished_at'],
    'sync.list_pages': ['read_at'],
    'sync.detail_tags': ['read_at'],
    'mirror.change_log': ['changed_at'],
  }
  for (const [table, columns] of Object.entries(tables))
    await pool.query(
      `update ${table} set ${columns.map((column) => `${column} = ${column} - interval '${by}'`).join(', ')}`,
    )
}

/** All tables that hold rows, of the queue too, after what autovacuum does. */
async function tableSizes(pool: Pool): Promise<readonly TableSize[]> {
  await pool.query('vacuum')
  const { rows: tables } = await pool.query<{ name: string; bytes: number }>(
    `select c.oid::regclass::text as name, pg_total_relation_size(c.oid)::float8 as bytes
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname <> 'information_schema' and n.nspname !~ '^pg_' order by 1`,
  )
  const sizes: TableSize[] = []
  for (const { name, bytes } of tables) {
    const { rows } = await pool.query<{ rows: number }>(`select count(*)::int as rows from ${name}`)
    sizes.push({ table: name, rows: rows[0]?.rows ?? 0, bytes })
  }
  return sizes
}
