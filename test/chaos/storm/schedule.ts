// What happens when: a timetable of faults drawn from the seed alone, so that a run can be repeated.

import { createRandom } from '../../../sandbox/world/random.ts'

/** What a fault disturbs. Two faults of one target never overlap; those of different targets do. */
export type Target = 'worker' | 'postgres' | 'redis' | 'api link' | 'api answers'

type Kind = {
  readonly target: Target
  /** Shortest and longest time it lasts, in milliseconds. */
  readonly ms: readonly [number, number]
}

/** A worker holds what it works on for 10 s without a sign of life: a pause must be longer to be noticed. */
const longerThanLease = [11_000, 14_000] as const

export const kinds = {
  'worker killed (SIGKILL)': { target: 'worker', ms: [0, 1_500] },
  'worker paused (SIGSTOP) for longer than its lease': { target: 'worker', ms: longerThanLease },
  'Postgres restarted (fast stop)': { target: 'postgres', ms: [0, 3_000] },
  'Postgres crashed (immediate stop) and restarted': { target: 'postgres', ms: [0, 3_000] },
  'Postgres cut off': { target: 'postgres', ms: [500, 4_000] },
  'Postgres connections gone silent': { target: 'postgres', ms: [0, 0] },
  'Postgres connections terminated': { target: 'postgres', ms: [0, 0] },
  'Postgres out of connections': { target: 'postgres', ms: [2_000, 5_000] },
  'Postgres out of disk': { target: 'postgres', ms: [2_000, 5_000] },
  'Redis restarted empty': { target: 'redis', ms: [0, 2_000] },
  'Redis cut off': { target: 'redis', ms: [500, 4_000] },
  'API down': { target: 'api link', ms: [1_000, 6_000] },
  'API connections cut in the middle of answers': { target: 'api link', ms: [1_000, 4_000] },
  'API slow, also beyond the time limit': { target: 'api answers', ms: [2_000, 5_000] },
  'API lying: broken answers, wrong types': { target: 'api answers', ms: [2_000, 5_000] },
  'API lying: lists cut short, repeated, shifted, with wrong totals': { target: 'api answers', ms: [2_000, 5_000] },
  'API throttling (429 with Retry-After)': { target: 'api answers', ms: [1_000, 3_000] },
  'API failing (5xx before and after the effect)': { target: 'api answers', ms: [1_000, 4_000] },
  'API answers to writes lost after the effect': { target: 'api answers', ms: [2_000, 5_000] },
} as const satisfies Readonly<Record<string, Kind>>

export type FaultKind = keyof typeof kinds
export const allKinds = Object.keys(kinds) as FaultKind[]

export type Fault = {
  readonly kind: FaultKind
  /** When it begins, in milliseconds from the start. */
  readonly atMs: number
  /** How long it lasts, in milliseconds. */
  readonly ms: number
  /** A number from 0 to 1 that decides the rest: which worker, which lie. */
  readonly dice: number
}

const gapMs = [1_200, 2_600] as const
/** After a fault its target is left alone for this long, so that something gets done in between. */
const restMs = 500

/**
 * The faults of a storm of `ms` milliseconds, by their beginning. Each kind comes once before any comes twice; none lasts
 * beyond the end.
 */
export function drawSchedule(seed: number, ms: number, wanted: readonly FaultKind[] = allKinds): readonly Fault[] {
  const random = createRandom(seed, 'storm').next
  const between = ([low, high]: readonly [number, number]): number => Math.round(low + random() * (high - low))
  const freeAt = new Map<Target, number>()
  const faults: Fault[] = []
  let bag: FaultKind[] = []
  for (let now = between(gapMs); now < ms; now += between(gapMs)) {
    if (bag.length === 0) bag = [...wanted]
    const [kind] = bag.splice(Math.floor(random() * bag.length), 1)
    if (kind === undefined) return []
    const { target, ms: range } = kinds[kind]
    const atMs = Math.max(now, freeAt.get(target) ?? 0)
    const lasts = between(range)
    const dice = random()
    if (atMs + lasts > ms) continue
    faults.push({ kind, atMs, ms: lasts, dice })
    freeAt.set(target, atMs + lasts + restMs)
  }
  return faults.sort((a, b) => a.atMs - b.atMs)
}
