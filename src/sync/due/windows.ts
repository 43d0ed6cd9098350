// What the mirror knows of the windows of a list: its newest records, and those of some days.

import type { StreamDef } from '../../catalog/types.ts'
import { identifier, isStub, type Queryable } from '../../database/sql.ts'
import { askedJoin, rememberedJoin } from '../../mirror/records.ts'

/** Days, `YYYY-MM-DD`, of a column in a time zone; both included. */
export type Window = { readonly column: string; readonly from: string; readonly to: string; readonly timeZone: string }

/**
 * Does the row `t` lie in a window? Its parameters begin with `first`. The days as UTC has them, and more on both sides than
 * any zone is away from it, say nothing new: they are what an index can look up.
 */
export function inWindowSql({ column }: Window, t: string, first: number): string {
  const time = `${t}.${identifier(column)}`
  const [from, to, zone] = [`$${first}::date`, `$${first + 1}::date`, `$${first + 2}::text`]
  return `${time} >= (${from} - 1)::timestamp at time zone 'UTC' and ${time} < (${to} + 2)::timestamp at time zone 'UTC'
    and (${time} at time zone ${zone})::date between ${from} and ${to}`
}

export const windowParameters = ({ from, to, timeZone }: Window): readonly string[] => [from, to, timeZone]

/**
 * Was everything on this page in the mirror when its window was last read? A complete run has read it, too: all that its list
 * brought was there when its sweep ended. What changed since, such as a boat that details filled in, was there all the same
 * where the list had shown it before.
 */
export async function isPageKnown(db: Queryable, stream: StreamDef, keys: readonly string[]): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from ${askedJoin(stream)} ${rememberedJoin} left join sync.streams s on s.stream = $2
     left join sync.runs w on w.id = s.last_run_id and w.status in ('done', 'held') and w.trigger <> 'release'
     where (t._deleted_at is null and least(t._changed_at, r.listed_at) < greatest(s.hot_as_of, w.swept_at)) is not true limit 1`,
    [keys, stream.name],
  )
  return rowCount === 0
}

/** Are there more than so many live rows with a later time in this column? */
export async function areMoreNewer(
  db: Queryable,
  stream: StreamDef,
  { column, than, count }: { readonly column: string; readonly than: Date; readonly count: number },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from mirror.${identifier(stream.name)} t
     where t._deleted_at is null and not ${isStub('t')} and t.${identifier(column)} > $1 offset $2 limit 1`,
    [than, count],
  )
  return rowCount === 1
}

/** How many of these records are alive, and lie in the window. */
export async function countInWindow(
  db: Queryable,
  stream: StreamDef,
  { window, keys }: { readonly window: Window; readonly keys: readonly string[] },
): Promise<number> {
  const { rows } = await db.query<{ inside: number }>(
    `select count(*)::int as inside from ${askedJoin(stream)} where t._deleted_at is null and ${inWindowSql(window, 't', 2)}`,
    [keys, ...windowParameters(window)],
  )
  return rows[0]?.inside ?? 0
}
