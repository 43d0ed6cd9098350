// A seeded slice of the campaign: each of the 22 operations once under each of the nine faults. CHAOS_SEED and CHAOS_RUNS
// (changes per fault) make it another or a longer one.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildProgram, type Program, startProgram } from '../helpers/child-program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { faults, runPushCampaign, type StartRunner } from './push-campaign.ts'
import type { PushProcessOptions } from './push-process.ts'

let database: TestDatabase
let program: Program

beforeAll(async () => {
  database = await createTestDatabase()
  program = await buildProgram('test/chaos/push-process.ts')
})
afterAll(async () => {
  await program[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const start: StartRunner = async (address) => {
  const options: PushProcessOptions = {
    ...address,
    timeoutMs: 1_000,
    showDelayMs: 200,
    leaseMs: 1_500,
    concurrency: 32,
  }
  const child = startProgram(program.file, [JSON.stringify(options)])
  await child.nextLine()
  return {
    kill: async () => void (await child.end('SIGKILL')),
    stop: async () => void (await child.end('SIGTERM')),
  }
}

const seed = Number(process.env.CHAOS_SEED ?? 1_000)
const runs = Number(process.env.CHAOS_RUNS ?? 22)

describe('under faults, every change takes effect exactly once', () => {
  for (const [place, fault] of faults.entries())
    it(fault, { timeout: 90_000 * Math.ceil(runs / 22) }, async () => {
      const batches = await runPushCampaign({
        seed: seed + place,
        runs,
        only: [fault],
        databaseUrl: database.url,
        start,
      })
      expect(batches.flatMap((batch) => batch.violations)).toEqual([])
      expect(batches.reduce((total, batch) => total + batch.runs, 0)).toBeGreaterThanOrEqual(runs)
    })
})
