// The logger: structured lines on stderr, pretty on a terminal. Callers log ids, counts and codes, never bodies, tokens or personal data.

import { format } from 'node:util'
import { type Logger as PinoLogger, pino, stdSerializers, stdTimeFunctions } from 'pino'
import { prettyFactory } from 'pino-pretty'
import { ApiError, BoatMirrorError, messageOf } from './errors.ts'
import { withoutControls } from './text.ts'

export type Logger = PinoLogger

/** An error as log fields, without Postgres's `detail` and `where`, which quote values of rows. */
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

/** Escapes the escapes of control characters in JSON, so that no shown text contains one, except tab and newline. */
const withoutEscapes = (line: string): string =>
  withoutControls(line).replace(/\\(u[0-9a-f]{4}|.)/g, (escaped, code: string) =>
    /^(u00[0189]|u007f|u20|[bfr])/.test(code) ? `\\${escaped}` : escaped,
  )

/** Lines that cannot be written are kept, up to a limit, for the next try: no work fails because of the log, or waits for it. */
const stderr = pino.destination({ dest: 2, sync: true, maxLength: 1_000_000 })
stderr.removeAllListeners('error').on('error', () => {})
stderr.flushSync = () => {} // it would wait while a disk is full

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

/** Returns whether to log a message now: at most once in `quietMs` milliseconds. */
function atMostEvery(quietMs: number): (message: string) => boolean {
  const said = new Map<string, number>()
  return (message) => {
    const now = performance.now()
    if (now - (said.get(message) ?? Number.NEGATIVE_INFINITY) < quietMs) return false
    said.set(message, now)
    return true
  }
}

/** Logs errors as warnings: those with the same message at most once in five seconds. */
export function warnAbout(log: Logger, event: string, text: string): (error: Error) => void {
  const isNews = atMostEvery(5_000)
  return (error) => {
    if (isNews(error.message)) log.warn({ event, reason: messageOf(error) }, text)
  }
}

/** Logs them from now on. Returns what gives console and process back. */
export function logThirdPartyWarnings(log: Logger): () => void {
  const { warn, error } = console
  const before = process.listeners('warning')
  const isNews = atMostEvery(3_600_000)
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
