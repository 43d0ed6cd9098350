// How many requests a provider allows within an hour, a day and a month, and how they are shared out: the rule as
// numbers, which request-budget.sql applies. Also reads the quota from headers of the API: RateLimit-Policy in the forms
// of the IETF drafts (draft-ietf-httpapi-ratelimit-headers), RateLimit-Limit and X-RateLimit-Limit where they name a
// window, and Kong's names for each window. Pure.

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
const monthHours = 30 * 24

/** Requests per hour that a quota allows in the long run, of which `usedOfMonth` were made and `hoursLeft` are left of the month. */
export function pacePerHour({ hour, day, month }: Quota, usedOfMonth = 0, hoursLeft: number = monthHours): number {
  const ofMonth = month === null ? null : Math.max(0, month - usedOfMonth) / Math.max(1, hoursLeft)
  const paces = [hour, day === null ? null : day / 24, ofMonth].filter((pace) => pace !== null)
  return Math.min(...paces, Number.POSITIVE_INFINITY)
}

/** The quota as the setting has it: `5000/hour,200000/day`. */
export const quotaText = (quota: Quota): string =>
  quotaWindows.flatMap((window) => (quota[window] === null ? [] : [`${quota[window]}/${window}`])).join(',')

/** So many requests within so many seconds. */
type ReportedLimit = { readonly requests: number; readonly seconds: number }

const [minuteS, hourS, dayS] = [60, 3_600, 86_400]
const [shortestMonthS, longestMonthS] = [28 * dayS, 31 * dayS]

/** Splits at a character outside of quotes. */
function split(text: string, at: string): readonly string[] {
  const parts = ['']
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? ''
    if (quoted && char === '\\') {
      parts[parts.length - 1] += char + (text[++i] ?? '')
      continue
    }
    if (char === '"') quoted = !quoted
    if (char === at && !quoted) parts.push('')
    else parts[parts.length - 1] += char
  }
  return parts.map((part) => part.trim())
}

const whole = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,12}$/.test(text) && Number(text) > 0 ? Number(text) : null

/** One policy: `"day";q=5000;w=86400`, or in older drafts `5000;w=86400`. Null: no requests within a window. */
function policyIn(text: string): ReportedLimit | null {
  const [item = '', ...params] = split(text, ';')
  const named = new Map(
    params.map((param) => {
      const [name = '', value = ''] = split(param, '=')
      return [name.toLowerCase(), value] as const
    }),
  )
  const unit = named.get('qu')
  if (unit !== undefined && unit !== '"requests"') return null
  const requests = whole(named.get('q')) ?? whole(item)
  const seconds = whole(named.get('w')) ?? whole(named.get('window'))
  return requests === null || seconds === null ? null : { requests, seconds }
}

/** Names that hold one number for one window. */
const ofWindow = { minute: minuteS, hour: hourS, day: dayS, month: 30 * dayS } as const

/** The limits in headers (names in lower case); values it does not understand are skipped. */
export function limitsIn(headers: Readonly<Record<string, string>>): readonly ReportedLimit[] {
  const told = ['ratelimit-policy', 'ratelimit-limit', 'x-ratelimit-limit'].flatMap((name) =>
    split(headers[name] ?? '', ',').flatMap((policy) => policyIn(policy) ?? []),
  )
  const byName = Object.entries(ofWindow).flatMap(([window, seconds]) => {
    const requests = whole(headers[`x-ratelimit-limit-${window}`])
    return requests === null ? [] : { requests, seconds }
  })
  return [...told, ...byName]
}

const smaller = (a: number | null, b: number): number => (a === null ? b : Math.min(a, b))

/**
 * Settings that keep to all of these limits. A window we have no setting for becomes the next smaller one, as often
 * as it fits. Null: no limit requires a setting.
 */
export function settingsFor(limits: readonly ReportedLimit[]): { readonly rate: number | null; readonly quota: Quota } {
  let rate: number | null = null
  const quota: { hour: number | null; day: number | null; month: number | null } = {
    hour: null,
    day: null,
    month: null,
  }
  for (const { requests, seconds } of limits) {
    const within = (unit: number): number => Math.floor(requests / Math.ceil(seconds / unit))
    if (seconds >= shortestMonthS && seconds <= longestMonthS) quota.month = smaller(quota.month, requests)
    else if (seconds >= dayS) quota.day = smaller(quota.day, within(dayS))
    else if (seconds >= hourS) quota.hour = smaller(quota.hour, within(hourS))
    else rate = smaller(rate, Math.floor(requests / seconds))
  }
  return { rate, quota }
}

/** The lines to set: `API_QUOTA=5000/hour`; of a rate below one a second none. */
export function quotaLines(limits: readonly ReportedLimit[]): readonly string[] {
  const { rate, quota } = settingsFor(limits)
  const text = quotaText(quota)
  return [
    ...(rate === null || rate < 1 ? [] : [`API_RATE_LIMIT=${rate}`]),
    ...(text === '' ? [] : [`API_QUOTA=${text}`]),
  ]
}
