// Lists: a page of the records in a fixed order, with the number of all of them.

import { styles } from '../../api/paging/styles.ts'
import { parentOf } from '../../catalog/catalog.ts'
import type { ReadEndpoint, StreamDef } from '../../catalog/types.ts'
import { identifier, isStub, literal, type Queryable } from '../../database/sql.ts'
import { type Bound, readTogether } from '../../database/together.ts'
import { entries, type Profile, readEntry, readProfile } from '../../profile/profile.ts'
import { pagingOf } from '../../sync/lists/paging.ts'
import type { ServeContext } from '../context.ts'
import { notKnown } from '../problem.ts'
import { bodyTag, presentText } from '../rights.ts'
import type { Caller } from '../types.ts'
import { type DayRange, type ListQuery, listed, listQuery, orderSql } from './list-query.ts'
import { shaped, shapeOf, type Window, windowOf } from './paging.ts'
import { createPlaces, type Start } from './places.ts'
import { type Handler, refuse } from './query.ts'
import { assertMayRead } from './states.ts'
import { isShown, type ListSource, tableOf, unmirroredSource } from './unmirrored.ts'

type Page = {
  /** When the list was last complete; null: never. */
  readonly asOf: Date | null
  /** Records of the list that are in quarantine. */
  readonly bad: number
  /** Records that the whole list has, where that is counted anyway. */
  readonly counted: string | null
  readonly total: string | null
  /** Records of which another read has not said yet whether they are meant. */
  readonly unlinked: boolean
  /** Records whose day is another one in another zone, so that they are meant or not. */
  readonly disputed: boolean
  /** JSON texts of the records. */
  readonly records: readonly string[]
}

/** Live rows without stubs, from what is counted as they are written. */
const countedSql = (stream: StreamDef): string => `(s.rows
    + (select coalesce(sum(difference), 0) from sync.row_changes c where c.stream = s.stream)
    - (select count(*) from mirror.${identifier(stream.name)} t where t._deleted_at is null and ${isStub('t')}))::text`

/** True where the day in the record and the day in UTC disagree about whether it lies in the range. */
function disputedSql({ column, path, from, to }: DayRange, parameter: (value: string) => string): string {
  const [first, last] = [from, to].map((day) => (day === undefined ? null : `${parameter(day)}::text`))
  const inRange = (day: string): string =>
    [first && `${day} >= ${first}`, last && `${day} <= ${last}`].filter(Boolean).join(' and ')
  const written = `left(t._payload ->> ${literal(path)}, 10)`
  const utc = `to_char(t.${identifier(column)}, 'YYYY-MM-DD')`
  const near = [
    first && `t.${identifier(column)} >= ${first}::date - 2`,
    last && `t.${identifier(column)} < ${last}::date + 3`,
  ].filter(Boolean)
  return `${near.join(' and ')} and (${inRange(written)}) is distinct from (${inRange(utc)})`
}

type PageOf = {
  readonly caller: Caller
  readonly asked: ListQuery
  readonly window: Window | null
  readonly start: Start
  /** Where the rows come from, if not from the table alone. */
  readonly source?: ListSource
}

/** One page, and what is known of the list. */
async function readPage(
  { sync }: ServeContext,
  stream: StreamDef,
  { caller, asked, window, start, source }: PageOf,
): Promise<Page> {
  const { from, text } = source ?? tableOf(stream)
  const countsAll = source !== undefined || countsRows(stream, caller, asked)
  const [facts, about, records] = await readTogether(sync.database.pool, [
    {
      name: null,
      text: `select s.as_of as "asOf", (select count(*) from sync.quarantine q where q.stream = s.stream and ${isShown})::int as bad,
          ${countsAll ? 'null' : countedSql(stream)} as counted
        from sync.streams s where s.stream = ${literal(stream.name)}`,
      values: [],
    },
    ...(caller.role === null ? [] : [`set local role ${identifier(caller.role)}`]),
    bound(asked, (parameter) => {
      const table = from(parameter)
      const missing = asked.filled.map((column) => `t.${identifier(column)} is null`).join(' or ')
      const disputed = asked.range === null ? null : disputedSql(asked.range, parameter)
      const total =
        countsAll && start.total === null ? `(select count(*) from ${table} t where ${asked.where})::text` : 'null'
      return `select ${total} as total,
          ${missing === '' ? 'false' : `exists (select from ${table} t where ${listed} and (${missing}))`} as unlinked,
          ${disputed === null ? 'false' : `exists (select from ${table} t where ${listed} and ${disputed})`} as disputed`
    }),
    bound(asked, (parameter) => {
      const after = start.after === null ? '' : ` and ${start.afterSql(start.after.map(parameter))}`
      const limit = window === null ? '' : `limit ${window.size} offset ${start.skip}`
      const order = orderSql(stream, asked)
      // A row each: gathered into one text, they take a quarter more of the server's time. Rows that are skipped are not
      // written as text.
      return `select ${text} as payload from (
          select t.* from ${from(parameter)} t where ${asked.where}${after} order by ${order} ${limit}) t order by ${order}`
    }),
  ])
  return { ...facts?.rows[0], ...about?.rows[0], records: (records?.rows ?? []).map(({ payload }) => payload) }
}

/** A statement about the rows that are asked for; `parameter` adds a value to it. */
function bound(asked: ListQuery, text: (parameter: (value: string) => string) => string): Bound {
  const values = [...asked.values]
  return { name: null, text: text((value) => `$${values.push(value)}`), values }
}

/** Whether the rows must be counted: what is counted as they are written is the whole list, as everybody sees it. */
const countsRows = (stream: StreamDef, caller: Caller, asked: ListQuery): boolean =>
  caller.role !== null || !asked.isWhole || hasDefaultFilter(stream)

const hasDefaultFilter = ({ reads }: StreamDef): boolean =>
  reads.kind === 'list' && (reads.filters ?? []).some(({ otherwise }) => otherwise !== undefined)

/** How long what syncs have found out is remembered, in milliseconds: an API seldom changes. */
const foundMs = 30_000

/** The number of the first page and the shapes of lists, as syncs found them out. A list that is not known is looked up each time. */
function createFound(db: Queryable) {
  let known: { readonly profile: Profile; readonly at: number } | null = null
  return async ({ name }: StreamDef) => {
    const isOld = known === null || performance.now() - known.at > foundMs
    if (known === null || isOld || known.profile.shapeOf(name) === null)
      known = { profile: await readProfile(db), at: performance.now() }
    return { base: known.profile.value(entries.pageBase), shape: known.profile.shapeOf(name) }
  }
}

/** Makes the handlers of lists, which share what was found out of them. */
export function createLists(context: ServeContext): (stream: StreamDef, endpoint: ReadEndpoint) => Handler | null {
  const { sync, settings } = context
  const lookUp = createFound(sync.database.pool)
  const places = createPlaces(sync.database, sync.log)
  return (stream, endpoint) => {
    const { reads } = stream
    if (reads.kind !== 'list' || reads.list !== endpoint || parentOf(stream) !== undefined) return null
    const set = pagingOf(stream, settings.api)
    const path = endpoint.replace('GET ', '')
    return async (request) => {
      const { caller, query } = request
      assertMayRead(caller, stream)
      const named = (usual: string, others: string | null): string =>
        [usual, ...(others?.split(',') ?? [])].find((name) => query.has(name)) ?? usual
      const paging = {
        ...set,
        pageParam: named(set.pageParam, settings.servePageParams),
        sizeParam: named(set.sizeParam, settings.serveSizeParams),
      }
      query.off(stream)
      const asked = listQuery(stream, query)
      // A cursor is a place among the rows of one history: after a restore, other rows stand there.
      const isByToken = styles[paging.style].served?.least(0) === null
      const history = isByToken ? (await sync.database.pool.query('select mirror.feed_epoch()')).rows : []
      const list = JSON.stringify([stream.name, asked.where, asked.values, asked.order, asked.descending, history])
      const found = await lookUp(stream)
      const usual = styles[paging.style].served?.firstPage ?? null
      const pageBase = paging.pageBase ?? (usual === null ? 0 : (found.base ?? usual))
      const window = windowOf(query, paging, { pageBase, list })
      query.end()
      if (asked.range !== null && (await readEntry(sync.database.pool, entries.bounds, stream.name)) === undefined)
        throw refuse(asked.range.params[0] ?? '', 'which days the API means by it is not proven yet')
      const start = await places.start({
        stream,
        caller,
        asked,
        offset: window?.offset ?? 0,
        counts: countsRows(stream, caller, asked),
      })
      let page = await readPage(context, stream, { caller, asked, window, start })
      const asOf = proven(stream, page, asked)
      if (page.bad > 0) {
        const source = await unmirroredSource(context, { stream, caller, asked })
        const whole = { ...start, after: null, skip: window?.offset ?? 0, total: null }
        page = await readPage(context, stream, { caller, asked, window, start: whole, source })
        proven(stream, page, asked)
      }
      const total = Number(page.counted ?? page.total ?? start.total)
      // Otherwise it counts what no row and no entry of the change log stands for.
      if (page.bad === 0) start.learn(total)
      const { before, after, headers } = shaped(paging, {
        shape: shapeOf(found.shape, paging),
        total,
        window,
        pageBase,
        list,
        url: `${path}?${request.search}`,
      })
      const records = page.records.map((record) => presentText(caller, stream, record))
      const body = bytesOf(`${before}[`, records, `]${after}`)
      return { body, headers, asOf, tag: bodyTag(caller, String(total), body) }
    }
  }
}

/**
 * A page as bytes. As one text it would be encoded once for its tag and once more to be sent. A page of 100 rentals is 200 kB, and its
 * copies as texts took 200 page faults: half a millisecond of the system's time.
 */
function bytesOf(before: string, records: readonly string[], after: string): Buffer {
  const parts = records.flatMap((record, index) => (index === 0 ? [record] : [',', record]))
  const all = [before, ...parts, after]
  const bytes = Buffer.allocUnsafe(all.reduce((sum, part) => sum + Buffer.byteLength(part), 0))
  let at = 0
  for (const part of all) at += bytes.write(part, at)
  return bytes
}

/** When the list was complete. @throws Refusal 503 or 400 where the mirror does not know which records are on it */
function proven(stream: StreamDef, { asOf, unlinked, disputed }: Page, { filled, range }: ListQuery): Date {
  if (asOf === null) throw notKnown(`${stream.name} has not been read completely yet.`)
  if (unlinked) throw notKnown(`${filled.join(' and ')} of ${stream.name} has not been read for all of them yet.`)
  if (disputed)
    throw refuse(range?.params[0] ?? '', 'records lie at midnight, and in which zone the API counts days is not known')
  return asOf
}
