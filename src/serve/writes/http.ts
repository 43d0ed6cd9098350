// From HTTP to what writes work with: bodies and headers.

import type { FastifyRequest } from 'fastify'
import { findText, isStorable, type Json, parseExact, parseJson } from '../../api/wire/json.ts'
import { fieldProblem, problem, Refusal } from '../problem.ts'

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
