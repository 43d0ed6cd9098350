// Reads that answer everything that hangs below one record: options, payments, crew, prices of a resource and the like.

import { stringifyJson } from '../../api/wire/json.ts'
import { parentOf } from '../../catalog/catalog.ts'
import { keyText } from '../../catalog/keys.ts'
import type { ReadEndpoint, StreamDef } from '../../catalog/types.ts'
import { dateIn } from '../../clock.ts'
import { hasKey, identifier, isStub, literal } from '../../database/sql.ts'
import { lacksErased } from '../../mirror/erasures.ts'
import type { ServeContext } from '../context.ts'
import { Refusal } from '../problem.ts'
import { bodyTag, present, presentArray } from '../rights.ts'
import { type Handler, parentKeyOf, type ReadRequest, refuse, type Served } from './query.ts'
import {
  assertMayRead,
  assertOn,
  assertSees,
  isUnsettled,
  named,
  notFound,
  type ReadStatement,
  rowReader,
} from './states.ts'
import { type Asked, answered, type Through } from './through.ts'

export type Deps = { readonly context: ServeContext; readonly through: Through }

/** What is known of what hangs below a record. */
export type Below = {
  /** When all of it was last read; null: never, or not all of it can be mirrored. */
  readonly readAt: Date | null
  readonly bad: boolean
  /** See {@link outdatedSql}. */
  readonly outdated: boolean
  /** The list of the records above is complete as of then. */
  readonly parentAsOf: Date | null
  /** Null: the record above does not exist, or the caller may not see it. */
  readonly parentGone: boolean | null
  /** JSON text of the records, without brackets. */
  readonly items: string | null
}

/**
 * Whether the list of the records above has shown a change since what hangs below `r` was read: between a list and its details, a
 * sync takes its time. A Boat Mirror above, which reads both in between, would hold the old rows until they are read for their age.
 */
export const outdatedSql = (parent: StreamDef): string =>
  parent.reads.kind === 'list'
    ? `coalesce((select p.changed_at > r.detail_read_at from sync.records p where p.stream = ${literal(parent.name)} and p.key = r.key), false)`
    : 'false'

/** The API's answer; null: it cannot be asked now. */
export async function unlessAway(answer: Promise<Served>): Promise<Served | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Refusal && [429, 503].includes(error.answer.status)) return null
    throw error
  }
}

/** With a record that is known to be outdated. */
export const staleWarning = { warning: '110 - "Response is Stale"' }

/** The first date of a record of which no more is known than that dates are written so. */
const firstDate = `(select min(value) from jsonb_each_text(case jsonb_typeof(t._payload) when 'object' then t._payload else '{}' end)
    where value ~ '^\\d{4}-\\d{2}-\\d{2}')`

/** The order of the elements: by their place where it is known, else by key; of those without one by their dates. */
function orderOf(stream: StreamDef): string {
  if (stream.columns.some(({ name }) => name === 'position')) return 't.position'
  const own = stream.key.slice(stream.parentKey?.length ?? 0)
  if (stream.keyed !== 'content') return own.map((column) => `t.${identifier(column)}`).join(', ')
  // Ids are texts there: 10 comes after 9.
  const byKey = own.map((column) => `length(t.${identifier(column)}), t.${identifier(column)} collate "C"`)
  return [`case when t.id is null then ${firstDate} end collate "C"`, ...byKey].join(', ')
}

export type Wanted = {
  /** Conditions on rows `t`, with parameters that follow those of the record above. */
  readonly where?: string
  readonly order?: string
  /** Further columns of the answer. */
  readonly also?: string
}

/** Asks for what hangs below the record with a key, and for what is known of it: the key as one text and in its parts. */
export function belowStatement(
  stream: StreamDef,
  parent: StreamDef,
  { where, order = orderOf(stream), also }: Wanted = {},
): ReadStatement {
  const columns = stream.parentKey ?? []
  const bad = columns.map((column, index) => `q.request ->> ${literal(column)} = $${index + 2}`).join(' and ')
  return {
    name: `serve:${stream.name}:below`,
    facts: `select case when r.detail_hash is distinct from '' then r.detail_read_at end as "readAt",
        (select as_of from sync.streams where stream = ${literal(parent.name)}) as "parentAsOf",
        exists (select from sync.quarantine q where q.stream = s.stream and ${bad}) as bad, ${outdatedSql(parent)} as outdated
      from sync.streams s left join sync.records r on r.stream = s.stream and r.key = $1
      where s.stream = ${literal(stream.name)}`,
    rows: `select p._deleted_at is not null as "parentGone", (
        select coalesce(string_agg(t._payload::text, ',' order by ${order}), '') from mirror.${identifier(stream.name)} t
        where ${hasKey(stream, 't', columns, 2)} and t._deleted_at is null and not ${isStub('t')}
        ${where === undefined ? '' : `and ${where}`}) as items${also === undefined ? '' : `, ${also}`}
      from mirror.${identifier(parent.name)} p where ${hasKey(parent, 'p', parent.key, 2)}`,
  }
}

/** Whether what hangs below is known, whole. @throws Refusal where the record above is certainly not there, or not to be seen */
export function isKnown<Known extends Below>(
  request: ReadRequest,
  { stream, parent, key }: { readonly stream: StreamDef; readonly parent: StreamDef; readonly key: readonly string[] },
  below: Known,
): below is Known & { readonly readAt: Date; readonly items: string } {
  const { caller } = request
  const what = named(parent, key)
  if (below.parentGone === null) {
    assertSees(caller, stream, what)
    if (below.parentAsOf !== null && parent.reads.kind === 'list') throw notFound(what, below.parentAsOf)
  }
  if (below.parentGone === true) throw notFound(what, below.parentAsOf)
  return below.parentGone === false && below.readAt !== null && !below.bad && !lacksErased(below.items ?? '')
}

/** The API's answer to a read that the mirror can't answer. @throws Refusal */
export async function askThrough(
  { through }: Deps,
  { caller }: ReadRequest,
  asked: Asked,
  list: boolean,
): Promise<Served> {
  const { stream } = asked
  const what = `${asked.endpoint.replace('GET ', '')} of ${Object.values(asked.params).join(' ')}`
  const { body: said, at } = answered(await through.other(caller, asked, list), what)
  const shown =
    list && Array.isArray(said) ? said.map((record) => present(caller, stream, record)) : present(caller, stream, said)
  const body = stringifyJson(shown)
  return { body, asOf: at, tag: bodyTag(caller, body) }
}

/** Answers a collection below one record. */
export function collectionHandler(deps: Deps, stream: StreamDef, endpoint: ReadEndpoint): Handler | null {
  const { reads } = stream
  const parent = parentOf(stream)
  if (reads.kind !== 'collection' || reads.list !== endpoint || parent === undefined) return null
  const { sync, settings } = deps.context
  const { dayParam } = reads
  const readBelow = rowReader<Below>(sync.database, belowStatement(stream, parent))
  return async (request) => {
    const { caller, params, query } = request
    assertMayRead(caller, stream)
    assertOn(stream, settings)
    query.off(stream)
    const day = dayParam === undefined ? undefined : query.date(dayParam)
    query.end()
    const key = parentKeyOf(stream, params)
    const today = dateIn(settings.timeZone, sync.clock.now())
    if (dayParam !== undefined && day !== undefined && day !== today)
      throw refuse(dayParam, `the mirror holds what was answered for today, ${today}`)
    const fresh = request.fresh || (await isUnsettled(sync.database.pool, caller, stream, key))
    const below = await readBelow(caller, [keyText(key), ...key])
    const known = isKnown(request, { stream, parent, key }, below)
    const ask = (): Promise<Served> => {
      const dated = dayParam === undefined || day === undefined ? {} : { [dayParam]: day }
      return askThrough(deps, request, { stream, endpoint, params, query: dated }, true)
    }
    if (!known || fresh) return await ask()
    const now = below.outdated ? await unlessAway(ask()) : null
    if (now !== null) return now
    const body = presentArray(caller, stream, `[${below.items}]`)
    const headers = below.outdated ? staleWarning : {}
    return { body, asOf: below.readAt, tag: bodyTag(caller, body), headers }
  }
}
