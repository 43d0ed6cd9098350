// The conditions that need attention, and the commands that help. Pure. Counts and names of streams only: nothing personal.

import { findStream, readsOf } from '../catalog/catalog.ts'
import { count, counted, instant } from '../format.ts'
import { oneLine } from '../text.ts'
import { type AttentionKind, kinds } from './attention-kinds.ts'
import { describeConsumer, describeHolder } from './feed.ts'
import { reachedEarly, usedText } from './quota.ts'
import type { AttentionItem, StatusFacts } from './status.ts'
import type { StreamFreshness } from './streams.ts'

type Facts = Omit<StatusFacts, 'attention'>

type Found = {
  /** Names of what it is about: streams, consumers, fields; none: it is about the mirror as a whole. */
  readonly about?: readonly string[]
  readonly text: string
  /** The run or the change that the commands name. */
  readonly id?: number
  /** Since when, where that is known. */
  readonly since?: Date | null
  /** Arguments of `boat-mirror` that show it or settle it. */
  readonly commands: readonly string[]
}

type Attention = Found & Required<Pick<Found, 'about'>> & { readonly kind: AttentionKind }

/** Everything that stays as it is until you act, the most urgent first. Without a worker, that is a stream that becomes late. */
export function whatNeedsPeople(status: Facts, freshness: readonly StreamFreshness[]): readonly Attention[] {
  const first: readonly AttentionKind[] = isWorking(status) ? [] : ['copied', 'late']
  const order = new Set([...first, ...(Object.keys(kinds) as AttentionKind[])])
  return [...order].flatMap((kind) => findings[kind](status, freshness).map((found) => ({ kind, about: [], ...found })))
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

const isWorking = ({ workers }: Facts): boolean => workers.some(({ isSilent }) => !isSilent)

/** Earlier than all the others; null where none is known. */
const earliest = (dates: readonly (Date | null | undefined)[]): Date | null =>
  dates.reduce<Date | null>((first, date) => (date != null && (first === null || date < first) ? date : first), null)

/** When the oldest of these streams was last as the API. */
const readLast = ({ streams }: Facts, names: readonly string[]): Date | null =>
  earliest(streams.filter(({ stream }) => names.includes(stream)).map(({ countsAsOf }) => countsAsOf))

/** Some names, so that a line stays one. */
const listed = (names: readonly string[]): string =>
  names.length > 4 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')

const noReason = 'no reason was recorded'

type Finding = (status: Facts, freshness: readonly StreamFreshness[]) => readonly Found[]

/** What there is of each kind. */
const findings: Readonly<Record<AttentionKind, Finding>> = {
  copied: ({ copied }) => {
    if (copied === null) return []
    const waits = `${counted(copied.changes, 'change')} queued before ${copied.changes === 1 ? 'is' : 'are'} not sent`
    const text = `This database is a copy of another one: ${waits} until you say whether that one is gone or lives on.`
    return [{ text, since: copied.since, commands: ['moved database gone', 'moved database lives'] }]
  },

  credentials: (status) => {
    const text =
      'The API refuses the credentials (401). Nothing is read or sent until API_TOKEN and API_AUTH are correct.'
    return areCredentialsRefused(status) ? [{ text, since: refusedSince(status), commands: ['check'] }] : []
  },

  breaker: ({ api }) => {
    const text = 'The API failed so often that requests wait, except one probe at a time.'
    return api.breaker === 'open' ? [{ text, commands: ['check'] }] : []
  },

  quota: ({ quota }) => {
    if (quota === null) return []
    const { readsStopped, waitingChanges, waitingSince: since, windows, notKept } = quota
    const used = usedText(quota)
    const stopped = `Reads wait because the rest of API_QUOTA is reserved for changes (${used}).`
    const waiting = `${counted(waitingChanges, 'change')} ${waitingChanges === 1 ? 'waits' : 'wait'} until API_QUOTA has requests left (${used}).`
    const early = windows.flatMap((each) => reachedEarly(each).map((level) => ({ ...each, level })))
    const tooSmall = `API_QUOTA is too small to keep these fresh: ${listed(notKept)}.`
    return [
      ...(readsStopped ? [{ about: ['reads'], text: stopped, commands: ['status', 'schedule --plan'] }] : []),
      ...(waitingChanges > 0
        ? [{ about: ['changes'], text: waiting, since, commands: ['changes list --status queued'] }]
        : []),
      ...early.map(({ window, level, used: taken, allowed }) => ({
        about: [`${window} at ${level} %`],
        text: `${level} % of API_QUOTA for the ${window} is already used: ${count(taken)} of ${count(allowed)} requests.`,
        commands: ['status', 'schedule --plan'],
      })),
      ...(notKept.length > 0 ? [{ about: notKept, text: tooSmall, commands: ['schedule', 'schedule --plan'] }] : []),
    ]
  },

  failing: (status, freshness) => [...failingStreams(status, freshness), ...failingHot(status, freshness)],

  // Streams become late while no worker reads: one cause, and its remedy. A mirror that only commands read has no late streams.
  late: (status, freshness) => {
    const late = freshness.filter(({ state }) => state === 'late').map(({ stream }) => stream)
    if (late.length === 0) return []
    const [about, since, are] = [
      late,
      readLast(status, late),
      late.length === 1 ? 'is older than its' : 'are older than their',
    ]
    if (isWorking(status))
      return [{ about, since, text: `${listed(late)} ${are} target.`, commands: ['status', 'schedule'] }]
    const at = status.lastWorkerAt
    const cause = at === null ? 'No worker has run yet' : `No worker has run since ${instant(at)} UTC`
    const text = `${cause}. ${counted(late.length, 'stream')} ${are} target: ${listed(late)}.`
    return [{ about, since, text, commands: ['worker'] }]
  },

  held: ({ heldRuns, streams }, freshness) => [
    ...heldRuns.map(({ id, stream, held, startedAt: since }) => {
      const them = held === 1 ? 'it' : 'them'
      const text = `${stream}: ${missingText(stream, held)}. Review ${them} and run boat-mirror runs release ${id} to delete ${them}.`
      return { id, since, about: [stream], text, commands: [`runs show ${id}`, `runs release ${id}`] }
    }),
    // A list that shrank although its records still answer leaves nothing to release, but you should check it.
    ...freshness
      .filter(({ stream, lastRunStatus }) => lastRunStatus === 'held' && heldRuns.every((run) => run.stream !== stream))
      .map(({ stream }) => {
        const run = streams.find((each) => each.stream === stream)?.lastRunId
        const text = `${stream}: the list shrank, but the missing records still exist. Nothing was deleted.`
        return { about: [stream], text, commands: [...(run == null ? [] : [`runs show ${run}`]), `sync ${stream}`] }
      }),
  ],

  feed: ({ feedHeldBy }) =>
    feedHeldBy.map((holder) => ({ text: `${describeHolder(holder)}.`, since: holder.since, commands: ['check'] })),

  consumer: ({ consumers }) =>
    consumers
      .filter(({ state }) => state !== 'following')
      .map((each) => {
        const since = each.ackedAt ?? each.registeredAt
        return { about: [each.name], text: `${describeConsumer(each)}.`, since, commands: ['db psql'] }
      }),

  role: ({ goneRoles }) =>
    goneRoles.map(({ name, since, left }) => {
      const given = /^[\w-]+$/.test(name) ? name : `"${name}"`
      const text = `Role ${name} does not exist. It left ${left.join(', ')}. Hand this over to another role, or to a new one of its name.`
      return { about: [name], text, since, commands: [`access hand-over ${given} ${given}`] }
    }),

  webhook: ({ webhook }) => {
    if (webhook?.state !== 'failing') return []
    const text = `The webhook receiver at ${webhook.url} accepts nothing: ${webhook.lastError}`
    return [{ text, since: webhook.failingSince, commands: ['status'] }]
  },

  conflict: changesIn(
    'conflict',
    (changes, one) => `${changes} ${one ? 'conflicts' : 'conflict'} with values upstream. Decide which values to keep.`,
    (id) => `changes resolve ${id} --take local`,
  ),
  unknown: changesIn(
    'unknown',
    (changes) => `${changes} may or may not have taken effect upstream. Check there and record the result.`,
    (id) => `changes resolve ${id} --took-effect`,
  ),
  failed: changesIn(
    'failed',
    (changes, one) => `${changes} ${one ? 'was' : 'were'} refused by the API.`,
    (id) => `changes retry ${id}`,
  ),

  overlap: ({ overlaps: { rentals, boats, since } }) => {
    const what = rentals === 1 ? '1 rental overlaps' : `${count(rentals)} rentals overlap`
    const text = `${what} with another rental or an unavailability of the same boat (${counted(boats, 'boat')}).`
    return rentals === 0 ? [] : [{ about: ['bookings'], text, since, commands: ['report overlaps'] }]
  },

  arrival: ({ overlaps: { withoutArrival: open, withoutArrivalSince: since } }) => {
    const [noun, have] = open.length === 1 ? ['Rental', 'has'] : ['Rentals', 'have']
    const text = `${noun} ${listed(open)} ${have} no arrival.`
    return open.length === 0 ? [] : [{ about: ['arrivals'], text, since, commands: [`explain rentals ${open[0]}`] }]
  },

  quarantine: ({ quarantine: { total, byStream, since } }) => {
    const streams = Object.entries(byStream).map(([stream, number]) => `${stream} ${count(number)}`)
    const text = `${counted(total, 'record')} cannot be mirrored (${streams.join(', ')}).`
    const about = Object.keys(byStream)
    return total === 0 ? [] : [{ about, text, since, commands: ['quarantine', 'quarantine retry --all'] }]
  },

  // Fields that the API began to show within a week, and that nobody has acknowledged; older ones have been reported before.
  fields: ({ unknownFields }) => {
    const fresh = unknownFields.filter(({ isNew }) => isNew)
    if (fresh.length === 0) return []
    const streams = [...new Set(fresh.map(({ stream }) => stream))]
    const values = fresh.length === 1 ? 'Its values are' : 'Their values are'
    return [
      {
        about: fresh.map(({ stream, path }) => `${stream}.${path}`),
        text: `The API shows ${counted(fresh.length, 'field')} that this version does not know, new in the last 7 days (${listed(streams)}). ${values} kept in _payload.`,
        since: earliest(fresh.map(({ firstSeenAt }) => firstSeenAt)),
        commands: ['drift', ...streams.map((stream) => `drift acknowledge ${stream}`)],
      },
    ]
  },
}

/** Changes in a state in which they need a decision: the text for a number of them, and what settles the oldest. */
function changesIn(
  state: 'conflict' | 'unknown' | 'failed',
  textOf: (changes: string, one: boolean) => string,
  settle: (id: number) => string,
): Finding {
  return ({ outbox, firstChanges, settledSince }) => {
    const [number, id] = [Number(outbox[state] ?? 0), firstChanges[state]]
    if (number === 0 || id === undefined) return []
    const commands = [`changes list --status ${state}`, `changes show ${id}`, settle(id)]
    return [{ id, text: textOf(counted(number, 'change'), number === 1), since: settledSince[state] ?? null, commands }]
  }
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

/** Streams that fail for the same reason are one item; those that fail because of refused credentials are left to these. */
function failingStreams(status: Facts, freshness: readonly StreamFreshness[]): readonly Found[] {
  const byError = new Map<string, string[]>()
  for (const { stream, state, lastError } of freshness) {
    if (state !== 'failing') continue
    const error = oneLine(lastError ?? noReason, 240)
    byError.set(error, [...(byError.get(error) ?? []), stream])
  }
  const answered401 = status.endpoints.filter(({ lastStatus }) => lastStatus === 401)
  const refused = new Set(areCredentialsRefused(status) ? answered401.map(({ endpoint }) => endpoint) : [])
  const isRefused = (name: string): boolean => {
    const stream = findStream(name)
    return stream !== undefined && readsOf(stream).some((endpoint) => refused.has(endpoint))
  }
  return [...byError]
    .filter(([, streams]) => !streams.some(isRefused))
    .map(([error, streams]) => ({
      about: streams,
      text: `The last ${streams.length === 1 ? 'run' : 'runs'} of ${listed(streams)} did not read everything: ${error}`,
      since: readLast(status, streams),
      commands: [`runs ${streams[0]}`, 'check'],
    }))
}

/** Hot runs that fail while complete ones do not: a stream that fails altogether is not listed again here. */
function failingHot({ failingHotRuns, ...status }: Facts, freshness: readonly StreamFreshness[]): readonly Found[] {
  if (areCredentialsRefused(status)) return []
  const failing = new Set(freshness.filter(({ state }) => state === 'failing').map(({ stream }) => stream))
  return failingHotRuns
    .filter(({ stream }) => !failing.has(stream))
    .map(({ stream, runId, error }) => ({
      about: [stream],
      id: runId,
      text: `New and upcoming records of ${stream} arrive late because the last hot runs failed: ${oneLine(error ?? noReason, 240)}`,
      commands: [`runs show ${runId}`, 'check'],
    }))
}

function missingText(name: string, held: number): string {
  const parent = findStream(name)?.parent
  const are = held === 1 ? 'is' : 'are'
  return parent === undefined
    ? `${counted(held, 'record')} ${are} missing from the list`
    : `${counted(held, 'row')} ${are} missing below ${parent} that still exist`
}
