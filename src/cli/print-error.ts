// How the program says what ended a command.

import { BoatMirrorError, messageOf } from '../errors.ts'
import { asCalled } from '../hints.ts'
import { createLogger } from '../log.ts'
import { printNote } from './terminal/output.ts'

/**
 * Reports the error that ended a command: on a terminal its message, then the remedy; else a line of the log. For a
 * bug, also the stack.
 */
export function printError(thrown: unknown): void {
  const error = thrown instanceof BoatMirrorError ? thrown : faultOf(thrown)
  const { code, message, remedy } = error
  const isDebugging = process.env.LOG_LEVEL === 'debug' || process.env.LOG_LEVEL === 'trace'
  const stack = code === 'INTERNAL' && isDebugging && thrown instanceof Error ? thrown.stack : undefined
  if (process.stderr.isTTY === true) {
    printNote([`boat-mirror: ${message} [${code}]`, remedy, stack].filter((part) => part !== undefined).join('\n'))
    return
  }
  const typed = (text: string): string => asCalled(text, process.env)
  createLogger('fatal').fatal(
    { event: 'command_failed', code, remedy: remedy === undefined ? undefined : typed(remedy), stack },
    typed(message),
  )
}

const faultOf = (thrown: unknown): BoatMirrorError =>
  new BoatMirrorError('INTERNAL', messageOf(thrown), { remedy: 'Report it with the output of LOG_LEVEL=debug.' })
