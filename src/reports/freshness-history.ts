// The report view about the past of the mirror: how long each stream met its target, day by day.
// jobs/freshness-minutes.ts explains the rows of sync.freshness_days.

import type { ReportView } from './pieces.ts'

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
