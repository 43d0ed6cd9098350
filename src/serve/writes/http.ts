// Between HTTP and what writes work with: bodies and headers in, answers out.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { findText, isStorable, type Json, parseExact, parseJson } from '../../api/wire/json.ts'
import { translateDatabaseError } from '../../database/sql-states.ts'
import { messageOf } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import { type Answer, fieldProblem, problem, Refusal } from '../problem.ts'
import { bodyText } from './answer.ts'

/** A header that came once; null: it did not. */
export const headerOf = (request: FastifyRequest, name: string): string | null => {
  const value = request.headers[name]
  return typeof value === 'string' ? value : null
}

/** Whether a request has a preference (RFC 7240). */
export const prefers = (request: FastifyRequest, preference: string): boolean =>
  (headerOf(request, 'prefer') ?? '').split(',').some((each) => each.trim().toLowerCase() === preference)

/** JSON as the client of the API reads it, so that no digit is lost. An empty body is none. What cannot be stored is refused. */
export function parseBody(
  _request: FastifyRequest,
  body: Buffer,
  done: (error: Error | null, value?: Json) => void,
): void {
  try {
    done(null, bodyOf(new TextDecoder('utf-8', { fatal: true }).decode(body)))
  } catch (error) {
    done(error instanceof Refusal ? error : new Refusal(problem(400, 'The body is not JSON, or not in UTF-8.')))
  }
}

function bodyOf(text: string): Json | undefined {
  if (text.trim() === '') return undefined
  const { value, sanitized } = parseJson(text)
  if (sanitized === 0) return value
  const field = findText(parseExact(text), (each) => !isStorable(each))?.join('.') || 'body'
  throw new Refusal(fieldProblem(400, field, 'holds a NUL or half of a surrogate pair, which cannot be stored.'))
}

/** Sends an answer. It is about one moment and one caller, so it is never cached. */
export function send(reply: FastifyReply, answer: Answer): FastifyReply {
  reply.code(answer.status).headers({ 'cache-control': 'no-store', ...answer.headers })
  const text = bodyText(answer)
  return text === undefined ? reply.send() : reply.type(`${answer.contentType}; charset=utf-8`).send(text)
}

const unavailable = 'Boat Mirror could not take the request. Send the same request again.'

/** An error as an answer. Unexpected ones are logged, and the caller gets no details. */
export function failureAnswer(log: Logger, thrown: unknown, route: string | undefined): Answer {
  if (thrown instanceof Refusal) return thrown.answer
  if (thrown instanceof Error && 'statusCode' in thrown && typeof thrown.statusCode === 'number') {
    const { statusCode } = thrown
    if (statusCode >= 400 && statusCode < 500) return problem(statusCode, messageOf(thrown))
  }
  log.warn({ event: 'write_failed', route, err: translateDatabaseError(thrown) }, 'a served write could not be taken')
  return problem(503, unavailable, {}, { 'retry-after': '1' })
}
