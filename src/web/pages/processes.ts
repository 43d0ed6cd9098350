// Sections of the status page about the processes of this installation: workers, and
// servers of the API. Pure.

import type { ServerStatus, WorkerStatus } from '../../database/presence.ts'
import { about, count, counted, duration, relative } from '../../format.ts'
import type { ListedToken } from '../../serve/access/tokens.ts'
import type { PageFacts } from '../page-facts.ts'
import { cell, listing, type Section, stateBadge, table } from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'

function workerRow({ host, pid, version, startedAt, seenAt, doing, isSilent }: WorkerStatus, now: Date): Html {
  const state = isSilent
    ? stateBadge('warn', 'silent')
    : doing === null
      ? stateBadge('mute', 'idle')
      : stateBadge('ok', 'working')
  return html`<tr><th scope="row">${host}:${pid}</th>
${cell('State', state)}${cell('Version', version)}${cell('Up for', about((now.getTime() - startedAt.getTime()) / 1_000))}
${cell('Last seen', relative(seenAt, now))}${cell('Doing', doing ?? 'idle')}</tr>`
}

/** The workers that reported within ten minutes. */
export const workersSection = ({ status, now }: PageFacts): Section =>
  listing({
    id: 'workers',
    title: 'Workers',
    columns: ['Worker', 'State', 'Version', 'Up for', 'Last seen', 'Doing'],
    rows: status.workers.map((worker) => workerRow(worker, now)),
    none: 'No worker has reported for ten minutes.',
  })

const time = (ms: number | null): string | null =>
  ms === null ? null : ms < 1_000 ? `${count(Math.round(ms * 10) / 10)} ms` : duration(ms / 1_000)

function serverRow(server: ServerStatus, now: Date): Html {
  const { host, pid, address, isSilent, requests, recentRequests, recentRefused, recentFailed } = server
  const { recentMeanMs, recentSlowestMs, recentOldestS, startedAt } = server
  const tone = isSilent || recentFailed > 0 ? 'warn' : 'ok'
  const state = isSilent ? 'silent' : recentFailed > 0 ? 'failing in part' : 'serving'
  return html`<tr><th scope="row">${address}</th>
${cell('State', stateBadge(tone, state))}
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

/** Requests, times and ages of the last five minutes of each process, and the tokens; false if nothing serves. */
export function servedSection({ served, now }: Pick<PageFacts, 'served' | 'now'>): Html | false {
  if (served === null) return false
  const { servers, tokens } = served
  const rows = servers.map((server) => serverRow(server, now))
  return html`<section aria-labelledby="served"><h2 id="served">Served API</h2>
<p class="note">Requests, times and ages are of the last five minutes. ${tokensText(tokens)}. <code>boat-mirror access token list</code></p>
${table('Processes that serve the API', columns, rows)}</section>`
}
