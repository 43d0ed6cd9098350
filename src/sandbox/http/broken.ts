// Carries faults out on the wire: answers that are made up, cut, truncated, or never come.

import type { FastifyReply } from 'fastify'
import { Failure } from '../failure.ts'
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

/** Takes the answer away from the server: from here the socket is handled by hand. */
function seize(reply: FastifyReply): void {
  reply.hijack()
}

/** Writes the head of the whole answer and half its body, then destroys the connection. */
function cut(reply: FastifyReply, answer: HttpAnswer): void {
  const bytes = Buffer.from(answer.body)
  seize(reply)
  reply.raw.writeHead(answer.status, {
    ...answer.headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Math.max(1, bytes.length),
  })
  reply.raw.write(bytes.subarray(0, bytes.length >> 1), () => reply.raw.destroy())
}

/**
 * Disturbs a request as `fault` says. `carryOut` has the effect and gives the true answer; `send` answers as usual.
 * Where nothing is answered the log entry's status stays null.
 */
export function sendBroken(
  reply: FastifyReply,
  entry: LoggedRequest,
  fault: FaultAction,
  carryOut: () => HttpAnswer,
  send: (reply: FastifyReply, entry: LoggedRequest, answer: HttpAnswer) => FastifyReply,
): FastifyReply {
  switch (fault) {
    case 'hang':
      seize(reply)
      return reply
    case 'reset':
      seize(reply)
      reply.raw.socket?.resetAndDestroy()
      return reply
    case 'forbidden':
      return send(reply, entry, brokenAnswer({ status: 403 }) ?? { status: 403, body: '' })
    case 'garbage':
      return send(reply, entry, { status: 200, body: '\u0001\u0002{]~not json~' })
    case 'html':
      entry.status = 200
      return reply.code(200).header('content-type', 'text/html; charset=utf-8').send(page)
    case 'hangAfterEffect':
      carryOut()
      seize(reply)
      return reply
    case 'dropAfterEffect':
      carryOut()
      seize(reply)
      reply.raw.destroy()
      return reply
    case 'errorAfterEffect':
      carryOut()
      return send(reply, entry, { status: 502, body: new Failure(502, 'FAULT', 'Bad gateway').body })
    case 'cut':
      cut(reply, carryOut())
      return reply
    case 'truncate': {
      const answer = carryOut()
      return send(reply, entry, { ...answer, body: answer.body.slice(0, answer.body.length >> 1) })
    }
    case 'shift':
    case 'unshift':
    case 'repeatPage':
    case 'ignorePage':
    case 'empty':
    case 'half':
      return send(reply, entry, carryOut())
  }
}
