// The status page: the verdict, then the sections. A small script refreshes it in place; it is complete without the script. Pure.

import { count, counted } from '../../format.ts'
import { connectionsOf } from '../../inspect/connections.ts'
import { firstSyncText } from '../../inspect/estimate.ts'
import { verdictOf } from '../../inspect/verdict.ts'
import type { PageFacts } from '../page-facts.ts'
import { frame, type PageContext } from '../parts/frame.ts'
import { type Html, html, layout } from '../parts/html.ts'
import { outboxSection } from './change-page.ts'
import { fleetSection } from './fleet.ts'
import { keptSection } from './kept.ts'
import { paceSection } from './pace.ts'
import { servedSection, workersSection } from './processes.ts'
import { streamsSection } from './streams.ts'
import { trafficSection } from './traffic.ts'
import { attentionSection, nowSection } from './work.ts'

/** The number of fresh streams and of runs, below the verdict. */
function detailOf({ status, freshness, running }: PageFacts): string {
  const of = (state: string): number => freshness.filter((each) => each.state === state).length
  const [fresh, paused] = [of('fresh'), of('off')]
  const first = firstSyncText(status.streams, status.estimate)
  return [
    `${fresh} of ${counted(freshness.length - paused, 'stream')} ${fresh === 1 ? 'is' : 'are'} fresh`,
    ...(paused > 0 ? [`${count(paused)} paused`] : []),
    ...(running.length > 0 ? [`${counted(running.length, 'run')} in progress`] : []),
    ...(first === null ? [] : [first]),
  ].join(' · ')
}

/** A text whose backticks become code. */
const withCode = (text: string): readonly Html[] =>
  text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))

const connectionsList = ({ status, now }: PageFacts): Html =>
  html`<dl class="places">${connectionsOf(status, now).map(
    ({ name, what, state }) =>
      html`<div><dt>${name === 'Webhook' ? html`<a href="/webhook">${name}</a>` : name}</dt><dd>${what} <span class="note">${state}</span></dd></div>`,
  )}</dl>`

export function renderPage(facts: PageFacts, decides: PageContext['decides']): string {
  const { tone, sentence } = verdictOf(facts.status)
  const title = sentence.replaceAll('`', '').replace(/\.$/, '')
  const sections = [
    html`<section class="summary ${tone}" aria-label="Summary"><h1 role="status">${withCode(sentence)}</h1><p>${detailOf(facts)}</p>
${connectionsList(facts)}</section>`,
    attentionSection(facts, decides),
    nowSection(facts),
    streamsSection(facts),
    keptSection(facts),
    outboxSection(facts),
    servedSection(facts),
    trafficSection(facts),
    fleetSection(facts),
    paceSection(facts),
    workersSection(facts),
  ]
  return frame({ title, now: facts.now, version: facts.version, sections, at: '/' })
}

/** The page while the database does not answer. It retries automatically. */
export function renderTrouble(message: string): string {
  const body = html`<header><p class="brand">Boat Mirror</p></header>
<main id="main"><div id="live"><section class="summary bad" aria-label="Summary"><h1 role="status">Cannot read the status</h1>
<p>${message}</p><p>Run <code>boat-mirror check</code>. This page retries automatically.</p></section></div>
<p id="connection" role="status" aria-live="polite"></p></main>`
  return layout({ title: 'Cannot read the status – Boat Mirror', body, live: true })
}
