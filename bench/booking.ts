// How soon a new booking of the API is a row of the mirror, and with the receiver of the webhook: a whole worker at ten
// requests a second, on a mirror that was read completely.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Client } from 'pg'
import { streams } from '../src/catalog/catalog.ts'
import { sleep } from '../src/clock.ts'
import { nodeFlags, type Place } from './lists.ts'
import { runOnce, start } from './processes.ts'
import { openBenchReceiver } from './receiver.ts'
import type { SyncOptions } from './sync-process.ts'

export type BookingResult = {
  /** Milliseconds from the insert upstream to the row, as the change log dates it. */
  readonly toRow: readonly number[]
  /** Milliseconds from there to the receiver. */
  readonly toWebhook: readonly number[]
}

/** What stands inside a record is read with it. */
const ownReads = streams.filter(({ reads }) => reads.kind !== 'inside').map(({ name }) => name)
const program = resolve('dist/src/cli/main.js')
const ratePerSecond = 10
const firstId = 900_000_000
/** The longest that a booking may take before the bench gives up. */
const patienceMs = 300_000

/** Makes bookings upstream, at moments that are spread over the minute between the worker's hot runs. */
export async function runBookings({ databases, programs, world }: Place, bookings: number): Promise<BookingResult> {
  const database = await databases.create()
  const env = { DATABASE_URL: database, API_BASE_URL: world.url, API_AUTH: 'none' }
  const read: SyncOptions = {
    ...{ role: 'ask', apiUrl: world.url, env, streams: ownReads },
    ...{ full: false, until: 'end', addresses: null, warmUp: null },
  }
  await runOnce(programs.sync, read, nodeFlags)
  const receiver = await openBenchReceiver()
  const rows = new Map<number, { readonly written: number; readonly received: number }>()
  receiver.onChange = ({ stream, key, changedAt }, received) => {
    if (stream === 'rentals' && key.id !== undefined && !rows.has(key.id))
      rows.set(key.id, { written: Date.parse(changedAt), received })
  }
  const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-bench-worker-'))
  const settings = {
    ...env,
    API_RATE_LIMIT: String(ratePerSecond),
    LOG_LEVEL: 'error',
    PORT: '0',
    WEBHOOK_URL: receiver.url,
    WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  }
  const worker = start(program, ['worker'], [], { cwd: folder, env: settings })
  try {
    await begun(database)
    const made = new Map<number, number>()
    for (let booking = 1; booking <= bookings; booking++) {
      // Eight of them a minute, each at another place in it.
      await sleep(7_000 + Math.random() * 1_000)
      const id = firstId + booking
      made.set(id, Date.now())
      await world.mutate([{ record: 'rentals', op: 'insert', id }])
    }
    for (const deadline = Date.now() + patienceMs; [...made.keys()].some((id) => !rows.has(id)); await sleep(500))
      if (Date.now() > deadline) throw new Error('A booking did not reach the receiver within five minutes.')
    const legs = [...made].map(([id, at]) => {
      const { written = Number.NaN, received = Number.NaN } = rows.get(id) ?? {}
      return { toRow: written - at, toWebhook: received - written }
    })
    return { toRow: legs.map(({ toRow }) => toRow), toWebhook: legs.map(({ toWebhook }) => toWebhook) }
  } finally {
    await worker.end()
    await receiver.close()
    await rm(folder, { recursive: true, force: true })
    await databases.drop(database)
  }
}

/** Waits until the worker follows the changes. */
async function begun(database: string): Promise<void> {
  const client = new Client({ connectionString: database })
  await client.connect()
  try {
    for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(200)) {
      const { rowCount } = await client.query(`select from sync.consumers where name = 'boat-mirror.webhook'`)
      if (rowCount === 1) return
    }
    throw new Error('The worker did not begin within a minute.')
  } finally {
    await client.end()
  }
}
