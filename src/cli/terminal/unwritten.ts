// What happens when stdout or stderr cannot be written: no reader, a full disk, a terminal that hung up. It changes no work and
// no exit code. Only where the output is the result, losing it is an error; a reader that leaves never is.

import { fstatSync, readSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import { BoatMirrorError } from '../../errors.ts'
import { withoutControls } from '../../text.ts'
import { printError } from './output.ts'

/** Whether what is printed is the result, as of help, or a report of work: each command says so. */
export const printed = { isResult: true }

let isClosed = false
let lost: NodeJS.ErrnoException | undefined

const lostOutput = (cause: Error): BoatMirrorError =>
  new BoatMirrorError('OUTPUT_LOST', `Standard output could not be written: ${cause.message}.`, {
    remedy: 'Make room there, or write to another place, and run the command again.',
    cause,
  })

/** Lets the process survive its outputs. A result that is lost makes it end with 1. */
export function surviveOutputs(): void {
  try {
    // Node opens /dev/null, for reading too, in place of a closed stdout; the `> /dev/null` of a shell is only for writing.
    isClosed = fstatSync(1).rdev === statSync(devNull).rdev && readSync(1, Buffer.alloc(1)) === 0
  } catch {}
  process.stderr.on('error', () => {}) // there is nowhere left to say it
  process.stdout.on('error', (error) => {
    lost = error
  })
  process.on('exit', () => {
    if (lost === undefined || lost.code === 'EPIPE' || !printed.isResult) return
    printError(lostOutput(lost))
    process.exitCode = 1
  })
}

/** Did a command end because its result was lost? The end of the process says so; without a reader it is done. */
export const isLostResult = (error: unknown): boolean =>
  printed.isResult && error instanceof BoatMirrorError && error.code === 'OUTPUT_LOST'

/** Writes to stdout as it is, and waits until it, and what was printed before, is taken. @throws BoatMirrorError OUTPUT_LOST; the signal's reason */
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

/** For what must be written out, or has no effect. @throws BoatMirrorError OUTPUT_LOST */
export function assertOpen(): void {
  if (!isClosed) return
  lost = new Error('it is closed')
  throw lostOutput(lost)
}

/** Writes a secret, last in the transaction that creates it: what is not shown is not kept. @throws BoatMirrorError OUTPUT_LOST */
export async function writeSecret(text: string): Promise<void> {
  assertOpen()
  await write(`${withoutControls(text)}\n`)
}
