// What is answered where something is wrong: problem+json (RFC 9457).

import { STATUS_CODES } from 'node:http'
import type { Json, JsonObject } from '../api/wire/json.ts'

/** An answer before it is sent. `body` undefined: none. */
export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly contentType: 'application/json' | 'application/problem+json' | 'text/plain'
  readonly body: Json | undefined
}

/** An answer of status `status` as problem+json; `members` are added to its title and detail. */
export function problem(
  status: number,
  detail: string,
  members: JsonObject = {},
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const title = STATUS_CODES[status] ?? 'Error'
  return {
    status,
    headers,
    contentType: 'application/problem+json',
    body: { type: 'about:blank', title, status, detail, ...members },
  }
}

/** A problem that names fields of the request, as the API's own refusals do. */
export const fieldProblem = (status: number, field: string, message: string): Answer =>
  problem(status, `${field}: ${message}`, { errors: [{ field, message }] })

/** Ends a request with an answer. */
export class Refusal extends Error {
  readonly answer: Answer

  constructor(answer: Answer) {
    super(`Answered with ${answer.status}.`)
    this.name = 'Refusal'
    this.answer = answer
  }
}
