// One OpenAPI operation for each read and write of the catalog, for the address of a change, for calendars and reports. Pure.

import { styles } from '../../api/paging/styles.ts'
import type { Json } from '../../api/wire/json.ts'
import { readsOf, streamNamed, streams } from '../../catalog/catalog.ts'
import type { ReadEndpoint, StreamDef, WriteDef } from '../../catalog/types.ts'
import { writes } from '../../catalog/writes.ts'
import { companyReports } from '../../reports/report-views.ts'
import { calendarAnswers, changeAnswers, readAnswers, reportAnswers, writeAnswers } from './answers.ts'
import {
  freshParameter,
  ifNoneMatch,
  type Paging,
  pathParameters,
  queryParameters,
  writeHeaders,
} from './parameters.ts'
import { bodySchema, pluralName, recordName, recordReference, type Schema, schemaReference } from './schemas.ts'

/** An operation with its place in the document. */
export type Operation = { readonly path: string; readonly method: string; readonly operation: Schema }

const arrayOf = (items: Schema): Schema => ({ type: 'array', items })

/** The records of a list where the API's own answer has them: the answer itself, or a member of it such as `data.items`. */
const inEnvelope = (records: Schema, itemsPath: string | null): Schema =>
  (itemsPath?.split('.') ?? []).reduceRight<Schema>(
    (inner, member) => ({ type: 'object', required: [member], properties: { [member]: inner } }),
    records,
  )

/** The price table of a resource (docs/sources.md, resources/pricetable). */
function pricetableSchema(stream: StreamDef): Schema {
  const columns = stream.columns.filter(({ path }) => path !== null)
  const described = (name: string): string => columns.find(({ path }) => path === name)?.comment ?? ''
  const price: Schema = {
    type: 'object',
    properties: {
      duration: { type: 'string', description: described('duration') },
      base_price: { type: ['number', 'null'], description: described('base_price') },
    },
  }
  const ofDay: Schema = {
    type: 'object',
    properties: {
      date: { type: 'string', format: 'date', description: described('date') },
      pricetable: arrayOf(price),
    },
  }
  return {
    type: 'object',
    properties: {
      resourceId: { type: ['string', 'null'] },
      currency: { type: ['string', 'object', 'null'], description: described('currency') },
      results: arrayOf(ofDay),
    },
  }
}

/** What a read answers: its name in the document, its schema, and whether it is about one record. */
type ReadAnswer = { readonly id: string; readonly schema: Schema; readonly isRecord: boolean }

function readAnswer(stream: StreamDef, endpoint: ReadEndpoint, itemsPath: string | null): ReadAnswer {
  const { reads } = stream
  const record = recordReference(stream)
  const one: ReadAnswer = { id: `get${recordName(stream)}`, schema: record, isRecord: true }
  const many: ReadAnswer = { id: `list${pluralName(stream)}`, schema: arrayOf(record), isRecord: false }
  switch (reads.kind) {
    case 'list': {
      if (endpoint === reads.list) return { ...many, schema: inEnvelope(many.schema, itemsPath) }
      const related = reads.related?.find((each) => each.endpoint === endpoint)
      if (related === undefined) return one
      const other = streamNamed(related.stream)
      return { id: `${one.id}${recordName(other)}`, schema: recordReference(other), isRecord: true }
    }
    case 'collection':
      return endpoint === reads.list ? many : one
    case 'document':
      return one
    case 'availability':
      return endpoint === reads.batch ? many : { ...one, isRecord: false }
    case 'slots':
      return many
    case 'pricetable':
      return { ...one, schema: pricetableSchema(stream), isRecord: false }
    case 'calendar':
      // Its members are not published: a text of one character a day, or an object or array around it.
      return { ...one, schema: { type: ['string', 'object', 'array'], description: stream.comment }, isRecord: false }
    case 'inside':
      throw new Error(`${stream.name} is read inside its parent.`)
    default:
      return reads satisfies never
  }
}

const tagOf = (endpoint: string): string => endpoint.split('/')[2] ?? ''

function readOperation(stream: StreamDef, endpoint: ReadEndpoint, pagingOf: (stream: StreamDef) => Paging): Operation {
  const isList = stream.reads.kind === 'list' && endpoint === stream.reads.list
  const paging = pagingOf(stream)
  const { id, schema, isRecord } = readAnswer(stream, endpoint, paging.itemsPath)
  const parameters: Json[] = [
    ...pathParameters(endpoint),
    ...queryParameters(stream, endpoint, paging),
    ...(isRecord ? [freshParameter] : []),
    ifNoneMatch,
  ]
  const nextHeader = styles[paging.style].served?.nextHeader ?? []
  const more = [isList ? ['X-Total-Count', nextHeader] : [], isRecord ? 'Warning' : []].flat(2)
  return {
    method: 'get',
    path: endpoint.slice('GET '.length),
    operation: {
      operationId: id,
      summary: stream.comment,
      tags: [tagOf(endpoint)],
      parameters,
      responses: readAnswers(stream.comment, schema, more),
    },
  }
}

/** `rental_option.add` → `addRentalOption`. */
function writeId({ operation }: WriteDef): string {
  const [record = '', verb = ''] = operation.split('.')
  return `${verb}${recordName({ ...streamNamed('rentals'), name: record })}`
}

function writeOperation(write: WriteDef): Operation {
  const [method = '', path = ''] = write.endpoint.split(' ')
  const body = bodySchema(write)
  const stream = streamNamed(write.stream)
  const isRemoval = write.kind === 'delete' || write.kind === 'remove'
  // An assignment is answered with the record that was assigned (docs/sources.md, reference/rental-user-management/assign-a-user-to-a-rental).
  const answered = write.kind === 'assign' ? recordName(streamNamed('users')) : recordName(stream)
  const schema = write.operation === 'rental_option.add' && body !== null ? oneOrMany(body) : body
  const answer =
    write.operation === 'rental_option.add' ? oneOrMany(schemaReference(answered)) : schemaReference(answered)
  return {
    method: method.toLowerCase(),
    path,
    operation: {
      operationId: writeId(write),
      summary: `The change ${write.operation}.`,
      tags: [tagOf(write.endpoint)],
      parameters: [...pathParameters(write.endpoint), ...writeHeaders(write.kind)],
      ...(schema !== null && { requestBody: { required: true, content: { 'application/json': { schema } } } }),
      responses: writeAnswers(isRemoval ? null : answer),
    },
  }
}

/** Options may be added several at a time. */
const oneOrMany = (schema: Schema): Schema => ({ oneOf: [schema, { ...arrayOf(schema), minItems: 1 }] })

const changeOperation = (): Operation => ({
  method: 'get',
  path: '/changes/{changeId}',
  operation: {
    operationId: 'getChange',
    summary: 'State and result of a write that this token asked for.',
    tags: ['changes'],
    parameters: [{ name: 'changeId', in: 'path', required: true, schema: { type: 'string' } }],
    responses: changeAnswers(),
  },
})

/** The key in the address is what opens it: it has no token. */
const calendarOperation = (): Operation => ({
  method: 'get',
  path: '/calendars/{resourceId}.ics',
  operation: {
    operationId: 'getCalendar',
    summary: 'When a boat is taken, as iCalendar. `boat-mirror access calendar RESOURCE_ID` prints the address.',
    tags: ['calendars'],
    security: [],
    parameters: [
      ...pathParameters('{resourceId}'),
      { name: 'key', in: 'query', required: true, schema: { type: 'string' }, description: 'Key of this calendar.' },
      ifNoneMatch,
    ],
    responses: calendarAnswers(),
  },
})

const reportOperation = (): Operation => ({
  method: 'get',
  path: '/reports/{report}.csv',
  operation: {
    operationId: 'getReport',
    summary:
      'A report as CSV, for spreadsheets. `boat-mirror access report NAME --company ID` prints an address with a key, which needs no token.',
    tags: ['reports'],
    parameters: [
      {
        name: 'report',
        in: 'path',
        required: true,
        schema: { type: 'string', enum: companyReports.map(({ name }) => name) },
      },
      { name: 'key', in: 'query', schema: { type: 'string' }, description: 'Key of this report and one company.' },
      ifNoneMatch,
    ],
    responses: reportAnswers(),
  },
})

/** Every operation, reads first. `pagingOf`: how the list of a stream is asked for its pages. */
export const operations = (pagingOf: (stream: StreamDef) => Paging): readonly Operation[] => [
  ...streams.flatMap((stream) => readsOf(stream).map((endpoint) => readOperation(stream, endpoint, pagingOf))),
  ...writes.map(writeOperation),
  changeOperation(),
  calendarOperation(),
  reportOperation(),
]
