// How many requests a provider allows within an hour, a day and a month, and how they are shared out. Here the rule as
// numbers; ../../state/shared/request-budget.sql applies it when requests are lent.

import type { Quota, QuotaWindow } from '../../settings.ts'

export type { Quota, QuotaWindow } from '../../settings.ts'

export const quotaWindows = ['hour', 'day', 'month'] as const satisfies readonly QuotaWindow[]

export const quotaRule = {
  /** Reads stop when this share of a window is used: the rest is for changes. */
  forReads: 0.9,
  /** Details, which can be any number, leave this share of an hour's quota to all that goes before them … */
  forDetailsOfHour: 0.75,
  /** … and are spread evenly over day and month, at this share of what those allow, … */
  forDetails: 0.7,
  /** … except for the unused part of this many hours, which they may use immediately. */
  detailsAheadHours: 6,
  /** The share the schedule is solved for. The rest is for refreshes, retries, samples and the unforeseen. */
  forSchedule: 0.65,
  /** A request that was taken from the quota leaves within this time, or is taken anew. Windows are longer by it. */
  heldMs: 60_000,
} as const

/** The hours of a month where none has started. */
export const monthHours = 30 * 24

/** Requests per hour that a quota allows in the long run, of which `usedOfMonth` were made and `hoursLeft` are left of the month. */
export function pacePerHour({ hour, day, month }: Quota, usedOfMonth = 0, hoursLeft: number = monthHours): number {
  const ofMonth = month === null ? null : Math.max(0, month - usedOfMonth) / Math.max(1, hoursLeft)
  const paces = [hour, day === null ? null : day / 24, ofMonth].filter((pace) => pace !== null)
  return Math.min(...paces, Number.POSITIVE_INFINITY)
}

/** The quota as the setting has it: `5000/hour,200000/day`. */
export const quotaText = (quota: Quota): string =>
  quotaWindows.flatMap((window) => (quota[window] === null ? [] : [`${quota[window]}/${window}`])).join(',')
