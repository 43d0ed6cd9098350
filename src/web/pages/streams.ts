// The section of the status page about streams: rows, age against target, the last runs as small plots. Pure.

import { about, count, counted, duration, freshAsOf, instant, relative } from '../../format.ts'
import type { FinishedRun, StreamFreshness } from '../../inspect/page-queries.ts'
import type { Freshness, StreamStatus } from '../../inspect/queries.ts'
import { type PageFacts, runsShown } from '../page-facts.ts'
import { type Html, html } from '../parts/html.ts'
import { type Bar, sparkBars } from '../parts/plots.ts'

const tones: Readonly<Record<Freshness, string>> = { fresh: 'ok', late: 'warn', failing: 'bad', unknown: 'mute' }

const runTones: Readonly<Record<string, string>> = { done: 'ok', partial: 'warn', held: 'warn', failed: 'bad' }

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
      label: `Duration of the last ${runs.length} runs of ${stream}: the slowest ${duration(slowest)}`,
    },
  )}${sparkBars(
    bars(runs, (run) => run.changes),
    { slots: runsShown, label: `Changes of the last ${runs.length} runs of ${stream}: ${count(changes)} together` },
  )}</span>`
}

function lastRun(runs: readonly FinishedRun[], status: string | null): Html {
  const last = runs.at(-1)
  if (last === undefined) return html`<span class="note">${status === null ? '–' : `${status}, with its parent`}</span>`
  return html`${last.status} <span class="note">${duration(last.seconds)}, ${counted(last.changes, 'change')}</span>`
}

type Row = {
  readonly stream: StreamStatus
  readonly fresh: StreamFreshness | undefined
  readonly runs: readonly FinishedRun[]
  readonly bad: number
}

function row({ stream, fresh, runs, bad }: Row, now: Date): Html {
  const state = fresh?.state ?? 'unknown'
  const target = fresh?.targetS ?? null
  return html`<tr><th scope="row">${stream.stream}</th>
<td data-label="State"><span class="state ${tones[state]}">${state}</span>${fresh?.lastRunStatus === 'held' && html` <span class="badge">held</span>`}${
    bad > 0 && html` <span class="badge">${count(bad)} bad</span>`
  }</td>
<td data-label="Rows" class="number">${count(stream.rowsSoFar ?? stream.rows)}</td>
<td data-label="As of">${freshAsOf(stream, now)} <span class="note">${target === null ? 'no target' : `of ${about(target)}`}</span></td>
<td data-label="Last runs">${plots(stream.stream, runs)}</td>
<td data-label="Last run">${lastRun(runs, fresh?.lastRunStatus ?? null)}</td>
<td data-label="Next">${stream.nextDueAt === null ? html`<span class="note">–</span>` : stream.nextDueAt <= now ? 'due' : relative(stream.nextDueAt, now)}</td></tr>`
}

const order: Readonly<Record<Freshness, number>> = { failing: 0, late: 1, unknown: 2, fresh: 3 }

/** A row for each stream; those that need a look come first. */
export function streamsSection({ status, freshness, runs, now }: PageFacts): Html {
  const rows = status.streams
    .map((stream): Row => {
      return {
        stream,
        fresh: freshness.find((each) => each.stream === stream.stream),
        runs: runs.filter((run) => run.stream === stream.stream),
        bad: status.quarantine.byStream[stream.stream] ?? 0,
      }
    })
    .sort((a, b) => order[a.fresh?.state ?? 'unknown'] - order[b.fresh?.state ?? 'unknown'])
  const total = status.streams.reduce((sum, stream) => sum + (stream.rowsSoFar ?? stream.rows), 0)
  return html`<section aria-labelledby="streams"><h2 id="streams">Streams</h2>
<p class="note">${counted(total, 'row')} in ${counted(status.streams.length, 'table')}. Of each stream the last ${runsShown} runs: how long they took, and how many changes they brought.</p>
<div class="wide" tabindex="0" role="region" aria-label="Streams"><table class="streams">
<caption class="hidden">Streams with their rows, age, last runs and next run</caption>
<thead><tr><th scope="col">Stream</th><th scope="col">State</th><th scope="col" class="number">Rows</th><th scope="col">As of, target</th><th scope="col">Last runs: time, changes</th><th scope="col">Last run</th><th scope="col">Next</th></tr></thead>
<tbody>${rows.map((each) => row(each, now))}</tbody>
</table></div></section>`
}
