// Where a page of a list begins, and how many records the list has. Both are counted row by row, which takes ever longer. So totals
// are remembered, and of long lists the place of every 200th row. Before each use, the change log shows what has changed since: a
// total holds until then, a place as long as no row before it came or went.

import { streams } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { Database } from '../../database/database.ts'
import { identifier } from '../../database/sql.ts'
import { readTogether } from '../../database/together.ts'
import { messageOf } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import { memo } from '../../memo.ts'
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
/** Places are looked up once so many rows would have to be counted, at most every few milliseconds. */
const worthwhile = 2 * step
const againMs = 5_000
/** Of a list that nobody asked for so long, nothing is known any more: the change log may have been pruned. */
const longestMs = 10 * 60_000
/** So many lists are remembered, each by what is asked for and by whom. */
const lists = { most: 250, longest: Number.POSITIVE_INFINITY }
/** After so many changes nothing holds any more. */
const mostChanges = 1_000

/** A snapshot, and the history and the start of the server that it is of: others use its transaction ids anew. */
type Moment = { readonly now: string; readonly history: string }
const momentSql = `pg_current_snapshot()::text as now, mirror.feed_epoch() || ' ' || pg_postmaster_start_time() as history`

/** `rank`: see {@link rankSql}. */
type Place = { readonly values: readonly string[]; readonly rank: string }

type Known = {
  /** The rest holds as of here; null: nothing is remembered. */
  moment: Moment | null
  refreshedAt: number
  total: number | null
  places: readonly Place[]
  /** Grows whenever a total may hold no more, and with each look-up of places. */
  version: number
  looks: number
  lookedAt: number
  isLooking: boolean
}

const nothing = (): Known => ({
  ...{ moment: null, refreshedAt: 0, total: null, places: [], version: 0, looks: 0 },
  ...{ lookedAt: Number.NEGATIVE_INFINITY, isLooking: false },
})

/** What a list has gained since a moment. `first`: the rank of the first row that came or went. `many`: so much that nothing holds. */
type Changes = Moment & { readonly any: boolean; readonly first: string | null; readonly many: boolean }

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
  return `select count(*) > 0 as any, min(${rank}) filter (where ${comes})::text as first,
      count(*) > ${mostChanges} or coalesce(bool_or(${rank} is null) filter (where ${comes}), false) as many,
      ${momentSql}
    from (select c.key ->> '${key}' as key, c.operation from mirror.change_log c
      where c.epoch = (select mirror.feed_epoch()) and c.xid >= pg_snapshot_xmin($1::pg_snapshot) and c.stream = $2
        and (not pg_visible_in_snapshot(c.xid, $1::pg_snapshot) or c.xmin::text <> (c.xid::text::bigint % 4294967296)::text)
      limit ${mostChanges + 1}) c
    left join mirror.${identifier(stream.name)} t on t.${identifier(key)} = c.key::${columnType(stream, key)}`
}

/** The first column of the order as a whole number, which is larger for later rows; null where there is none. */
function rankSql(stream: StreamDef, { order: [column = ''], descending }: ListQuery): string {
  const type = columnType(stream, column)
  const value = `t.${identifier(column)}`
  const whole = type === 'timestamptz' ? `(extract(epoch from ${value}) * 1000000)::bigint` : value
  return type === 'timestamptz' || type === 'bigint' ? `(${descending ? '-' : ''}${whole})` : 'null::bigint'
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

/** Every 200th row with the number of all. A row without a value stands behind all places, and would be found by none. */
const placesSql = (stream: StreamDef, asked: ListQuery): string => {
  const columns = asked.order.map((column) => `t.${identifier(column)}::text`)
  return `select p.values, p.rank, p.total from (
      select array[${columns.join(', ')}] as values, ${rankSql(stream, asked)}::text as rank, count(*) over () as total,
        row_number() over (order by ${orderSql(stream, asked)}) as place, bool_or(${rankSql(stream, asked)} is null) over () as unranked
      from mirror.${identifier(stream.name)} t where ${asked.where}) p
    where p.place % ${step} = 0 and not p.unranked order by p.place`
}

export function createPlaces(database: Database, log: Logger): Places {
  const knownOf = memo(nothing, lists)

  /** Brings what is remembered up to now. */
  const refresh = async (of: Asked, known: Known): Promise<void> => {
    const at = performance.now()
    if (at - known.refreshedAt > longestMs) known.moment = null
    const { moment, looks } = known
    const { rows } =
      moment === null
        ? await database.pool.query<Changes>(`select true as any, null as first, true as many, ${momentSql}`)
        : await database.pool.query<Changes>(changesSql(of), [moment.now, of.stream.name])
    const [changes] = rows
    if (changes === undefined) return
    // The places of a look-up that has ended meanwhile may be of an earlier moment.
    if (known.looks !== looks) return await refresh(of, known)
    const { now, history, any, first, many } = changes
    const isOther = moment !== null && moment.history !== history
    if (many || isOther) known.places = []
    else if (first !== null) known.places = known.places.filter(({ rank }) => BigInt(rank) < BigInt(first))
    if (any || isOther) Object.assign(known, { total: null, version: known.version + 1 })
    Object.assign(known, { moment: { now, history }, refreshedAt: at })
  }

  const look = async ({ stream, caller: { role }, asked }: Asked, known: Known): Promise<void> => {
    const [moment, found] = await readTogether(database.pool, [
      { name: null, text: `select ${momentSql}`, values: [] },
      ...(role === null ? [] : [`set local role ${identifier(role)}`]),
      { name: null, text: placesSql(stream, asked), values: asked.values },
    ])
    const places: readonly (Place & { readonly total: string })[] = found?.rows ?? []
    const total = places[0] === undefined ? null : Number(places[0].total)
    known.looks += 1
    Object.assign(known, { moment: moment?.rows[0] ?? null, places, total, version: known.version + 1 })
  }

  /** Looks for places in the background. */
  const lookSoon = (of: Asked, known: Known): void => {
    if (known.isLooking || performance.now() - known.lookedAt < againMs) return
    known.isLooking = true
    look(of, known)
      .catch((error: unknown) =>
        log.warn(
          { event: 'places_not_found', stream: of.stream.name, reason: messageOf(error) },
          'pages far into a list are slow',
        ),
      )
      .finally(() => Object.assign(known, { isLooking: false, lookedAt: performance.now() }))
  }

  return {
    start: async (of) => {
      const { stream, caller, asked, offset, counts } = of
      const known = knownOf(
        JSON.stringify([stream.name, asked.where, asked.values, asked.order, asked.descending, caller.role]),
      )
      if (counts || offset >= worthwhile) await refresh(of, known)
      const { version, places } = known
      // Not where a change came meanwhile: whether it is counted is not known.
      const learn = (count: number): void => {
        if (counts && known.version === version) known.total = count
      }
      const afterSql = behind(stream, asked)
      const first = { after: null, afterSql, skip: offset, total: counts ? known.total : null, learn }
      if (offset < worthwhile) return first
      const index = Math.min(Math.floor(offset / step), places.length)
      const skip = offset - index * step
      if (skip >= worthwhile) lookSoon(of, known)
      const place = places[index - 1]
      return place === undefined ? first : { ...first, after: place.values, skip }
    },
  }
}
