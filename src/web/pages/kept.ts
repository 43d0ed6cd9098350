// How long the streams met their targets: a strip of 90 days, and the same as a table. Pure.

import { counted, duration } from '../../format.ts'
import { historyShown, type KeptDay } from '../../inspect/streams.ts'
import type { PageFacts } from '../page-facts.ts'
import { type Columns, type Section, streamLink, table } from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'
import { type DayBar, dayStrip } from '../parts/plots.ts'

/** The shares from which a day is green, and amber. */
const [good, fair] = [0.999, 0.99]

const toneOf = (share: number): string => (share >= good ? 'ok' : share >= fair ? 'warn' : 'bad')

/** `99.87 %`; never 100 % if a minute is missing. */
export function percent({
  minutes,
  minutesWithinTarget: met,
}: Pick<KeptDay, 'minutes' | 'minutesWithinTarget'>): string {
  if (met === minutes) return '100 %'
  return `${(Math.min(9_999, Math.floor((met / minutes) * 10_000)) / 100).toLocaleString('en-US')} %`
}

const gap = ({ longestGap }: Pick<KeptDay, 'longestGap'>): string =>
  longestGap === 0 ? 'none' : duration(longestGap * 60)

const titleOf = (day: KeptDay): string => `${day.day}: ${percent(day)} within target, longest gap ${gap(day)}`

const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)

/** A bar for each of the days that are shown; days without minutes are empty. */
function barsOf(days: readonly KeptDay[], now: Date): readonly DayBar[] {
  const today = now.toISOString().slice(0, 10)
  return Array.from({ length: historyShown }, (_, index) => {
    const date = addDays(today, index - historyShown + 1)
    const day = days.find((each) => each.day === date)
    return day === undefined
      ? { share: null, tone: '', title: `${date}: not measured` }
      : { share: day.share, tone: toneOf(day.share), title: titleOf(day) }
  })
}

/** The strip, with a label that describes it in words. */
export function keptStrip(days: readonly KeptDay[], now: Date): Html {
  const worst = [...days].sort((a, b) => a.share - b.share)[0]
  const label =
    worst === undefined
      ? 'Share of minutes within target by day: not measured yet'
      : `Share of minutes within target by day; lowest of ${counted(days.length, 'day')}: ${percent(worst)} on ${worst.day}`
  return html`${dayStrip(barsOf(days, now), label)}<p class="note ends"><span>${addDays(now.toISOString().slice(0, 10), 1 - historyShown)}</span><span>today</span></p>`
}

/** The total of several days in words. */
export function keptText(days: readonly KeptDay[]): string {
  const minutes = days.reduce((sum, day) => sum + day.minutes, 0)
  const minutesWithinTarget = days.reduce((sum, day) => sum + day.minutesWithinTarget, 0)
  return minutes === 0
    ? 'Freshness has not been measured yet. A worker checks it once a minute.'
    : `Within target ${percent({ minutes, minutesWithinTarget })} of the time measured in the last ${historyShown} days (UTC). Amber: below ${good * 100} % of a day; red: below ${fair * 100} %.`
}

/** The section of the status page: all streams together, and each as a row. */
export function keptSection({ status: { freshnessHistory }, now }: PageFacts): Section {
  const { days, streams } = freshnessHistory
  if (days.length === 0) return { quiet: keptText(days) }
  const rows = [...streams].sort((a, b) => a.share - b.share || b.longestGap - a.longestGap)
  const columns: Columns<(typeof rows)[number]> = {
    Stream: ({ stream }) => streamLink(stream),
    'Within target': percent,
    'Minutes missed': (each) => each.minutes - each.minutesWithinTarget,
    'Longest gap': gap,
  }
  return html`<section aria-labelledby="kept"><h2 id="kept">Freshness kept</h2>
<p class="note">${keptText(days)}</p>${keptStrip(days, now)}<details id="kept-streams"><summary>By stream</summary>${table(
    'Share of minutes within target by stream, lowest first',
    columns,
    rows,
  )}</details></section>`
}
