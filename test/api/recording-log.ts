// A real logger, with the product's serializers, whose lines can be examined.

import { Writable } from 'node:stream'
import { pino } from 'pino'
import { type Logger, serializeError } from '../../src/log.ts'

export type LogLine = Readonly<Record<string, unknown>>

export function recordingLog(): { readonly log: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString('utf8')) as LogLine)
      done()
    },
  })
  return {
    log: pino({ level: 'debug', base: null, serializers: { err: serializeError, error: serializeError } }, stream),
    lines,
  }
}
