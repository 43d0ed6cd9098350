// The section of the status page about the API: rate, errors and latency over hours, and every endpoint. Pure.

import { count, counted, duration, relative } from '../../format.ts'
import { type EndpointFacts, isFailing, readsSummary, type TrafficPoint, wasAnswered } from '../../inspect/calls.ts'
import type { RepeatingRead } from '../../sync/due/reads.ts'
import { oneLine } from '../../text.ts'
import { type PageFacts, trafficShown } from '../page-facts.ts'
import { stateBadge, table } from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'
import { columnPlot } from '../parts/plots.ts'

const clock = (at: Date): string => `${at.toISOString().slice(11, 16)} UTC`

/** Marks at whole hours, by index of the interval, except at the edges, where they would be cut. */
const hourMarks = (points: readonly TrafficPoint[]): readonly { at: number; text: string }[] =>
  points.flatMap((point, at) =>
    point.at.getUTCMinutes() === 0 && at > 2 && at < points.length - 3
      ? [{ at, text: point.at.toISOString().slice(11, 16) }]
      : [],
  )

type Figure = { readonly title: string; readonly words: string; readonly plot: Html }

function ratePlot(points: readonly TrafficPoint[]): Figure {
  const calls = points.reduce((sum, point) => sum + point.calls, 0)
  const perSecond = (value: number): string => `${count(value)}/s`
  const seconds = trafficShown.minutes * 60
  const columns = points.map((point) => ({
    parts: [{ value: point.calls / seconds, tone: 'series' }],
    title: `${clock(point.at)}: ${counted(point.calls, 'call')}`,
  }))
  const words = counted(calls, 'call')
  return {
    title: 'Requests',
    words,
    plot: columnPlot({ columns, label: `Requests per second: ${words}`, format: perSecond, marks: hourMarks(points) }),
  }
}

function errorPlot(points: readonly TrafficPoint[]): Figure {
  const failures = points.reduce((sum, point) => sum + point.failures, 0)
  const throttled = points.reduce((sum, point) => sum + point.throttled, 0)
  const columns = points.map((point) => ({
    parts: [
      { value: point.failures - point.throttled, tone: 'bad' },
      { value: point.throttled, tone: 'warn' },
    ],
    title: `${clock(point.at)}: ${counted(point.failures, 'failure')}, ${count(point.throttled)} of them 429`,
  }))
  const words = `${counted(failures, 'failure')}, ${count(throttled)} of them “too many requests”`
  return {
    title: 'Errors',
    words,
    plot: columnPlot({ columns, label: `Failed requests: ${words}`, format: count, marks: hourMarks(points) }),
  }
}

function latencyPlot(points: readonly TrafficPoint[]): Figure {
  const slowest = Math.max(0, ...points.map((point) => point.slowestMs ?? 0))
  const seconds = (ms: number): string => (ms < 1_000 ? `${count(Math.round(ms))} ms` : duration(ms / 1_000))
  const columns = points.map((point) => ({
    parts: [
      { value: point.meanMs ?? 0, tone: 'series' },
      { value: (point.slowestMs ?? 0) - (point.meanMs ?? 0), tone: 'soft' },
    ],
    title: `${clock(point.at)}: ${point.meanMs === null ? 'no calls' : `mean ${seconds(point.meanMs)}, slowest ${seconds(point.slowestMs ?? 0)}`}`,
  }))
  const words = slowest === 0 ? 'no calls' : `mean, with the slowest above it; ${seconds(slowest)} at most`
  return {
    title: 'Latency',
    words,
    plot: columnPlot({ columns, label: `Latency: ${words}`, format: seconds, marks: hourMarks(points) }),
  }
}

const lastStatus = (each: EndpointFacts): Html =>
  each.calls === 0
    ? stateBadge('mute', 'not called')
    : stateBadge(isFailing(each) ? 'bad' : 'ok', each.lastStatus ?? 'no answer')

const lastCall = ({ lastCalledAt, lastError }: EndpointFacts, now: Date): Html =>
  html`${relative(lastCalledAt, now) ?? 'never'}${lastError !== null && html` <span class="note">${oneLine(lastError, 160)}</span>`}`

const readTones = { redundant: 'ok', needed: 'warn' } as const

/** Endpoints with their calls and the last result. */
export const endpointsTable = (endpoints: readonly EndpointFacts[], now: Date): Html =>
  table<EndpointFacts>(
    'Read endpoints with their calls and the last result',
    {
      Endpoint: ({ endpoint }) => endpoint,
      Calls: ({ calls }) => calls,
      Failures: ({ failures }) => failures,
      'Last status': lastStatus,
      'Last call': (each) => lastCall(each, now),
    },
    endpoints,
  )

/** Reads that may repeat others, with what was found out. */
export const readsTable = (reads: readonly RepeatingRead[], now: Date): Html =>
  table<RepeatingRead>(
    'Endpoints that may return data that the mirror already has, whether they are skipped, and how many requests that saved',
    {
      Endpoint: ({ endpoint }) => endpoint,
      'Same as': ({ sameAs }) => sameAs,
      State: ({ state, since }) =>
        html`${stateBadge(readTones[state], state)} <span class="note">${relative(since, now)}</span>`,
      Compared: ({ compared }) => compared,
      Differed: ({ differed }) => differed,
      Skipped: ({ skipped }) => skipped,
    },
    reads,
  )

/** Plots of the last hours, all endpoints, and the reads that repeat others. */
export function trafficSection({ status, traffic, now }: PageFacts): Html {
  const answered = status.endpoints.filter(wasAnswered).length
  const figures = [ratePlot(traffic), errorPlot(traffic), latencyPlot(traffic)].map(
    ({ title, words, plot }) =>
      html`<figure><figcaption><strong>${title}</strong> <span class="note">${words}</span></figcaption>${plot}</figure>`,
  )
  const endpoints = [...status.endpoints].sort((a, b) => Number(isFailing(b)) - Number(isFailing(a)))
  return html`<section aria-labelledby="api"><h2 id="api">API, last ${trafficShown.hours} hours</h2>
<div class="figures">${figures}</div>
<details id="endpoints"><summary>${count(answered)} of ${counted(status.endpoints.length, 'read endpoint')} answered successfully</summary>
${endpointsTable(endpoints, now)}</details>
<details id="reads"><summary>${readsSummary(status.reads)}</summary>
${readsTable(status.reads, now)}</details></section>`
}
