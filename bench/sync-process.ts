// One worker of the product in a process of its own, wired as `sync` wires it: asks for a sync and works on it until it is
// done (`ask`), or only helps another one (`help`) until it is told to stop.

import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Client } from 'pg'
import { type App, openApp } from '../src/app.ts'
import { sleep } from '../src/clock.ts'
import { readConfig } from '../src/config.ts'
import { startSyncWorker } from '../src/jobs/worker.ts'
import { createLogger } from '../src/log.ts'
import { createRequest } from '../src/state/runs.ts'
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
}

export type SyncResult = Measured & {
  readonly requests: number
  readonly pages: number
  readonly read: number
  readonly written: number
  /** Statements sent to Postgres by this process. */
  readonly roundTrips: number
  readonly notDone: readonly string[]
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

const config = readConfig(wishes.env, '/')
const app = await openApp({ config, log, apiUrl: wishes.apiUrl, sandbox: true, schema: 'migrate', patienceMs: 60_000 })
const backend = await app.openQueue(stop.signal)
const worker = await startSyncWorker({ context: app.syncContext, backend, log })

if (wishes.role === 'help') {
  tell({ ready: true })
  const idle = process.cpuUsage()
  await once(process, 'SIGTERM')
  const used = process.cpuUsage(idle)
  tell({ cpuS: (used.user + used.system) / 1e6 })
} else {
  const result = await measure(() => ask(app))
  if (wishes.addresses !== null) writeFileSync(wishes.addresses, addresses.join('\n'))
  tell(result)
}
await worker.stop()
await app[Symbol.asyncDispose]()

type RunRow = Record<'requests' | 'pages' | 'read' | 'written', number> & {
  readonly stream: string
  readonly status: string
  readonly swept: boolean
}

async function ask({ database: { pool } }: App): Promise<Omit<SyncResult, keyof Measured>> {
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
