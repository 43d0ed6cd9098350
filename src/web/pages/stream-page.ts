// The page of one stream: state, runs, records in quarantine, unknown fields, reads and endpoints. Pure.

import { about, count, counted, duration, freshAsOf, instant, relative } from '../../format.ts'
import type { StreamDetails } from '../../inspect/streams.ts'
import type { Decision } from '../../sync/decisions.ts'
import type { Run } from '../../sync/runs/runs.ts'
import { oneLine } from '../../text.ts'
import type { PageFacts } from '../page-facts.ts'
import { type ActionName, decisionSections } from '../parts/decisions.ts'
import {
  type Columns,
  commandRow,
  frame,
  freshnessTones,
  headline,
  idLink,
  listing,
  type PageContext,
  runTones,
  stateBadge,
  streamLink,
  type Tone,
} from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'
import { keptStrip, keptText } from './kept.ts'
import { quarantineTable } from './quarantine-page.ts'
import { askerOf, kindOf } from './run-page.ts'
import { endpointsTable, readsTable } from './traffic.ts'
import { attentionItems } from './work.ts'

const changesOf = ({ inserted, updated, deleted }: Run): number => Number(inserted) + Number(updated) + Number(deleted)

const runColumns = (now: Date): Columns<Run> => ({
  Run: ({ id }) => idLink('runs', id),
  State: ({ status }) => stateBadge(runTones[status] ?? 'mute', status),
  Kind: (run) => `${kindOf(run)} (${askerOf(run)})`,
  Started: (run) => relative(run.started_at, now),
  Took: (run) => duration(((run.finished_at ?? now).getTime() - run.started_at.getTime()) / 1_000),
  Changes: changesOf,
  Requests: ({ requests }) => Number(requests),
  Error: ({ error }) => (error === null ? '' : oneLine(error, 160)),
})

function summary(facts: PageFacts, { stream }: StreamDetails): Html {
  const { status, freshness, running, now } = facts
  const known = status.streams.find((each) => each.stream === stream.name)
  const fresh = freshness.find((each) => each.stream === stream.name)
  const state = fresh?.state ?? 'unknown'
  const present = running.find((each) => each.stream === stream.name)
  const waits = status.attention.some(({ about: named }) => named.includes(stream.name))
  const tone: Tone = state === 'fresh' && waits ? 'warn' : freshnessTones[state]
  const rows = known?.rowsSoFar ?? known?.rows ?? 0
  const bad = status.quarantine.byStream[stream.name] ?? 0
  return headline({
    tone,
    title: stream.name,
    detail: `${state}${present === undefined ? '' : ', being read now'} · ${counted(rows, 'row')}${bad > 0 ? ` · ${count(bad)} in quarantine` : ''}`,
    facts: [
      ['Parent', stream.parent === undefined ? null : streamLink(stream.parent)],
      ['As of', known === undefined ? null : freshAsOf(known, now)],
      ['Target', fresh?.targetS == null ? 'none' : about(fresh.targetS)],
      ['Paused', known?.paused == null ? null : `since ${instant(known.paused.since)} UTC, by ${known.paused.who}`],
      ['Read every', known?.intervalS == null ? 'not scheduled' : about(known.intervalS)],
      ['Next', known?.nextDueAt == null ? null : known.nextDueAt <= now ? 'due' : relative(known.nextDueAt, now)],
      ['Now', present === undefined ? null : html`<a href="/runs/${present.id}">run ${present.id}</a>`],
    ],
  })
}

export function renderStreamPage(
  facts: PageFacts,
  details: StreamDetails & { readonly decisions: readonly Decision[] },
  { decides }: Pick<PageContext, 'decides'>,
): string {
  const { status, now, version } = facts
  const { stream, runs, quarantine, endpoints, history } = details
  const matters = status.attention.filter(({ about: streams }) => streams.includes(stream.name))
  const fields = status.unknownFields.filter((field) => field.stream === stream.name)
  const reads = status.reads.filter(({ endpoint }) => endpoints.includes(endpoint))
  const called = status.endpoints.filter(({ endpoint }) => endpoints.includes(endpoint))
  const known = status.streams.find((each) => each.stream === stream.name)
  const isInside = stream.reads.kind === 'inside'
  const names: readonly ActionName[] = [
    ...(isInside ? [] : known?.paused == null ? (['pause'] as const) : (['resume'] as const)),
    ...(fields.some(({ isNew }) => isNew) ? (['acknowledge'] as const) : []),
  ]
  const sections = [
    summary(facts, details),
    matters.length > 0 &&
      html`<section aria-labelledby="people"><h2 id="people">Needs attention</h2>${attentionItems(matters, now)}</section>`,
    ...decisionSections({ path: `/streams/${stream.name}`, names, decisions: details.decisions }, { decides, now }),
    html`<section aria-labelledby="commands"><h2 id="commands">Commands</h2>${commandRow([
      `refresh ${stream.name}`,
      `runs ${stream.name}`,
      `sync ${stream.name} --full`,
    ])}</section>`,
    history.length === 0
      ? { quiet: keptText(history) }
      : html`<section aria-labelledby="kept"><h2 id="kept">Freshness kept</h2><p class="note">${keptText(history)}</p>${keptStrip(history, now)}</section>`,
    listing({
      id: 'runs',
      title: `Last ${counted(runs.length, 'run')}`,
      columns: runColumns(now),
      rows: runs,
      none:
        stream.reads.kind === 'inside' && stream.parent !== undefined
          ? `This stream has no runs of its own. It is read with ${stream.parent}.`
          : 'No runs yet.',
    }),
    quarantine.length === 0
      ? { quiet: 'No records are in quarantine.' }
      : html`<section aria-labelledby="quarantine"><h2 id="quarantine">Quarantine</h2>${quarantineTable(quarantine, now)}</section>`,
    listing({
      id: 'fields',
      title: 'Unknown fields',
      columns: {
        Field: ({ path }) => path,
        Times: ({ times }) => times,
        'First seen': ({ firstSeenAt }) => `${instant(firstSeenAt)} UTC`,
      },
      rows: fields,
      none: 'The catalog knows every field of this stream.',
    }),
    called.length === 0
      ? { quiet: 'This stream has no endpoints of its own.' }
      : html`<section aria-labelledby="endpoints"><h2 id="endpoints">Endpoints</h2>${endpointsTable(called, now)}${
          reads.length > 0 &&
          html`<p class="note">Endpoints that may return data that the mirror already has</p>${readsTable(reads, now)}`
        }</section>`,
  ]
  return frame({ title: stream.name, now, version, sections })
}
