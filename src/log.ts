// The logger: structured lines on stderr, pretty on a terminal. Only fields from an allow-list of shapes are
// logged by callers (ids, counts, codes); bodies, tokens and personal data never are.

import { type Logger as PinoLogger, pino, stdSerializers } from 'pino'
import pretty from 'pino-pretty'
import { ApiError, BoatMirrorError, messageOf } from './errors.ts'

export type Logger = PinoLogger

/** An error as log fields: code, message, endpoint, status. Postgres's `detail` and `where` quote row values, so they are left out. */
export function serializeError(error: unknown): Record<string, unknown> {
  if (error instanceof ApiError)
    return { code: error.code, message: error.message, endpoint: error.endpoint, status: error.status }
  if (error instanceof BoatMirrorError)
    return { code: error.code, message: error.message, remedy: error.remedy, cause: messageOf(error.cause ?? '') }
  if (error instanceof Error) {
    const { type, message, stack } = stdSerializers.err(error)
    return { type, message, stack, code: (error as { code?: unknown }).code }
  }
  return { message: messageOf(error) }
}

/** Creates the program's logger. Writes to stderr, so that stdout stays free for results. */
export function createLogger(level: string, options: { readonly pretty?: boolean } = {}): Logger {
  const settings = {
    level,
    base: null,
    serializers: { err: serializeError, error: serializeError },
    redact: ['*.authorization', '*.token', '*.password', 'authorization', 'token', 'password'],
  }
  const human = options.pretty ?? process.stderr.isTTY === true
  const stream = human
    ? pretty({ destination: 2, sync: true, ignore: 'event', translateTime: 'SYS:HH:MM:ss' })
    : pino.destination({ dest: 2, sync: true })
  return pino(settings, stream)
}
