// Parameters of the served operations: path, query and headers. Pure.

import type { Json } from '../../api/wire/json.ts'
import { streams, windowsOf } from '../../catalog/catalog.ts'
import type { ReadEndpoint, StreamDef } from '../../catalog/types.ts'
import type { PagingSettings } from '../../config.ts'
import type { Schema } from './schemas.ts'

type Parameter = {
  readonly name: string
  readonly schema: Schema
  readonly description: string
  readonly required?: true
}

const inQuery = ({ name, schema, description, required }: Parameter): Schema => ({
  name,
  in: 'query',
  ...(required && { required }),
  schema,
  description,
})

const header = ({ name, schema, description }: Parameter): Schema => ({ name, in: 'header', schema, description })

const text: Schema = { type: 'string' }
const date: Schema = { type: 'string', format: 'date' }
const whole = (minimum: number, more: Schema = {}): Schema => ({ type: 'integer', minimum, ...more })

/** The type of an id in a path: that of the key column of the record that it names. */
function idSchema(param: string): Schema {
  const named = streams.find(
    ({ reads }) => 'single' in reads && typeof reads.single === 'object' && reads.single.param === param,
  )
  const column = named?.columns.find(({ name }) => name === named.key.at(-1))
  return column?.type === 'bigint' ? { type: 'integer' } : text
}

/** The path parameters of an endpoint such as `GET /v3/rentals/{rentalId}`. */
export const pathParameters = (endpoint: string): Json[] =>
  Array.from(endpoint.matchAll(/\{(\w+)\}/g), ([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: idSchema(name),
  }))

const duration: Parameter = {
  name: 'duration',
  schema: text,
  description: 'Duration as TYPE,VALUE, such as DAYS,1, as the durations of the resource show it.',
  required: true,
}
const day: Parameter = { name: 'date', schema: date, description: 'Day of departure.', required: true }

/** How a list is asked for its pages. */
export type Paging = Pick<PagingSettings, 'style' | 'pageParam' | 'sizeParam' | 'pageSize' | 'pageBase' | 'itemsPath'>

function pagingParameters({ style, pageParam, sizeParam, pageSize, pageBase }: Paging): readonly Parameter[] {
  if (style === 'none') return []
  const size = { name: sizeParam, schema: whole(1), description: `Records per page, such as ${pageSize}.` }
  if (style === 'cursor') return [{ name: pageParam, schema: text, description: 'Cursor of the page.' }, size]
  const first = pageBase ?? (style === 'offset' ? 0 : 1)
  const description = style === 'offset' ? 'Number of records before the page.' : `Page, counted from ${first}.`
  return [{ name: pageParam, schema: whole(first), description }, size]
}

function listParameters(stream: StreamDef, paging: Paging | null): readonly Parameter[] {
  const windows = windowsOf(stream)
  const filter = stream.filledBy?.filter
  const orders = stream.reads.kind === 'list' ? [stream.reads.query, windows?.newest.query] : []
  const order = orders.flatMap((query) => query?.order ?? [])
  return [
    ...(paging === null ? [] : pagingParameters(paging)),
    ...(order.length === 0
      ? []
      : [{ name: 'order', schema: { type: 'string', enum: order }, description: 'Order of the records.' }]),
    ...(filter === undefined
      ? []
      : [{ name: filter.param, schema: text, description: `Only those of this record: ${filter.stream}.id.` }]),
    ...(windows === undefined
      ? []
      : [
          {
            name: windows.soon.from,
            schema: date,
            description: `First day: ${windows.soon.column} is on it or later.`,
          },
          { name: windows.soon.to, schema: date, description: `Last day: ${windows.soon.column} is on it or earlier.` },
        ]),
  ]
}

/** The query parameters of a read. `paging` null: the list has no pages. */
export function queryParameters(stream: StreamDef, endpoint: ReadEndpoint, paging: Paging | null): Json[] {
  return parametersOf(stream, endpoint, paging).map(inQuery)
}

function parametersOf(stream: StreamDef, endpoint: ReadEndpoint, paging: Paging | null): readonly Parameter[] {
  const { reads } = stream
  switch (reads.kind) {
    case 'list':
      return endpoint === reads.list ? listParameters(stream, paging) : []
    case 'collection':
      return reads.dayParam === undefined
        ? []
        : [{ name: reads.dayParam, schema: date, description: 'The day for which it is asked; default: today.' }]
    case 'pricetable':
      return [
        { name: 'from', schema: date, description: 'First day.' },
        { name: 'to', schema: date, description: 'Last day.' },
      ]
    case 'calendar':
      return [{ name: 'year', schema: whole(1), description: 'Calendar year; default: this year.' }]
    case 'availability':
      return endpoint === reads.single
        ? [day, duration]
        : [
            { name: 'resourceIds', schema: text, description: 'Resource IDs, separated by commas.', required: true },
            day,
            duration,
          ]
    case 'slots':
      return [day, duration]
    case 'document':
    case 'inside':
      return []
    default:
      return reads satisfies never
  }
}

/** Asks the API itself before it answers. */
export const freshParameter = inQuery({
  name: 'fresh',
  schema: { type: 'string', enum: ['1'] },
  description: '1: the record is read from the API before the answer, as with the header `Cache-Control: no-cache`.',
})

export const ifNoneMatch = header({ name: 'If-None-Match', schema: text, description: 'ETag of an earlier answer.' })

export const preferPending = header({
  name: 'Prefer',
  schema: text,
  description: '`pending=include`: the answer also shows your fields that the API has not taken yet.',
})

/** Headers of writes. If-Match is for those of one record. */
export function writeHeaders(kind: string): Json[] {
  const withMatch = ['update', 'delete', 'remove'].includes(kind)
  return [
    header({
      name: 'Idempotency-Key',
      schema: { type: 'string', minLength: 1, maxLength: 400 },
      description: 'Requests with the same key are one change.',
    }),
    ...(withMatch
      ? [header({ name: 'If-Match', schema: text, description: 'ETag of the record that the write is based on.' })]
      : []),
    header({
      name: 'Prefer',
      schema: text,
      description: '`respond-async`: the answer does not wait for the API, and is 202 with the address of the change.',
    }),
  ]
}
