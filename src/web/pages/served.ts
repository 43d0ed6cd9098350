// The section of the status page about the processes that serve the API from the mirror; absent where none does. Pure.

import type { ServerStatus } from '../../database/servers.ts'
import { about, count, counted, duration } from '../../format.ts'
import type { ListedToken } from '../../serve/access/tokens.ts'
import type { PageFacts } from '../page-facts.ts'
import { cell } from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'

const time = (ms: number | null): string | null =>
  ms === null ? null : ms < 1_000 ? `${count(Math.round(ms * 10) / 10)} ms` : duration(ms / 1_000)

function row(server: ServerStatus, now: Date): Html {
  const { host, pid, address, isSilent, requests, recentRequests, recentRefused, recentFailed } = server
  const { recentMeanMs, recentSlowestMs, recentOldestS, startedAt } = server
  const tone = isSilent || recentFailed > 0 ? 'warn' : 'ok'
  const state = isSilent ? 'silent' : recentFailed > 0 ? 'failing in part' : 'serving'
  return html`<tr><th scope="row">${address}</th>
${cell('State', html`<span class="state ${tone}">${state}</span>`)}
${cell('Requests', count(recentRequests))}${cell('4xx', count(recentRefused))}${cell('5xx', count(recentFailed))}
${cell('Mean', time(recentMeanMs))}${cell('Slowest', time(recentSlowestMs))}
${cell('Oldest answer', recentOldestS === null ? null : about(recentOldestS))}
${cell('Since start', count(requests))}${cell('Process', `${host}:${pid}, up for ${about((now.getTime() - startedAt.getTime()) / 1_000)}`)}</tr>`
}

/** How many tokens can be used, and how many cannot. */
function tokensText(tokens: readonly ListedToken[]): string {
  const of = (state: ListedToken['state']): number => tokens.filter((token) => token.state === state).length
  const [active, expired, roleless] = [of('active'), of('expired'), of('no role')]
  return [
    active === 0 ? 'No active access token' : `${counted(active, 'active access token')}`,
    ...(expired > 0 ? [`${count(expired)} expired`] : []),
    ...(roleless > 0 ? [`${count(roleless)} without a database role`] : []),
  ].join(' · ')
}

const columns = [
  'Address',
  'State',
  'Requests',
  '4xx',
  '5xx',
  'Mean',
  'Slowest',
  'Oldest answer',
  'Since start',
  'Process',
]

/** Requests, times and ages of the last five minutes of each process, and the tokens. */
export function servedSection({ served, now }: Pick<PageFacts, 'served' | 'now'>): Html {
  if (served === null) return html``
  const { servers, tokens } = served
  return html`<section aria-labelledby="served"><h2 id="served">Served API</h2>
<p class="note">Requests, times and ages are of the last five minutes. ${tokensText(tokens)}. <code>boat-mirror access token list</code></p>
<div class="wide" tabindex="0" role="region" aria-label="Served API"><table><caption class="hidden">Processes that serve the API</caption>
<thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${servers.map((server) => row(server, now))}</tbody></table></div></section>`
}
