// A Boat Mirror that reads from another one ends equal to the API in all tables, and stays so.

import { expect, it } from 'vitest'
import { type App, openApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { startSyncWorker } from '../../src/jobs/worker.ts'
import { createLogger } from '../../src/log.ts'
import { createRequest } from '../../src/state/due/requests.ts'
import { runsOfRequest } from '../../src/state/runs/runs.ts'
import { checkStreams } from '../../src/sync/check/check.ts'
import { streamsToRead } from '../../src/sync/plan.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { shortRanges } from '../helpers/mirror.ts'
import { differencesFromTruth } from '../helpers/truth.ts'
import { openReads, type ReadsRig } from './reads-rig.ts'

type Second = AsyncDisposable & {
  readonly app: App
  sync(): Promise<readonly { readonly stream: string; readonly status: string; readonly error: string | null }[]>
}

/** A second Boat Mirror, whose API is the `serve` of the first. */
async function openSecond(apiUrl: string): Promise<Second> {
  const database = await createTestDatabase()
  const env = {
    DATABASE_URL: database.url,
    API_BASE_URL: apiUrl,
    API_TOKEN: 'all',
    API_RATE_LIMIT: '0',
    ...shortRanges,
  }
  const config = readConfig({ AUTO_MIGRATE: 'on', ...env }, '/nonexistent')
  const log = createLogger('fatal')
  const app = await openApp({ config, log, apiUrl, sandbox: false, schema: 'migrate', patienceMs: 5_000 })
  const backend = await app.openQueue(new AbortController().signal)
  const worker = await startSyncWorker({ context: app.syncContext, backend, log })
  return {
    app,
    sync: async () => {
      const { pool } = app.database
      const streams = streamsToRead([], config)
      const id = await createRequest(pool, { trigger: 'test', streams, full: false, hot: false })
      worker.poke()
      for (;;) {
        const { rows } = await pool.query<{ open: boolean }>(
          'select finished_at is null as open from sync.requests where id = $1',
          [id],
        )
        if (rows[0]?.open !== true) return (await runsOfRequest(pool, id)).runs
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
    },
    [Symbol.asyncDispose]: async () => {
      await worker.stop()
      await app[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** Differences of the second mirror from the API that the first one reads. */
async function differences({ mirror: { config, sandbox } }: ReadsRig, { app }: Second): Promise<readonly string[]> {
  const { slotDays: days, slotDurations: durations, priceDays, calendarYears } = config
  const truth = sandbox.truthText({ days, durations, priceDays, calendarYears })
  return await differencesFromTruth(app.database.pool, truth)
}

const notDone = (runs: Awaited<ReturnType<Second['sync']>>): readonly unknown[] =>
  runs.filter(({ status }) => status !== 'done').map(({ stream, status, error }) => [stream, status, error])

it('ends equal to the API in all tables without a request to it, and stays so under changes and deletions', async () => {
  await using rig = await openReads({ sandbox: { size: 40 }, settings: { serveFreshLimit: 100_000 } })
  await using second = await openSecond(rig.url)
  const { sandbox } = rig.mirror
  const asked = sandbox.requests().length
  expect(notDone(await second.sync())).toEqual([])
  expect(sandbox.requests().length).toBe(asked)
  expect(await differences(rig, second)).toEqual([])

  sandbox.mutateRandomly(60, 7)
  await rig.mirror.sync()
  expect(notDone(await second.sync())).toEqual([])
  expect(await differences(rig, second)).toEqual([])

  const { syncContext, config } = second.app
  const context = { ...syncContext, onTasks: () => {} }
  const checks = await checkStreams(context, streamsToRead([], config), { signal: new AbortController().signal })
  expect(checks.flatMap(({ stream, different, missing }) => (different + missing > 0 ? [stream] : []))).toEqual([])
}, 240_000)
