// The report views about the mirror itself: is each stream as fresh as it should be (the one rule for status, page, readiness and
// metrics), and how long was it so, day by day? jobs/freshness-minutes.ts explains the rows of sync.freshness_days.

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

const day = (expression: string): string => `(${expression} at time zone 'UTC')`

/** The current minute counts once it has been checked; so do later ones, if the clock was set back since. */
const passed = `least(g.day + interval '1 day',
      greatest(${day("date_trunc('minute', clock_timestamp())")}, ${day('f.looked_at')} + interval '1 minute'))`

const minutes = (from: string): string => `(extract(epoch from p.until - ${from}) / 60)::int`

export const freshnessHistory: ReportView = {
  name: 'freshness_history',
  comment:
    'How long each stream met its target, by day (UTC), for HISTORY_DAYS; checked once a minute. A minute without a worker counts as not met.',
  columns: {
    day: ['g.day::date', 'The day, in UTC.'],
    stream: ['f.stream', 'Name of the stream, which is its table in mirror.'],
    minutes: [
      'm.minutes',
      'Minutes of the day since the stream was first read completely, excluding those in which it was switched off or had no target.',
    ],
    minutes_within_target: ['m.met', 'Minutes in which it was within its target.'],
    share: ['round(m.met::numeric / m.minutes, 4)', 'The same as a share of the minutes, 0 to 1.'],
    longest_gap: [
      'm.longest_gap',
      'The longest time without a minute within the target, in minutes. One that started on an earlier day counts from its start.',
    ],
  },
  source: `from (select stream, min(day) as first_day, max(day) as last_day, max(looked_at) as looked_at
    from sync.freshness_days group by stream) f
  cross join lateral generate_series(f.first_day::timestamp,
    greatest(f.last_day::timestamp, date_trunc('day', ${day('clock_timestamp()')})), interval '1 day') g(day)
  cross join lateral (select * from sync.freshness_days d where d.stream = f.stream and d.day <= g.day::date
    order by d.day desc limit 1) r
  cross join lateral (select r.day = g.day::date as own, ${passed} as until) p
  cross join lateral (select
    case when p.own then r.counted else 0 end
      + case when r.counts_from is null then 0 else ${minutes(`greatest(g.day, ${day('r.counts_from')})`)} end as minutes,
    case when p.own then r.met else 0 end as met,
    greatest(case when p.own then r.longest_gap else 0 end,
      coalesce(${minutes(day('r.missed_from'))}, 0)) as longest_gap) m
  where m.minutes > 0`,
  orderBy: 'day desc, stream',
}
