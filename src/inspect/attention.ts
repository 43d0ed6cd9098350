// The conditions that need attention, and the command that helps. Pure. Counts and names of streams only: nothing
// personal.

import { findStream, readsOf } from '../catalog/catalog.ts'
import { count, counted, instant } from '../format.ts'
import { oneLine } from '../text.ts'
import type { AttentionKind } from './attention-kinds.ts'
import { describeConsumer, describeHolder } from './feed.ts'
import { reachedEarly, usedText } from './quota.ts'
import type { AttentionItem, StatusFacts } from './status.ts'
import type { StreamFreshness } from './streams.ts'

type Facts = Omit<StatusFacts, 'attention'>

type Attention = {
  readonly kind: AttentionKind
  /** Names of what it is about: streams, consumers, fields; none: it is about the mirror as a whole. */
  readonly about: readonly string[]
  readonly text: string
  /** The run or the change that the commands name. */
  readonly id?: number
  /** Since when, where that is known. */
  readonly since?: Date | null
  /** Arguments of `boat-mirror` that show it or settle it. */
  readonly commands: readonly string[]
}

/** Earlier than all the others; null where none is known. */
const earliest = (dates: readonly (Date | null | undefined)[]): Date | null =>
  dates.reduce<Date | null>((first, date) => (date != null && (first === null || date < first) ? date : first), null)

/** When the oldest of these streams was last as the API. */
const readLast = ({ streams }: Facts, names: readonly string[]): Date | null =>
  earliest(streams.filter(({ stream }) => names.includes(stream)).map(({ countsAsOf }) => countsAsOf))

/** Everything that stays as it is until you act, the most urgent first. */
export function whatNeedsPeople(status: Facts, freshness: readonly StreamFreshness[]): readonly Attention[] {
  const isWorking = status.workers.some(({ isSilent }) => !isSilent)
  return [
    ...copied(status),
    ...(isWorking ? [] : withoutWorker(status, freshness)),
    ...apiTrouble(status),
    ...quotaTrouble(status),
    ...failingStreams(status, freshness),
    ...failingHot(status, freshness),
    ...(isWorking ? lateStreams(status, freshness) : []),
    ...heldDeletions(status, freshness),
    ...status.feedHeldBy.map(
      (holder): Attention => ({
        ...{ kind: 'feed', about: [], text: `${describeHolder(holder)}.` },
        ...{ since: holder.since, commands: ['check'] },
      }),
    ),
    ...status.consumers
      .filter(({ state }) => state !== 'following')
      .map(
        (each): Attention => ({
          kind: 'consumer',
          about: [each.name],
          text: `${describeConsumer(each)}.`,
          since: each.ackedAt ?? each.registeredAt,
          commands: ['db psql'],
        }),
      ),
    ...status.goneRoles.map(({ name, since, left }): Attention => {
      const given = /^[\w-]+$/.test(name) ? name : `"${name}"`
      const text = `Role ${name} does not exist. It left ${left.join(', ')}. Hand this over to another role, or to a new one of its name.`
      return { kind: 'role', about: [name], text, since, commands: [`access hand-over ${given} ${given}`] }
    }),
    ...untoldChanges(status),
    ...changes(status),
    ...doubleBookings(status),
    ...bad(status),
    ...newFields(status),
  ]
}

function copied({ copied: found }: Facts): Attention[] {
  if (found === null) return []
  const waits = `${counted(found.changes, 'change')} queued before ${found.changes === 1 ? 'is' : 'are'} not sent`
  return [
    {
      kind: 'copied',
      about: [],
      text: `This database is a copy of another one: ${waits} until you say whether that one is gone or lives on.`,
      since: found.since,
      commands: ['moved database gone', 'moved database lives'],
    },
  ]
}

/** The latest call shows whether the API accepts the credentials; earlier ones may have been made with others. */
export function areCredentialsRefused({ endpoints }: Pick<StatusFacts, 'endpoints'>): boolean {
  const called = endpoints.filter(({ lastCalledAt }) => lastCalledAt !== null)
  const last = called.sort((a, b) => Number(b.lastCalledAt) - Number(a.lastCalledAt))[0]
  return last?.lastStatus === 401
}

/** When the first call was refused after the last one that was not. */
function refusedSince({ endpoints }: Facts): Date | null {
  const taken = endpoints.filter(({ lastStatus }) => lastStatus !== null && lastStatus !== 401)
  const lastTaken = Math.max(...taken.map(({ lastCalledAt }) => Number(lastCalledAt)))
  const refused = endpoints.filter(
    ({ lastStatus, lastStatusSince }) => lastStatus === 401 && Number(lastStatusSince) > lastTaken,
  )
  return earliest(refused.map(({ lastStatusSince }) => lastStatusSince))
}

function apiTrouble(status: Facts): Attention[] {
  const refused: Attention = {
    kind: 'credentials',
    about: [],
    text: 'The API refuses the credentials (401). Nothing is read or sent until API_TOKEN and API_AUTH are correct.',
    since: refusedSince(status),
    commands: ['check'],
  }
  const down: Attention = {
    kind: 'breaker',
    about: [],
    text: 'The API failed so often that requests wait, except one probe at a time.',
    commands: ['check'],
  }
  return [...(areCredentialsRefused(status) ? [refused] : []), ...(status.api.breaker === 'open' ? [down] : [])]
}

/** What the quota keeps waiting, and what of it is used before its time. */
function quotaTrouble({ quota }: Facts): Attention[] {
  if (quota === null) return []
  const matters: Attention[] = []
  if (quota.readsStopped)
    matters.push({
      ...{
        kind: 'quota',
        about: ['reads'],
        text: `Reads wait because the rest of API_QUOTA is reserved for changes (${usedText(quota)}).`,
      },
      commands: ['status', 'schedule --plan'],
    })
  if (quota.waitingChanges > 0)
    matters.push({
      ...{ kind: 'quota', about: ['changes'], since: quota.waitingSince, commands: ['changes list --status queued'] },
      text: `${counted(quota.waitingChanges, 'change')} ${quota.waitingChanges === 1 ? 'waits' : 'wait'} until API_QUOTA has requests left (${usedText(quota)}).`,
    })
  for (const window of quota.windows)
    for (const level of reachedEarly(window))
      matters.push({
        ...{ kind: 'quota', about: [`${window.window} at ${level} %`], commands: ['status', 'schedule --plan'] },
        text: `${level} % of API_QUOTA for the ${window.window} is already used: ${count(window.used)} of ${count(window.allowed)} requests.`,
      })
  if (quota.notKept.length > 0)
    matters.push({
      ...{ kind: 'quota', about: quota.notKept, commands: ['schedule', 'schedule --plan'] },
      text: `API_QUOTA is too small to keep these fresh: ${listed(quota.notKept)}.`,
    })
  return matters
}

/** Some names, so that a line stays one. */
const listed = (names: readonly string[]): string =>
  names.length > 4 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')

/** Streams that fail for the same reason are one item; refused credentials are a separate one. */
function failingStreams(status: Facts, freshness: readonly StreamFreshness[]): Attention[] {
  const byError = new Map<string, string[]>()
  for (const { stream, state, lastError } of freshness) {
    if (state !== 'failing') continue
    const error = oneLine(lastError ?? 'no reason was recorded', 240)
    byError.set(error, [...(byError.get(error) ?? []), stream])
  }
  const refused = new Set<string>(
    areCredentialsRefused(status)
      ? status.endpoints.filter(({ lastStatus }) => lastStatus === 401).map(({ endpoint }) => endpoint)
      : [],
  )
  const isRefused = (streams: readonly string[]): boolean =>
    streams.some((name) => {
      const stream = findStream(name)
      return stream !== undefined && readsOf(stream).some((endpoint) => refused.has(endpoint))
    })
  return [...byError]
    .filter(([, streams]) => !isRefused(streams))
    .map(([error, streams]) => ({
      kind: 'failing',
      about: streams,
      text: `The last ${streams.length === 1 ? 'run' : 'runs'} of ${listed(streams)} did not read everything: ${error}`,
      since: readLast(status, streams),
      commands: [`runs ${streams[0]}`, 'check'],
    }))
}

/** Hot runs that fail while complete ones do not: a stream that fails altogether is not listed again here. */
function failingHot({ failingHotRuns, ...status }: Facts, freshness: readonly StreamFreshness[]): Attention[] {
  if (areCredentialsRefused(status)) return []
  const isTold = (name: string): boolean =>
    freshness.some(({ stream, state }) => stream === name && state === 'failing')
  return failingHotRuns
    .filter(({ stream }) => !isTold(stream))
    .map(({ stream, runId, error }) => ({
      kind: 'failing',
      about: [stream],
      id: runId,
      text: `New and upcoming records of ${stream} arrive late because the last hot runs failed: ${oneLine(error ?? 'no reason was recorded', 240)}`,
      commands: [`runs show ${runId}`, 'check'],
    }))
}

const namesOfLate = (freshness: readonly StreamFreshness[]): readonly string[] =>
  freshness.filter(({ state }) => state === 'late').map(({ stream }) => stream)

/**
 * While no worker reads, streams become late: one cause, and its remedy. A mirror that only commands read has no late
 * streams.
 */
function withoutWorker(status: Facts, freshness: readonly StreamFreshness[]): Attention[] {
  const late = namesOfLate(freshness)
  if (late.length === 0) return []
  const { lastWorkerAt: at } = status
  const since = at === null ? 'No worker has run yet' : `No worker has run since ${instant(at)} UTC`
  const streams = `${counted(late.length, 'stream')} ${late.length === 1 ? 'is older than its' : 'are older than their'} target`
  return [
    {
      ...{ kind: 'late', about: late, text: `${since}. ${streams}: ${listed(late)}.` },
      ...{ since: readLast(status, late), commands: ['worker'] },
    },
  ]
}

function lateStreams(status: Facts, freshness: readonly StreamFreshness[]): Attention[] {
  const late = namesOfLate(freshness)
  if (late.length === 0) return []
  return [
    {
      ...{
        kind: 'late',
        about: late,
        text: `${listed(late)} ${late.length === 1 ? 'is older than its' : 'are older than their'} target.`,
      },
      ...{ since: readLast(status, late), commands: ['status', 'schedule'] },
    },
  ]
}

function missingText(name: string, held: number): string {
  const parent = findStream(name)?.parent
  if (parent === undefined) return `${counted(held, 'record')} ${held === 1 ? 'is' : 'are'} missing from the list`
  return `${counted(held, 'row')} ${held === 1 ? 'is' : 'are'} missing below ${parent} that still exist`
}

function heldDeletions({ heldRuns, streams }: Facts, freshness: readonly StreamFreshness[]): Attention[] {
  const waiting = heldRuns.map(
    ({ id, stream, held, startedAt }): Attention => ({
      kind: 'held',
      id,
      since: startedAt,
      about: [stream],
      text: `${stream}: ${missingText(stream, held)}. Review ${held === 1 ? 'it' : 'them'} and run boat-mirror runs release ${id} to delete ${held === 1 ? 'it' : 'them'}.`,
      commands: [`runs show ${id}`, `runs release ${id}`],
    }),
  )
  // A list that shrank although its records still answer leaves nothing to release, but you should check it.
  const doubtful = freshness
    .filter(({ stream, lastRunStatus }) => lastRunStatus === 'held' && heldRuns.every((run) => run.stream !== stream))
    .map(({ stream }): Attention => {
      const run = streams.find((each) => each.stream === stream)?.lastRunId
      const text = `${stream}: the list shrank, but the missing records still exist. Nothing was deleted.`
      return {
        kind: 'held',
        about: [stream],
        text,
        commands: [...(run == null ? [] : [`runs show ${run}`]), `sync ${stream}`],
      }
    })
  return [...waiting, ...doubtful]
}

function untoldChanges({ webhook }: Facts): Attention[] {
  if (webhook?.state !== 'failing') return []
  const text = `The webhook receiver at ${webhook.url} accepts nothing: ${webhook.lastError}`
  return [{ kind: 'webhook', about: [], text, since: webhook.failingSince, commands: ['status'] }]
}

/** The states in which a change needs a decision: the text for a number of them, and what settles the oldest. */
const waiting = [
  {
    kind: 'conflict',
    says: (number: number) =>
      `${counted(number, 'change')} ${number === 1 ? 'conflicts' : 'conflict'} with values upstream. Decide which values to keep.`,
    settle: (id: number) => `changes resolve ${id} --take local`,
  },
  {
    kind: 'unknown',
    says: (number: number) =>
      `${counted(number, 'change')} may or may not have taken effect upstream. Check there and record the result.`,
    settle: (id: number) => `changes resolve ${id} --took-effect`,
  },
  {
    kind: 'failed',
    says: (number: number) => `${counted(number, 'change')} ${number === 1 ? 'was' : 'were'} refused by the API.`,
    settle: (id: number) => `changes retry ${id}`,
  },
] as const

function changes({ outbox, firstChanges, settledSince }: Facts): Attention[] {
  return waiting.flatMap(({ kind, says, settle }) => {
    const number = Number(outbox[kind] ?? 0)
    const first = firstChanges[kind]
    if (number === 0 || first === undefined) return []
    return [
      {
        kind,
        about: [],
        id: first,
        text: says(number),
        since: settledSince[kind] ?? null,
        commands: [`changes list --status ${kind}`, `changes show ${first}`, settle(first)],
      },
    ]
  })
}

function doubleBookings({ overlaps }: Facts): Attention[] {
  const { rentals, boats, since, withoutArrival: open, withoutArrivalSince } = overlaps
  const what = rentals === 1 ? '1 rental overlaps' : `${count(rentals)} rentals overlap`
  const text = `${what} with another rental or an unavailability of the same boat (${counted(boats, 'boat')}).`
  const named = `${open.length === 1 ? 'Rental' : 'Rentals'} ${listed(open)} ${open.length === 1 ? 'has' : 'have'} no arrival.`
  return [
    ...(rentals === 0
      ? []
      : [{ kind: 'overlap', about: ['bookings'], text, since, commands: ['report overlaps'] } as const]),
    ...(open.length === 0
      ? []
      : [
          {
            kind: 'arrival',
            about: ['arrivals'],
            text: named,
            since: withoutArrivalSince,
            commands: [`explain rentals ${open[0]}`],
          } as const,
        ]),
  ]
}

function bad({ quarantine }: Facts): Attention[] {
  if (quarantine.total === 0) return []
  const streams = Object.entries(quarantine.byStream).map(([stream, number]) => `${stream} ${count(number)}`)
  const text = `${counted(quarantine.total, 'record')} cannot be mirrored (${streams.join(', ')}).`
  return [
    {
      kind: 'quarantine',
      about: Object.keys(quarantine.byStream),
      text,
      since: quarantine.since,
      commands: ['quarantine', 'quarantine retry --all'],
    },
  ]
}

/** Fields that the API began to show within a week, and that nobody has acknowledged; older ones have been reported before. */
function newFields({ unknownFields }: Facts): Attention[] {
  const fresh = unknownFields.filter(({ isNew }) => isNew)
  if (fresh.length === 0) return []
  const streams = [...new Set(fresh.map(({ stream }) => stream))]
  const text = `The API shows ${counted(fresh.length, 'field')} that this version does not know, new in the last 7 days (${listed(streams)}). ${fresh.length === 1 ? 'Its values are' : 'Their values are'} kept in _payload.`
  return [
    {
      kind: 'fields',
      about: fresh.map(({ stream, path }) => `${stream}.${path}`),
      text,
      since: earliest(fresh.map(({ firstSeenAt }) => firstSeenAt)),
      commands: ['drift', ...streams.map((stream) => `drift acknowledge ${stream}`)],
    },
  ]
}

/** The item as alerts, pages and `status` show it. */
export function itemOf({ kind, about, id, since, text, commands }: Attention): AttentionItem {
  const [stream, ...others] = about.filter((name) => findStream(name) !== undefined)
  return {
    kind,
    ...(stream === undefined || others.length > 0 ? {} : { stream }),
    ...(id === undefined ? {} : { id }),
    since: since ?? null,
    about,
    message: text,
    commands: commands.map((command) => `boat-mirror ${command}`),
  }
}
