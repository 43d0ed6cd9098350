// A pusher between a real database and a sandbox, with the handles that tests of the outbox need.

import { createSandbox, type LoggedRequest, type Sandbox, type SandboxOptions } from '../../sandbox/index.ts'
import { createGate } from '../../src/api/admission/gate.ts'
import { type Limiter, unlimited } from '../../src/api/admission/rate-limit.ts'
import { createApi } from '../../src/api/client.ts'
import { parseJson } from '../../src/api/wire/json.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { systemClock } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { createLogger } from '../../src/log.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import type { PushContext, PushSettings } from '../../src/outbox/context.ts'
import { type ReadBack, readBackFrom } from '../../src/outbox/decisions.ts'
import { type ChangeInfo, findChange } from '../../src/outbox/inspect.ts'
import { createPusher, type Pusher } from '../../src/outbox/pusher.ts'
import { createShowDelay } from '../../src/outbox/show-delay.ts'
import type { Privacy } from '../../src/privacy/privacy.ts'
import { projectRecord } from '../../src/sync/records/project.ts'

export type RigOptions = {
  readonly databaseUrl: string
  readonly sandbox?: Partial<SandboxOptions>
  readonly settings?: Partial<Omit<PushSettings, 'api'>> & { readonly showDelayMs?: number }
  readonly timeoutMs?: number
  readonly concurrency?: number
  readonly limiter?: Limiter
  readonly steadyMs?: () => number
  /** Stands before the sandbox. */
  readonly front?: (sandboxUrl: string) => Promise<AsyncDisposable & { readonly url: string }>
  /** Configuration variables. */
  readonly env?: Readonly<Record<string, string>>
  readonly privacy?: Privacy
}

export type Rig = AsyncDisposable & {
  readonly database: Database
  readonly sandbox: Sandbox
  readonly context: PushContext
  readonly pusher: Pusher
  /** What a person's decision reads from the API. */
  readonly readBack: ReadBack
  /** Calls outbox.enqueue. */
  queue(operation: string, target: object, body?: object, options?: object): Promise<string>
  /** Pushes until nothing more can settle without a decision. */
  push(): Promise<void>
  change(id: string): Promise<ChangeInfo>
  /** Writes that reached the sandbox, oldest first. */
  writes(): readonly LoggedRequest[]
  /** Puts records of the sandbox's truth into the mirror, as a sync would. */
  mirror(stream: string, key: Readonly<Record<string, string | number>>): Promise<void>
  /** The record of the truth with this key. */
  truth(stream: string, key: Readonly<Record<string, string | number>>): Record<string, unknown> | undefined
}

/** A second context on the same database and sandbox, as another process has it: an API client of its own. */
export function contextFor(
  rig: Pick<Rig, 'database'> & { readonly sandbox: Pick<Sandbox, 'url'> },
  options: Omit<RigOptions, 'databaseUrl' | 'sandbox' | 'front'> = {},
): {
  readonly context: PushContext
  close(): Promise<void>
} {
  const { api: apiSettings, ...rest } = readConfig(options.env ?? {}, '/')
  const log = createLogger('silent')
  const { showDelayMs = 100, ...given } = options.settings ?? {}
  const settings = {
    ...rest,
    leaseMs: 1_500,
    ...given,
    api: { ...apiSettings, timeoutMs: options.timeoutMs ?? 2_000, concurrency: options.concurrency ?? 8 },
  }
  const api = createApi({
    settings: { ...settings.api, baseUrl: rig.sandbox.url },
    limiter: options.limiter ?? unlimited,
    gate: createGate({ clock: systemClock, log }),
    clock: systemClock,
    log,
  })
  const context: PushContext = {
    database: rig.database,
    api,
    clock: systemClock,
    log,
    settings,
    project: projectRecord,
    showDelay: createShowDelay(showDelayMs, options.steadyMs),
    ...(options.privacy && { privacy: options.privacy }),
  }
  return { context, close: () => api.close() }
}

/** A migrated database is given; sandbox, API client and pusher are made and closed here. */
export async function createRig(options: RigOptions): Promise<Rig> {
  const sandbox = await createSandbox({ size: 60, ...options.sandbox })
  const log = createLogger('silent')
  const database = openDatabase({ url: options.databaseUrl, applicationName: 'outbox test', max: 10, log })
  const front = await options.front?.(sandbox.url)
  const { context, close } = contextFor({ database, sandbox: front ?? sandbox }, options)
  const pusher = createPusher(context)

  const truth: Rig['truth'] = (stream, key) =>
    sandbox
      .truth({ only: [stream] })
      [stream]?.find((row) => Object.entries(key).every(([name, value]) => String(row.key[name]) === String(value)))
      ?.record

  return {
    database,
    sandbox,
    context,
    pusher,
    readBack: readBackFrom(context, new AbortController().signal),
    truth,
    queue: async (operation, target, body = {}, wishes = {}) => {
      const { rows } = await database.pool.query<{ id: string }>('select outbox.enqueue($1, $2, $3, $4) as id', [
        operation,
        JSON.stringify(target),
        JSON.stringify(body),
        JSON.stringify(wishes),
      ])
      return String(rows[0]?.id)
    },
    push: async () => {
      await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
    },
    change: async (id) => {
      const found = await findChange(database.pool, id)
      if (found === null) throw new Error(`There is no change ${id}.`)
      return found
    },
    writes: () =>
      sandbox
        .requests()
        .filter((request) => request.method !== 'GET' && request.path.startsWith('/v3/'))
        .map((request) => ({ ...request, body: typeof request.body === 'string' ? JSON.parse(request.body) : null })),
    mirror: async (name, key) => {
      const stream = streamNamed(name)
      const record = truth(name, key)
      if (record === undefined) throw new Error(`There is no ${name} ${JSON.stringify(key)}.`)
      const request = Object.fromEntries(Object.entries(key).map(([column, value]) => [column, String(value)]))
      const received = parseJson(JSON.stringify(record)).value
      const kept = options.privacy?.protect(stream, received) ?? received
      const projected = projectRecord(stream, kept, request, 'UTC')
      if (!projected.ok) throw new Error(projected.reason)
      const write = { stream, source: 'GET /v3', readAt: new Date(), rows: [projected.row], mode: 'record' } as const
      await database.transaction((client) => applyWrites(client, { tables: [write] }))
    },
    [Symbol.asyncDispose]: async () => {
      await pusher.close()
      await close()
      await database.close()
      await front?.[Symbol.asyncDispose]()
      await sandbox.close()
    },
  }
}
