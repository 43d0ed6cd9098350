// How soon a committed change is with who follows the mirror: a consumer that listens, as docs/feed.md shows it, and the
// receiver of the webhook. Idle, one change at a time; and at 500 changes a second, ten in each commit.

import { Client } from 'pg'
import { sleep } from '../src/clock.ts'
import { start } from './processes.ts'
import type { Programs } from './programs.ts'
import { type BenchReceiver, openBenchReceiver } from './receiver.ts'
import type { WebhookOptions } from './webhook-process.ts'
import type { Databases } from './world.ts'
import type { Committed, WriterOptions } from './writer-process.ts'

export type FeedWishes = {
  /** Changes committed one by one. */
  readonly samples: number
  /** Seconds of 500 changes each. */
  readonly seconds: number
}

/** Milliseconds from the commit of each change to its arrival. */
export type FeedResult = Readonly<Record<'consumer' | 'webhook', { readonly idle: number[]; readonly busy: number[] }>>

type Place = { readonly databases: Databases; readonly programs: Programs }

/** When each record arrived. */
type Arrivals = Map<number, number>

/** Measures both, one after the other, so that neither keeps the other waiting. */
export async function runFeed(place: Place, wishes: FeedWishes): Promise<FeedResult> {
  return { consumer: await ofConsumer(place, wishes), webhook: await ofWebhook(place, wishes) }
}

async function ofConsumer({ databases, programs }: Place, wishes: FeedWishes) {
  const database = await databases.create()
  const arrivals: Arrivals = new Map()
  const client = new Client({ connectionString: database })
  await client.connect()
  await client.query('listen boat_mirror_changes')
  let isOver = false
  const consume = async (): Promise<void> => {
    while (!isOver) {
      const { rows } = await client.query(`select * from mirror.next_changes('bench', 500)`)
      const at = Date.now()
      for (const { key } of rows) arrivals.set(key.id, at)
      if (rows.length > 0) await client.query(`select mirror.ack_changes('bench', $1)`, [rows.at(-1).cursor])
      else
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 5_000)
          client.once('notification', () => {
            clearTimeout(timer)
            resolve()
          })
        })
    }
  }
  const consuming = consume()
  try {
    return await both({ database, programs, arrivals }, wishes)
  } finally {
    isOver = true
    await consuming
    await client.end()
    await databases.drop(database)
  }
}

async function ofWebhook({ databases, programs }: Place, wishes: FeedWishes) {
  const database = await databases.create()
  const arrivals: Arrivals = new Map()
  const receiver: BenchReceiver = await openBenchReceiver()
  receiver.onChange = ({ key }, at) => arrivals.set(key.id ?? 0, at)
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const options: WebhookOptions = {
    env: { DATABASE_URL: database, WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: secret },
  }
  const worker = start(programs.webhook, [JSON.stringify(options)])
  try {
    await worker.next()
    await sleep(2_000) // it registers its consumer
    return await both({ database, programs, arrivals }, wishes)
  } finally {
    await worker.end()
    await receiver.close()
    await databases.drop(database)
  }
}

type Following = { readonly database: string; readonly programs: Programs; readonly arrivals: Arrivals }

async function both(following: Following, { samples, seconds }: FeedWishes) {
  const idle = await latencies(following, { commits: samples, changesEach: 1, everyMs: 250, firstId: 1 })
  const busy = { commits: seconds * 50, changesEach: 10, everyMs: 20, firstId: 1_000_000 }
  return { idle, busy: await latencies(following, busy) }
}

/** Lets a process commit, and waits until everything has arrived. */
async function latencies(
  { database, programs, arrivals }: Following,
  work: Omit<WriterOptions, 'env'>,
): Promise<number[]> {
  const options: WriterOptions = { env: { DATABASE_URL: database }, ...work }
  const writer = start(programs.writer, [JSON.stringify(options)])
  const { committed } = await writer.next<Committed>()
  await writer.end()
  for (let tries = 0; committed.some(([id]) => !arrivals.has(id)); tries++) {
    if (tries > 600) throw new Error('Not every change arrived within a minute.')
    await sleep(100)
  }
  return committed.map(([id, at]) => (arrivals.get(id) ?? Number.NaN) - at)
}
