// The handles to a running sandbox: what a test or a developer can do to it besides calling the API.

import { applyChanges, type Change, overrideText } from './control/mutate.ts'
import { randomRound } from './control/random-round.ts'
import { type TruthOptions, truthText } from './control/truth.ts'
import type { FaultRule, FaultSet } from './http/faults.ts'
import type { RequestLog } from './http/request-log.ts'
import type { SandboxOptions } from './options.ts'
import { isTable } from './world/entity.ts'
import { createRandom } from './world/random.ts'
import type { World } from './world/world.ts'

/** All the state that requests and handles share. Without the server, whose types a program that uses a sandbox does not have. */
export interface Service {
  readonly world: World
  readonly options: SandboxOptions
  readonly faults: FaultSet
  readonly log: RequestLog
}

/** One record of the truth: its key fields, by the column names of a mirror, and the record as the API shows it. */
export interface TruthRow {
  readonly key: Readonly<Record<string, string | number | null>>
  readonly record: Readonly<Record<string, unknown>>
}

/** The handles to a service, except for its address and its end. */
export function handlesOf({ world, options, faults, log }: Service) {
  const random = createRandom(options.seed, 'inserts')
  return {
    clock: world.clock,
    fault: (rule: FaultRule) => faults.add(rule),
    /** The rules with how many requests each has seen and disturbed. */
    faults: () => faults.list(),
    clearFaults: () => faults.clear(),
    /** The last requests, oldest first; at most 20,000. */
    requests: () => log.requests(),
    resetRequests: () => log.reset(),
    stats: () => log.stats(),
    /** Changes the world; RangeError for a change that can not be applied. */
    mutate: (changes: readonly Change[]) => applyChanges(world, random, changes),
    /** Applies `count` random inserts, updates and deletes, but none that `spares` says yes to. */
    mutateRandomly: (count: number, seed: number, spares?: (change: Change) => boolean) =>
      randomRound(world, count, seed, spares),
    /** Serves a record as this JSON text, verbatim; inserts the record if it does not exist. */
    raw: (target: Omit<Change, 'op' | 'set'>, text: string) => overrideText(world, random, target, text),
    /** From now on the single of one in so many records of a table says more than lists; 0: of none. */
    richSingles: (table: string, oneIn: number) => {
      if (!isTable(table)) throw new RangeError(`There is no table ${table}`)
      world.richSingles.delete(table)
      if (oneIn > 0) world.richSingles.set(table, oneIn)
    },
    /**
     * The required content of a complete mirror, by table. Numbers beyond 2^53 lose digits here; `truthText` keeps
     * them.
     */
    truth: (wanted?: TruthOptions) =>
      JSON.parse(truthText(world, wanted)) as Readonly<Record<string, readonly TruthRow[]>>,
    truthText: (wanted?: TruthOptions) => truthText(world, wanted),
  }
}

export type Sandbox = Readonly<ReturnType<typeof handlesOf>> &
  AsyncDisposable & {
    /** Root of the API without `/v3`, such as `http://127.0.0.1:41234`. */
    readonly url: string
    readonly port: number
    /** The world as it is, for a sandbox that goes on with it. */
    readonly save: () => Uint8Array
    /** Stops the server and drops open connections; may be called twice. */
    readonly close: () => Promise<void>
  }
