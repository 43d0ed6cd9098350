// What served operations answer: headers, problems (RFC 9457) and the state of a change. Pure.

import type { Json } from '../../api/wire/json.ts'
import { statuses } from '../../outbox/states.ts'
import { type Schema, schemaReference } from './schemas.ts'

const headerOf = (description: string, schema: Schema = { type: 'string' }): Schema => ({ description, schema })

const headers: Readonly<Record<string, Schema>> = {
  'X-As-Of': headerOf('The API was read at this instant or later.', { type: 'string', format: 'date-time' }),
  Age: headerOf('Seconds since X-As-Of.', { type: 'integer', minimum: 0 }),
  ETag: headerOf('Tag of the answer for If-None-Match, and for If-Match of a write.'),
  Warning: headerOf('111: the API could not be asked, and the answer is the stored record.'),
  'X-Total-Count': headerOf('Records in the whole list.', { type: 'integer', minimum: 0 }),
  Link: headerOf('Address of the next page, `rel="next"`.'),
  'X-Next-Cursor': headerOf('Cursor of the next page.'),
  Location: headerOf('Address of the change.'),
  'Retry-After': headerOf('Seconds to wait.', { type: 'integer', minimum: 0 }),
}

const withHeaders = (names: readonly string[]): Schema => ({
  headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
})

const asJson = (schema: Schema): Schema => ({ content: { 'application/json': { schema } } })

const problemOf = (description: string, names: readonly string[] = []): Schema => ({
  description,
  ...(names.length > 0 && withHeaders(names)),
  content: { 'application/problem+json': { schema: schemaReference('Problem') } },
})

/** Problems by status. */
const problems: Readonly<Record<string, Schema>> = {
  400: problemOf('A parameter or the body cannot be answered or taken. `detail` names it.'),
  401: problemOf('There is no access token, or it is not valid.'),
  403: problemOf('The token may not see or do this, or the request comes from a page of another site.'),
  404: problemOf('There is no such record: it was deleted, or a complete list proves that it is absent.'),
  405: problemOf('This path does not have this method.'),
  409: problemOf('Others changed the same fields, or the record is there already. Nothing was written.', ['Location']),
  410: problemOf('The change expired before it was sent, or is no longer kept.'),
  412: problemOf('If-Match names no version of this record, or If-None-Match names the present one.'),
  413: problemOf('The body has more than 1 MB.'),
  415: problemOf('The body is not application/json.'),
  421: problemOf('The request is for another host.'),
  422: problemOf('A value cannot be written, or Idempotency-Key was used for another request.', ['Location']),
  429: problemOf('Too many requests.', ['Retry-After']),
  501: problemOf('A setting keeps these records out of the mirror. `detail` names it.'),
  503: problemOf('The mirror does not know the record yet, and the API cannot be asked now.', ['Retry-After']),
  504: problemOf('The API has not answered the write in time, or its answer was lost. The change goes on.', [
    'Location',
  ]),
}

const named = (status: string): string => `Problem${status}`

const refused = (...statuses: readonly number[]): Schema =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${named(String(status))}` }]))

/** The answers of a read; `more`: further headers of its 200. */
export const readAnswers = (description: string, schema: Schema, more: readonly string[] = []): Schema => ({
  200: { description, ...withHeaders(['X-As-Of', 'Age', 'ETag', ...more]), ...asJson(schema) },
  304: {
    description: 'The answer is the one with the tag in If-None-Match.',
    ...withHeaders(['X-As-Of', 'Age', 'ETag']),
  },
  ...refused(400, 401, 403, 404, 405, 421, 429, 501, 503),
})

/** The answers of a write; `schema` null: it answers without a record. */
export const writeAnswers = (schema: Schema | null): Schema => ({
  ...(schema === null
    ? { 200: { description: 'The API took it.' }, 204: { description: 'The API took it.' } }
    : { 200: { description: 'The API took it. The record as it shows it.', ...asJson(schema) } }),
  202: {
    description: 'The change is queued.',
    ...withHeaders(['Location']),
    ...asJson(schemaReference('AcceptedChange')),
  },
  ...refused(400, 401, 403, 404, 405, 409, 410, 412, 413, 415, 421, 422, 429, 503, 504),
})

/** The answers of `GET /changes/{changeId}`. */
export const changeAnswers = (): Schema => ({
  200: { description: 'State of the change.', ...asJson(schemaReference('Change')) },
  ...refused(401, 403, 404, 405, 421, 429, 503),
})

/** The answers of a boat's calendar. */
export const calendarAnswers = (): Schema => ({
  200: {
    description: 'When the boat is taken (RFC 5545), without personal data.',
    ...withHeaders(['X-As-Of', 'ETag']),
    content: { 'text/calendar': { schema: { type: 'string' } } },
  },
  304: { description: 'The calendar is the one with the tag in If-None-Match.', ...withHeaders(['X-As-Of', 'ETag']) },
  ...refused(404, 405, 421, 429, 501, 503),
})

/** The answers of a report. */
export const reportAnswers = (): Schema => ({
  200: {
    description: 'The rows (RFC 4180), without personal data.',
    ...withHeaders(['X-As-Of', 'ETag']),
    content: { 'text/csv': { schema: { type: 'string' } } },
  },
  304: { description: 'The report is the one with the tag in If-None-Match.', ...withHeaders(['X-As-Of', 'ETag']) },
  ...refused(401, 404, 405, 421, 429, 503),
})

/** Components that answers refer to. */
export const answerComponents = (): Schema => ({
  headers: { ...headers },
  responses: Object.fromEntries(Object.entries(problems).map(([status, problem]) => [named(status), problem])),
})

const integer = (description: string): Schema => ({ type: 'integer', description })
/** Ids of changes are texts: they may have more digits than a JavaScript number holds. */
const changeId: Schema = { type: 'string', description: 'Number of the change.' }
const location: Schema = { type: 'string', description: 'Address of the change.' }
const state: Json = { type: 'string', enum: [...statuses], description: 'State of the change.' }

/** Schemas of answers that are not records of the API. */
export const answerSchemas = (): Readonly<Record<string, Schema>> => ({
  Problem: {
    type: 'object',
    description: 'What is wrong (RFC 9457).',
    required: ['type', 'title', 'status', 'detail'],
    properties: {
      type: { type: 'string' },
      title: { type: 'string' },
      status: integer('The status of the answer.'),
      detail: { type: 'string', description: 'What is wrong, with which value, and what to do.' },
      errors: {
        type: 'array',
        description: 'Fields that are wrong.',
        items: {
          type: 'object',
          required: ['field', 'message'],
          properties: { field: { type: 'string' }, message: { type: 'string' } },
        },
      },
      change: changeId,
      state,
      location,
    },
  },
  AcceptedChange: {
    type: 'object',
    required: ['change', 'location'],
    properties: {
      change: changeId,
      location,
      changes: {
        type: 'array',
        description: 'Of a body that is an array: one change each.',
        items: { type: 'object', required: ['change', 'location'], properties: { change: changeId, location } },
      },
    },
  },
  Change: {
    type: 'object',
    required: ['change', 'operation', 'target', 'state', 'enqueuedAt', 'settledAt', 'detail', 'answer'],
    properties: {
      change: changeId,
      operation: { type: 'string', description: 'The write, such as rental.create.' },
      target: { type: 'object', description: 'Path parameters of the write.' },
      state,
      enqueuedAt: { type: 'string', format: 'date-time' },
      settledAt: { type: ['string', 'null'], format: 'date-time' },
      detail: { type: ['string', 'null'], description: 'What went wrong, or what it waits for.' },
      answer: {
        type: ['object', 'null'],
        description: 'What the write is answered with; null until it is settled.',
        properties: { status: integer('Status of the answer.'), body: { description: 'Body of the answer.' } },
      },
    },
  },
})
