// How each fault is done, and undone. One function per kind: it begins the fault, waits, and ends it.

import pg from 'pg'
import type { FaultRule } from '../../../sandbox/index.ts'
import { sleep } from '../../../src/clock.ts'
import type { Fleet } from './fleet.ts'
import { askPatiently } from './pool.ts'
import type { Fault, FaultKind } from './schedule.ts'
import type { Stage } from './stage.ts'

type Injector = (scene: { readonly stage: Stage; readonly fleet: Fleet }, fault: Fault) => Promise<void>

const restart =
  (mode: 'fast' | 'immediate'): Injector =>
  async ({ stage: { postgres } }, { ms }) => {
    await postgres.stop(mode)
    await sleep(ms)
    await postgres.start()
  }

/** Takes connections until the server has no more, and again as soon as one is free. */
async function hogConnections(url: string, ms: number): Promise<void> {
  const held: pg.Client[] = []
  const end = Date.now() + ms
  while (Date.now() < end) {
    const client = new pg.Client({ connectionString: url, application_name: 'hog', connectionTimeoutMillis: 2_000 })
    client.on('error', () => {}) // ended by another fault
    try {
      await client.connect()
      held.push(client)
    } catch {
      await sleep(20) // no more: what the workers give back is taken as well
    }
  }
  await Promise.all(held.map((client) => client.end()))
}

/** Lets the answers of the API be disturbed by these rules for a while. */
const disturb =
  (rules: (dice: number) => readonly FaultRule[]): Injector =>
  async ({ stage: { sandbox } }, { dice, ms }) => {
    for (const rule of rules(dice)) sandbox.fault(rule)
    await sleep(ms)
    sandbox.clearFaults()
  }

const choose = <T>(items: readonly [T, ...T[]], dice: number): T => items[Math.floor(dice * items.length)] ?? items[0]

/** Requests for one page of a list, which syncs make and proofs of changes do not: a lie there can be found out. */
const pagesOf = (list: string) => ['1', '2'].map((page) => ({ op: `GET /v3/${list}`, match: { page } }))
const lists = ['rentals', 'users', 'resources', 'companies'] as const
const wrongTypes: readonly [FaultRule['respond'], ...FaultRule['respond'][]] = [
  { status: 200, body: 42 },
  { status: 200, body: '"words"' },
  { status: 200, body: [[], 7, null, 'words'] },
  { status: 200, body: { items: 'words', total: 'many' } },
]
const afterEffect = ['dropAfterEffect', 'hangAfterEffect', 'cut', 'truncate'] as const
const writes = (times: { readonly probability: number; readonly respond: FaultRule['respond'] }): FaultRule[] =>
  ['POST *', 'PUT *', 'DELETE *'].map((op) => ({ op, ...times }))

export const injectors: Readonly<Record<FaultKind, Injector>> = {
  'worker killed (SIGKILL)': ({ fleet }, { dice, ms }) => fleet.kill(dice, ms),
  'worker paused (SIGSTOP) for longer than its lease': ({ fleet }, { dice, ms }) => fleet.pause(dice, ms),
  'Postgres restarted (fast stop)': restart('fast'),
  'Postgres crashed (immediate stop) and restarted': restart('immediate'),
  'Postgres cut off': async ({ stage: { postgresProxy } }, { ms }) => {
    await postgresProxy.refuse()
    await sleep(ms)
    await postgresProxy.pass()
  },
  'Postgres connections gone silent': async ({ stage: { postgresProxy } }) => void postgresProxy.silence(),
  'Postgres connections terminated': async ({ stage: { control } }) => {
    await askPatiently(
      control,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
  },
  'Postgres out of connections': ({ stage: { ownerUrl } }, { ms }) => hogConnections(ownerUrl, ms),
  'Postgres out of disk': async ({ stage: { volume, postgres } }, { ms }) => {
    if (typeof volume === 'string') throw new Error(volume)
    await volume.fill()
    await sleep(ms)
    await volume.free()
    await postgres.start() // without space for its log the server ends
  },
  'Redis restarted empty': async ({ stage: { redis } }, { ms }) => await redis?.server.restartEmpty(ms),
  'Redis cut off': async ({ stage: { redis } }, { ms }) => {
    await redis?.proxy.refuse()
    await sleep(ms)
    await redis?.proxy.pass()
  },
  'API down': async ({ stage: { apiProxy } }, { ms }) => {
    await apiProxy.refuse()
    await sleep(ms)
    await apiProxy.pass()
  },
  'API connections cut in the middle of answers': async ({ stage: { apiProxy } }, { dice, ms }) => {
    apiProxy.cutAfter(Math.round(200 + dice * 20_000))
    await sleep(ms)
    await apiProxy.pass()
  },
  'API slow, also beyond the time limit': disturb((dice) => [
    { op: '*', probability: 0.4, respond: { delayMs: Math.round(200 + dice * 2_800) } },
  ]),
  'API lying: broken answers, wrong types': disturb((dice) => [
    { op: 'GET *', probability: 0.15, respond: choose(['garbage', 'html', 'truncate'], dice) },
    { op: 'GET *', probability: 0.15, respond: choose(wrongTypes, dice) },
  ]),
  'API lying: lists cut short, repeated, shifted, with wrong totals': disturb((dice) =>
    lists.flatMap(pagesOf).map((page) => ({
      ...page,
      probability: 0.6,
      respond: choose(['half', 'empty', 'repeatPage', 'ignorePage', 'shift', 'unshift'], dice),
    })),
  ),
  'API throttling (429 with Retry-After)': disturb(() => [
    { op: '*', probability: 0.5, respond: { status: 429, retryAfter: 1 } },
  ]),
  'API failing (5xx before and after the effect)': disturb(() => [
    ...writes({ probability: 0.5, respond: 'errorAfterEffect' }),
    { op: '*', probability: 0.4, respond: { status: 503 } },
  ]),
  'API answers to writes lost after the effect': disturb((dice) =>
    writes({ probability: 0.7, respond: choose(afterEffect, dice) }),
  ),
}

/** The kinds of faults that are possible on this stage, and why the others are not. */
export function possibleKinds(stage: Stage, all: readonly FaultKind[]): ReadonlyMap<FaultKind, string | null> {
  return new Map(
    all.map((kind) => {
      if (kind === 'Postgres out of disk' && typeof stage.volume === 'string') return [kind, stage.volume]
      if (kind.startsWith('Redis') && stage.redis === null) return [kind, 'the queue is on Postgres']
      return [kind, null]
    }),
  )
}
