// A pusher between a real database and a sandbox, with the handles that tests of the outbox need.

import {
  createSandbox,
  type FaultRule,
  type LoggedRequest,
  type Sandbox,
  type SandboxOptions,
  type TruthRow,
} from '../../sandbox/index.ts'
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
import { type ChangeDecision, carryOutDecision, decideChange } from '../../src/outbox/decisions.ts'
import { type ChangeInfo, findChange } from '../../src/outbox/inspect.ts'
import { createPusher, type Pusher } from '../../src/outbox/pusher.ts'
import { createShowDelay } from '../../src/outbox/show-delay.ts'
import { openPrivacy, type Privacy } from '../../src/privacy/privacy.ts'
import type { PrivacySettings } from '../../src/privacy/rules.ts'
import { claimPrivacy } from '../../src/privacy/stored.ts'
import { projectRecord } from '../../src/sync/records/project.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { Planner } from './plans.ts'

export type RigOptions = {
  /** A migrated database; missing: the rig has one of its own. */
  readonly databaseUrl?: string
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
  /** Personal data is treated by these settings from the start. */
  readonly privacy?: PrivacySettings
}

export type Surroundings = Omit<RigOptions, 'databaseUrl' | 'sandbox' | 'front' | 'privacy'>

export type Rig = AsyncDisposable & {
  readonly databaseUrl: string
  readonly database: Database
  readonly sandbox: Sandbox
  readonly planner: Planner
  readonly context: PushContext
  readonly pusher: Pusher
  /** Calls outbox.enqueue. */
  queue(operation: string, target: object, body?: object, options?: object | string): Promise<string>
  /** Pushes until nothing more can settle without a decision. */
  push(): Promise<void>
  /** Works on what is due now. */
  runOnce(): Promise<unknown>
  /**
   * Has another pusher work, as another process would: on the same database and, unless `api` is another, the same API. It pushes
   * as `push` does, or does what `work` says. `changes`: to its context.
   */
  pushAs(
    options: Surroundings & { readonly api?: { readonly url: string }; readonly changes?: Partial<PushContext> },
    work?: (pusher: Pusher) => Promise<unknown>,
  ): Promise<void>
  /** An operator decides about a change; what needs the API is carried out at once. */
  decide(what: ChangeDecision, id: string, resultId?: string): Promise<void>
  change(id: string): Promise<ChangeInfo>
  statuses(ids: readonly string[]): Promise<readonly string[]>
  /** The API answers the next requests of an operation so. */
  once(op: string, respond: FaultRule['respond'], times?: number): void
  /** Writes that reached the sandbox, oldest first; `path`: only those to it. */
  writes(path?: string): readonly LoggedRequest[]
  /** Puts records of the sandbox's truth into the mirror, as a sync would. */
  mirror(stream: string, key: Readonly<Record<string, string | number>>): Promise<void>
  /** The records of the truth. */
  rows(stream: string): readonly TruthRow[]
  /** Those payments of it with this reference. */
  payments(reference: string): readonly TruthRow[]
  /** The record of the truth with this key. */
  truth(stream: string, key: Readonly<Record<string, string | number>>): Record<string, unknown> | undefined
}

/** A second context on the same database and sandbox, as another process has it: an API client of its own. */
export function contextFor(
  rig: Pick<Rig, 'database'> & { readonly sandbox: Pick<Sandbox, 'url'> },
  options: Surroundings = {},
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
    showDelay: createShowDelay(showDelayMs, options.steadyMs),
  }
  return { context, close: () => api.close() }
}

/** Pushes until nothing more can settle without a decision. */
const pushAll = (pusher: Pusher): Promise<unknown> => pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })

/** A rig for the tests of a file. */
export const sharedRig = (options: RigOptions = {}): Rig => opened(() => createRig(options))

/** Makes sandbox, API client and pusher, and closes them. */
export async function createRig(options: RigOptions = {}): Promise<Rig> {
  const sandbox = await createSandbox({ size: 60, ...options.sandbox })
  const own = options.databaseUrl === undefined ? await createTestDatabase() : undefined
  const databaseUrl = own?.url ?? options.databaseUrl ?? ''
  const log = createLogger('silent')
  const database = openDatabase({ url: databaseUrl, applicationName: 'outbox test', max: 10, log })
  const front = await options.front?.(sandbox.url)
  const { context: plain, close } = contextFor({ database, sandbox: front ?? sandbox }, options)
  if (options.privacy) await claimPrivacy(database.pool, options.privacy)
  const privacy = options.privacy && (await openPrivacy(database.pool, options.privacy))
  const context = { ...plain, ...(privacy && { privacy }) }
  const pusher = createPusher(context)
  let planner: Planner | undefined

  const rows: Rig['rows'] = (stream) => sandbox.truth({ only: [stream] })[stream] ?? []
  const truth: Rig['truth'] = (stream, key) =>
    rows(stream).find((row) => Object.entries(key).every(([name, value]) => String(row.key[name]) === String(value)))
      ?.record
  const change: Rig['change'] = async (id) => {
    const found = await findChange(database.pool, id)
    if (found === null) throw new Error(`There is no change ${id}.`)
    return found
  }

  return {
    databaseUrl,
    database,
    sandbox,
    get planner() {
      planner ??= new Planner(sandbox)
      return planner
    },
    context,
    pusher,
    rows,
    payments: (reference) => rows('rental_payments').filter(({ record }) => record.reference === reference),
    truth,
    queue: async (operation, target, body = {}, wishes = {}) => {
      const { rows } = await database.pool.query<{ id: string }>('select outbox.enqueue($1, $2, $3, $4) as id', [
        operation,
        JSON.stringify(target),
        JSON.stringify(body),
        typeof wishes === 'string' ? wishes : JSON.stringify(wishes),
      ])
      return String(rows[0]?.id)
    },
    push: async () => void (await pushAll(pusher)),
    runOnce: () => pusher.runOnce(AbortSignal.timeout(100_000)),
    pushAs: async ({ api = front ?? sandbox, changes, ...rest }, work = pushAll) => {
      const other = contextFor({ database, sandbox: api }, rest)
      const otherPusher = createPusher({ ...other.context, ...changes })
      try {
        await work(otherPusher)
      } finally {
        await otherPusher.close()
        await other.close()
      }
    },
    decide: async (what, id, resultId) => {
      const decision = await decideChange(database.pool, { what, id, resultId: resultId ?? null }, { via: 'command' })
      await carryOutDecision(context, decision, AbortSignal.timeout(100_000))
    },
    change,
    statuses: (ids) => Promise.all(ids.map(async (id) => (await change(id)).status)),
    once: (op, respond, times = 1) => sandbox.fault({ op, times, respond }),
    writes: (path) =>
      sandbox
        .requests()
        .filter((request) => request.method !== 'GET' && request.path.startsWith('/v3/'))
        .filter((request) => path === undefined || request.path === path)
        .map((request) => ({ ...request, body: typeof request.body === 'string' ? JSON.parse(request.body) : null })),
    mirror: async (name, key) => {
      const record = truth(name, key)
      if (record === undefined) throw new Error(`There is no ${name} ${JSON.stringify(key)}.`)
      await mirrorRecords(database, name, [{ key, record }], privacy)
    },
    [Symbol.asyncDispose]: async () => {
      await pusher.close()
      await close()
      await database.close()
      await front?.[Symbol.asyncDispose]()
      await sandbox.close()
      await own?.[Symbol.asyncDispose]()
    },
  }
}

type Keyed = { readonly key: Readonly<Record<string, string | number | null>>; readonly record: object }

/** Puts records into the mirror, as a sync would that has just read them. */
export async function mirrorRecords(
  database: Pick<Database, 'transaction'>,
  name: string,
  records: readonly Keyed[],
  privacy?: Privacy,
): Promise<void> {
  const stream = streamNamed(name)
  const rows = records.map(({ key, record }) => {
    const request = Object.fromEntries(Object.entries(key).map(([column, value]) => [column, String(value)]))
    const received = parseJson(JSON.stringify(record)).value
    const projected = projectRecord(stream, privacy?.protect(stream, received) ?? received, request, 'UTC')
    if (!projected.ok) throw new Error(projected.reason)
    return projected.row
  })
  const write = { stream, source: 'GET /v3', readAt: new Date(), rows, mode: 'record' } as const
  await database.transaction((client) => applyWrites(client, { tables: [write] }))
}
