// The change log has a partition for each month of `changed_at`, in UTC. Making and dropping one holds all of the log for a
// moment, and waits for it half a second at most, as whoever comes behind has to wait, too. What was not to be had is had
// later: months are made long before they begin, and an entry of a month without a partition goes into the default one.

import { sleep } from '../clock.ts'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import type { Queryable } from '../database/sql.ts'
import { isLockTimeout } from '../database/sql-states.ts'
import months from './log-months.sql'

/** `mirror.make_log_month`, `mirror.drop_log_months` and what they call. */
export const logMonthFunctions: RepeatableStep = { name: 'log-month-functions', sql: months }

const tries = 5
const pauseMs = 200 // whoever waited behind us goes first

/** The result of a function; null when others held the log each time, or for a role that does not own it. */
async function patiently<T>(db: Queryable, call: string, values: unknown[] = []): Promise<T | null> {
  const owned = `select from pg_class where oid = 'mirror.change_log'::regclass and pg_has_role(relowner, 'usage')`
  if ((await db.query(owned)).rowCount === 0) return null
  for (let turn = 1; turn <= tries; turn++) {
    try {
      const { rows } = await db.query<{ result: T }>(`select ${call} as result`, values)
      return rows[0]?.result ?? null
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      await sleep(pauseMs)
    }
  }
  return null
}

/** Makes the partitions of this month and the two that follow, where they are missing and the role owns the log. */
export async function makeLogMonths(db: Queryable): Promise<void> {
  while ((await patiently<boolean>(db, 'mirror.make_log_month()')) === true);
}

/** Drops the months that ended more than `days` ago, and marks consumers as lost. @returns how many. */
export async function dropLogMonths(db: Queryable, days: number): Promise<number> {
  return (await patiently<number>(db, 'mirror.drop_log_months($1)', [days])) ?? 0
}
