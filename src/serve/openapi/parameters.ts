// Parameters of the served operations: path, query and headers. Pure.

import { styles } from '../../api/paging/styles.ts'
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

const inQuery = (parameter: Parameter): Schema => ({ in: 'query', ...parameter })
const header = (parameter: Parameter): Schema => ({ in: 'header', ...parameter })

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

/** The largest page that the API's papers name. */
const documentedSize = 100

function pagingParameters({ style, pageParam, sizeParam, pageSize, pageBase }: Paging): readonly Parameter[] {
  const { served } = styles[style]
  if (served === null) return []
  const sizes = whole(1, { maximum: Math.max(documentedSize, pageSize), default: pageSize })
  const size = { name: sizeParam, schema: sizes, description: 'Records per page.' }
  const least = served.least(pageBase ?? 0)
  const number = pageBase === null ? 'has the same number as at the API' : `is ${pageBase}`
  const first = served.firstPage === null ? '' : ` The first page ${number}.`
  const schema = least === null ? text : whole(least)
  return [{ name: pageParam, schema, description: `${served.description}${first}` }, size]
}

/** Parameters that choose records by a column, in the column's own type. */
function filterParameters({ columns, reads }: StreamDef): readonly Parameter[] {
  const filters = reads.kind === 'list' ? (reads.filters ?? []) : []
  return filters.map(({ param, column, values, otherwise }) => {
    const isNumber = columns.some(({ name, type }) => name === column && type === 'bigint')
    const schema: Schema =
      values === undefined ? { type: isNumber ? 'integer' : 'string' } : { type: 'string', enum: [...values] }
    const usual = otherwise === undefined ? '' : ` Default: ${otherwise}.`
    return { name: param, schema, description: `Only records with this ${column}.${usual}` }
  })
}

function listParameters(stream: StreamDef, paging: Paging): readonly Parameter[] {
  const windows = windowsOf(stream)
  const orders = stream.reads.kind === 'list' ? [stream.reads.query, windows?.newest.query] : []
  const order = orders.flatMap((query) => query?.order ?? [])
  const bound = 'Answered once a sync has proven that the API includes this day.'
  return [
    ...pagingParameters(paging),
    ...(order.length === 0
      ? []
      : [{ name: 'order', schema: { type: 'string', enum: order }, description: 'Order of the records.' }]),
    ...filterParameters(stream),
    ...(windows === undefined
      ? []
      : [
          { name: windows.soon.from, schema: date, description: `First day of ${windows.soon.column}. ${bound}` },
          { name: windows.soon.to, schema: date, description: `Last day of ${windows.soon.column}. ${bound}` },
        ]),
  ]
}

/** The query parameters of a read. */
export const queryParameters = (stream: StreamDef, endpoint: ReadEndpoint, paging: Paging): Json[] =>
  parametersOf(stream, endpoint, paging).map(inQuery)

function parametersOf(stream: StreamDef, endpoint: ReadEndpoint, paging: Paging): readonly Parameter[] {
  const { reads } = stream
  switch (reads.kind) {
    case 'list':
      return endpoint === reads.list ? listParameters(stream, paging) : []
    case 'collection':
      return reads.dayParam === undefined
        ? []
        : [
            {
              name: reads.dayParam,
              schema: date,
              description: 'Today, which is the default: the mirror holds no other day.',
            },
          ]
    case 'pricetable':
      return [
        { name: 'from', schema: date, description: 'First day.', required: true },
        { name: 'to', schema: date, description: 'Last day.', required: true },
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
