// Sections of the status page about work: what needs attention, and what runs now. Pure.

import { findStream } from '../../catalog/catalog.ts'
import { count, counted, duration, relative } from '../../format.ts'
import { isGrave } from '../../inspect/attention-kinds.ts'
import { timeLeft } from '../../inspect/estimate.ts'
import type { RunningRun } from '../../inspect/runs.ts'
import type { AttentionItem } from '../../inspect/status.ts'
import type { PageFacts } from '../page-facts.ts'
import { decisionHint } from '../parts/decisions.ts'
import { commandsHtml, type PageContext, type Section } from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'

/** The conditions that need attention, with the commands that help. */
export const attentionSection = ({ status, now }: PageFacts, decides: PageContext['decides']): Section =>
  status.attention.length === 0
    ? { quiet: 'Nothing needs your attention.' }
    : html`<section aria-labelledby="people"><h2 id="people">Needs attention</h2>
${attentionItems(status.attention, now)}${status.attention.some(({ kind }) => decidable.has(kind)) && decisionHint(decides)}</section>`

/** Items that are decided on the page of the change or the run. */
const decidable: ReadonlySet<AttentionItem['kind']> = new Set(['held', 'conflict', 'unknown', 'failed'])

/** The number of streams that one item links to. */
const linked = 4

const isStream = (name: string): boolean => findStream(name) !== undefined

/** Each item with its remedy, and where to find more. */
export const attentionItems = (attention: readonly AttentionItem[], now: Date): Html =>
  html`<ul class="attention">${attention.map(
    ({ kind, about, since, message, commands }) =>
      html`<li class="${isGrave({ kind }) ? 'bad' : 'warn'}"><p>${message}${since !== null && html` <span class="note">${relative(since, now)}</span>`}</p>${commandsHtml(commands, about.filter(isStream).slice(0, linked))}</li>`,
  )}</ul>`

/** The progress of a run: by records while its list is read, then by tasks; null if it is unknown. */
export function progressOf(
  run: RunningRun,
): { readonly done: number; readonly all: number; readonly text: string } | null {
  if (run.phase === 'sweep' && run.total !== null && run.total > 0)
    return {
      done: Math.min(run.read, run.total),
      all: run.total,
      text: `${count(run.read)} of ${count(run.total)} records, ${Math.floor((100 * Math.min(run.read, run.total)) / run.total)} %`,
    }
  if (run.tasks > 1)
    return { done: run.tasksDone, all: run.tasks, text: `${count(run.tasksDone)} of ${count(run.tasks)} tasks` }
  return null
}

function runningItem(run: RunningRun): Html {
  const progress = progressOf(run)
  const words = progress?.text ?? `${count(run.read)} records read`
  const bar =
    progress === null
      ? html`<progress aria-label="Progress of ${run.stream}"></progress>`
      : html`<progress aria-label="Progress of ${run.stream}" max="${progress.all}" value="${progress.done}"></progress>`
  return html`<li><a class="name" href="/runs/${run.id}">${run.stream}</a>${bar}<span class="note">${words} · ${counted(run.changes, 'change')} · ${counted(run.requests, 'request')} · running for ${duration(run.seconds)}</span></li>`
}

/** Few enough that the section keeps its height. */
const runningShown = 3

/** The runs that finished last, which show that an idle mirror works. */
function lastRuns({ runs, now }: PageFacts): Html {
  const ended = runs.map((run) => ({ ...run, at: new Date(run.startedAt.getTime() + run.seconds * 1_000) }))
  const last = ended.sort((a, b) => b.at.getTime() - a.at.getTime()).slice(0, runningShown)
  const items = last.map(
    (run) =>
      html`<li><a class="name" href="/runs/${run.id}">${run.stream}</a><span class="note">${relative(run.at, now)}</span><span class="note">${run.status} in ${duration(run.seconds)}, ${counted(run.changes, 'change')}</span></li>`,
  )
  return html`<p class="quiet">Nothing is running.${last.length > 0 && ' Last finished:'}</p><ul class="running">${items}</ul>`
}

/** The present runs. */
export function nowSection(facts: PageFacts): Html {
  const { running, waiting, tasks, status } = facts
  const left = timeLeft(status.estimate)
  const more = running.length - runningShown
  const items = [
    ...running.slice(0, runningShown).map(runningItem),
    ...(more > 0 ? [html`<li class="note">and ${counted(more, 'more stream')}</li>`] : []),
    ...(waiting.length > 0
      ? [
          html`<li class="note">${counted(waiting.length, 'stream')} waiting to start: ${waiting.slice(0, 6).join(', ')}${waiting.length > 6 && ' …'}</li>`,
        ]
      : []),
  ]
  return html`<section class="now" aria-labelledby="now"><h2 id="now">Now</h2>
${
  items.length === 0
    ? lastRuns(facts)
    : html`<p class="note">${counted(tasks.running, 'task')} running, ${count(tasks.waiting)} waiting${left !== null && `, ${left}`}</p><ul class="running">${items}</ul>`
}</section>`
}
