// One storm: workers at work, a world that moves, partners and a consumer, and every fault there is, by a timetable drawn
// from the seed. Then calm, and the judgement.

import type { LoggedRequest, Sandbox } from '../../../sandbox/index.ts'
import { sleep } from '../../../src/clock.ts'
import { differencesFromTruth } from '../../helpers/truth.ts'
import { findActiveJobs, findLeaks, findOverlaps, findStuck } from './aftermath.ts'
import { startConsumer } from './consumer.ts'
import { runCommand, startFleet } from './fleet.ts'
import { injectors, possibleKinds } from './injectors.ts'
import { startPartners } from './partners.ts'
import { askPatiently } from './pool.ts'
import { allKinds, drawSchedule, type Fault, type FaultKind, kinds } from './schedule.ts'
import { openStage, type Queue, type Stage } from './stage.ts'

export type StormOptions = {
  readonly queue: Queue
  readonly seed: number
  /** How long faults happen, in milliseconds. */
  readonly ms: number
  readonly workers: number
  /** Rentals of the world. */
  readonly size: number
  /** An empty folder for the services, removed by the caller. */
  readonly folder: string
  /** Where the logs of the workers go. */
  readonly logs: string
  readonly onEvent?: (line: string) => void
  /** Breaks the storm off: it rejects once its services are stopped. */
  readonly signal?: AbortSignal
}

export type StormResult = Awaited<ReturnType<typeof runStorm>>

/** A worker takes about 200 MB (docs/operations.md); with everything at once it may take half as much again. */
export const memoryBoundMb = 300
/** After the last fault: no two minutes without a change that moves on, and an end within ten. */
const patience = { quietMs: 120_000, longestMs: 600_000 }
const roundEveryMs = 700
const roundSize = 3
const storyEveryMs = 600
const schedules = {
  rentals: '3s',
  users: '4s',
  companies: '15s',
  resources: '15s',
  resource_slots: '20s',
}

/** Rounds of random changes that leave alone what partners work on. */
function startWorld(sandbox: Sandbox, seed: number, reserved: ReadonlySet<string>) {
  const stopping = new AbortController()
  const own = { rentals: new Set<string>(), users: new Set<string>() }
  const truth = sandbox.truth({ only: ['rentals', 'users'] })
  for (const { key } of truth.rentals ?? []) if (!reserved.has(String(key.id))) own.rentals.add(String(key.id))
  for (const { key } of truth.users ?? []) own.users.add(String(key.id))
  let rounds = 0
  let changes = 0
  const go = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const applied = sandbox.mutateRandomly(roundSize, seed * 10_000 + rounds, ({ record, op, id, parent }) => {
        if (record === 'resource_options') return true // stories count on the options there are
        const owner =
          record === 'rentals' || record.startsWith('rental_')
            ? own.rentals
            : record.startsWith('user')
              ? own.users
              : null
        if (owner === null || (record === 'rentals' && op === 'insert') || (record === 'users' && op === 'insert'))
          return false
        return !owner.has(String(parent ?? id))
      })
      for (const { record, op, id } of applied)
        if (op === 'insert' && (record === 'rentals' || record === 'users')) own[record].add(id)
      rounds++
      changes += applied.length
      await sleep(roundEveryMs, stopping.signal).catch(() => undefined) // stopped
    }
  }
  const going = go()
  return {
    counts: () => ({ rounds, changes }),
    stop: async () => {
      stopping.abort()
      await going
    },
  }
}

/** Keeps the writes among the requests, which are too many to be remembered by the sandbox. */
function startJournal(sandbox: Sandbox) {
  const writes: LoggedRequest[] = []
  let requests = 0
  const take = (): void => {
    const seen = sandbox.requests()
    sandbox.resetRequests()
    requests += seen.length
    writes.push(...seen.filter(({ method }) => method !== 'GET'))
  }
  const timer = setInterval(take, 1_000)
  return {
    stop: (): { writes: readonly LoggedRequest[]; requests: number } => {
      clearInterval(timer)
      take()
      return { writes, requests }
    },
  }
}

/** Carries the timetable out. On a slow machine a fault may take longer than planned: the next of its target waits. */
async function inject(timetable: readonly Fault[], carryOut: (fault: Fault) => Promise<void>): Promise<void> {
  const startedAt = Date.now()
  const targets = new Set(timetable.map(({ kind }) => kinds[kind].target))
  await Promise.all(
    [...targets].map(async (target) => {
      for (const fault of timetable.filter(({ kind }) => kinds[kind].target === target)) {
        await sleep(Math.max(0, startedAt + fault.atMs - Date.now()))
        await carryOut(fault)
      }
    }),
  )
}

async function numberOf(stage: Stage, sql: string): Promise<number> {
  const [row] = await askPatiently<{ n: number }>(stage.control, sql)
  return row?.n ?? 0
}

/** Runs one storm to its judgement. */
export async function runStorm(options: StormOptions) {
  const { seed, folder, queue, signal, onEvent = () => {} } = options
  const stage = await openStage({ folder, queue, seed, size: options.size })
  const brokenOff = new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  try {
    return await Promise.race([storm(stage, options, onEvent), brokenOff])
  } finally {
    await stage.close()
  }
}

async function storm(stage: Stage, options: StormOptions, tell: (line: string) => void) {
  const { seed, ms, workers, logs, queue } = options
  const { sandbox, env } = stage
  const violations: string[] = []
  const startedAt = Date.now()
  const at = (): string => `${((Date.now() - startedAt) / 1_000).toFixed(1)} s`
  const violate = (found: readonly string[]): void => {
    for (const each of found) violations.push(`[${at()}] ${each}`)
  }
  const migrated = await runCommand(['migrate'], env)
  if (migrated.code !== 0) throw new Error(`migrate ended with ${migrated.code}: ${migrated.text}`)

  const fleet = startFleet({ size: workers, env, folder: logs, schedules })
  const partners = startPartners({ databaseUrl: stage.ownerUrl, sandbox, seed, everyMs: storyEveryMs })
  const world = startWorld(sandbox, seed, partners.rentals)
  const consumer = startConsumer(stage.ownerUrl)
  const journal = startJournal(sandbox)
  const faults = new Map<FaultKind, number>()
  const possible = possibleKinds(stage, allKinds)
  const wanted = allKinds.filter((kind) => possible.get(kind) === null)
  let settledInMs = 0
  try {
    await inject(drawSchedule(seed, ms, wanted), async (fault) => {
      tell(`${at()} ${fault.kind}, for ${fault.ms} ms`)
      await injectors[fault.kind]({ stage, fleet }, fault)
      faults.set(fault.kind, (faults.get(fault.kind) ?? 0) + 1)
    })
    tell(`${at()} calm`)
    await Promise.all([partners.stop(), world.stop()])
    const calmAt = Date.now()
    const open = await partners.settled(patience)
    if (open !== null) violate([`changes did not settle: ${open}`])
    settledInMs = Date.now() - calmAt
    tell(`${at()} settled`)
    const last = await runCommand(['sync', '--full'], env)
    // 3: done, and something needs attention, such as a false record in quarantine.
    if (last.code !== 0 && last.code !== 3) violate([`the last sync ended with ${last.code}: ${last.text}`])
    tell(`${at()} synced`)
    violate(await findStuck(stage.control, 30_000))
    violate(
      (await differencesFromTruth(stage.control, sandbox.truthText())).map(
        (each) => `mirror and truth differ: ${each}`,
      ),
    )
  } finally {
    await Promise.all([partners.stop(), world.stop()])
    violate(await fleet.stop())
  }
  tell(`${at()} stopped`)
  violate(fleet.crashes)
  violate(await consumer.finish())
  violate(await findOverlaps(stage.control))
  violate(await findLeaks(stage.control, 5_000))
  violate(await findActiveJobs(stage.controlUrl, stage.redis?.server.url ?? null))
  const { writes, requests } = journal.stop()
  const { statuses, stories, violations: wrong } = await partners.judge(writes)
  violate(wrong)
  const peakMb = fleet.peakMb()
  if (peakMb !== null && peakMb > memoryBoundMb) violate([`a worker took ${peakMb} MB, more than ${memoryBoundMb} MB`])
  const { rounds, changes } = world.counts()
  return {
    queue,
    seed,
    ms,
    workers,
    /** How often each kind happened. */
    faults,
    /** Kinds that are not possible here, and why. */
    impossible: new Map([...possible].flatMap(([kind, why]) => (why === null ? [] : [[kind, why] as const]))),
    stories,
    statuses,
    worldRounds: rounds,
    worldChanges: changes,
    requests,
    runs: await numberOf(stage, 'select count(*)::int as n from sync.runs'),
    rows: await numberOf(stage, 'select sum(rows)::int as n from sync.streams'),
    feedRows: consumer.count(),
    refusedStarts: fleet.refusals(),
    peakMb,
    settledInMs,
    violations,
  }
}
