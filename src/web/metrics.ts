// /metrics for Prometheus. Gauges come from the database and are equal on every worker; calls of the API are counted in this process.
// Names begin with boat_mirror_, units are seconds and bytes. Labels are streams, endpoint templates, consumers and states, never ids.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { isFailure } from '../api/admission/traffic.ts'
import type { CallRecord } from '../api/types.ts'
import { messageOf } from '../errors.ts'
import { areCredentialsRefused } from '../inspect/attention.ts'
import { isFailing } from '../inspect/calls.ts'
import { reachedEarly } from '../inspect/quota.ts'
import { probe } from './health.ts'
import type { OperatorContext, PageFacts } from './page-facts.ts'

const freshnessStates = ['fresh', 'late', 'unknown', 'failing', 'reading', 'off'] as const

const gauges = {
  up: ['boat_mirror_up', '1 when the database answered this scrape.', []],
  rows: ['boat_mirror_stream_rows', 'Live rows of a stream.', ['stream']],
  asOf: [
    'boat_mirror_stream_as_of_timestamp_seconds',
    'Everything that changed upstream before this time is in the mirror.',
    ['stream'],
  ],
  hotAsOf: [
    'boat_mirror_stream_hot_as_of_timestamp_seconds',
    'The same for the hot window of a stream; missing if the stream has none.',
    ['stream'],
  ],
  age: [
    'boat_mirror_stream_age_seconds',
    'Age of a stream, or of its hot window if a target is set; missing until its first read.',
    ['stream'],
  ],
  target: ['boat_mirror_stream_target_seconds', 'Greatest age at which a stream is still fresh.', ['stream']],
  interval: [
    'boat_mirror_stream_interval_seconds',
    'Effective interval between the scheduled reads of a stream.',
    ['stream'],
  ],
  due: ['boat_mirror_stream_next_due_timestamp_seconds', 'When a stream is due next.', ['stream']],
  state: [
    'boat_mirror_stream_state',
    '1 for the state of a stream: fresh, late, unknown, failing, reading or off.',
    ['stream', 'state'],
  ],
  runSeconds: ['boat_mirror_last_run_duration_seconds', 'Duration of the last finished run.', ['stream']],
  runChanges: [
    'boat_mirror_last_run_changes',
    'Rows inserted, updated and deleted by the last finished run.',
    ['stream'],
  ],
  runStatus: ['boat_mirror_last_run_status', '1 for the status of the last finished run.', ['stream', 'status']],
  running: ['boat_mirror_runs_running', 'Runs in progress.', []],
  tasks: ['boat_mirror_tasks', 'Open tasks of runs.', ['status']],
  held: ['boat_mirror_held_deletions', 'Held deletions that need your decision.', ['stream']],
  quarantine: ['boat_mirror_quarantine_records', 'Records that cannot be mirrored.', ['stream']],
  copied: ['boat_mirror_copied_changes', 'Changes from before this database became a copy, which are not sent.', []],
  goneRoles: ['boat_mirror_gone_roles', 'Roles that are gone and left changes or consumers.', []],
  overlaps: [
    'boat_mirror_overlapping_rentals',
    'Rentals that have not ended and overlap with another rental or an unavailability of the same boat.',
    [],
  ],
  withoutArrival: ['boat_mirror_rentals_without_arrival', 'Rentals from a month ago on that have no arrival.', []],
  feedHeld: [
    'boat_mirror_feed_held_seconds',
    'How long an open transaction has held mirror.changes_since back; 0 for less than a minute.',
    [],
  ],
  consumerBehind: [
    'boat_mirror_consumer_behind_seconds',
    'Age of the oldest change that a consumer of the feed has not acknowledged.',
    ['consumer'],
  ],
  consumerLost: [
    'boat_mirror_consumer_lost',
    '1 when changes were deleted that a consumer had not acknowledged.',
    ['consumer'],
  ],
  consumerLate: [
    'boat_mirror_consumer_late',
    '1 when a consumer is behind by more than half of HISTORY_DAYS.',
    ['consumer'],
  ],
  webhookFailing: [
    'boat_mirror_webhook_failing_seconds',
    'How long the webhook receiver has accepted nothing; 0 while it accepts calls, missing without WEBHOOK_URL.',
    [],
  ],
  webhookDelivered: ['boat_mirror_webhook_delivered_changes', 'Changes that the webhook receiver has accepted.', []],
  alertFailing: [
    'boat_mirror_alert_failing_seconds',
    'How long ALERT_URL has accepted no messages; 0 while it accepts them, missing without ALERT_URL.',
    [],
  ],
  credentials: ['boat_mirror_api_credentials_refused', '1 when the API answered the last call with 401.', []],
  newFields: ['boat_mirror_new_unknown_fields', 'Unknown fields that were first seen within the last 7 days.', []],
  unknownFields: ['boat_mirror_unknown_fields', 'Fields of API responses that the catalog does not know.', []],
  outbox: ['boat_mirror_outbox_changes', 'Changes in the outbox by state.', ['status']],
  oldest: [
    'boat_mirror_outbox_oldest_queued_age_seconds',
    'Age of the oldest queued change; 0 when none is queued.',
    [],
  ],
  quotaAllowed: [
    'boat_mirror_quota_allowed_requests',
    'Requests that API_QUOTA allows per hour, day or month; missing without a quota.',
    ['window'],
  ],
  quotaUsed: ['boat_mirror_quota_used_requests', 'Requests counted against API_QUOTA within the window.', ['window']],
  quotaReadsStopped: [
    'boat_mirror_quota_reads_stopped',
    '1 while reads wait because the rest of API_QUOTA is reserved for changes.',
    [],
  ],
  quotaWaiting: ['boat_mirror_quota_waiting_changes', 'Changes that wait until API_QUOTA has requests left.', []],
  quotaNotKept: ['boat_mirror_quota_streams_not_kept', 'Streams that API_QUOTA is too small to keep fresh.', []],
  quotaEarly: [
    'boat_mirror_quota_used_early',
    '1 when 80 % or 95 % of API_QUOTA is used before that share of the window has elapsed.',
    ['window', 'level'],
  ],
  breaker: ['boat_mirror_api_breaker_open', '1 while requests wait because the API failed too often.', []],
  endpointCalls: [
    'boat_mirror_endpoint_calls',
    'Calls of a read endpoint by all workers since the mirror was created.',
    ['endpoint'],
  ],
  endpointFailures: ['boat_mirror_endpoint_failures', 'Failed calls of a read endpoint by all workers.', ['endpoint']],
  endpointOk: [
    'boat_mirror_endpoint_ok',
    '1 when the last call of a read endpoint succeeded; 404 and 410 are not failures.',
    ['endpoint'],
  ],
  databaseSize: ['boat_mirror_database_size_bytes', 'Size of the database.', []],
  readsSkipped: ['boat_mirror_reads_skipped', 'Requests skipped because they repeat others.', ['endpoint']],
  readState: [
    'boat_mirror_read_state',
    '1 for the state of a read that may repeat another: redundant or needed.',
    ['endpoint', 'state'],
  ],
  queueUp: ['boat_mirror_queue_up', '1 when the queue passed its checks at this scrape.', []],
  jobs: ['boat_mirror_queue_jobs', 'BullMQ jobs by queue and state.', ['queue', 'state']],
  info: ['boat_mirror_info', 'Always 1; the version is the label.', ['version']],
} as const satisfies Record<string, readonly [string, string, readonly string[]]>

type GaugeName = keyof typeof gauges

const latencyBuckets = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** 2xx, 4xx …; `none` without an answer. */
const statusClass = (status: number | null): string => (status === null ? 'none' : `${Math.floor(status / 100)}xx`)

type Metrics = {
  observe(call: CallRecord): void
  /** The text that Prometheus reads. Without a database, `boat_mirror_up` is 0. */
  text(): Promise<string>
  readonly contentType: string
}

type MetricsOptions = {
  readonly context: Pick<OperatorContext, 'log' | 'version' | 'queue'>
  readonly facts: () => Promise<PageFacts>
  readonly jobs: JobCounts['read']
}

/** Makes the registry and its reader. */
export function createMetrics({ context, facts, jobs }: MetricsOptions): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'boat_mirror_' })
  const shown = new Map<GaugeName, Gauge>()
  for (const [key, [name, help, labelNames]] of Object.entries(gauges))
    shown.set(key as GaugeName, new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] }))
  const set = (name: GaugeName, labels: Readonly<Record<string, string>>, value: number | null): void => {
    if (value !== null) shown.get(name)?.set({ ...labels }, value)
  }
  const latency = new Histogram({
    name: 'boat_mirror_api_request_duration_seconds',
    help: 'Attempts of API calls by this process.',
    labelNames: ['endpoint', 'status'],
    buckets: latencyBuckets,
    registers: [registry],
  })
  const failures = new Counter({
    name: 'boat_mirror_api_request_failures_total',
    help: 'Failed attempts of API calls by this process; 404 and 410 are not failures.',
    labelNames: ['endpoint', 'status'],
    registers: [registry],
  })
  const received = new Counter({
    name: 'boat_mirror_api_received_bytes_total',
    help: 'Decoded bytes of API responses received by this process.',
    labelNames: ['endpoint'],
    registers: [registry],
  })

  const refresh = async (): Promise<void> => {
    for (const gauge of shown.values()) gauge.reset()
    set('info', { version: context.version }, 1)
    try {
      const known = await facts()
      set('up', {}, 1)
      fill(known, set)
    } catch (error) {
      set('up', {}, 0)
      context.log.debug({ event: 'metrics_without_database', reason: messageOf(error) })
    }
    const queueHealth = await probe(() => context.queue.ping(), 'QUEUE_UNREACHABLE')
    set('queueUp', {}, queueHealth.ok ? 1 : 0)
    for (const { queue, state, count } of await jobs()) set('jobs', { queue, state }, count)
  }
  let turn: Promise<unknown> = Promise.resolve()
  return {
    observe: (call) => {
      const labels = { endpoint: call.endpoint, status: statusClass(call.status) }
      latency.observe(labels, call.ms / 1_000)
      received.inc({ endpoint: call.endpoint }, call.bytes)
      if (isFailure(call)) failures.inc(labels)
    },
    // Scrapes run one after the other, because each resets the gauges.
    text: () => {
      const mine = turn.then(refresh).then(() => registry.metrics())
      turn = mine.catch(() => undefined) // the caller gets the error
      return mine
    },
    contentType: registry.contentType,
  }
}

type SetGauge = (name: GaugeName, labels: Readonly<Record<string, string>>, value: number | null) => void

const seconds = (instant: Date | null): number | null => (instant === null ? null : instant.getTime() / 1_000)

function fill(facts: PageFacts, set: SetGauge): void {
  fillStreams(facts, set)
  const { status, now, running, tasks } = facts
  set('running', {}, running.length)
  set('tasks', { status: 'waiting' }, tasks.waiting)
  set('tasks', { status: 'running' }, tasks.running)
  for (const [state, number] of Object.entries(status.outbox))
    if (typeof number === 'number') set('outbox', { status: state }, number)
  const { oldestQueuedAt } = status.outbox
  set('oldest', {}, oldestQueuedAt instanceof Date ? (now.getTime() - oldestQueuedAt.getTime()) / 1_000 : 0)
  set('feedHeld', {}, Math.max(0, ...status.feedHeldBy.map(({ since }) => (now.getTime() - since.getTime()) / 1_000)))
  for (const { name, behindS, state } of status.consumers) {
    set('consumerBehind', { consumer: name }, behindS)
    set('consumerLost', { consumer: name }, state === 'lost' ? 1 : 0)
    set('consumerLate', { consumer: name }, state === 'late' ? 1 : 0)
  }
  const since = (instant: Date | null): number => (instant === null ? 0 : (now.getTime() - instant.getTime()) / 1_000)
  if (status.webhook !== null) {
    set('webhookFailing', {}, since(status.webhook.failingSince))
    set('webhookDelivered', {}, status.webhook.delivered)
  }
  if (status.alerts !== null) set('alertFailing', {}, since(status.alerts.failingSince))
  set('credentials', {}, areCredentialsRefused(status) ? 1 : 0)
  set('newFields', {}, status.unknownFields.filter(({ isNew }) => isNew).length)
  set('unknownFields', {}, status.unknownFields.length)
  if (status.quota !== null) {
    const { windows, readsStopped, waitingChanges, notKept } = status.quota
    for (const each of windows) {
      const { window, allowed, used } = each
      set('quotaAllowed', { window }, allowed)
      set('quotaUsed', { window }, used)
      for (const level of reachedEarly(each)) set('quotaEarly', { window, level: `${level}` }, 1)
    }
    set('quotaReadsStopped', {}, readsStopped ? 1 : 0)
    set('quotaWaiting', {}, waitingChanges)
    set('quotaNotKept', {}, notKept.length)
  }
  set('copied', {}, status.copied?.changes ?? 0)
  set('goneRoles', {}, status.goneRoles.length)
  set('overlaps', {}, status.overlaps.rentals)
  set('withoutArrival', {}, status.overlaps.withoutArrival.length)
  set('breaker', {}, status.api.breaker === 'open' ? 1 : 0)
  set('databaseSize', {}, status.database.size)
  for (const each of status.endpoints) {
    const { endpoint, calls, failures } = each
    set('endpointCalls', { endpoint }, calls)
    set('endpointFailures', { endpoint }, failures)
    if (calls > 0) set('endpointOk', { endpoint }, isFailing(each) ? 0 : 1)
  }
  for (const { endpoint, state, skipped } of status.reads) {
    set('readsSkipped', { endpoint }, skipped)
    set('readState', { endpoint, state }, 1)
  }
}

function fillStreams({ status, now, freshness, runs }: PageFacts, set: SetGauge): void {
  const held = new Map(status.heldRuns.map((run) => [run.stream, run.held]))
  for (const { stream, rows, asOf, hotAsOf, countsAsOf, intervalS, nextDueAt } of status.streams) {
    set('rows', { stream }, rows)
    set('asOf', { stream }, seconds(asOf))
    set('hotAsOf', { stream }, seconds(hotAsOf))
    set('age', { stream }, countsAsOf === null ? null : (now.getTime() - countsAsOf.getTime()) / 1_000)
    set('interval', { stream }, intervalS)
    set('due', { stream }, seconds(nextDueAt))
    set('held', { stream }, held.get(stream) ?? 0)
    set('quarantine', { stream }, status.quarantine.byStream[stream] ?? 0)
  }
  for (const { stream, state, targetS } of freshness) {
    set('target', { stream }, targetS)
    for (const each of freshnessStates) set('state', { stream, state: each }, each === state ? 1 : 0)
  }
  // Oldest first: the last one stays.
  const last = new Map(runs.map((run) => [run.stream, run]))
  for (const [stream, run] of last) {
    set('runSeconds', { stream }, run.seconds)
    set('runChanges', { stream }, run.changes)
    for (const each of ['done', 'partial', 'held', 'failed'])
      set('runStatus', { stream, status: each }, each === run.status ? 1 : 0)
  }
}

type JobCount = { readonly queue: string; readonly state: string; readonly count: number }

export type JobCounts = {
  /** Jobs by queue and state, without the queues that do not answer. */
  read(): Promise<readonly JobCount[]>
  close(): Promise<void>
}

/** Opens the queues in the background: the pages do not wait for the backend. */
export function openJobCounts({ queue, queueNames }: Pick<OperatorContext, 'queue' | 'queueNames'>): JobCounts {
  const opening = queueNames.map(async (name) => ({ name, opened: await queue.openQueue(name) }))
  const settled = Promise.allSettled(opening)
  return {
    read: async () => {
      const counted = opening.map(async (each) => {
        const { name, opened } = await each
        return Object.entries(await opened.getJobCounts()).map(([state, count]) => ({ queue: name, state, count }))
      })
      const results = await Promise.allSettled(counted)
      return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    },
    close: async () => {
      const queues = (await settled).flatMap((each) => (each.status === 'fulfilled' ? [each.value.opened] : []))
      await Promise.allSettled(queues.map((each) => each.close()))
    },
  }
}
