// The report view about the mirror itself: is each stream as fresh as it should be? The one rule for status, page,
// readiness and metrics.

import { streams } from '../catalog/catalog.ts'
import { livingSince } from '../database/presence.ts'
import { literal } from '../database/sql.ts'
import type { ReportView } from './pieces.ts'

/** Streams that are read inside another one have no schedule: they are due when their parent is. */
const scheduledWith = streams
  .filter((stream) => stream.reads.kind === 'inside' && stream.parent !== undefined)
  .map((stream) => `when ${literal(stream.name)} then ${literal(stream.parent ?? '')}`)

/** Effective intervals that a stream may be old where no target is configured: one run may be missed, and one be slow. */
export const intervalsAllowed = 3

const target = `coalesce(s.target_s, ${intervalsAllowed} * coalesce(s.interval_s, p.interval_s))`

/** A target that is configured counts for the hot window, where there is one. */
const countsAsOf = `case when s.target_s is null then s.as_of else coalesce(s.hot_as_of, s.as_of) end`

const age = `extract(epoch from clock_timestamp() - ${countsAsOf})`

/** A worker that cannot catch up is not an excuse forever: until its next run has ended, or as much time as the target allows. */
const catchesUp = `clock_timestamp() - ${livingSince} < ${target} * interval '1 s'
        and (r.finished_at >= ${livingSince}) is not true`

export const freshness: ReportView = {
  name: 'freshness',
  comment:
    'Age of each stream of the mirror and its target: that of the configuration, else three effective intervals.',
  columns: {
    stream: ['s.stream', 'Name of the stream, which is its table in mirror.'],
    state: [
      `case when s.paused_by is not null then 'off'
      when r.status in ('failed', 'partial') then 'failing'
      when s.as_of is null and exists (select from sync.runs g where g.stream = coalesce(p.stream, s.stream)
        and g.status = 'running' and not g.hot and g.record_key is null) then 'reading'
      when s.as_of is null or ${target} is null then 'unknown'
      when ${age} <= ${target} then 'fresh'
      when ${catchesUp} then 'reading'
      else 'late' end`,
      'off: paused; failing: the last run did not read everything; unknown: never read completely, or no target; reading: read for the first time, or older than the target while a worker that started only now catches up; late: older than the target; fresh.',
    ],
    rows: ['s.rows', 'Live rows.'],
    as_of: ['s.as_of', 'Everything that changed upstream before this time is in the mirror.'],
    hot_as_of: [
      's.hot_as_of',
      'The same for the hot window: new records and those that happen soon; null: the stream has none.',
    ],
    counts_as_of: [countsAsOf, 'Start of its age: hot_as_of if the target is configured, else as_of.'],
    age_s: [`round(${age})`, 'Age in seconds.'],
    target_s: [target, 'Greatest age that is still fresh, in seconds; null: not on the schedule and no target set.'],
    last_run_id: ['s.last_run_id', 'sync.runs.id of the last run that ended.'],
    last_run_status: ['r.status', 'How it ended: done, partial, held, failed.'],
    last_error: ['r.error', 'What went wrong in it.'],
    next_due_at: ['s.next_due_at', 'When it is due next.'],
    quarantined: [
      '(select count(*) from sync.quarantine q where q.stream = s.stream)',
      'Records that could not be mirrored.',
    ],
  },
  source: `from sync.streams s
  left join sync.streams p on p.stream = case s.stream ${scheduledWith.join(' ')} end
  left join sync.runs r on r.id = s.last_run_id`,
  orderBy: 'stream',
}
