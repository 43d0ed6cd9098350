// What waits for a person, and the command that helps. Pure. Counts and names of streams only: nothing personal.

import { count, counted } from '../format.ts'
import { oneLine } from '../text.ts'
import { describeConsumer } from './consumers.ts'
import { describeHolder } from './feed-holders.ts'
import type { StreamFreshness } from './page-queries.ts'
import type { StatusFacts } from './status.ts'

export type Attention = {
  readonly kind: 'held' | 'conflict' | 'unknown' | 'failed' | 'quarantine' | 'breaker' | 'failing' | 'feed' | 'consumer'
  readonly text: string
  /** Arguments of `boat-mirror` that show it or settle it. */
  readonly commands: readonly string[]
}

/** Everything that stays as it is until a person acts, the most urgent first. */
export function whatNeedsPeople(status: StatusFacts, freshness: readonly StreamFreshness[]): readonly Attention[] {
  return [
    ...apiTrouble(status),
    ...failingStreams(freshness),
    ...heldDeletions(status, freshness),
    ...status.feedHeldBy.map(
      (holder): Attention => ({ kind: 'feed', text: `${describeHolder(holder)}.`, commands: ['check'] }),
    ),
    ...status.consumers
      .filter(({ state }) => state !== 'following')
      .map((each): Attention => ({ kind: 'consumer', text: `${describeConsumer(each)}.`, commands: ['db psql'] })),
    ...changes(status),
    ...bad(status),
  ]
}

function apiTrouble({ api }: StatusFacts): Attention[] {
  if (api.breaker === 'closed') return []
  const text = 'The API failed so often that requests wait, but for one probe at a time.'
  return [{ kind: 'breaker', text, commands: ['check'] }]
}

function failingStreams(freshness: readonly StreamFreshness[]): Attention[] {
  const byError = new Map<string, string[]>()
  for (const { stream, state, lastError } of freshness) {
    if (state !== 'failing') continue
    const error = oneLine(lastError ?? 'no reason was noted', 240)
    byError.set(error, [...(byError.get(error) ?? []), stream])
  }
  return [...byError].map(([error, streams]) => {
    const [first = ''] = streams
    const names =
      streams.length > 4 ? `${streams.slice(0, 3).join(', ')} and ${streams.length - 3} more` : streams.join(', ')
    return {
      kind: 'failing',
      text: `${names}: the last run did not read everything: ${error}`,
      commands: [`runs ${first}`, 'check'],
    }
  })
}

function heldDeletions({ heldRuns, streams }: StatusFacts, freshness: readonly StreamFreshness[]): Attention[] {
  const waiting = heldRuns.map(
    ({ id, stream, held }): Attention => ({
      kind: 'held',
      text: `${stream}: ${counted(held, 'record')} missing from the list: your word is needed before they count as deleted.`,
      commands: [`runs show ${id}`, `runs release ${id}`],
    }),
  )
  // A list that shrank although its records still answer leaves nothing to release, but somebody should look at it.
  const doubtful = freshness
    .filter(({ stream, lastRunStatus }) => lastRunStatus === 'held' && heldRuns.every((run) => run.stream !== stream))
    .map(({ stream }): Attention => {
      const run = streams.find((each) => each.stream === stream)?.lastRunId
      const text = `${stream}: the list shrank although its records still answer. Nothing was deleted.`
      return { kind: 'held', text, commands: [...(run == null ? [] : [`runs show ${run}`]), `sync ${stream}`] }
    })
  return [...waiting, ...doubtful]
}

/** The states in which a change waits for a person: what to say of so many, and what settles the oldest of them. */
const waiting = [
  {
    kind: 'conflict',
    says: (number: number) => `${counted(number, 'change')} met another value upstream: decide which one stays.`,
    settle: (id: number) => `changes resolve ${id} --take local`,
  },
  {
    kind: 'unknown',
    says: (number: number) =>
      `${counted(number, 'change')} may or may not have taken effect upstream: look, and say which.`,
    settle: (id: number) => `changes resolve ${id} --took-effect`,
  },
  {
    kind: 'failed',
    says: (number: number) => `${counted(number, 'change')} were refused by the API.`,
    settle: (id: number) => `changes retry ${id}`,
  },
] as const

function changes({ outbox, firstChanges }: StatusFacts): Attention[] {
  return waiting.flatMap(({ kind, says, settle }) => {
    const number = Number(outbox[kind] ?? 0)
    const first = firstChanges[kind]
    if (number === 0 || first === undefined) return []
    return [
      { kind, text: says(number), commands: [`changes list --status ${kind}`, `changes show ${first}`, settle(first)] },
    ]
  })
}

function bad({ quarantine }: StatusFacts): Attention[] {
  if (quarantine.total === 0) return []
  const streams = Object.entries(quarantine.byStream).map(([stream, number]) => `${stream} ${count(number)}`)
  const text = `${counted(quarantine.total, 'record')} cannot be mirrored (${streams.join(', ')}).`
  return [{ kind: 'quarantine', text, commands: ['quarantine', 'quarantine retry --all'] }]
}
