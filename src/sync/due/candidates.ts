// Which rows a run of the schedule asks whether they are due (`due.ts`), found by indexes, so that its work grows with what
// changed, what is old and what departs soon, not with history. Once a day, and where it must, a run asks all of them: whatever was missed is found then.

import { parentOf, repeatsOf } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { setBackKey } from '../../database/database-clock.ts'
import { identifier, keySql, type Queryable } from '../../database/sql.ts'
import { ageOf, isSoon, shareCount, shareOf } from './ages.ts'

/** Longer than any transaction takes: what it changed shows only at its end. */
const longestTransaction = `interval '10 minutes'`

/** Of each share of ages (`ages.ts`), so many details are read again by one run: those that were read longest ago. */
const oldestOfShare = 500

/** The rows whose details this stream reads: its own for a list, its parent's otherwise. */
export const holderOf = (stream: StreamDef): StreamDef =>
  stream.reads.kind === 'list' ? stream : (parentOf(stream) ?? stream)

/**
 * Since when a scheduled run checks for changes: since the last complete run that ended well. Null (all rows): there
 * is none, this is the first run of the day, the state of a redundant read changed, or the clock was set back.
 */
export async function scheduledSince(db: Queryable, stream: StreamDef): Promise<Date | null> {
  const { rows } = await db.query<{ since: Date }>(
    `select s.as_of - ${longestTransaction} as since from sync.streams s join sync.runs last on last.id = s.last_run_id and last.trigger <> 'release'
     where s.stream = $1 and s.as_of <= statement_timestamp()
       and last.started_at between date_trunc('day', statement_timestamp(), 'UTC') and statement_timestamp()
       and not exists (select from sync.reads r where r.endpoint = any($2) and r.since > s.as_of)
       and not exists (select from sync.pinned p where p.key = $3 and p.probed_at > last.started_at)`,
    [stream.name, repeatsOf(stream).map(({ endpoint }) => endpoint), setBackKey],
  )
  return rows[0]?.since ?? null
}

/** Since when a hot run of a stream that others' changes make due looks for those: since a run that ended well; null: at all rows. */
export async function hotSince(db: Queryable, stream: StreamDef): Promise<Date | null> {
  const { rows } = await db.query<{ since: Date }>(
    `select started_at - ${longestTransaction} as since from sync.runs
     where stream = $1 and status = 'done' and record_key is null and trigger <> 'release' order by id desc limit 1`,
    [stream.name],
  )
  return rows[0]?.since ?? null
}

/** A key that is remembered as text, as the columns of its table; one that they cannot hold is in no row. */
const rememberedKey = (stream: StreamDef): string =>
  stream.key
    .map((name, index) => {
      const part = stream.key.length === 1 ? 'r.key' : `r.key::jsonb ->> ${index}`
      const isNumber = columnType(stream, name) === 'bigint'
      return isNumber ? `case when ${part} ~ '^-?[0-9]{1,18}$' then (${part})::bigint end` : part
    })
    .join(', ')

/** Selects keys of the rows that changed, or were compared with their list, or that a changed row of another stream makes due. */
function changedSql(stream: StreamDef, since: string): readonly string[] {
  const holder = holderOf(stream)
  const names = holder.reads.kind === 'list' ? [...new Set([holder.name, stream.name])] : [stream.name]
  const rowsOf = (name: string, columns: readonly string[]): string =>
    `select ${columns.map((column) => `t.${identifier(column)}`).join(', ')} from mirror.${identifier(name)} t where t._changed_at >= ${since}`
  return [
    `select ${rememberedKey(holder)} from sync.records r
     where r.stream in (${names.map((name) => `'${name}'`).join(', ')}) and greatest(r.changed_at, r.listed_at) >= ${since}`,
    ...(holder.reads.kind === 'list' ? [] : [rowsOf(holder.name, holder.key)]),
    ...(stream.dueBy === undefined ? [] : [rowsOf(stream.dueBy.stream, [stream.dueBy.column])]),
  ]
}

type Ages = { readonly maxAgeMs: string; readonly soonShare: string; readonly from: string; readonly to: string }

/** Selects keys of the rows whose details may be too old: those read longest ago, and those of which details are read more often. */
function oldSql(stream: StreamDef, { maxAgeMs, soonShare, from, to }: Ages): readonly string[] {
  const holder = holderOf(stream)
  const key = holder.key.map((name) => `t.${identifier(name)}`).join(', ')
  const table = `mirror.${identifier(holder.name)} t`
  // Past days keep their state; nothing is read for them.
  if (holder.horizon === 'date') return [`select ${key} from ${table} where t.date between ${from} and ${to}`]
  const read = `sync.records r where r.stream = '${stream.name}'`
  const soon = isSoon(holder, 't')
  return [
    `select ${rememberedKey(holder)} from generate_series(0, ${shareCount - 1}) share cross join lateral (
       select r.key from ${read} and ${shareOf('r.key')} = share and r.detail_read_at < now() - ${ageOf('share', maxAgeMs)}
       order by r.detail_read_at limit ${oldestOfShare}) r where not (select w.listed from w)`,
    ...(soon === undefined
      ? []
      : [
          `select ${key} from ${table} cross join lateral (select from ${read} and r.key = ${keySql(holder, 't')}
             and r.detail_read_at < now() - ${soonShare} * ${ageOf('0', maxAgeMs)} offset 0) r
           where t._deleted_at is null and ${soon} and not (select w.listed from w)`,
        ]),
  ]
}

/**
 * The rows that are asked, of the table whose rows hold the details of `stream`.
 * @param since parameter of SQL with the time since when changes count
 * @param ages parameters of what decides about ages; null: only changes count
 */
export function candidatesSql(stream: StreamDef, since: string, ages: Ages | null): string {
  const holder = holderOf(stream)
  const keys = [...changedSql(stream, since), ...(ages === null ? [] : oldSql(stream, ages))]
  const same = holder.key.map((name, index) => `t.${identifier(name)} = asked.k${index}`).join(' and ')
  return `(${keys.join(' union ')}) asked(${holder.key.map((_, index) => `k${index}`).join(', ')})
    cross join lateral (select * from mirror.${identifier(holder.name)} t where ${same} offset 0)`
}
