// What happens when stdout or stderr cannot be written: no reader, a full disk, a closed terminal. Work and exit code do not change. It
// is an error only if the output is the result and the reader has not left.

import { fstatSync, readSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import { BoatMirrorError } from '../../errors.ts'
import { withoutControls } from '../../text.ts'
import { printError } from './output.ts'

/** Whether the output is the result, as of help, or a report of work. Each command sets it. */
export const printed = { isResult: true }

let isClosed = false
let lost: NodeJS.ErrnoException | undefined

const lostOutput = (cause: Error): BoatMirrorError =>
  new BoatMirrorError('OUTPUT_LOST', `Standard output could not be written: ${cause.message}.`, {
    remedy: 'Make room there, or write to another place, and run the command again.',
    cause,
  })

/** Lets the process survive errors of its outputs. A lost result makes it end with 1. */
export function surviveOutputs(): void {
  try {
    // Node opens /dev/null, for reading too, in place of a closed stdout; the `> /dev/null` of a shell is only for writing.
    isClosed = fstatSync(1).rdev === statSync(devNull).rdev && readSync(1, Buffer.alloc(1)) === 0
  } catch {}
  process.stderr.on('error', () => {}) // there is nowhere left to report it
  process.stdout.on('error', (error) => {
    lost = error
  })
  process.on('exit', () => {
    if (lost === undefined || lost.code === 'EPIPE' || !printed.isResult) return
    printError(lostOutput(lost))
    process.exitCode = 1
  })
}

/** Whether a command ended because its result was lost, which the end of the process reports. */
export const isLostResult = (error: unknown): boolean =>
  printed.isResult && error instanceof BoatMirrorError && error.code === 'OUTPUT_LOST'

/** Writes to stdout unchanged, and waits until all output is taken. @throws BoatMirrorError OUTPUT_LOST; the signal's reason */
export function write(text: string, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal?.reason)
    if (signal?.aborted) return onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    process.stdout.write(text, (error) => {
      signal?.removeEventListener('abort', onAbort)
      const failure = error ?? lost
      if (failure === undefined) resolve()
      else reject(lostOutput(failure))
    })
  })
}

/** Refuses a closed stdout, for output that must arrive. @throws BoatMirrorError OUTPUT_LOST */
export function assertOpen(): void {
  if (!isClosed) return
  lost = new Error('it is closed')
  throw lostOutput(lost)
}

/** Writes a secret at the end of the transaction that creates it: a secret that was not shown is not kept. @throws BoatMirrorError OUTPUT_LOST */
export async function writeSecret(text: string): Promise<void> {
  assertOpen()
  await write(`${withoutControls(text)}\n`)
}
