// Changes under faults: a seeded slice in CI (each operation once while its worker is killed after the effect, on one backend of
// the queue, and beside a second worker, on the other), all ten on both of them with `npm run chaos -- --only changes`. What answers alone do to a change, test/outbox/model.test.ts draws, and the storm.

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { writes } from '../../src/catalog/writes.ts'
import { migrateQueue } from '../../src/jobs/backend.ts'
import { createLogger } from '../../src/log.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { buildProgram, type Program, startProgram } from '../helpers/child-program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { type OwnPostgres, openOwnPostgres } from '../helpers/postgres-server.ts'
import { type Batch, type Fault, faults, runPushCampaign, type StartRunner } from './push-campaign.ts'
import type { PushProcessOptions } from './push-process.ts'
import { report } from './report.ts'

const redis = inject('redisUrl')
const operations = writes.length
/** Changes under one fault on one backend. */
const runs = isFull ? 2 * operations : operations
const firstSeed = 1_000
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
}, 240_000)

let restarts = 0
/** In turn as an administrator does it, and as a crash does. */
async function restartDatabase(): Promise<void> {
  await own?.stop(restarts++ % 2 === 0 ? 'fast' : 'immediate')
  await own?.start()
}

type Queue = 'Postgres' | 'Redis'

const startOn =
  (queue: Queue): StartRunner =>
  async (address) => {
    const redisUrl = queue === 'Redis' ? redis : null
    const { port, pathname } = new URL(address.databaseUrl)
    const queuePrefix = `chaos-${port}-${pathname.slice(1)}`
    const limits = { timeoutMs: 1_000, showDelayMs: 200, leaseMs: 1_500, concurrency: 32 }
    const options: PushProcessOptions = { ...address, ...limits, redisUrl, queuePrefix }
    const child = startProgram(program.file, [JSON.stringify(options)])
    await child.nextLine()
    return {
      kill: async () => void (await child.end('SIGKILL')),
      stop: async () => void (await child.end('SIGTERM')),
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
        const batches = await runPushCampaign({
          seed,
          runs,
          only: [fault],
          databaseUrl: (fault === 'database restarted' ? own : undefined)?.url ?? database.url,
          restartDatabase,
          patienceMs: 120_000,
          start: startOn(queue),
        })
        results.push({ queue, fault, seed, batches })
        expect(batches.flatMap((batch) => batch.violations)).toEqual([])
        expect(batches.reduce((total, batch) => total + batch.runs, 0)).toBeGreaterThanOrEqual(runs)
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
