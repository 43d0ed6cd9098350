// Which of the reads that repeat others are made all the same: samples, which show when one returns more. Pure.

import { repeatsOf } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { RepeatingRead } from './due/reads.ts'

const smallestSample = 20
const largestSample = 200

/** The share that is sampled first, and each day from then on. */
const firstShare = 0.2
export const dailyShare = 0.02

export const dayMs = 24 * 3_600_000

/** How many of the records are compared first: a fifth, at least 20, at most 200. */
export const firstSample = (records: number): number =>
  Math.min(largestSample, Math.max(smallestSample, Math.ceil(records * firstShare)))

/** How many of them are compared each day from then on. Of ten records, one in five days. */
export const dailySample = (records: number, random: () => number = Math.random): number =>
  Math.floor(records * dailyShare + random())

/** Whether a read is skipped of which too little has been compared. */
export const lacksSample = ({ state, compared }: RepeatingRead): boolean =>
  state === 'redundant' && compared < smallestSample

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

/** Every read is made, and none is compared. */
export const noEconomy: Economy = { skips: () => false, compares: () => false, isRedundant: () => false }

type Circumstances = {
  /** False: everything is read, and what differs shows all the same. */
  readonly leavesOut: boolean
  /** The part of a first sample that this task makes, 0 to 1. */
  readonly part?: number
  readonly now: Date
  readonly random?: () => number
}

/** What is done about these reads, by what is known of them. */
export function economyOf(
  reads: readonly RepeatingRead[],
  { leavesOut, part = 0, now, random = Math.random }: Circumstances,
): Economy {
  const byEndpoint = new Map(reads.map((read) => [read.endpoint, read]))
  /** Reads of which none was sampled for a day: the next one is. */
  const overdue = new Set(reads.filter((read) => isSampleDue(read, now)).map(({ endpoint }) => endpoint))
  const counts = new Map(reads.map(({ endpoint }) => [endpoint, { asked: 0, sampled: 0 }]))
  const isRedundant = (endpoint: string): boolean => leavesOut && byEndpoint.get(endpoint)?.state === 'redundant'
  /** A first sample is at random as well, but never more than a fifth of the reads so far. */
  const isSample = (endpoint: string, { asked, sampled }: { readonly asked: number; readonly sampled: number }) => {
    if (overdue.delete(endpoint) || sampled < Math.round(part * smallestSample)) return true
    if (sampled >= part * largestSample) return random() < dailyShare
    return sampled < Math.floor(asked * firstShare) && random() < 0.5
  }
  return {
    isRedundant,
    skips: (endpoint) => {
      const count = counts.get(endpoint)
      if (count === undefined || !isRedundant(endpoint)) return false
      count.asked += 1
      if (!isSample(endpoint, count)) return true
      count.sampled += 1
      return false
    },
    compares: (endpoint) => byEndpoint.has(endpoint) && byEndpoint.get(endpoint)?.state !== 'needed',
  }
}

export const isSampleDue = ({ sampledAt, since, state }: RepeatingRead, now: Date): boolean =>
  state === 'redundant' && now.getTime() - (sampledAt ?? since).getTime() >= dayMs
