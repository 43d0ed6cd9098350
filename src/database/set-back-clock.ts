// A database's clock that was set back (time synchronisation, another host) leaves leases, due times and waits in the
// future, and all of them would last longer by as much. Workers note the time once a minute: a note that lies ahead shows it.

import type { Database } from './database.ts'

const key = 'database_clock'
/** When the clock was last found set back: code that reads only part of the rows then reads all of them once. */
export const setBackKey = 'database_clock_set_back'
/** A smaller step only delays work by as much. Recent leases and wake-ups end within it, too. */
const toleratedS = 10

const setBack = (columns: readonly string[]): string =>
  columns
    .map(
      (name) => `${name} = case when ${name} > clock_timestamp() + ${toleratedS} * interval '1 s'
      then ${name} - $1 * interval '1 s' else ${name} end`,
    )
    .join(', ')

const statements = [
  `update sync.tasks set ${setBack(['lease_until', 'not_before', 'woken_at', 'checkpoint_at'])}
   where status in ('waiting', 'running')`,
  `update sync.streams set ${setBack(['next_due_at'])}`,
  `update outbox.queue set ${setBack(['next_attempt_at', 'lease_until', 'sent_at', 'deadline'])}
   where status in ('queued', 'sending', 'blocked')`,
]

/**
 * Notes the database's time. If it was set back since the last note, everything that waits for a time is moved by as much.
 * @returns by how many seconds it was set back; 0: it was not.
 */
export async function noteDatabaseTime(database: Database): Promise<number> {
  return await database.transaction(async (client) => {
    const { rows } = await client.query<{ ahead_s: number }>(
      `insert into sync.pinned as p (key, value) values ($1, 'true') on conflict (key) do update set value = p.value
       returning extract(epoch from probed_at - clock_timestamp())::float8 as ahead_s`,
      [key],
    )
    const aheadS = rows[0]?.ahead_s ?? 0
    const isSetBack = aheadS > toleratedS
    if (isSetBack) {
      for (const statement of statements) await client.query(statement, [aheadS])
      await client.query(
        `insert into sync.pinned (key, value, probed_at) values ($1, 'true', clock_timestamp())
         on conflict (key) do update set probed_at = excluded.probed_at`,
        [setBackKey],
      )
    }
    await client.query('update sync.pinned set probed_at = clock_timestamp() where key = $1', [key])
    return isSetBack ? aheadS : 0
  })
}
