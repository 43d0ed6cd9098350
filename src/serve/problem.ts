// What is answered where something is wrong: problem+json (RFC 9457). And how answers are sent.

import { STATUS_CODES } from 'node:http'
import type { FastifyReply } from 'fastify'
import { type Json, type JsonObject, stringifyJson } from '../api/wire/json.ts'
import { sqlStateOf, translateDatabaseError } from '../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'

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

/** An error as an answer. Unexpected ones are logged, and the caller gets no details. */
export function failureAnswer(log: Logger, thrown: unknown, route: string | undefined): Answer {
  if (thrown instanceof Refusal) return thrown.answer
  if (thrown instanceof Error && 'statusCode' in thrown && typeof thrown.statusCode === 'number') {
    const { statusCode } = thrown
    if (statusCode >= 400 && statusCode < 500) return problem(statusCode, messageOf(thrown))
  }
  const error = translateDatabaseError(thrown)
  log.warn({ event: 'serve_failed', route, err: error }, 'a request could not be served')
  if (sqlStateOf(thrown) === '42501') return problem(403, 'The database role of this token may not do this.')
  const isPassing = error instanceof BoatMirrorError && error.kind === 'retry'
  return isPassing
    ? problem(503, 'Boat Mirror could not reach its database. Send the same request again.', {}, { 'retry-after': '5' })
    : problem(500, 'Boat Mirror could not answer this request. Its log says why.')
}

/** Sends an answer. It is about one moment and one caller, so it is never cached. */
export function send(reply: FastifyReply, { status, headers, contentType, body }: Answer): FastifyReply {
  reply.code(status).headers({ 'cache-control': 'no-store', ...headers })
  if (body === undefined) return reply.send()
  const text = contentType === 'text/plain' ? String(body) : stringifyJson(body)
  return reply.type(`${contentType}; charset=utf-8`).send(text)
}

/** Seconds after which what is not known yet may be known. */
const retryAfterS = 30

/** The mirror does not know it, and the API could not be asked. */
export const notKnown = (detail: string, seconds: number = retryAfterS): Refusal =>
  new Refusal(problem(503, detail, {}, { 'retry-after': String(seconds) }))
