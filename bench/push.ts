// Write-back: how soon a queued change reaches an idle API, and how many changes a second go through.

import { Client, Pool } from 'pg'
import { Pool as Http } from 'undici'
import { sleep } from '../src/clock.ts'
import type { Place } from './lists.ts'
import { start } from './processes.ts'
import type { PushOptions } from './push-process.ts'

export type PushResult = {
  /** Milliseconds from the commit of `outbox.enqueue` to the arrival of the write at the API, of each sample. */
  readonly latenciesMs: readonly number[]
  readonly full: { readonly changes: number; readonly rentals: number; readonly ms: number }
  /** The same additions by a bare queue: one request a change, in order for each rental. */
  readonly bareMs: number
}

type Logged = { readonly time: string; readonly method: string; readonly body: unknown }

const idleMs = 250
/** Requests at once, of the product and of the bare queue. */
const places = 8

/** Runs a push worker on a database whose rentals were mirrored. */
export async function runPush(
  { databases, programs, world }: Place,
  wishes: { readonly prepared: string; readonly samples: number; readonly changes: number; readonly rentals: number },
): Promise<PushResult> {
  const database = await databases.copy(wishes.prepared)
  const options: PushOptions = { apiUrl: world.url, env: { DATABASE_URL: database, API_CONCURRENCY: String(places) } }
  const worker = start(programs.push, [JSON.stringify(options)])
  const client = new Client({ connectionString: database })
  try {
    await client.connect()
    await worker.next()
    const { rows } = await client.query<{ id: string }>(
      `select id from mirror.rentals where status = 'VALIDATED' order by id limit $1`,
      [wishes.rentals],
    )
    const ids = rows.map(({ id }) => Number(id))
    if (ids.length < wishes.rentals) throw new Error(`The world has only ${ids.length} validated rentals.`)
    const latencies: number[] = []
    for (let sample = 0; sample < wishes.samples; sample++) {
      await sleep(idleMs)
      latencies.push(await latency(client, world.url, ids[sample % ids.length] ?? 0, sample))
    }
    // Old statistics, as autovacuum leaves them at some moments: all that is in the outbox is done.
    await client.query('analyze outbox.queue')
    const ms = await drain(client, ids, wishes.changes)
    await worker.end()
    const bareMs = await drainBare(database, world.url, ids, wishes.changes)
    return { latenciesMs: latencies, full: { changes: wishes.changes, rentals: ids.length, ms }, bareMs }
  } finally {
    await client.end()
    await worker.end()
    await databases.drop(database)
  }
}

/** Queues one crew member and waits until its request arrived. */
async function latency(client: Client, apiUrl: string, rentalId: number, sample: number): Promise<number> {
  const firstName = `Sample ${sample}`
  await client.query(`select outbox.enqueue('rental_crew_member.add', $1, $2)`, [
    JSON.stringify({ rentalId }),
    JSON.stringify({ firstName, lastName: 'Bench', type: 'ADULT' }),
  ])
  const committedAt = Date.now()
  for (;;) {
    const requests = (await (await fetch(`${apiUrl}/_sandbox/requests`)).json()) as Logged[]
    const sent = requests.find(({ method, body }) => method === 'POST' && JSON.stringify(body).includes(firstName))
    if (sent !== undefined) {
      await fetch(`${apiUrl}/_sandbox/requests`, { method: 'DELETE' })
      return Date.parse(sent.time) - committedAt
    }
    if (Date.now() - committedAt > 60_000) throw new Error('A queued change did not reach the API within a minute.')
    await sleep(20)
  }
}

/** Queues changes in one transaction, spread over the rentals; returns how long it takes until all are done. */
async function drain(client: Client, ids: readonly number[], changes: number): Promise<number> {
  await client.query('begin')
  for (let change = 0; change < changes; change++)
    await client.query(`select outbox.enqueue('rental_crew_member.add', $1, $2)`, [
      JSON.stringify({ rentalId: ids[change % ids.length] }),
      JSON.stringify({ firstName: `Drain ${change}`, lastName: 'Bench', type: 'ADULT' }),
    ])
  await client.query('commit')
  const began = performance.now()
  for (;;) {
    await sleep(50)
    const { rows } = await client.query<{ status: string; count: number }>(
      `select status, count(*)::int as count from outbox.changes group by status`,
    )
    const open = rows.filter(({ status }) => status === 'queued' || status === 'sending')
    if (open.length > 0) continue
    const bad = rows.filter(({ status }) => status !== 'done')
    if (bad.length > 0) throw new Error(`Not all changes are done: ${JSON.stringify(rows)}`)
    return performance.now() - began
  }
}

/**
 * What a queue of jobs costs that sends one request a change, in order for each rental, and does nothing else: no merge, no check
 * of what the API has, no evidence.
 */
async function drainBare(
  databaseUrl: string,
  apiUrl: string,
  ids: readonly number[],
  changes: number,
): Promise<number> {
  const database = new Pool({ connectionString: databaseUrl, max: places })
  const api = new Http(apiUrl, { connections: places })
  try {
    await database.query(`create schema bare; create table bare.jobs (id bigint generated always as identity primary key,
      rental bigint not null, body jsonb not null, running boolean not null default false)`)
    await database.query(
      `insert into bare.jobs (rental, body) select ($1::bigint[])[1 + n % cardinality($1::bigint[])],
         jsonb_build_object('firstName', 'Bare ' || n, 'lastName', 'Bench', 'type', 'ADULT')
       from generate_series(0, $2::int - 1) n`,
      [ids, changes],
    )
    await database.query('create index on bare.jobs (rental, id); analyze bare.jobs')
    const began = performance.now()
    await Promise.all(Array.from({ length: places }, () => workOff(database, api)))
    return performance.now() - began
  } finally {
    await database.end()
    await api.close()
  }
}

async function workOff(database: Pool, api: Http): Promise<void> {
  for (;;) {
    const { rows } = await database.query<{ id: string; rental: string; body: unknown }>({
      name: 'next',
      text: nextJob,
    })
    const [job] = rows
    if (job === undefined) return
    const { statusCode, body } = await api.request({
      method: 'POST',
      path: `/v3/rentals/${job.rental}/crewMembers`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(job.body),
    })
    await body.dump()
    if (statusCode >= 300) throw new Error(`A bare request was answered with ${statusCode}.`)
    await database.query({ name: 'done', text: 'delete from bare.jobs where id = $1', values: [job.id] })
  }
}

/** The first job that no other of its rental comes before. */
const nextJob = `update bare.jobs set running = true where id = (
    select id from bare.jobs j where not running and not exists (select from bare.jobs b where b.rental = j.rental and b.id < j.id)
    order by id limit 1 for update skip locked)
  returning id, rental, body`
