// The section of the status page about streams: rows, age and target, the last runs as small plots. Pure.

import { findStream, parentOf, streams, withAncestors } from '../../catalog/catalog.ts'
import { referenceStreams } from '../../catalog/reference-data.ts'
import { about, count, counted, duration, instant, relative } from '../../format.ts'
import type { FinishedRun, RunningRun } from '../../inspect/runs.ts'
import type { Freshness, StreamFreshness, StreamStatus } from '../../inspect/streams.ts'
import { type PageFacts, runsShown } from '../page-facts.ts'
import { freshnessTones, runTones, streamLink } from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'
import { type Bar, sparkBars } from '../parts/plots.ts'
import { progressOf } from './work.ts'

const runTitle = (run: FinishedRun): string =>
  `run ${run.id}, ${instant(run.startedAt)} UTC: ${run.status}, ${duration(run.seconds)}, ${counted(run.changes, 'change')}`

const bars = (runs: readonly FinishedRun[], value: (run: FinishedRun) => number): readonly Bar[] =>
  runs.map((run) => ({ value: value(run), tone: runTones[run.status] ?? 'mute', title: runTitle(run) }))

function plots(stream: string, runs: readonly FinishedRun[]): Html {
  const last = runs.at(-1)
  if (last === undefined) return html`<span class="note plain">–</span>`
  const slowest = Math.max(...runs.map((run) => run.seconds))
  const changes = runs.reduce((sum, run) => sum + run.changes, 0)
  return html`<span class="sparks">${sparkBars(
    bars(runs, (run) => run.seconds),
    {
      slots: runsShown,
      label: `Duration of the last ${runs.length} runs of ${stream}: ${duration(slowest)} at most`,
    },
  )}${sparkBars(
    bars(runs, (run) => run.changes),
    { slots: runsShown, label: `Changes of the last ${runs.length} runs of ${stream}: ${count(changes)} in total` },
  )}</span>`
}

function lastRun({ runs, fresh, running }: Row): Html {
  const last = runs.at(-1)
  const status = fresh?.lastRunStatus ?? null
  if (running !== undefined) {
    const words = progressOf(running)?.text ?? counted(running.read, 'record')
    return html`<a href="/runs/${running.id}">reading</a> <span class="note">${words}</span>`
  }
  if (last === undefined)
    return status === null
      ? html`<span class="note plain">–</span>`
      : html`<span class="note">${status}, with its parent</span>`
  return html`<a href="/runs/${last.id}">${last.status}</a> <span class="note">${duration(last.seconds)}, ${counted(last.changes, 'change')}</span>`
}

type Row = {
  readonly stream: StreamStatus
  readonly fresh: StreamFreshness | undefined
  readonly runs: readonly FinishedRun[]
  readonly running: RunningRun | undefined
  readonly bad: number
}

/** The age of a stream, and below it that of its hot window, on a line of its own; the target stands with its age. */
function age({ stream: { asOf, hotAsOf, countsAsOf }, fresh }: Row, now: Date): Html {
  const target = fresh?.targetS ?? null
  const note = html` <span class="note whole">${target === null ? 'no target' : `of ${about(target)}`}</span>`
  const whole = relative(asOf, now) ?? 'never'
  if (asOf === null || hotAsOf === null) return html`${whole}${note}`
  const isOfHot = countsAsOf !== null && countsAsOf > asOf
  return html`${whole}${!isOfHot && note} <span class="below">hot ${relative(hotAsOf, now)}${isOfHot && note}</span>`
}

function row(each: Row, now: Date): Html {
  const { stream, fresh, runs, bad } = each
  const state = fresh?.state ?? 'unknown'
  const isFirstRead = state === 'unknown' && each.running !== undefined
  return html`<tr><th scope="row">${streamLink(stream.stream)}</th>
<td data-label="State"><span class="state ${isFirstRead ? 'busy' : freshnessTones[state]}">${isFirstRead ? 'reading' : state}</span>${fresh?.lastRunStatus === 'held' && html` <span class="badge">held</span>`}${stream.paused !== null && html` <span class="note">paused</span>`}${
    bad > 0 && html` <span class="badge" title="${counted(bad, 'record')} in quarantine">${count(bad)} bad</span>`
  }</td>
<td data-label="Rows" class="number">${count(stream.rowsSoFar ?? stream.rows)}</td>
<td data-label="As of">${age(each, now)}</td>
<td data-label="Last runs">${plots(stream.stream, runs)}</td>
<td data-label="Last run">${lastRun(each)}</td>
<td data-label="Next">${stream.nextDueAt === null ? html`<span class="note">–</span>` : stream.nextDueAt <= now ? 'due' : relative(stream.nextDueAt, now)}</td></tr>`
}

const urgency: Readonly<Record<Freshness, number>> = { failing: 0, late: 1, reading: 2, unknown: 3, fresh: 4, off: 5 }

const references: ReadonlySet<string> = new Set(referenceStreams.map(({ name }) => name))

const needsLook = ({ fresh, bad }: Row): boolean =>
  bad > 0 || fresh?.state === 'failing' || fresh?.state === 'late' || fresh?.lastRunStatus === 'held'

/** Root streams, the most interesting first: the catalog lists rentals last, because they depend on the others. */
const roots = streams
  .filter((stream) => parentOf(stream) === undefined)
  .map(({ name }) => name)
  .reverse()

/** The order of rows: streams that need attention, then by state, then by root stream, then as in the catalog. */
function place(each: Row): number {
  const known = findStream(each.stream.stream)
  const root = known === undefined ? roots.length : roots.indexOf(withAncestors(known)[0]?.name ?? '')
  const state = needsLook(each) ? 0 : 1
  const group = (state * 10 + urgency[each.fresh?.state ?? 'unknown']) * 100 + root
  return group * 1_000 + streams.findIndex(({ name }) => name === each.stream.stream)
}

const rowsOf = (rows: readonly Row[]): number =>
  rows.reduce((sum, { stream }) => sum + (stream.rowsSoFar ?? stream.rows), 0)

const tableOf = (rows: readonly Row[], name: string, now: Date): Html =>
  html`<div class="wide" tabindex="0" role="region" aria-label="${name}"><table class="streams">
<caption class="hidden">${name} with their rows, age, last runs and next run</caption>
<thead><tr><th scope="col">Stream</th><th scope="col">State</th><th scope="col" class="number">Rows</th><th scope="col">As of, target</th><th scope="col">Last runs: time, changes</th><th scope="col">Last run</th><th scope="col">Next</th></tr></thead>
<tbody>${rows.map((each) => row(each, now))}</tbody>
</table></div>`

/** Reference lists, folded behind a summary. */
function foldedLists(lists: readonly Row[], now: Date): Html {
  const fresh = lists.filter((each) => each.fresh?.state === 'fresh').length
  return html`<details id="references"><summary>${counted(lists.length, 'reference list')}, ${count(fresh)} fresh, ${counted(rowsOf(lists), 'row')}</summary>${tableOf(lists, 'Reference lists', now)}</details>`
}

/** A row for each stream. Those that need attention come first; reference lists that need none are folded. */
export function streamsSection({ status, freshness, runs, running, now }: PageFacts): Html {
  const rows = status.streams
    .map((stream): Row => {
      return {
        stream,
        fresh: freshness.find((each) => each.stream === stream.stream),
        runs: runs.filter((run) => run.stream === stream.stream),
        running: running.find((run) => run.stream === stream.stream),
        bad: status.quarantine.byStream[stream.stream] ?? 0,
      }
    })
    .sort((a, b) => place(a) - place(b))
  const isFolded = (each: Row): boolean => references.has(each.stream.stream) && !needsLook(each)
  const folded = rows.filter(isFolded)
  const shown = rows.filter((each) => !isFolded(each))
  return html`<section aria-labelledby="streams"><h2 id="streams">Streams</h2>
<p class="note">${counted(rowsOf(rows), 'row')} in ${counted(rows.length, 'table')}. Last ${runsShown} runs per stream: duration and number of changes.</p>
${tableOf(shown, 'Streams', now)}${folded.length > 0 && foldedLists(folded, now)}</section>`
}
