// Which redundant reads are made: how many are compared before the others are skipped, how many afterwards. Pure.

import { repeatsOf } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { RepeatingRead } from './due/reads.ts'

/** Lists of up to so many records are read singly: it costs a handful a day. */
export const alwaysRead = 60

const smallestSample = 20
const largestSample = 200

/** The share of its records that a redundant read is made for each day, all the same. */
const dailyShare = 0.02

export const dayMs = 24 * 3_600_000

/** How many of the records are compared before any other is skipped: a fifth, at least 20, at most 200. */
export const learningSample = (records: number): number =>
  Math.min(largestSample, Math.max(smallestSample, Math.ceil(records / 5)))

/**
 * Of so many records, those that are compared each day once their read is redundant. Where a fifth would have been more
 * than what was learned from, the first time as many again.
 */
export function dailySample(records: number, isFirst: boolean): number {
  const share = Math.ceil(records * dailyShare)
  return isFirst && records / 5 > largestSample ? Math.max(share, largestSample) : share
}

/** What a task does about reads that repeat others. */
export type Economy = {
  /** Whether to skip this read. Called for each answer: some are made as samples. */
  skips(endpoint: string): boolean
  /** Is it compared with what it repeats? One that is needed is not. */
  compares(endpoint: string): boolean
  /** The read is skipped, except for samples. */
  isRedundant(endpoint: string): boolean
}

/** Whether the singles of a list are skipped. Then its old rows are compared with the list. */
export const comparesAged = (economy: Economy, stream: StreamDef): boolean =>
  repeatsOf(stream).every(({ endpoint }) => economy.isRedundant(endpoint))

/** Every read is made, and nothing is learned from it. */
export const noEconomy: Economy = { skips: () => false, compares: () => false, isRedundant: () => false }

/** Nothing differed so far: enough for coming records, until the others have been compared as well. */
export const isProvisionallyRedundant = ({ state, compared, differed }: RepeatingRead): boolean =>
  state === 'redundant' || (state === 'learning' && differed === 0 && compared > 0)

type Circumstances = {
  /** False: everything is read, and what differs shows all the same. */
  readonly leavesOut: boolean
  /** Reads that appear redundant so far are skipped as well. */
  readonly isProvisional?: boolean
  readonly now: Date
  readonly random?: () => number
}

/** What is done about these reads, by what is known of them. */
export function economyOf(
  reads: readonly RepeatingRead[],
  { leavesOut, isProvisional = false, now, random = Math.random }: Circumstances,
): Economy {
  const byEndpoint = new Map(reads.map((read) => [read.endpoint, read]))
  /** Reads of which none was sampled for a day: the next one is. */
  const overdue = new Set(reads.filter((read) => isSampleDue(read, now)).map(({ endpoint }) => endpoint))
  const isRedundant = (endpoint: string): boolean => {
    const read = byEndpoint.get(endpoint)
    if (!leavesOut || read === undefined) return false
    return read.state === 'redundant' || (isProvisional && isProvisionallyRedundant(read))
  }
  return {
    isRedundant,
    skips: (endpoint) => isRedundant(endpoint) && !overdue.delete(endpoint) && random() >= dailyShare,
    compares: (endpoint) => byEndpoint.has(endpoint) && byEndpoint.get(endpoint)?.state !== 'needed',
  }
}

/** Whether no sample was read within a day. */
export const isSampleDue = ({ sampledAt, since, state }: RepeatingRead, now: Date): boolean =>
  state === 'redundant' && now.getTime() - (sampledAt ?? since).getTime() >= dayMs

/** In random order. */
export function shuffled<T>(items: readonly T[], random: () => number = Math.random): readonly T[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
