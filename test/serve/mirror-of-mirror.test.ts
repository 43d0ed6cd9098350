// A Boat Mirror that reads from another one ends equal to the API in all tables, and stays so.

import { expect, it } from 'vitest'
import { type App, openApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { startSyncWorker } from '../../src/jobs/worker.ts'
import { createLogger } from '../../src/log.ts'
import { checkStreams } from '../../src/sync/check/check.ts'
import { createRequest } from '../../src/sync/due/requests.ts'
import { streamsToRead } from '../../src/sync/plan.ts'
import { runsOfRequest } from '../../src/sync/runs/runs.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { shortRanges } from '../helpers/mirror.ts'
import { differencesFromTruth } from '../helpers/truth.ts'
import { openReads, type ReadsRig } from './reads-rig.ts'

type Second = AsyncDisposable & {
  readonly app: App
  sync(
    names?: readonly string[],
  ): Promise<readonly { readonly stream: string; readonly status: string; readonly error: string | null }[]>
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
  const app = await openApp({ config, log, apiUrl, sandbox: false, schema: 'migrate', patienceMs: 60_000 })
  const backend = await app.openQueue(new AbortController().signal)
  const worker = await startSyncWorker({ context: app.syncContext, backend, log })
  return {
    app,
    sync: async (names = []) => {
      const { pool } = app.database
      const streams = streamsToRead(names, config)
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

it('reads what hangs below a changed record as the API shows it, though the mirror below has only read its list', async () => {
  const streams = ['resource_options', 'user_licenses']
  await using rig = await openReads({ sandbox: { size: 20 }, settings: { serveFreshLimit: 100_000 }, sync: false })
  await using second = await openSecond(rig.url)
  const { sandbox } = rig.mirror
  await rig.mirror.sync({ streams })
  expect(notDone(await second.sync(streams))).toEqual([])

  const truth = sandbox.truth({ only: streams })
  const [option, license] = [truth.resource_options?.[0]?.key, truth.user_licenses?.[0]?.key]
  sandbox.mutate([
    {
      ...{ record: 'resource_options', op: 'update', set: { name: 'new' } },
      ...{ parent: String(option?.resource_id), id: String(option?.id) },
    },
    { record: 'user_licenses', op: 'update', parent: String(license?.user_id), set: { number: 'new' } },
  ])
  // As a sync is between its lists and its details.
  await rig.mirror.sync({ streams: ['resources', 'users'] })
  const news = `select 1 from mirror.resource_options where name = 'new' union all select 1 from mirror.user_licenses where number = 'new'`
  expect((await rig.mirror.app.database.pool.query(news)).rows).toHaveLength(0)
  expect(notDone(await second.sync(streams))).toEqual([])
  expect((await second.app.database.pool.query(news)).rows).toHaveLength(2)

  // While the API cannot be asked, what is stored, and it says so.
  sandbox.fault({ op: 'GET *', respond: { status: 400 } })
  for (const path of [`/v3/resources/${option?.resource_id}/options`, `/v3/users/${license?.user_id}/license`]) {
    const { status, headers } = await rig.get(path)
    expect([path, status, headers.get('warning')]).toEqual([path, 200, expect.stringMatching(/^11[01] /)])
  }
})
