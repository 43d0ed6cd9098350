// Repairs rows that were read later than now: the database's clock was set back since. What was read of them meanwhile was
// dropped as older, and remembered as known.

import { descendantsOf, streamNamed } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { identifier, isReadAhead, keyTextSql, type Queryable, storableReadTime } from '../database/sql.ts'
import { columnList, sameKey } from './diff-sql.ts'

/** Where hashes of rows are remembered: under which stream, and how many columns of the rows' key name the record. */
function remembered(stream: StreamDef): { readonly stream: string; readonly width: number } {
  if (stream.parent === undefined || stream.reads.kind === 'list')
    return { stream: stream.name, width: stream.key.length }
  const parent = streamNamed(stream.parent)
  return stream.reads.kind === 'inside' ? remembered(parent) : { stream: stream.name, width: parent.key.length }
}

/**
 * Sets rows back to when they were last written, at the latest to before the run (its start is the parameter), which may
 * then find them missing; and forgets the hashes by which the next reads would be skipped.
 */
function repairStatement(stream: StreamDef): string {
  const table = `mirror.${identifier(stream.name)}`
  const place = remembered(stream)
  const record = keyTextSql(stream.key.slice(0, place.width).map((name) => `t.${identifier(name)}`))
  return `with ahead as materialized (
      select ${columnList(stream.key, 't')}, t._deleted_at is null as alive, ${record} as record
      from ${table} t where ${isReadAhead('t')} order by ${columnList(stream.key, 't')} for no key update
    ), repaired as (
      update ${table} t set _read_at = ${storableReadTime("least(t._changed_at, $1::timestamptz - interval '1 ms')")} from ahead a where ${sameKey(stream.key, 't', 'a')}
    ), forgotten as (
      insert into sync.records (stream, key) select distinct '${place.stream}', record from ahead where alive order by 2
      on conflict (stream, key) do update
        set list_hash = null, detail_hash = null, detail_read_at = null, listed_at = null, changed_at = statement_timestamp()
    )
    select count(*)::int as rows from ahead`
}

/** Details that were read later than now would not fall due before that. */
const repairRecords = `update sync.records r set list_hash = null, detail_hash = null, detail_read_at = null,
    listed_at = null, changed_at = ${storableReadTime('r.changed_at')}
  where r.stream = $1 and greatest(r.detail_read_at, r.listed_at, r.changed_at) > statement_timestamp()`

/**
 * Repairs a stream and what stands inside its records, in the caller's transaction: they are read and compared anew.
 * @returns how many rows, or records of which only hashes are kept, were ahead of the database's clock.
 */
export async function repairReadAhead(db: Queryable, stream: StreamDef, runStartedAt: Date): Promise<number> {
  const inside = descendantsOf(stream.name).filter((child) => child.reads.kind === 'inside')
  let repaired = 0
  for (const each of [stream, ...inside]) {
    const { rows } = await db.query<{ rows: number }>(repairStatement(each), [runStartedAt])
    repaired += rows[0]?.rows ?? 0
  }
  const { rowCount } = await db.query(repairRecords, [stream.name])
  return Math.max(repaired, rowCount ?? 0)
}
