// From a settled change to the answer of its request: what the API answered, with the record as the mirror has it since then.
// Pure.

import { isObject, type Json, type JsonObject, parseJson, textOf } from '../../api/wire/json.ts'
import { writeNamed } from '../../catalog/writes.ts'
import { codeIn } from '../../outbox/outcome.ts'
import { type Answer, problem } from '../problem.ts'
import { isSettled, type WaitedChange } from './settled.ts'

/** The address of a change's state. */
export const addressOf = ({ id }: Pick<WaitedChange, 'id'>): string => `/changes/${id}`

const statusIn = (response: JsonObject | null): number | null => {
  const status = Number(textOf(response?.status))
  return Number.isInteger(status) && status >= 200 && status <= 599 ? status : null
}

/** Header values are ASCII; a quote would end the text. */
const headerText = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, "'")

/** The body of a refusal as the API sent it: kept as text, of which no more than the beginning is known. */
function refusedAs(status: number, body: Json, headers: Readonly<Record<string, string>>): Answer | null {
  if (isObject(body) && typeof body.withheld === 'string') {
    const names = Array.isArray(body.fields) ? body.fields.flatMap((name) => textOf(name) ?? []) : []
    const errors = names.map((field) => ({ field, message: 'was refused by the API.' }))
    return problem(status, `The API refused the request. ${body.withheld}`, { errors }, headers)
  }
  if (typeof body !== 'string' || body === '') return null
  try {
    return { status, headers, contentType: 'application/json', body: parseJson(body).value }
  } catch {
    return { status, headers, contentType: 'text/plain', body } // cut off, or no JSON
  }
}

/** What the API answers where it takes a write: docs/sources.md documents 200, and nothing for removals. */
const usualStatus = (operation: string): number =>
  ['delete', 'remove'].includes(writeNamed(operation).kind) ? 204 : 200

/** What the caller may see of a change beyond its state. */
export type Seen = {
  /** The record that it wrote; null: nothing of it. */
  readonly record: Json
  /** Whether they may see personal values. */
  readonly personal: boolean
}

function doneAs(change: WaitedChange, record: Json): Answer {
  const { operation, response, result, warning } = change
  const status = statusIn(response) ?? usualStatus(operation)
  const headers: Record<string, string> = warning === null ? {} : { warning: `199 - "${headerText(warning)}"` }
  const kept = response?.body ?? null
  // Another client had removed it: the API said so, and so do we.
  if (status >= 400)
    return refusedAs(status, kept, headers) ?? problem(status, 'The record does not exist.', {}, headers)
  if (status === 204 || status === 205) return { status, headers, contentType: 'application/json', body: undefined }
  const shown = record ?? result ?? {}
  return { status, headers, contentType: 'application/json', body: Array.isArray(kept) ? [shown] : shown }
}

/** The answer of one change. One that is not settled is a wait that ran out. */
export function answerOf(change: WaitedChange, { record, personal }: Seen): Answer {
  const { id, status, response, conflict, error } = change
  const address = addressOf(change)
  const headers = { location: address }
  const members = { change: id, state: status, location: address }
  const because = (text: string): string => (error === null ? text : `${text} ${error}`)
  switch (status) {
    case 'done':
      return doneAs(change, record)
    case 'conflict':
      return conflicting(change, personal)
    case 'canceled':
      return conflict === null
        ? problem(409, because('This change was canceled before it was sent.'), members, headers)
        : conflicting(change, personal)
    case 'failed':
    case 'expired': {
      const answered = statusIn(response)
      if (answered !== null)
        return (
          refusedAs(answered, response?.body ?? null, headers) ??
          problem(answered, because('The API refused it.'), members, headers)
        )
      if (status === 'expired') return problem(410, because('It was not sent in time.'), members, headers)
      const isOurs = error !== null && codeIn(error) !== undefined
      return problem(isOurs ? 500 : 422, because('Nothing was written.'), members, headers)
    }
    case 'unknown':
      return problem(504, because('The answer of the API was lost.'), members, headers)
    case 'queued':
    case 'sending':
    case 'blocked':
      return problem(504, `The API has not answered yet. Ask ${address} for the result.`, members, headers)
    default:
      return status satisfies never
  }
}

/** Both sides changed a field, or something else is there already. Nothing was written. */
function conflicting({ id, conflict, status }: WaitedChange, personal: boolean): Answer {
  const fields = Object.keys(conflict ?? {})
  const location = addressOf({ id })
  const errors = fields.map((field) => ({ field, message: 'has another value at the API.' }))
  const detail = `Changed by others meanwhile: ${fields.join(', ')}. Nothing was written. Read the record again.`
  const values = personal ? { conflict: conflict ?? {} } : {}
  return problem(409, detail, { change: id, state: status, location, errors, ...values }, { location })
}

/** The answer of several changes that came as an array: their records, or what became of each where one was not written. */
export function answerOfAll(changes: readonly WaitedChange[], answers: readonly Answer[]): Answer {
  const failed = answers.find(({ status }) => status >= 300)
  if (failed === undefined) {
    const body = answers.map((each) => (Array.isArray(each.body) ? (each.body[0] ?? null) : (each.body ?? null)))
    return { status: answers[0]?.status ?? 200, headers: {}, contentType: 'application/json', body }
  }
  const each = changes.map((change, index) => ({
    ...{ change: change.id, state: change.status, location: addressOf(change) },
    ...{ status: answers[index]?.status ?? 0, body: answers[index]?.body ?? null },
  }))
  return problem(
    failed.status,
    'Not all elements were written. Each is a change of its own.',
    { changes: each },
    failed.headers,
  )
}

/** What `GET /changes/ID` shows. */
export function stateOf(change: WaitedChange, seen: Seen): JsonObject {
  const { id, operation, target, status, enqueuedAt, settledAt, error } = change
  const isOver = isSettled(change) && status !== 'unknown'
  const answer = isOver ? answerOf(change, seen) : null
  return {
    change: id,
    operation,
    target,
    state: status,
    enqueuedAt: enqueuedAt.toISOString(),
    settledAt: settledAt?.toISOString() ?? null,
    detail: error,
    answer: answer === null ? null : { status: answer.status, body: answer.body ?? null },
  }
}
