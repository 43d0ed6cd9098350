// The database's clock as seen from here: it defines every reading time, because workers on several hosts must agree
// on which of two reads was later. It is extrapolated with the steady clock of this process, so that a step of the
// host's own clock changes nothing.

import { hostname } from 'node:os'
import type { Pool } from 'pg'
import type { Clock } from '../clock.ts'
import { BoatMirrorError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { type Service, service } from '../service.ts'
import type { Database } from './database.ts'

/** How far the database's clock is ahead of another, and how far that may be wrong, both in milliseconds. */
type Skew = { readonly ms: number; readonly errorMs: number }

/** One reading of the database's clock: against the clock of this host, and against `performance.now`. */
type Look = Skew & { readonly steadyMs: number }

const checkMs = 60_000
/** Larger differences stop the queue on Postgres, and make times in the mirror doubtful. */
export const maxSkewMs = 2_000
/** A measurement with an error up to this is always good enough, in milliseconds. */
const goodErrorMs = 50
const firstAttempts = 5

/** What one query shows: the database read its clock at some moment between request and answer. Pure. */
export const skewOf = (askedMs: number, databaseMs: number, heardMs: number): Skew => ({
  ms: databaseMs - (askedMs + heardMs) / 2,
  errorMs: (heardMs - askedMs) / 2,
})

/** The skew that is believed, and up to which error a later measurement replaces it. */
export type Belief = { readonly ms: number; readonly toleratedMs: number }

/**
 * The belief after a measurement. One that took much longer than the best so far, because the process was halted or
 * the database busy, would move the clock by as much: it is discarded. Each discarded one makes the next more
 * acceptable, for a connection that stays slow. Pure.
 */
export function believe(before: Belief, { ms, errorMs }: Skew): Belief {
  const toleratedMs = Math.max(goodErrorMs, before.toleratedMs)
  return errorMs <= toleratedMs
    ? { ms, toleratedMs: Math.min(toleratedMs, 2 * errorMs) }
    : { ms: before.ms, toleratedMs: 2 * toleratedMs }
}

/** Where this host's clock stands against the steady one. */
const hostMs = (): number => Date.now() - performance.now()

/**
 * Reads the database's clock. The connection is opened before the query is sent: waiting for one would count as
 * travel time.
 */
export async function measureSkew(pool: Pool): Promise<Look> {
  const client = await pool.connect()
  try {
    const asked = performance.now()
    const { rows } = await client.query<{ ms: number }>(
      'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
    )
    const heard = performance.now()
    const { ms: steadyMs, errorMs } = skewOf(asked, rows[0]?.ms ?? Number.NaN, heard)
    return { ms: steadyMs - hostMs(), steadyMs, errorMs }
  } finally {
    client.release()
  }
}

/** The best of up to five measurements; the first good one ends them. */
async function firstLook(pool: Pool): Promise<Look> {
  let best = await measureSkew(pool)
  for (let attempt = 1; attempt < firstAttempts && best.errorMs > goodErrorMs; attempt++) {
    const next = await measureSkew(pool)
    if (next.errorMs < best.errorMs) best = next
  }
  return best
}

/**
 * Follows the database's clock, measured once a minute, and at once when this host slept or its clock was set: the steady
 * clock stands still while a machine sleeps.
 * @param strict whether clocks more than 2 s apart are refused, as the queue on Postgres needs it
 * @throws BoatMirrorError CLOCK_SKEW
 */
export async function followClock(pool: Pool, strict: boolean, log: Logger): Promise<Clock & Pick<Service, 'stop'>> {
  const first = await firstLook(pool)
  if (strict && Math.abs(first.ms) > maxSkewMs)
    throw new BoatMirrorError(
      'CLOCK_SKEW',
      `The clock of ${hostname()} and that of Postgres differ by ${Math.round(first.ms)} ms.`,
      { remedy: 'Set the clocks (NTP), or run the queue on Redis with REDIS_URL.' },
    )
  let belief: Belief = { ms: first.steadyMs, toleratedMs: 2 * first.errorMs }
  let host = hostMs()
  const check = async (): Promise<void> => {
    host = hostMs()
    const look = await measureSkew(pool)
    const before = belief.ms
    belief = believe(belief, { ms: look.steadyMs, errorMs: look.errorMs })
    const stepMs = Math.round(belief.ms - before)
    if (Math.abs(stepMs) > maxSkewMs)
      log.warn({ event: 'database_clock_stepped', ms: stepMs }, 'the clock of Postgres was set, or this host slept')
    const skewMs = Math.round(belief.ms - hostMs())
    if (Math.abs(skewMs) > maxSkewMs)
      log.warn({ event: 'clock_skew', ms: skewMs }, 'the clocks of this host and of Postgres differ; set them (NTP)')
  }
  const { poke, stop } = service('measuring the clock of Postgres', checkMs, check, {
    ...{ log, level: 'debug', delayMs: checkMs, isBackground: true },
  })
  return {
    now: () => {
      if (Math.abs(hostMs() - host) > maxSkewMs) poke()
      return new Date(performance.now() + belief.ms)
    },
    stop,
  }
}

// A clock that was set back (time synchronisation, another host) leaves leases, due times and waits in the future, and all of
// them would last longer by as much. Workers note the time once a minute: a note that lies ahead shows it.

const key = 'database_clock'
/** When the clock was last found set back: code that reads only part of the rows then reads all of them once. */
export const setBackKey = 'database_clock_set_back'
/** A smaller step only delays work by as much. Recent leases and wake-ups end within it, too. */
const toleratedS = 10

const setBack = (columns: readonly string[]): string =>
  columns
    .map(
      (name) => `${name} = case when ${name} > clock_timestamp() + ${toleratedS} * interval '1 s'
      then ${name} - $1 * interval '1 s' else ${name} end`,
    )
    .join(', ')

const statements = [
  `update sync.tasks set ${setBack(['lease_until', 'not_before', 'woken_at', 'checkpoint_at'])}
   where status in ('waiting', 'running')`,
  `update sync.streams set ${setBack(['next_due_at'])}`,
  `update outbox.queue set ${setBack(['next_attempt_at', 'lease_until', 'sent_at', 'deadline'])}
   where status in ('queued', 'sending', 'blocked')`,
]

/**
 * Notes the database's time. If it was set back since the last note, everything that waits for a time is moved by as much.
 * @returns by how many seconds it was set back; 0: it was not.
 */
export async function noteDatabaseTime(database: Database): Promise<number> {
  return await database.transaction(async (client) => {
    const { rows } = await client.query<{ ahead_s: number }>(
      `insert into sync.pinned as p (key, value) values ($1, 'true') on conflict (key) do update set value = p.value
       returning extract(epoch from probed_at - clock_timestamp())::float8 as ahead_s`,
      [key],
    )
    const aheadS = rows[0]?.ahead_s ?? 0
    const isSetBack = aheadS > toleratedS
    if (isSetBack) {
      for (const statement of statements) await client.query(statement, [aheadS])
      await client.query(
        `insert into sync.pinned (key, value, probed_at) values ($1, 'true', clock_timestamp())
         on conflict (key) do update set probed_at = excluded.probed_at`,
        [setBackKey],
      )
    }
    await client.query('update sync.pinned set probed_at = clock_timestamp() where key = $1', [key])
    return isSetBack ? aheadS : 0
  })
}
