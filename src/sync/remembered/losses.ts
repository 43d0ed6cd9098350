// Rows below records that went because an answer did not bring them, within 24 hours: what the delete threshold of a stream
// below another counts.

import { parentOf } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import { keyParts, keyText } from '../../catalog/keys.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { identifier, keySql, keyTextSql, type Queryable } from '../../database/sql.ts'
import { askedJoin } from '../../mirror/records.ts'

/** A transaction that counts losses of a stream and may add to them holds this lock until it ends. */
export const lockLosses = (db: Queryable, stream: string): Promise<unknown> =>
  db.query(`select pg_advisory_xact_lock(hashtext('boat-mirror.losses'), hashtext($1))`, [stream])

/** True of a row `t` all of whose dates lie before the day `$2`, or on it. */
const hasPassed = `coalesce((select max(left(v #>> '{}', 10)) <= $2 from jsonb_path_query(t._payload, 'strict $.**') v
  where jsonb_typeof(v) = 'string' and v #>> '{}' ~ '^\\d{4}-\\d\\d-\\d\\d'), false)`

/**
 * How many rows of a stream were lost within 24 hours, including the present transaction: they were deleted, have not
 * come back, and the record above them exists. A record without an id is identified by its content: where an answer
 * brought others in the place of those deleted, they count as changed. Each row is looked up by index, whatever the
 * statistics.
 * @param today `YYYY-MM-DD`
 */
export async function lostLately(db: Queryable, stream: StreamDef, today: string): Promise<number> {
  const parent = parentOf(stream)
  if (parent === undefined) throw new Error(`${stream.name} hangs below nothing.`)
  const own = stream.key.map((name) => `t.${identifier(name)} = (g.key ->> '${name}')::${columnType(stream, name)}`)
  const above = parent.key.map((name, index) => `p.${identifier(name)} = t.${identifier(stream.key[index] ?? '')}`)
  const passed = stream.passes === true ? `and not ${hasPassed}` : 'and $2::text is not null'
  const below = `g.key - '${stream.key.at(-1)}'`
  const lost = `gone as (
      select distinct on (l.key) l.key, l.epoch, l.xid from mirror.change_log l
      where l.stream = $1 and l.operation = 'delete' and l.changed_at > statement_timestamp() - interval '24 hours'
      order by l.key, l.seq desc
    ), lost as (
      select g.epoch, g.xid, ${below} as above from gone g
      cross join lateral (select ${identifier(stream.key[0] ?? '')} from mirror.${identifier(stream.name)} t
        where ${own.join(' and ')} and t._deleted_at is not null ${passed}
          and exists (select from mirror.${identifier(parent.name)} p where ${above.join(' and ')} and p._deleted_at is null offset 0)
        offset 0) t
    )`
  const came = `(select count(*) from mirror.change_log i where i.epoch = l.epoch and i.xid = l.xid
      and i.stream = $1 and i.operation = 'insert' and i.key - '${stream.key.at(-1)}' = l.above)`
  const counted =
    stream.keyed === 'content'
      ? `select coalesce(sum(greatest(0, rows - ${came})), 0)::int as lost from (
          select epoch, xid, above, count(*) as rows from lost group by 1, 2, 3) l`
      : 'select count(*)::int as lost from lost'
  const { rows } = await db.query<{ lost: number }>(`with ${lost} ${counted}`, [stream.name, today])
  return rows[0]?.lost ?? 0
}

/** Those of some rows whose days have not all passed. @param today `YYYY-MM-DD` */
export async function comingOf(
  db: Queryable,
  stream: StreamDef,
  keys: readonly (readonly string[])[],
  today: string,
): Promise<readonly (readonly string[])[]> {
  if (stream.passes !== true) return keys
  const coming = `select asked.key from ${askedJoin(stream)} where not ${hasPassed}`
  const { rows } = await db.query<{ key: string }>(coming, [keys.map(keyText), today])
  return rows.map(({ key }) => keyParts(stream, key))
}

/** Stands for all rows below a record whose list answered 404. */
export const refusedBelow = (above: readonly string[]): readonly string[] => [...above, '']

export type EmptiedRow = {
  readonly key: string
  /** Another id by which the row's own endpoint may know it. */
  readonly otherId: string | null
  /** The list of its record answered 404. */
  readonly isRefused: boolean
}

export type EmptiedBelow = {
  /** Rows that stood below the records that the run read, and those that it did not delete. */
  readonly before: number
  readonly left: number
  /** Rows that the run found missing, and no later answer for their record showed. */
  readonly emptied: readonly EmptiedRow[]
  /** Records whose lists answered 404. */
  readonly refused: readonly string[]
  /** Some of them have no rows. */
  readonly refusesEmpty: boolean
  /** Lists with rows were answered to the run, and lists without to any run. */
  readonly answersRows: boolean
  readonly answersNone: boolean
}

/** What a run has read of a stream below another, and found missing. */
export async function emptiedBelow(db: Queryable, stream: StreamDef, runId: string): Promise<EmptiedBelow> {
  const { name, key, parentKey = [], reads } = stream
  const parts = parentKey.map((_, index) => (parentKey.length === 1 ? 'd.key' : `d.key::jsonb ->> ${index}`))
  const same = parts.map((part, index) => {
    const column = key[index] ?? ''
    return `t.${identifier(column)} = (${part})::${columnType(stream, column)}`
  })
  const otherPath = (reads.kind === 'collection' && reads.single?.fallbackPath?.replaceAll('.', ',')) || ''
  const isUndecided = (text: string): string =>
    `exists (select from sync.held h where h.run_id = r.id and h.released_at = '-infinity' and h.key = ${text})`
  const { rows } = await db.query<EmptiedBelow>(
    `select (coalesce(sum(rows) filter (where recent), 0) + r.deleted - r.inserted)::int as before,
       (coalesce(sum(rows) filter (where recent), 0) - r.inserted)::int as left,
       (select coalesce(jsonb_agg(e), '[]') from unnest(array_agg(emptied)) as each(rows), jsonb_array_elements(rows) e) as emptied,
       coalesce(array_agg(d.key) filter (where refused), '{}') as refused,
       coalesce(bool_or(refused and rows = 0), false) as "refusesEmpty",
       coalesce(bool_or(recent and detail_hash <> '' and rows > 0), false) as "answersRows",
       coalesce(bool_or(detail_hash <> '' and rows = 0), false) as "answersNone"
     from sync.runs r left join sync.records d on d.stream = $1 and d.detail_read_at is not null
     left join lateral (select d.detail_read_at >= r.started_at as recent,
       d.detail_hash = '' and ${isUndecided(keyTextSql([...parts, `''`]))} as refused) f on true
     left join lateral (select count(*) as rows,
         jsonb_agg(jsonb_build_object('key', ${keySql(stream, 't')}, 'otherId', nullif(t._payload #>> $3, ''), 'isRefused', refused))
           filter (where d.detail_hash = '' and t._read_at <= d.detail_read_at and (refused or ${isUndecided(keySql(stream, 't'))})) as emptied
       from mirror.${identifier(name)} t where t._deleted_at is null and ${same.join(' and ')} offset 0) t on true
     where r.id = $2 group by r.id`,
    [stream.name, runId, otherPath === '' ? null : `{${otherPath}}`],
  )
  const [facts] = rows
  if (facts === undefined) throw new Error(`There is no run ${runId}.`)
  return facts
}

/** Keys of the records above rows that went within 24 hours. */
export async function aboveLostLately(db: Queryable, { name, parentKey = [] }: StreamDef): Promise<readonly string[]> {
  const { rows } = await db.query<{ key: string }>(
    `select distinct ${keyTextSql(parentKey.map((column) => `l.key ->> '${column}'`))} as key from mirror.change_log l
     where l.stream = $1 and l.operation = 'delete' and l.changed_at > statement_timestamp() - interval '24 hours'`,
    [name],
  )
  return rows.map(({ key }) => key)
}

/**
 * How many other rows of a stream need a decision: runs hold them back, they are not released, they were not deleted with the
 * record above them, and neither that record nor, by a later complete run, the stream has been read successfully since.
 */
export async function heldBelow(db: Queryable, stream: StreamDef, except: readonly string[]): Promise<number> {
  const width = parentOf(stream)?.key.length ?? 0
  const part = (index: number): string => `h.key::jsonb ->> ${index}`
  const above = keyTextSql(Array.from({ length: width }, (_, index) => part(index)))
  const own = stream.key.map((name, index) => `t.${identifier(name)} = (${part(index)})::${columnType(stream, name)}`)
  const { rows } = await db.query<{ held: number }>(
    `select count(distinct h.key)::int as held from sync.runs r
     join sync.held h on h.run_id = r.id and h.released_at is null and not h.key = any($2)
     cross join lateral (select from sync.records d where d.stream = $1 and d.key = ${above} and d.detail_read_at is null offset 0) d
     cross join lateral (select from mirror.${identifier(stream.name)} t where ${own.join(' and ')} and t._deleted_at is null offset 0) t
     where r.stream = $1 and (r.status = 'held' or r.status = 'running' and r.held > 0) and r.record_key is null
       and not exists (select from sync.runs n where n.stream = $1 and n.id > r.id and n.status = 'done' and not n.hot
         and n.trigger <> 'release' and n.record_key is null)`,
    [stream.name, except],
  )
  return rows[0]?.held ?? 0
}
