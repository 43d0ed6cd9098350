// Reads that answer one record: of a list, of a collection, a document, and the user of a rental.

import { get, stringifyJson, textOf } from '../../api/wire/json.ts'
import { parentOf, streamNamed } from '../../catalog/catalog.ts'
import { keyText } from '../../catalog/keys.ts'
import type { ReadEndpoint, StreamDef } from '../../catalog/types.ts'
import { hasKey, identifier, isStub, literal } from '../../database/sql.ts'
import { isErased, lacksErased } from '../../mirror/erasures.ts'
import { notKnown, type Refusal } from '../problem.ts'
import { present, presentText, type RecordId, textTag } from '../rights.ts'
import { type Deps, outdatedSql, staleWarning, unlessAway } from './collections.ts'
import { type Handler, parentKeyOf, type ReadRequest, recordKeyOf, type Served } from './query.ts'
import {
  assertMayRead,
  assertOn,
  assertSees,
  isErasedPerson,
  isUnsettled,
  named,
  notFound,
  type ReadStatement,
  rowReader,
} from './states.ts'
import { answered } from './through.ts'

/** A record as the mirror has it. */
type Row = {
  /** Of the list that would show it, or of the collection: proves what is not there; null: never read whole. */
  readonly asOf: Date | null
  readonly quarantined: boolean
  /** Null: there is no row, or the caller does not see it. */
  readonly payload: string | null
  readonly readAt: Date | null
  readonly gone: boolean | null
  readonly stub: boolean | null
  /** Of what hangs below a record: see {@link outdatedSql}. */
  readonly outdated?: boolean
  /** Of what hangs below a record: that record. Null: there is none, or the caller does not see it. */
  readonly parentGone?: boolean | null
}

/** One read that answers one record. */
type RecordRead = {
  readonly stream: StreamDef
  readonly endpoint: ReadEndpoint
  readonly keyOf: (params: ReadRequest['params']) => readonly string[]
  readonly statement: ReadStatement
}

const rowColumns = `t._payload::text as payload, t._read_at as "readAt", t._deleted_at is not null as gone, ${isStub('t')} as stub`

/** What the statements are about: the key as one text, that of the record above, and the key in its parts. */
const valuesOf = (parent: StreamDef | undefined, key: readonly string[]): readonly string[] => [
  keyText(key),
  keyText(key.slice(0, parent?.key.length ?? 0)),
  ...key,
]

/** The record of a list, proven by its list. */
const listStatement = (stream: StreamDef): ReadStatement => ({
  name: `serve:${stream.name}`,
  facts: `select s.as_of as "asOf", exists (select from sync.quarantine q where q.stream = s.stream and q.key = $1) as quarantined
    from sync.streams s where s.stream = ${literal(stream.name)}`,
  rows: `select ${rowColumns} from mirror.${identifier(stream.name)} t where ${hasKey(stream, 't', stream.key, 3)}`,
})

/** The record of a collection, or a document: proven by the last reading of what hangs below its parent. */
function childStatement(stream: StreamDef, parent: StreamDef): ReadStatement {
  const isDocument = stream.reads.kind === 'document'
  // A collection that was answered 404 has not been read, a document that was is none.
  const read = isDocument ? 'r.detail_read_at' : `case when r.detail_hash is distinct from '' then r.detail_read_at end`
  return {
    name: `serve:${stream.name}`,
    facts: `select ${read} as "asOf", exists (select from sync.quarantine q where q.stream = s.stream and q.key = $1) as quarantined,
        ${outdatedSql(parent)} as outdated
      from sync.streams s left join sync.records r on r.stream = s.stream and r.key = $2 where s.stream = ${literal(stream.name)}`,
    rows: `select p._deleted_at is not null as "parentGone", ${rowColumns} from mirror.${identifier(parent.name)} p
      left join mirror.${identifier(stream.name)} t on ${hasKey(stream, 't', stream.key, 3)}
      where ${hasKey(parent, 'p', parent.key, 3)}`,
  }
}

/** The reads of one record, by their endpoints; `null`: this stream has none. */
function recordReadOf(stream: StreamDef, endpoint: ReadEndpoint): RecordRead | null {
  const { reads } = stream
  const parent = parentOf(stream)
  if (reads.kind === 'list' && endpoint === reads.single.endpoint) {
    const { param } = reads.single
    const keyOf: RecordRead['keyOf'] = (params) => recordKeyOf(stream, param, params)
    return { stream, endpoint, keyOf, statement: listStatement(stream) }
  }
  if (parent === undefined) return null
  const statement = childStatement(stream, parent)
  if (reads.kind === 'document') return { stream, endpoint, keyOf: (params) => parentKeyOf(stream, params), statement }
  if (reads.kind !== 'collection' || reads.single?.endpoint !== endpoint) return null
  const { param } = reads.single
  return { stream, endpoint, keyOf: (params) => recordKeyOf(stream, param, params), statement }
}

const later = (a: Date | null, b: Date | null): Date | null => (a === null || (b !== null && b > a) ? b : a)

/** A record as it is served. */
function servedRecord(
  { caller }: Pick<ReadRequest, 'caller'>,
  record: RecordId,
  { payload, asOf, headers = {} }: { payload: string; asOf: Date; headers?: Readonly<Record<string, string>> },
): Served {
  const body = presentText(caller, record.stream, payload)
  return { body, asOf, tag: textTag(caller, record, body), headers }
}

type Found = Row & { readonly payload: string; readonly readAt: Date }

/** Whether the row is the record, whole and as it was read last. */
const isThere = (row: Row): row is Found =>
  row.payload !== null &&
  !lacksErased(row.payload) &&
  row.readAt !== null &&
  row.gone === false &&
  row.stub === false &&
  row.parentGone !== true &&
  !row.quarantined

/** Why the record certainly does not exist; null: it exists, or is unknown. */
function absence(row: Row, what: string): Refusal | null {
  if (row.parentGone === true || row.gone === true) return notFound(what, later(row.readAt, row.asOf))
  if (row.payload === null && row.asOf !== null && !row.quarantined) return notFound(what, row.asOf)
  return null
}

/** Answers a read of one record. */
export function recordHandler({ context, through }: Deps, stream: StreamDef, endpoint: ReadEndpoint): Handler | null {
  const read = recordReadOf(stream, endpoint)
  if (read === null) return null
  const { sync, settings } = context
  const parent = parentOf(stream)
  const readRow = rowReader<Row>(sync.database, read.statement)
  const look = ({ caller }: ReadRequest, key: readonly string[]): Promise<Row> => readRow(caller, valuesOf(parent, key))

  const fromApi = async (request: ReadRequest, key: readonly string[], before: Row): Promise<Served> => {
    const asked = { stream, endpoint, params: request.params, key: keyText(key) }
    const said = await through.record(request.caller, asked)
    const record = { stream, key }
    if (said.kind === 'failed' && !request.noStale && isThere(before)) {
      const asOf = later(before.readAt, before.asOf) ?? before.readAt
      const headers = { warning: '111 - "Revalidation Failed"' }
      return servedRecord(request, record, { payload: before.payload, asOf, headers })
    }
    const { body: received, at, stored } = answered(said, named(stream, key))
    // As it is stored, so that its tag is that of later answers.
    const now = stored ? await look(request, key) : before
    if (stored && isThere(now)) return servedRecord(request, record, { payload: now.payload, asOf: at })
    const body = stringifyJson(present(request.caller, stream, received))
    return { body, asOf: at, tag: textTag(request.caller, record, body) }
  }

  return async (request) => {
    const { caller, params, query } = request
    assertMayRead(caller, stream)
    assertOn(stream, settings)
    query.off(stream)
    query.end()
    const key = read.keyOf(params)
    const what = named(stream, key)
    const fresh = request.fresh || (await isUnsettled(context.sync.database.pool, caller, stream, key))
    const row = await look(request, key)
    const seen = row.payload !== null || (parent !== undefined && row.parentGone === false)
    if (!seen) assertSees(caller, stream, what)
    const outdated = row.outdated === true
    const isErased = (fresh || outdated) && (await isErasedPerson(sync.database.pool, stream, key))
    if (outdated && !fresh && !isErased) {
      const now = await unlessAway(fromApi(request, key, row))
      if (now !== null) return now
    }
    if (isThere(row)) {
      if (fresh && !isErased) return await fromApi(request, key, row)
      const asOf = later(row.readAt, row.asOf) ?? row.readAt
      const headers = outdated ? staleWarning : {}
      return servedRecord(request, { stream, key }, { payload: row.payload, asOf, headers })
    }
    const absent = absence(row, what)
    if (absent === null) {
      if (await isErasedPerson(sync.database.pool, stream, key)) throw notKnown(`Only the key of ${what} is kept.`)
      return await fromApi(request, key, row)
    }
    const isKnown = row.gone === true
    if (fresh && !isErased && (isKnown || through.mayAskUnknown(`${endpoint} ${keyText(key)}`)))
      return await fromApi(request, key, row)
    throw absent
  }
}

type RelatedRow = Row & {
  readonly embedded: string | null
  readonly ownKey: string | null
  readonly ownPayload: string | null
  readonly ownReadAt: Date | null
}

/** Answers the read of a record that another one embeds: the user of a rental. */
export function relatedHandler({ context, through }: Deps, stream: StreamDef, endpoint: ReadEndpoint): Handler | null {
  const related =
    stream.reads.kind === 'list' ? stream.reads.related?.find((each) => each.endpoint === endpoint) : undefined
  if (related === undefined || stream.reads.kind !== 'list') return null
  const { param } = stream.reads.single
  const target = streamNamed(related.stream)
  const link = stream.columns.find(({ path }) => path === `${related.path}.id`)?.name ?? ''
  const steps = `{${related.path.split('.').join(',')}}`
  const base = listStatement(stream)
  const readRow = rowReader<RelatedRow>(context.sync.database, {
    ...base,
    name: `${base.name}:${target.name}`,
    rows: `select ${rowColumns}, t.${identifier(link)}::text as "ownKey", t._payload #> '${steps}' as embedded,
        o._payload::text as "ownPayload", o._read_at as "ownReadAt"
      from mirror.${identifier(stream.name)} t left join mirror.${identifier(target.name)} o
        on o.${identifier(target.key[0] ?? '')} = t.${identifier(link)} and o._deleted_at is null and not ${isStub('o')} and not ${isErased('o')}
      where ${hasKey(stream, 't', stream.key, 3)}`,
  })
  return async (request) => {
    const { caller, params, query } = request
    assertMayRead(caller, target)
    query.end()
    const key = recordKeyOf(stream, param, params)
    const fresh = request.fresh || (await isUnsettled(context.sync.database.pool, caller, stream, key))
    const row = await readRow(caller, valuesOf(undefined, key))
    const what = named(stream, key)
    const other = `the ${related.path} of ${what}`
    const absent = absence(row, what)
    if (absent !== null) throw absent
    if (isThere(row) && !fresh) {
      const asOf = later(row.readAt, row.asOf) ?? row.readAt
      if (row.embedded === null) throw notFound(other, asOf)
      const record = { stream: target, key: [row.ownKey ?? ''] }
      if (row.ownPayload !== null)
        return servedRecord(request, record, { payload: row.ownPayload, asOf: later(row.ownReadAt, asOf) ?? asOf })
    }
    const said = answered(await through.other(caller, { stream: target, endpoint, params }, false), other)
    const body = stringifyJson(present(caller, target, said.body))
    const record = { stream: target, key: [textOf(get(said.body, 'id')) ?? ''] }
    return { body, asOf: said.at, tag: textTag(caller, record, body) }
  }
}
