// The logger: structured lines on stderr with ISO times and names of levels, pretty on a terminal. Only fields from an allow-list of shapes are
// logged by callers (ids, counts, codes); bodies, tokens and personal data never are.

import { format } from 'node:util'
import { type Logger as PinoLogger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { prettyFactory } from 'pino-pretty'
import { ApiError, BoatMirrorError, messageOf } from './errors.ts'
import { withoutControls } from './text.ts'

export type Logger = PinoLogger

/**
 * An error as log fields: code, message, endpoint, status. Postgres's `detail` and `where` quote row values, so they
 * are omitted.
 */
export function serializeError(error: unknown): Record<string, unknown> {
  if (error instanceof ApiError)
    return { code: error.code, message: error.message, endpoint: error.endpoint, status: error.status }
  if (error instanceof BoatMirrorError)
    return { code: error.code, message: error.message, remedy: error.remedy, cause: messageOf(error.cause ?? '') }
  if (error instanceof Error) {
    const { type, message, stack } = stdSerializers.err(error)
    const { code } = error as { code?: unknown }
    return { type, message, stack, code: typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : undefined }
  }
  return { message: messageOf(error) }
}

/**
 * A line of JSON whose texts, once they are read and shown, contain no control character except tab and newline:
 * those that JSON writes as escapes are escaped again.
 */
const withoutEscapes = (line: string): string =>
  withoutControls(line).replace(/\\(u[0-9a-f]{4}|.)/g, (escaped, code: string) =>
    /^(u00[0189]|u007f|u20|[bfr])/.test(code) ? `\\${escaped}` : escaped,
  )

/** What cannot be written is kept, up to so many bytes, and tried again with the next line: no work fails for the log, or waits. */
const stderr = pino.destination({ dest: 2, sync: true, maxLength: 1_000_000 })
stderr.removeAllListeners('error').on('error', () => {})
stderr.flushSync = () => {} // all is written already, or would be waited for as long as a disk is full

/** Creates the program's logger. Writes to stderr, so that stdout stays free for results. */
export function createLogger(level: string, options: { readonly pretty?: boolean } = {}): Logger {
  const human = options.pretty ?? process.stderr.isTTY === true
  const inWords = prettyFactory({ ignore: 'event', translateTime: 'SYS:HH:MM:ss' })
  const settings = {
    level,
    hooks: { streamWrite: human ? (line: string) => inWords(withoutEscapes(line)) : withoutControls },
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (level: string) => ({ level }) },
    serializers: { err: serializeError, error: serializeError },
    redact: ['*.authorization', '*.token', '*.password', 'authorization', 'token', 'password'],
  }
  return pino(settings, stderr)
}

/** Lets a message through at most once in `quietMs` milliseconds: true when it should be logged now. */
export function atMostEvery(quietMs: number): (message: string) => boolean {
  const said = new Map<string, number>()
  return (message) => {
    const now = performance.now()
    if (now - (said.get(message) ?? Number.NEGATIVE_INFINITY) < quietMs) return false
    said.set(message, now)
    return true
  }
}

const quietMs = 3_600_000

/** Logs them from now on. Returns what gives console and process back. */
export function logThirdPartyWarnings(log: Logger): () => void {
  const { warn, error } = console
  const before = process.listeners('warning')
  const isNews = atMostEvery(quietMs)
  const say = (text: string): void => {
    if (isNews(text)) log.warn({ event: 'foreign_warning' }, text)
  }
  const onConsole = (...words: unknown[]): void => say(format(...words))
  const onWarning = ({ name, message }: Error): void => say(`${name}: ${message}`)
  console.warn = onConsole
  console.error = onConsole
  process.removeAllListeners('warning').on('warning', onWarning)
  return () => {
    Object.assign(console, { warn, error })
    process.removeAllListeners('warning')
    for (const listener of before) process.on('warning', listener)
  }
}
