// A Boat Mirror above another one, which mirrors a sandbox: the API of the upper one is `serve` of the lower one.

import { createSandbox, type Sandbox, type SandboxOptions } from '../../sandbox/index.ts'
import { sleep } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import type { Queryable } from '../../src/database/sql.ts'
import type { Status } from '../../src/outbox/states.ts'
import { createToken, revokeToken } from '../../src/serve/access/tokens.ts'
import { createRequest } from '../../src/sync/due/requests.ts'
import { streamsToRead } from '../../src/sync/plan.ts'
import { type Run, runsOfRequest } from '../../src/sync/runs/runs.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { shortRanges } from '../helpers/mirror.ts'
import { differencesFromTruth } from '../helpers/truth.ts'
import type { WholeMirrorOptions } from './whole-mirror.ts'

export type Side = 'upper' | 'lower'

/** States that end without a decision. */
const underWay: ReadonlySet<Status> = new Set(['queued', 'sending', 'blocked'])

const env = { ...shortRanges, MIRROR_DOCUMENTS: 'on', DELETE_LIMIT: '100%' } as const
const config = readConfig(env, '/nonexistent')

export type Stack = AsyncDisposable & {
  readonly sandbox: Sandbox
  readonly database: Readonly<Record<Side, TestDatabase>>
  /** How to open each of both; `apiUrl` of the upper one, and the port of the lower one, are up to the caller. */
  readonly options: Readonly<Record<Side, Pick<WholeMirrorOptions, 'databaseUrl' | 'env'>>>
  /** Requests a sync of all streams, and does not wait for it. */
  request(side: Side): Promise<void>
  /** Requests a sync of these streams (all by default), and waits for its end. */
  sync(side: Side, options?: SyncOptions): Promise<readonly Run[]>
  /** Differences of a mirror from the sandbox. */
  differences(side: Side): Promise<readonly string[]>
  /** Queues a change above. */
  queue(operation: string, target: object, body?: object, options?: object): Promise<string>
  /** `done`, or state and error, of changes above, once they have settled or need a decision. */
  fates(ids: readonly string[]): Promise<readonly string[]>
}

type SyncOptions = {
  readonly streams?: readonly string[]
  /** Wakes the worker at once. */
  readonly poke?: () => void
}

async function isUnderWay(db: Queryable, request: string): Promise<boolean> {
  const { rows } = await db.query<{ open: boolean }>(
    'select finished_at is null as open from sync.requests where id = $1',
    [request],
  )
  return rows[0]?.open ?? false
}

async function inTransaction<T>({ pool }: TestDatabase, work: (client: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    return result
  } finally {
    client.release()
  }
}

/** Opens both databases and the sandbox, with a token of the lower mirror for the upper one. */
export async function openStack(world: Partial<SandboxOptions>): Promise<Stack> {
  const sandbox = await createSandbox(world)
  const database = { upper: await createTestDatabase(), lower: await createTestDatabase() }
  const { id, token } = await inTransaction(database.lower, (client) =>
    createToken(client, { name: 'upper', companies: null, personal: true, write: true, validMs: null, server: null }),
  )
  return {
    sandbox,
    database,
    options: {
      upper: { databaseUrl: database.upper.url, env: { ...env, API_TOKEN: token } },
      lower: { databaseUrl: database.lower.url, env },
    },
    request: async (side) => {
      const streams = streamsToRead([], config)
      await createRequest(database[side].pool, { trigger: 'test', streams, full: false, hot: false })
    },
    sync: async (side, { streams: wanted = [], poke } = {}) => {
      const { pool } = database[side]
      const streams = streamsToRead(wanted, config)
      const id = await createRequest(pool, { trigger: 'test', streams, full: false, hot: false })
      poke?.()
      while (await isUnderWay(pool, id)) await sleep(25)
      return (await runsOfRequest(pool, id)).runs
    },
    differences: async (side) => {
      const { slotDays: days, slotDurations: durations, priceDays, calendarYears } = config
      const truth = sandbox.truthText({ days, durations, priceDays, calendarYears })
      return await differencesFromTruth(database[side].pool, truth)
    },
    queue: async (operation, target, body = {}, wishes = {}) => {
      const { rows } = await database.upper.pool.query<{ id: string }>('select outbox.enqueue($1, $2, $3, $4) as id', [
        operation,
        JSON.stringify(target),
        JSON.stringify(body),
        JSON.stringify(wishes),
      ])
      return String(rows[0]?.id)
    },
    fates: async (ids) => {
      for (;;) {
        const { rows } = await database.upper.pool.query<{ status: Status; error: string | null }>(
          'select status, error from outbox.queue where id = any($1::bigint[]) order by array_position($1::bigint[], id)',
          [ids],
        )
        if (rows.every(({ status }) => !underWay.has(status)))
          return rows.map(({ status, error }) => (status === 'done' ? status : `${status}: ${error}`))
        await sleep(50)
      }
    },
    [Symbol.asyncDispose]: async () => {
      await sandbox.close()
      // Its role belongs to the server, and stays when the database is dropped.
      await inTransaction(database.lower, (client) => revokeToken(client, id))
      await database.upper[Symbol.asyncDispose]()
      await database.lower[Symbol.asyncDispose]()
    },
  }
}
