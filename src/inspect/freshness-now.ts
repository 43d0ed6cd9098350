// How fresh a stream is while a worker catches up. Old data raises no alarm before the worker has had its chance.

import { sql } from 'kysely'
import { livingSince } from '../database/workers.ts'

/**
 * `failing`: the last run that ended did not read everything. `unknown`: never read completely, or nothing to measure by.
 * `late`: older than the target. `fresh`: everything older than the target is in the mirror. `report.freshness` decides.
 * `reading`: late, and a worker that began only now catches up. `off`: paused.
 */
export type Freshness = 'fresh' | 'late' | 'unknown' | 'failing' | 'reading' | 'off'

/**
 * The state of a row `f` of report.freshness. A late stream is `reading` until its next run since a worker started
 * has ended, or as much time as its target allows has passed since then: a worker that cannot catch up is not an
 * excuse forever.
 */
export const freshnessNow = sql<Freshness>`case
  when f.state = 'late' and clock_timestamp() - ${livingSince} < f.target_s * interval '1 s'
    and not exists (select from sync.runs t where t.id = f.last_run_id and t.finished_at >= ${livingSince}) then 'reading'
  else f.state end`
