// Carries faults out on the wire: answers that are made up, cut, truncated, or never come.

import type { FastifyReply } from 'fastify'
import { Failure } from '../call.ts'
import type { FaultAction, FaultAnswer } from './faults.ts'
import type { HttpAnswer } from './render-answer.ts'
import type { LoggedRequest } from './request-log.ts'

/** The answer a rule makes up; null when it only delays. */
export function brokenAnswer({ status, retryAfter, body, headers }: FaultAnswer): HttpAnswer | null {
  if (status === undefined) return null
  const failure = new Failure(status, 'FAULT', `A fault rule answers ${status}`)
  return {
    status,
    headers: { ...headers, ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }) },
    body: body === undefined ? failure.body : typeof body === 'string' ? body : JSON.stringify(body),
  }
}

const page = '<!doctype html><html><head><title>Maintenance</title></head><body><h1>Back soon</h1></body></html>'

/** Writes the head of the whole answer and half its body by hand, then destroys the connection. */
function cut(reply: FastifyReply, answer: HttpAnswer): void {
  const bytes = Buffer.from(answer.body)
  reply.hijack()
  reply.raw.writeHead(answer.status, {
    ...answer.headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Math.max(1, bytes.length),
  })
  reply.raw.write(bytes.subarray(0, bytes.length >> 1), () => reply.raw.destroy())
}

interface Disturbed {
  readonly reply: FastifyReply
  readonly entry: LoggedRequest
  /** Has the effect and gives the true answer. */
  readonly carryOut: () => HttpAnswer
  /** Answers as usual. */
  readonly send: (answer: HttpAnswer) => FastifyReply
}

/** Disturbs a request as `fault` says. Where nothing is answered the log entry's status stays null. */
export function sendBroken({ reply, entry, carryOut, send }: Disturbed, fault: FaultAction): FastifyReply {
  switch (fault) {
    case 'hang':
      reply.hijack()
      return reply
    case 'reset':
      reply.hijack()
      reply.raw.socket?.resetAndDestroy()
      return reply
    case 'forbidden':
      return send(brokenAnswer({ status: 403 }) ?? { status: 403, body: '' })
    case 'garbage':
      return send({ status: 200, body: '\u0001\u0002{]~not json~' })
    case 'html':
      entry.status = 200
      return reply.code(200).header('content-type', 'text/html; charset=utf-8').send(page)
    case 'hangAfterEffect':
      carryOut()
      reply.hijack()
      return reply
    case 'dropAfterEffect':
      carryOut()
      reply.hijack()
      reply.raw.destroy()
      return reply
    case 'errorAfterEffect':
      carryOut()
      return send({ status: 502, body: new Failure(502, 'FAULT', 'Bad gateway').body })
    case 'cut':
      cut(reply, carryOut())
      return reply
    case 'truncate': {
      const answer = carryOut()
      return send({ ...answer, body: answer.body.slice(0, answer.body.length >> 1) })
    }
    default: // a list is cut in another way, which its answer shows already
      return send(carryOut())
  }
}
