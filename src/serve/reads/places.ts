// Where a page of a list begins, and how many records the list has. Both are counted row by row, which takes ever longer; so
// totals are stored, and of long lists the place of every thousandth row. What the change log has gained since shows whether
// they still hold: a place does as long as no row before it came or went.

import { streams } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { Database } from '../../database/database.ts'
import { identifier } from '../../database/sql.ts'
import { readTogether } from '../../database/together.ts'
import { messageOf } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import type { Caller } from '../types.ts'
import { type ListQuery, orderSql } from './list-query.ts'

export type Start = {
  /** The page begins `skip` rows after the row with these values of the order; null: after the beginning. */
  readonly after: readonly string[] | null
  /** The condition that a row `t` comes after them, given their parameters. */
  readonly afterSql: (parameters: readonly string[]) => string
  readonly skip: number
  /** The number of all rows, where it is known to be still that; null: it must be counted. */
  readonly total: number | null
  /** Remembers the number of all rows. */
  readonly learn: (total: number) => void
}

type Asked = {
  readonly stream: StreamDef
  readonly caller: Pick<Caller, 'role'>
  readonly asked: ListQuery
  readonly offset: number
  /** The number of all rows is wanted. */
  readonly counts: boolean
}

export type Places = { start(asked: Asked): Promise<Start> }

/** Rows from one remembered place to the next. Skipping 500 rows takes a tenth of the time of a page's statement. */
const step = 200
/** Places are remembered once so many rows would have to be counted. */
const worthwhile = 2 * step
/** They are looked for anew no sooner than this after the last time, and always after that, in milliseconds. */
const againMs = 5_000
const longestMs = 10 * 60_000
/** So many lists are remembered, each by what is asked for and by whom. */
const mostLists = 500
/** After so many changes nothing holds any more. */
const mostChanges = 1_000

/** `rank`: the first value of the order as a whole number. */
type Place = { readonly values: readonly string[]; readonly rank: string }

/** Ranks that stand before all places. */
const beforeAll = { ascending: String(-(2n ** 63n)), descending: String(2n ** 63n - 1n) } as const

type Known = {
  total: number | null
  places: { readonly rows: readonly Place[]; readonly at: number } | null
  /** The rank of the first place that a row came to or left since the places were looked up; null: none. */
  first: string | null
  /** The same since the look-up began that is running. */
  firstSinceLooking: string | null
  /** What the change log has gained up to here is in the other members; null: nothing is remembered. */
  snapshot: string | null
  /** The history and the start of the server that the snapshot is of: others use its transaction ids anew. */
  history: string | null
  /** How often it had gained anything. */
  changes: number
  lookedAt: number
  isLooking: boolean
}

/** What the change log has gained of a stream since a moment. `many`: so much that nothing holds. */
type Changes = { readonly any: boolean; readonly first: string | null; readonly many: boolean } & Moment

type Moment = { readonly now: string; readonly history: string }

const momentSql = `pg_current_snapshot()::text as now, mirror.feed_epoch() || ' ' || pg_postmaster_start_time() as history`

/** Streams whose records stand in others: a row may be known from there first, and becomes listed by an update. */
const embedded = new Set(streams.flatMap(({ embeds = [] }) => embeds.map(({ stream }) => stream)))

/**
 * Entries of the log since a moment. Those that were moved to the place of an earlier transaction (see mirror/feed-order.ts) count:
 * when they came, only the row itself shows.
 */
const changesSql = ({ stream, caller, asked }: Asked): string => {
  const [key = ''] = stream.key
  const rank = rankSql(stream, asked)
  const isSteady = asked.isWhole && caller.role === null && !embedded.has(stream.name)
  const comes = isSteady ? `c.operation <> 'update'` : 'true'
  return `select count(*) > 0 as any, ${asked.descending ? 'max' : 'min'}(${rank}) filter (where ${comes})::text as first,
      count(*) > ${mostChanges} or coalesce(bool_or(${rank} is null) filter (where ${comes}), false) as many,
      ${momentSql}
    from (select c.key ->> '${key}' as key, c.operation from mirror.change_log c
      where c.epoch = (select mirror.feed_epoch()) and c.xid >= pg_snapshot_xmin($1::pg_snapshot) and c.stream = $2
        and (not pg_visible_in_snapshot(c.xid, $1::pg_snapshot) or c.xmin::text <> (c.xid::text::bigint % 4294967296)::text)
      limit ${mostChanges + 1}) c
    left join mirror.${identifier(stream.name)} t on t.${identifier(key)} = c.key::${columnType(stream, key)}`
}

/** The first column of the order as a whole number, in which later rows are larger; null where there is none. */
function rankSql(stream: StreamDef, { order: [column = ''] }: ListQuery): string {
  const type = columnType(stream, column)
  const name = `t.${identifier(column)}`
  if (type === 'timestamptz') return `(extract(epoch from ${name}) * 1000000)::bigint`
  return type === 'bigint' ? name : 'null::bigint'
}

/** True of rows `t` behind a place. */
const behind =
  (stream: StreamDef, { order, descending }: ListQuery) =>
  (parameters: readonly string[]): string => {
    const isText = (column: string): boolean => columnType(stream, column) === 'text'
    const own = order.map((column) => `t.${identifier(column)}${isText(column) ? ' collate "C"' : ''}`)
    const given = order.map((column, index) => `${parameters[index]}::${columnType(stream, column)}`)
    return `(${own.join(', ')}) ${descending ? '<' : '>'} (${given.join(', ')})`
  }

export function createPlaces(database: Database, log: Logger): Places {
  const lists = new Map<string, Known>()

  const knownOf = (id: string): Known => {
    const known = lists.get(id) ?? {
      ...{ total: null, places: null, first: null, firstSinceLooking: null, snapshot: null, history: null, changes: 0 },
      ...{ lookedAt: Number.NEGATIVE_INFINITY, isLooking: false },
    }
    lists.delete(id)
    lists.set(id, known)
    const [oldest] = lists.keys()
    if (lists.size > mostLists && oldest !== undefined) lists.delete(oldest)
    return known
  }

  /** Brings what is remembered up to now. */
  const refresh = async (of: Asked, known: Known): Promise<void> => {
    const { snapshot } = known
    const { rows } =
      snapshot === null
        ? await database.pool.query<Changes>(`select false as any, null as first, false as many, ${momentSql}`)
        : await database.pool.query<Changes>(changesSql(of), [snapshot, of.stream.name])
    const [changes] = rows
    if (changes === undefined) return
    const { descending } = of.asked
    const isOther = known.history !== null && known.history !== changes.history
    const first = changes.many || isOther ? beforeAll[descending ? 'descending' : 'ascending'] : changes.first
    const earlier = (a: string | null): string | null => {
      if (a === null || first === null) return a ?? first
      return BigInt(a) < BigInt(first) === descending ? first : a
    }
    known.first = earlier(known.first)
    known.firstSinceLooking = earlier(known.firstSinceLooking)
    known.snapshot = changes.now
    known.history = changes.history
    if (!changes.any && !isOther) return
    known.changes += 1
    known.total = null
  }

  const look = async ({ stream, caller: { role }, asked }: Asked, known: Known): Promise<void> => {
    const columns = asked.order.map((column) => `t.${identifier(column)}`)
    const order = orderSql(stream, asked)
    const [found] = await readTogether(database.pool, [
      ...(role === null ? [] : [`set local role ${identifier(role)}`]),
      {
        name: null,
        text: `select p.values, p.rank, p.unranked from (
            select array[${columns.map((column) => `${column}::text`).join(', ')}] as values, ${rankSql(stream, asked)}::text as rank,
              row_number() over (order by ${order}) as place, bool_or(${rankSql(stream, asked)} is null) over () as unranked
            from mirror.${identifier(stream.name)} t where ${asked.where}) p where p.place % ${step} = 0 order by p.place`,
        values: asked.values,
      },
    ])
    const rows: readonly (Place & { readonly unranked: boolean })[] = found?.rows ?? []
    // A row without a value stands behind all places, and would be found by none.
    const usable = rows.filter(({ unranked }) => !unranked)
    known.places = { rows: usable, at: performance.now() }
    known.first = known.firstSinceLooking
  }

  /** Looks for places in the background. */
  const lookSoon = (of: Asked, known: Known): void => {
    if (known.isLooking || performance.now() - known.lookedAt < againMs) return
    known.isLooking = true
    known.firstSinceLooking = null
    look(of, known)
      .catch((error: unknown) =>
        log.warn(
          { event: 'places_not_found', stream: of.stream.name, reason: messageOf(error) },
          'pages far into a list are slow',
        ),
      )
      .finally(() => {
        known.isLooking = false
        known.lookedAt = performance.now()
      })
  }

  /** The last remembered place before an offset; null: none holds. */
  const placeBefore = (
    { asked, offset }: Asked,
    { places, first }: Known,
  ): { readonly values: readonly string[]; readonly index: number } | null => {
    if (places === null || performance.now() - places.at > longestMs) return null
    const holds = (place: Place | undefined): boolean => {
      if (place === undefined || first === null) return true
      return asked.descending ? BigInt(place.rank) > BigInt(first) : BigInt(place.rank) < BigInt(first)
    }
    let index = Math.min(Math.floor(offset / step), places.rows.length)
    while (index > 0 && !holds(places.rows[index - 1])) index -= 1
    const place = places.rows[index - 1]
    return place === undefined ? null : { values: place.values, index: index * step }
  }

  return {
    start: async (of) => {
      const { stream, caller, asked, offset, counts } = of
      const id = JSON.stringify([stream.name, asked.where, asked.values, asked.order, asked.descending, caller.role])
      const known = knownOf(id)
      if (counts || offset >= worthwhile) await refresh(of, known)
      const { changes } = known
      const total = counts ? known.total : null
      // Not where a change came meanwhile: whether it is counted is not known.
      const learn = (count: number): void => {
        if (counts && known.changes === changes) known.total = count
      }
      const afterSql = behind(stream, asked)
      if (offset < worthwhile) return { after: null, afterSql, skip: offset, total, learn }
      const place = placeBefore(of, known)
      if (place === null || offset - place.index > worthwhile) lookSoon(of, known)
      if (place === null) return { after: null, afterSql, skip: offset, total, learn }
      return { after: place.values, afterSql, skip: offset - place.index, total, learn }
    },
  }
}
