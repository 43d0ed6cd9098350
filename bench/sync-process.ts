// One worker of the product in a process of its own, wired as `sync` wires it: asks for a sync and works on it until it is
// done (`ask`), or only helps another one (`help`) until stopped.

import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Client } from 'pg'
import { openApp } from '../src/app.ts'
import { sleep } from '../src/clock.ts'
import { readConfig } from '../src/config.ts'
import { startSyncWorker } from '../src/jobs/worker.ts'
import { createLogger } from '../src/log.ts'
import { createRequest } from '../src/sync/due/requests.ts'
import { type Measured, measure, options, tell } from './measure.ts'

export type SyncOptions = {
  readonly role: 'ask' | 'help'
  readonly apiUrl: string
  /** Settings of the program, such as DATABASE_URL. */
  readonly env: Readonly<Record<string, string>>
  readonly streams: readonly string[]
  readonly full: boolean
  /** `lists`: the measured time ends when the lists are in the mirror, before their details are read. */
  readonly until: 'lists' | 'end'
  /** Where to write the addresses that were read, one a line; null: nowhere. */
  readonly addresses: string | null
  /** A database on which the same work is done before, unmeasured: the process is then as warm as a long-lived worker. */
  readonly warmUp: string | null
}

export type SyncResult = Measured & {
  readonly requests: number
  readonly pages: number
  readonly read: number
  readonly written: number
  /** Statements sent to Postgres by this process. */
  readonly roundTrips: number
  readonly notDone: readonly string[]
  readonly walBytes: number
  /** From the start of the process until it was ready to work: loading, compiling, connecting. */
  readonly start: { readonly ms: number; readonly cpuS: number }
  /** Milliseconds from the start of the process to its first commit of rows; null: it wrote none. */
  readonly firstRowMs: number | null
}

const wishes = options<SyncOptions>()
const log = createLogger(process.env.LOG_LEVEL ?? 'error')
const stop = new AbortController()

const addresses: string[] = []
if (wishes.addresses !== null)
  subscribe('undici:request:create', (message) => {
    addresses.push((message as { request: { path: string } }).request.path)
  })

let roundTrips = 0
const query = Client.prototype.query
Client.prototype.query = function (this: Client, ...args: unknown[]) {
  roundTrips++
  return Reflect.apply(query, this, args)
} as typeof query

let firstRowMs: number | null = null

/** A worker on a database. */
async function openWorker(database: string | undefined) {
  // What is done to get warm has a queue of its own: on the database it is done on.
  const own = database === undefined ? {} : { DATABASE_URL: database, REDIS_URL: undefined }
  const config = readConfig({ ...wishes.env, ...own }, '/')
  const options = { config, log, apiUrl: wishes.apiUrl, sandbox: true, schema: 'migrate', patienceMs: 60_000 } as const
  const app = await openApp(options)
  const backend = await app.openQueue(stop.signal)
  const { onCommit } = app.syncContext
  const context = {
    ...app.syncContext,
    onCommit: (written: number) => {
      firstRowMs ??= performance.now()
      onCommit(written)
    },
  }
  const worker = await startSyncWorker({ context, backend, log, beginsAtOnce: wishes.role === 'ask' })
  const close = async (): Promise<void> => {
    await worker.stop()
    await app[Symbol.asyncDispose]()
  }
  return { app, worker, close }
}

type Worker = Awaited<ReturnType<typeof openWorker>>

if (wishes.warmUp !== null) {
  const before = await openWorker(wishes.warmUp)
  await ask(before)
  await before.close()
  addresses.length = 0
}
const opened = await openWorker(undefined)
const cpu = process.cpuUsage()
const started = { ms: performance.now(), cpuS: (cpu.user + cpu.system) / 1e6 }

if (wishes.role === 'help') {
  tell({ ready: true })
  const idle = process.cpuUsage()
  await once(process, 'SIGTERM')
  const used = process.cpuUsage(idle)
  tell({ cpuS: (used.user + used.system) / 1e6 })
} else {
  const walBefore = await walOf(opened)
  const result = await measure(() => ask(opened))
  const walBytes = (await walOf(opened)) - walBefore
  if (wishes.addresses !== null) writeFileSync(wishes.addresses, addresses.join('\n'))
  tell({ ...result, walBytes, start: started, firstRowMs } satisfies SyncResult)
}
await opened.close()

/** Bytes of WAL that the server has written so far. */
async function walOf({ app }: Worker): Promise<number> {
  const { rows } = await app.database.pool.query<{ bytes: string }>(
    `select pg_current_wal_insert_lsn() - '0/0' as bytes`,
  )
  return Number(rows[0]?.bytes)
}

type RunRow = Record<'requests' | 'pages' | 'read' | 'written', number> & {
  readonly stream: string
  readonly status: string
  readonly swept: boolean
}

async function ask({
  app,
  worker,
}: Worker): Promise<Omit<SyncResult, keyof Measured | 'walBytes' | 'start' | 'firstRowMs'>> {
  const { pool } = app.database
  const before = roundTrips
  const { streams, full, until } = wishes
  const id = await createRequest(pool, { trigger: 'bench', streams, full })
  worker.poke()
  for (let polls = 1; ; polls++) {
    await sleep(20)
    const { rows } = await pool.query<RunRow>(
      `select r.stream, r.status, r.swept_at is not null as swept, r.requests::int, r.pages::int, r.read::int,
         (r.inserted + r.updated + r.deleted)::int as written
       from sync.request_streams s join sync.runs r on r.id = s.run_id where s.request_id = $1`,
      [id],
    )
    const over = rows.filter((row) => (until === 'lists' ? row.swept : row.status !== 'running'))
    if (over.length < streams.length) continue
    const sum = (name: 'requests' | 'pages' | 'read' | 'written'): number =>
      rows.reduce((all, row) => all + row[name], 0)
    const notDone = rows
      .filter((row) => row.status !== 'done' && until === 'end')
      .map((row) => `${row.stream}: ${row.status}`)
    return {
      requests: sum('requests'),
      pages: sum('pages'),
      read: sum('read'),
      written: sum('written'),
      roundTrips: roundTrips - before - polls,
      notDone,
    }
  }
}
