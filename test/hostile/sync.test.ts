// Whole syncs of garbage into a real Postgres: every record is mirrored as received or in quarantine as received, the
// counts add up, nothing crashes and nothing is injected.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openApp } from '../../src/app.ts'
import { streams } from '../../src/catalog/catalog.ts'
import { readConfig } from '../../src/config.ts'
import { startSyncWorker } from '../../src/jobs/worker.ts'
import { createLogger } from '../../src/log.ts'
import { createRequest } from '../../src/sync/due/requests.ts'
import { streamsToRead } from '../../src/sync/plan.ts'
import { type Run, runsOfRequest } from '../../src/sync/runs/runs.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { casesOf } from './draw.ts'
import { type GarbageApi, serveGarbage } from './garbage-api.ts'
import { type Example, exampleRecords } from './records.ts'

const log = createLogger(process.env.TEST_LOG_LEVEL ?? 'silent')

/** One complete sync of everything an API answers. */
async function syncAll(database: TestDatabase, apiUrl: string): Promise<readonly Run[]> {
  const config = readConfig(
    { DATABASE_URL: database.url, API_PAGE_BASE: '1', PRICE_DAYS: '1', CALENDAR_YEARS: '1', SLOT_DAYS: '1' },
    '/nonexistent',
  )
  await using app = await openApp({ config, log, apiUrl, sandbox: true, schema: 'migrate', patienceMs: 60_000 })
  const worker = await startSyncWorker({
    context: app.syncContext,
    backend: await app.openQueue(new AbortController().signal),
    log,
  })
  try {
    const id = await createRequest(app.database.pool, {
      trigger: 'test',
      streams: streamsToRead([], config),
      full: false,
    })
    worker.poke()
    for (;;) {
      const { finished, runs } = await runsOfRequest(app.database.pool, id)
      if (finished) return runs
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  } finally {
    await worker.stop()
  }
}

/** What `jsonb` makes of a text; one that it refuses is kept as a JSON string. */
const stored = `create function public.stored(record text) returns jsonb language plpgsql as $$
  begin return record::jsonb; exception when data_exception then return to_jsonb(record); end $$`

/** Records of a list that are neither in the table nor in quarantine with the payload that was answered. */
const lost = (table: string): string => `select r.record from unnest($1::text[]) as r(record)
  where not exists (select from mirror.${table} m where m._payload = public.stored(r.record))
    and not exists (select from sync.quarantine q where q.stream = '${table}' and q.payload = public.stored(r.record))`

describe('a sync of garbage', () => {
  let examples: ReadonlyMap<string, readonly Example[]>
  beforeAll(async () => {
    examples = await exampleRecords()
  })

  for (let number = 1; number <= casesOf(2); number++)
    describe(`number ${number}`, () => {
      const plain = Object.getOwnPropertyNames(Object.prototype).join()
      let database: TestDatabase
      let api: GarbageApi
      let runs: readonly Run[]
      beforeAll(async () => {
        database = await createTestDatabase()
        api = await serveGarbage(examples, 1_000 * number)
        runs = await syncAll(database, api.url)
      })
      afterAll(async () => {
        await api?.[Symbol.asyncDispose]()
        await database?.[Symbol.asyncDispose]()
      })

      it('ends every run, and none with a fault of ours', () => {
        expect(runs.filter((run) => run.status === 'running')).toEqual([])
        // An answer below a record that holds no array, or no JSON, is a problem of that record, and said as such.
        const odd = runs.filter(
          (run) =>
            run.error !== null &&
            !/: GET \/v3\/\S+( answered \d+\.| returned something other than requested|: (No array of records|The answer has \d|The (text|answer) \(\d+ characters\) is not JSON))/.test(
              run.error,
            ) &&
            !/more than once/.test(run.error),
        )
        expect(odd.map((run) => `${run.stream} ${run.status}: ${run.error}`)).toEqual([])
        const lists = runs.filter((run) => api.lists.has(run.stream))
        expect(lists.filter((run) => run.status === 'failed').map((run) => `${run.stream}: ${run.error}`)).toEqual([])
        expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(plain)
      })

      it('leaves no record of a list out: it is mirrored or in quarantine as it was answered', async () => {
        await database.pool.query(stored)
        const missing: string[] = []
        for (const [stream, records] of api.lists) {
          const { rows } = await database.pool.query<{ record: string }>(lost(stream), [records])
          missing.push(...rows.map(({ record }) => `${stream}: ${record.slice(0, 200)}`))
        }
        expect(missing.slice(0, 10)).toEqual([])
      })

      it('says that bytes were none of the character set', () => {
        const warned = runs.filter((run) =>
          run.warnings.some((warning) => warning.includes('outside the character set')),
        )
        expect(warned.map((run) => run.stream)).toEqual(expect.arrayContaining([...api.lists.keys()]))
      })

      it('counts what it read as inserted, updated, unchanged or quarantined', async () => {
        for (const run of runs) {
          const [read = 0, ...parts] = [run.read, run.inserted, run.updated, run.unchanged, run.quarantined].map(Number)
          expect(
            parts.reduce((a, b) => a + b),
            `${run.stream} ${JSON.stringify({ read, parts })}`,
          ).toBeGreaterThanOrEqual(read)
        }
        const { rows } = await database.pool.query<{ live: string; logged: string }>(
          streams
            .map(
              ({ name }) =>
                `select '${name}' as stream, (select count(*) from mirror.${name}) as live, (select count(distinct key) from mirror.change_log where stream = '${name}' and operation = 'insert') as logged`,
            )
            .join(' union all '),
        )
        expect(rows.filter(({ live, logged }) => live !== logged)).toEqual([])
      })
    })
})
