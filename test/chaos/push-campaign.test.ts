// Every operation under every fault, pushers as processes that are killed, and the sandbox's truth as the judge: the effect
// exactly once, or `unknown` and at most once; order kept; nothing left sending. A seeded slice in CI (each operation once while its
// worker is killed after the effect, on one backend of the queue, and beside a second worker, on the other), all ten faults on both
// with `npm run chaos -- --only changes`. What answers alone do to a change, test/outbox/model.test.ts draws, and the storm.

import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createSandbox, type FaultRule, type Sandbox } from '../../sandbox/index.ts'
import { writes } from '../../src/catalog/writes.ts'
import { sleep } from '../../src/clock.ts'
import { migrateQueue } from '../../src/jobs/backend.ts'
import { createLogger } from '../../src/log.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { buildProgram, type Program, startProgram } from '../helpers/child-program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { type OwnPostgres, openOwnPostgres } from '../helpers/postgres-server.ts'
import { openTcpProxy } from '../helpers/tcp-proxy.ts'
import { effects } from '../outbox/effects.ts'
import { type Planned, Planner } from '../outbox/plans.ts'
import type { PushProcessOptions } from './push-process.ts'
import { report } from './report.ts'

const faults = [
  'killed before sending',
  'killed after the effect',
  'answer dropped',
  'timeout',
  '500 then fine',
  '429 with Retry-After',
  'connection refused',
  'database connections lost',
  'database restarted',
  'two workers at once',
] as const
type Fault = (typeof faults)[number]

const redis = inject('redisUrl')
const operations = writes.length
/** Changes under one fault on one backend. */
const runs = isFull ? 2 * operations : operations
const firstSeed = 1_000
/** Longest time for a batch to settle. */
const patienceMs = 120_000
const slice: readonly Fault[] = ['killed after the effect', 'two workers at once']
const chosen = isFull ? faults : slice

let database: TestDatabase
/** The server that is restarted, where that is among them; the others share theirs with all tests. */
let own: OwnPostgres | undefined
let program: Program

beforeAll(async () => {
  database = await createTestDatabase()
  if (chosen.includes('database restarted')) {
    own = await openOwnPostgres(join(inject('runFolder'), 'restarted'))
    await migrate(own.url)
    await migrateQueue(own.url, createLogger('silent'))
  }
  await migrateQueue(database.url, createLogger('silent'))
  program = await buildProgram('test/chaos/push-process.ts')
})

let restarts = 0
/** In turn as an administrator does it, and as a crash does. */
async function restartDatabase(): Promise<void> {
  await own?.stop(restarts++ % 2 === 0 ? 'fast' : 'immediate')
  await own?.start()
}

type Queue = 'Postgres' | 'Redis'

async function startPusher(queue: Queue, databaseUrl: string, apiUrl: string): Promise<Runner> {
  const redisUrl = queue === 'Redis' ? redis : null
  const { port, pathname } = new URL(databaseUrl)
  const queuePrefix = `chaos-${port}-${pathname.slice(1)}`
  const limits = { timeoutMs: 1_000, showDelayMs: 200, leaseMs: 1_500, concurrency: 32 }
  const options: PushProcessOptions = { databaseUrl, apiUrl, ...limits, redisUrl, queuePrefix }
  const child = startProgram(program.file, [JSON.stringify(options)])
  await child.nextLine()
  return {
    kill: async () => void (await child.end('SIGKILL')),
    stop: async () => void (await child.end('SIGTERM')),
  }
}

type Batch = {
  /** Changes of the plan; those that keep an order come on top. */
  readonly runs: number
  readonly statuses: Readonly<Record<string, number>>
  readonly violations: readonly string[]
}

/** A running pusher. */
type Runner = { kill(): Promise<void>; stop(): Promise<void> }

type Scene = {
  /** Starts a pusher on this API. */
  readonly start: (apiUrl: string) => Promise<Runner>
  readonly sandbox: Sandbox
  readonly pool: pg.Pool
  readonly plans: readonly Planned[]
  readonly ordered: readonly number[]
}

const linksInOrder = ['https://example.com/1', 'https://example.com/2', 'https://example.com/3'] as const
const orderedRentals = 4

async function queueAll({ pool, plans, ordered }: Scene): Promise<ReadonlyMap<string, Planned>> {
  const enqueue = async (operation: string, target: object, body: object): Promise<string> => {
    const { rows } = await pool.query<{ id: string }>('select outbox.enqueue($1, $2, $3) as id', [
      operation,
      JSON.stringify(target),
      JSON.stringify(body),
    ])
    return String(rows[0]?.id)
  }
  const queued = new Map<string, Planned>()
  for (const plan of plans) queued.set(await enqueue(plan.operation, plan.target, plan.body), plan)
  for (const orderLink of linksInOrder)
    for (const rentalId of ordered) await enqueue('rental.update', { rentalId }, { orderLink })
  return queued
}

/** One rule for each change, so that many of them share the fault. */
const disturb = ({ sandbox, plans, ordered }: Scene, respond: FaultRule['respond']): void => {
  for (const { endpoint, target } of plans) sandbox.fault({ op: endpoint, match: target, times: 1, respond })
  for (const rentalId of ordered)
    sandbox.fault({ op: 'PUT /v3/rentals/{rentalId}', match: { rentalId }, times: 1, respond })
}

const writesOf = (sandbox: Sandbox) =>
  sandbox.requests().filter(({ method, path }) => method !== 'GET' && path.startsWith('/v3/'))

async function until(condition: () => boolean | Promise<boolean>, patienceMs: number): Promise<boolean> {
  const end = Date.now() + patienceMs
  while (Date.now() < end) {
    if (await condition()) return true
    await sleep(50)
  }
  return await condition()
}

const isSettled = async (pool: pg.Pool): Promise<boolean> => {
  const { rowCount } = await pool.query(`select from outbox.queue where status in ('queued', 'sending') limit 1`)
  return rowCount === 0
}

/** Starts pushers, lets the fault happen, and leaves what stops them. */
async function act(fault: Fault, scene: Scene): Promise<() => Promise<void>> {
  const { sandbox, pool, plans } = scene
  const start = (apiUrl = sandbox.url): Promise<Runner> => scene.start(apiUrl)
  const inFlight = plans.length + orderedRentals
  switch (fault) {
    case 'killed before sending':
    case 'killed after the effect': {
      disturb(scene, fault === 'killed before sending' ? 'hang' : 'hangAfterEffect')
      const victim = await start()
      await until(() => writesOf(sandbox).length >= inFlight, 4_000)
      await victim.kill()
      const next = await start()
      return () => next.stop()
    }
    case 'connection refused': {
      const door = await openTcpProxy(sandbox.port)
      await door.refuse()
      const runner = await start(`http://127.0.0.1:${door.port}`)
      await sleep(1_500)
      await door.pass()
      return async () => {
        await runner.stop()
        await door.close()
      }
    }
    case 'database connections lost': {
      disturb(scene, { delayMs: 300 })
      const runner = await start()
      for (let round = 0; round < 8; round++) {
        await sleep(250)
        await pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name <> 'campaign'`,
        )
      }
      return () => runner.stop()
    }
    case 'database restarted': {
      disturb(scene, { delayMs: 300 })
      const runner = await start()
      for (let round = 0; round < 3; round++) {
        await until(() => writesOf(sandbox).length > 5 * round, 4_000)
        await restartDatabase()
      }
      return () => runner.stop()
    }
    case 'two workers at once': {
      disturb(scene, 'dropAfterEffect')
      const runners = await Promise.all([start(), start()])
      return async () => void (await Promise.all(runners.map((runner) => runner.stop())))
    }
    default: {
      const respond = {
        'answer dropped': 'dropAfterEffect',
        timeout: 'hangAfterEffect',
        '500 then fine': { status: 500 },
        '429 with Retry-After': { status: 429, retryAfter: 1 },
      } as const
      disturb(scene, respond[fault])
      const runner = await start()
      return () => runner.stop()
    }
  }
}

/** What is wrong with the outcome of a batch. */
async function judge(
  { sandbox, pool, ordered }: Scene,
  queued: ReadonlyMap<string, Planned>,
): Promise<{ statuses: Record<string, number>; violations: string[] }> {
  const { rows } = await pool.query<{ id: string; operation: string; status: string; error: string | null }>(
    'select id, operation, status, error from outbox.queue order by id',
  )
  const statuses: Record<string, number> = {}
  const violations: string[] = []
  for (const { id, operation, status, error } of rows) {
    statuses[status] = (statuses[status] ?? 0) + 1
    const plan = queued.get(id)
    const count = plan === undefined ? 1 : effects(sandbox, plan)
    const fine = status === 'done' ? count === 1 : status === 'unknown' && count <= 1
    if (!fine) violations.push(`change ${id} (${operation}) is ${status} with ${count} effects: ${error ?? ''}`)
  }
  for (const rentalId of ordered) {
    const links = writesOf(sandbox)
      .filter(({ path, method }) => method === 'PUT' && path === `/v3/rentals/${rentalId}`)
      .map(({ body }) => (JSON.parse(String(body)) as { orderLink?: string }).orderLink ?? '')
    if (links.some((link, place) => place > 0 && link < String(links[place - 1])))
      violations.push(`rental ${rentalId} was written out of order: ${links.join(', ')}`)
    const last = sandbox.truth({ only: ['rentals'] }).rentals?.find((row) => row.key.id === rentalId)?.record.orderLink
    if (last !== linksInOrder[2]) violations.push(`rental ${rentalId} ends with ${String(last)}`)
  }
  return { statuses, violations }
}

/** Each batch has a world of its own: what the mirror knows of the last one would be a wrong base. */
async function emptyAll(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ tables: string }>(
    `select string_agg(format('%I.%I', schemaname, tablename), ', ') as tables from pg_tables where schemaname = 'mirror'`,
  )
  await pool.query(`truncate outbox.queue, outbox.dependencies, ${rows[0]?.tables}`)
}

/** Queues all operations, lets the fault happen, and judges what is left. */
async function runBatch(fault: Fault, queue: Queue, seed: number): Promise<Batch> {
  const databaseUrl = (fault === 'database restarted' ? own : undefined)?.url ?? database.url
  await using sandbox = await createSandbox({ size: 160, seed })
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 3, application_name: 'campaign' })
  pool.on('error', () => {}) // connections of this database are ended on purpose
  try {
    await emptyAll(pool)
    const planner = new Planner(sandbox)
    const plans = planner.plan()
    const ordered = Array.from({ length: orderedRentals }, () => planner.rental())
    const start = (apiUrl: string): Promise<Runner> => startPusher(queue, databaseUrl, apiUrl)
    const scene: Scene = { start, sandbox, pool, plans, ordered }
    const queued = await queueAll(scene)
    const stop = await act(fault, scene)
    const settled = await until(() => isSettled(pool), patienceMs)
    await stop()
    const { statuses, violations } = await judge(scene, queued)
    if (!settled) violations.push('not everything settled in time')
    return { runs: queued.size, statuses, violations }
  } finally {
    await pool.end()
  }
}

/** In the slice each fault meets one backend, in turn; without Redis all of them meet Postgres. */
function queuesFor(place: number): readonly Queue[] {
  if (redis === null) return ['Postgres']
  if (isFull) return ['Postgres', 'Redis']
  return [place % 2 === 0 ? 'Postgres' : 'Redis']
}

const results: {
  readonly queue: Queue
  readonly fault: Fault
  readonly seed: number
  readonly batches: readonly Batch[]
}[] = []

describe('under faults, every change takes effect exactly once', () => {
  for (const [place, fault] of chosen.entries())
    for (const queue of queuesFor(place))
      it(`${fault} (queue on ${queue})`, { timeout: (180_000 * runs) / operations }, async () => {
        const seed = firstSeed + place * 100 + (queue === 'Redis' ? 50 : 0)
        const batches: Batch[] = []
        while (sum(batches, (batch) => batch.runs) < runs)
          batches.push(await runBatch(fault, queue, seed + batches.length))
        results.push({ queue, fault, seed, batches })
        expect(batches.flatMap((batch) => batch.violations)).toEqual([])
      })
})

const sum = (batches: readonly Batch[], of: (batch: Batch) => number): number =>
  batches.reduce((total, batch) => total + of(batch), 0)

afterAll(async () => {
  const ordered = faults.flatMap((fault) =>
    results.filter((result) => result.fault === fault).sort((a, b) => a.queue.localeCompare(b.queue)),
  )
  const total = sum(
    ordered.flatMap(({ batches }) => batches),
    (batch) => batch.runs,
  )
  report('changes', [
    '| fault | queue | seed | changes | done | unknown | violations |',
    '|---|---|---|---|---|---|---|',
    ...ordered.map(({ fault, queue, seed, batches }) => {
      const count = (status: string): number => sum(batches, ({ statuses }) => statuses[status] ?? 0)
      const violations = sum(batches, (batch) => batch.violations.length)
      const changes = sum(batches, (batch) => Object.values(batch.statuses).reduce((all, each) => all + each, 0))
      return `| ${fault} | ${queue} | ${seed} | ${changes} | ${count('done')} | ${count('unknown')} | ${violations} |`
    }),
    '',
    `${total} runs of an operation under a fault; the other changes are sequences on one rental, which must keep their order.`,
  ])
  await program[Symbol.asyncDispose]()
  await own?.close()
  await database[Symbol.asyncDispose]()
})
