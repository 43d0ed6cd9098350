// A campaign of faults against the pusher: every operation under every fault, pushers as processes that are killed, and the
// sandbox's truth as the judge: the effect exactly once, or `unknown` and at most once; order kept; nothing left sending.

import { once } from 'node:events'
import { createServer, connect as openSocket, type Server } from 'node:net'
import pg from 'pg'
import { createSandbox, type FaultRule, type Sandbox } from '../../sandbox/index.ts'
import { sleep } from '../../src/clock.ts'
import { effects } from '../outbox/effects.ts'
import { type Planned, Planner } from '../outbox/plans.ts'

/** A running pusher: a process, or several that share a queue. */
export type Runner = { kill(): Promise<void>; stop(): Promise<void> }

/** Starts a pusher on this database and API. */
export type StartRunner = (address: { readonly databaseUrl: string; readonly apiUrl: string }) => Promise<Runner>

export const faults = [
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
export type Fault = (typeof faults)[number]

export type CampaignOptions = {
  readonly seed: number
  /** Changes under a fault at least; each fault is given all operations at a time. */
  readonly runs: number
  /** A migrated database; its outbox is emptied. */
  readonly databaseUrl: string
  readonly start: StartRunner
  /** Stops the server of that database and starts it again; needed for the fault of that name. */
  readonly restartDatabase?: () => Promise<void>
  /** Only these; default: all ten. */
  readonly only?: readonly Fault[]
  /** Longest time for a batch to settle, in milliseconds. */
  readonly patienceMs?: number
  readonly onBatch?: (batch: Batch) => void
}

export type Batch = {
  readonly fault: Fault
  readonly seed: number
  readonly runs: number
  readonly statuses: Readonly<Record<string, number>>
  readonly violations: readonly string[]
  readonly ms: number
}

type Scene = {
  readonly options: CampaignOptions
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

/** A port on which nothing listens yet; `open` lets it lead to the sandbox. */
async function closedDoor(
  target: number,
): Promise<{ readonly url: string; open(): Promise<void>; close(): Promise<void> }> {
  const server: Server = createServer((client) => {
    const upstream = openSocket(target, '127.0.0.1')
    client.pipe(upstream).pipe(client)
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
  })
  const listenOn = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : port
  }
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  const port = await listenOn(0)
  await close()
  return { url: `http://127.0.0.1:${port}`, open: async () => void (await listenOn(port)), close }
}

/** Starts pushers, lets the fault happen, and leaves what stops them. */
async function act(fault: Fault, scene: Scene): Promise<() => Promise<void>> {
  const { options, sandbox, pool, plans } = scene
  const { databaseUrl } = options
  const start = (apiUrl = sandbox.url): Promise<Runner> => options.start({ databaseUrl, apiUrl })
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
      const door = await closedDoor(sandbox.port)
      const runner = await start(door.url)
      await sleep(1_500)
      await door.open()
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
      if (options.restartDatabase === undefined) throw new Error('There is no server that may be restarted.')
      disturb(scene, { delayMs: 300 })
      const runner = await start()
      for (let round = 0; round < 3; round++) {
        await until(() => writesOf(sandbox).length > 5 * round, 4_000)
        await options.restartDatabase()
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

async function runBatch(fault: Fault, seed: number, options: CampaignOptions): Promise<Batch> {
  const startedAt = Date.now()
  await using sandbox = await createSandbox({ size: 160, seed })
  const pool = new pg.Pool({ connectionString: options.databaseUrl, max: 3, application_name: 'campaign' })
  pool.on('error', () => {}) // connections of this database are ended on purpose
  try {
    await emptyAll(pool)
    const planner = new Planner(sandbox)
    const plans = planner.plan()
    const scene: Scene = {
      options,
      sandbox,
      pool,
      plans,
      ordered: Array.from({ length: orderedRentals }, () => planner.rental()),
    }
    const queued = await queueAll(scene)
    const stop = await act(fault, scene)
    const settled = await until(() => isSettled(pool), options.patienceMs ?? 60_000)
    await stop()
    const { statuses, violations } = await judge(scene, queued)
    if (!settled) violations.push('not everything settled in time')
    return { fault, seed, runs: queued.size, statuses, violations, ms: Date.now() - startedAt }
  } finally {
    await pool.end()
  }
}

/** Runs batches, one fault after the other, until there were enough runs; each fault has at least one. */
export async function runPushCampaign(options: CampaignOptions): Promise<readonly Batch[]> {
  const chosen = options.only ?? faults
  const batches: Batch[] = []
  let runs = 0
  for (let round = 0; round === 0 || runs < options.runs; round++)
    for (const [place, fault] of chosen.entries()) {
      const batch = await runBatch(fault, options.seed + round * chosen.length + place, options)
      batches.push(batch)
      runs += batch.runs
      options.onBatch?.(batch)
      if (round > 0 && runs >= options.runs) break
    }
  return batches
}
