// The status page as a whole: what is said first, then the sections. Pure. One page, rendered here, refreshed in place by
// a small script; it says the same without it.

import { bytes, count, counted, relative } from '../../format.ts'
import { firstSyncText } from '../../inspect/estimate.ts'
import { usedText } from '../../inspect/quota.ts'
import type { PageFacts } from '../page-facts.ts'
import { frame, type Tone } from '../parts/frame.ts'
import { type Html, html, layout } from '../parts/html.ts'
import { fleetSection } from './fleet.ts'
import { keptSection } from './kept.ts'
import { messagesSection } from './messages.ts'
import type { PageContext } from './page-context.ts'
import { streamsSection } from './streams.ts'
import { trafficSection } from './traffic.ts'
import { attentionSection, nowSection, outboxSection } from './work.ts'
import { workersSection } from './workers.ts'

type Summary = {
  readonly tone: Tone
  readonly headline: string
  readonly detail: string
}

/** The one sentence an operator wants: is everything fresh? */
function summarize({ status, freshness, running, waiting }: PageFacts): Summary {
  const { attention } = status
  const of = (state: string): number => freshness.filter((each) => each.state === state).length
  const [fresh, late, failing, reading] = [of('fresh'), of('late'), of('failing'), of('reading')]
  const scheduled = fresh + late + failing + reading
  const paused = of('off')
  const read = freshness.length - paused
  const people = attention.length
  const busy = running.length + waiting.length
  const first = firstSyncText(status.streams, status.estimate)
  const detail = [
    `${fresh} of ${counted(read, 'stream')} fresh`,
    ...(paused > 0 ? [`${count(paused)} paused`] : []),
    ...(busy > 0 ? [`${counted(running.length, 'run')} under way`] : []),
    ...(people > 0 ? [`${counted(people, 'matter')} for a person`] : []),
    ...(first === null ? [] : [first]),
  ].join(' · ')
  if (attention.some(({ kind }) => kind === 'credentials'))
    return { tone: 'bad', headline: 'The API refuses the credentials', detail }
  if (failing > 0) return { tone: 'bad', headline: `${counted(failing, 'stream')} failing`, detail }
  if (scheduled === 0 && busy > 0) return { tone: 'busy', headline: 'The first sync is under way', detail }
  if (scheduled === 0) return { tone: 'warn', headline: 'Nothing has been read yet', detail }
  if (late > 0) return { tone: 'warn', headline: `${counted(late, 'stream')} late`, detail }
  if (reading > 0) return { tone: 'busy', headline: `Catching up with ${counted(reading, 'stream')}`, detail }
  if (fresh < read && busy > 0) return { tone: 'busy', headline: 'The first sync is under way', detail }
  return {
    tone: people > 0 ? 'warn' : 'ok',
    headline: people > 0 ? 'Fresh, and something waits for you' : 'Everything is fresh',
    detail,
  }
}

function placesList({ status, now }: PageFacts): Html {
  const { api, database, queue, quota } = status
  const apiState =
    api.url === ''
      ? ''
      : api.breaker === 'open'
        ? `down; next try ${relative(api.nextProbeAt, now) ?? 'with the next request'}`
        : api.pausedUntil === null
          ? 'answering'
          : `asked us to wait; goes on ${relative(api.pausedUntil, now)}`
  return html`<dl class="places">
<div><dt>API</dt><dd>${api.url === '' ? 'not started' : api.url}${api.sandbox ? ' (sandbox)' : ''} <span class="note">${apiState}</span></dd></div>
${quota === null ? '' : html`<div><dt>Quota</dt><dd>${usedText(quota)} <span class="note">${quota.readsStopped ? 'reads wait: the rest is for changes' : 'reads go on'}</span></dd></div>`}
<div><dt>Database</dt><dd>Postgres ${database.version}${database.embedded ? ', embedded' : ''} <span class="note">${bytes(database.size)}</span></dd></div>
<div><dt>Queue</dt><dd>${queue.backend === 'redis' ? 'Redis' : 'Postgres'}</dd></div>
</dl>`
}

/** The whole page. `signedIn`: a session can be ended. */
export function renderPage(facts: PageFacts, { signedIn, decides }: Pick<PageContext, 'signedIn' | 'decides'>): string {
  const { tone, headline: title, detail } = summarize(facts)
  const sections = [
    html`<section class="summary ${tone}" aria-label="Summary"><h1 role="status">${title}</h1><p>${detail}</p>
${placesList(facts)}</section>`,
    attentionSection(facts, decides),
    nowSection(facts),
    streamsSection(facts),
    keptSection(facts),
    outboxSection(facts),
    messagesSection(facts),
    trafficSection(facts),
    fleetSection(facts),
    workersSection(facts),
  ]
  return frame({ title, signedIn, now: facts.now, version: facts.version, sections, isHome: true })
}

/** What is shown while the database does not answer; the page keeps trying. */
export function renderTrouble(message: string): string {
  const body = html`<header><p class="brand">Boat Mirror</p></header>
<main id="main"><div id="live"><section class="summary bad" aria-label="Summary"><h1 role="status">The status cannot be read</h1>
<p>${message}</p><p>Try <code>boat-mirror check</code>. This page tries again by itself.</p></section></div>
<p id="connection" role="status" aria-live="polite"></p></main>`
  return layout({ title: 'The status cannot be read – Boat Mirror', body, live: true })
}
