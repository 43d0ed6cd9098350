// Sections of the status page about the processes of this installation: workers, and
// servers of the API. Pure.

import type { ServerStatus, WorkerStatus } from '../../database/presence.ts'
import { about, count, counted, duration, relative } from '../../format.ts'
import type { ListedToken } from '../../serve/access/tokens.ts'
import type { PageFacts } from '../page-facts.ts'
import { type Columns, listing, type Section, stateBadge, table } from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'

const upFor = (startedAt: Date, now: Date): string => about((now.getTime() - startedAt.getTime()) / 1_000)

const workerState = ({ isSilent, doing }: WorkerStatus): Html =>
  isSilent ? stateBadge('warn', 'silent') : doing === null ? stateBadge('mute', 'idle') : stateBadge('ok', 'working')

/** The workers that reported within ten minutes. */
export const workersSection = ({ status, now }: PageFacts): Section =>
  listing<WorkerStatus>({
    id: 'workers',
    title: 'Workers',
    columns: {
      Worker: ({ host, pid }) => `${host}:${pid}`,
      State: workerState,
      Version: ({ version }) => version,
      'Up for': ({ startedAt }) => upFor(startedAt, now),
      'Last seen': ({ seenAt }) => relative(seenAt, now),
      Doing: ({ doing }) => doing ?? 'idle',
    },
    rows: status.workers,
    none: 'No worker has reported for ten minutes.',
  })

const time = (ms: number | null): string | null =>
  ms === null ? null : ms < 1_000 ? `${count(Math.round(ms * 10) / 10)} ms` : duration(ms / 1_000)

function serverState({ isSilent, recentFailed }: ServerStatus): Html {
  const state = isSilent ? 'silent' : recentFailed > 0 ? 'failing in part' : 'serving'
  return stateBadge(state === 'serving' ? 'ok' : 'warn', state)
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

const columnsAt = (now: Date): Columns<ServerStatus> => ({
  Address: ({ address }) => address,
  State: serverState,
  Requests: ({ recentRequests }) => recentRequests,
  '4xx': ({ recentRefused }) => recentRefused,
  '5xx': ({ recentFailed }) => recentFailed,
  Mean: ({ recentMeanMs }) => time(recentMeanMs),
  Slowest: ({ recentSlowestMs }) => time(recentSlowestMs),
  'Oldest answer': ({ recentOldestS }) => (recentOldestS === null ? null : about(recentOldestS)),
  'Since start': ({ requests }) => requests,
  Process: ({ host, pid, startedAt }) => `${host}:${pid}, up for ${upFor(startedAt, now)}`,
})

/** Requests, times and ages of the last five minutes of each process, and the tokens; false if nothing serves. */
export function servedSection({ served, now }: Pick<PageFacts, 'served' | 'now'>): Html | false {
  if (served === null) return false
  const { servers, tokens } = served
  return html`<section aria-labelledby="served"><h2 id="served">Served API</h2>
<p class="note">Requests, times and ages are of the last five minutes. ${tokensText(tokens)}. <code>boat-mirror access token list</code></p>
${table('Processes that serve the API', columnsAt(now), servers)}</section>`
}
