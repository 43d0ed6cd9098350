// The change log has a partition for each month of `changed_at`, in UTC. Creating or dropping one locks the whole log
// for a moment. It waits for that lock at most half a second, because transactions behind it wait as well. If it
// fails, it is tried again later: months are created long before they begin, and an entry of a month without a
// partition goes into the default one.

import { sleep } from '../clock.ts'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import type { Queryable } from '../database/sql.ts'
import { isLockTimeout } from '../database/sql-states.ts'
import months from './log-months.sql'

/** `mirror.make_log_month`, `mirror.drop_log_month` and what they call. */
export const logMonthFunctions: RepeatableStep = { name: 'log-month-functions', sql: months }

const tries = 5
const pauseMs = 200 // transactions that waited behind us go first

/** Does this role own the log, so that it may make and drop its months? */
async function ownsLog(db: Queryable): Promise<boolean> {
  const owned = `select from pg_class where oid = 'mirror.change_log'::regclass and pg_has_role(relowner, 'usage')`
  return (await db.query(owned)).rowCount !== 0
}

/** Whether the function did something; null when others held the log each time. */
async function patiently(db: Queryable, call: string, values: unknown[] = []): Promise<boolean | null> {
  for (let turn = 1; turn <= tries; turn++) {
    try {
      return (await db.query<{ done: boolean }>(`select ${call} as done`, values)).rows[0]?.done === true
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      await sleep(pauseMs)
    }
  }
  return null
}

/** Makes the partitions of this month and the two that follow, where they are missing and the role owns the log. */
export async function makeLogMonths(db: Queryable): Promise<void> {
  if (await ownsLog(db)) while (await patiently(db, 'mirror.make_log_month()'));
}

/**
 * Drops the months that ended more than `days` ago, the oldest first, and marks consumers as lost. @returns how many.
 * @param onFailure is called with each month that cannot be dropped, and the reason; the others are dropped anyway.
 */
export async function dropLogMonths(
  db: Queryable,
  days: number,
  onFailure: (month: string, error: unknown) => void,
): Promise<number> {
  if (!(await ownsLog(db))) return 0
  const { rows } = await db.query<{ month: string }>(
    `select partition::text as month from mirror.log_partitions()
     where ends < now() - make_interval(days => $1) order by ends`,
    [days],
  )
  let dropped = 0
  for (const { month } of rows)
    try {
      const isDropped = await patiently(db, 'mirror.drop_log_month($1)', [month])
      if (isDropped === null) return dropped // a transaction that holds the log holds the other months, too
      if (isDropped) dropped++
    } catch (error) {
      onFailure(month, error)
    }
  return dropped
}
