// A command in the process of the test: the same way as the built program takes, without a second for its start. It gets an
// environment, a folder, a standard input, and what it writes is caught; so one runs at a time.

import fs from 'node:fs'
import { Readable } from 'node:stream'
import { runProgram } from '../../src/cli/program.ts'
import type { Ended } from './program.ts'

type Surroundings = {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin: string
}

let before: Promise<unknown> = Promise.resolve()

/** Runs a command to its end. It must end without a signal: none reaches it. */
export function runInProcess(args: readonly string[], surroundings: Surroundings): Promise<Ended> {
  const turn = before.then(() => runAlone(args, surroundings))
  before = turn.catch(() => {})
  return turn
}

async function runAlone(args: readonly string[], { folder, env, stdin: input }: Surroundings): Promise<Ended> {
  const [environment, cwd, exitCode] = [process.env, process.cwd(), process.exitCode]
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor
  const caught = catchOutput()
  try {
    process.env = { ...env }
    process.chdir(folder)
    process.exitCode = undefined
    Object.defineProperty(process, 'stdin', { value: Readable.from(input === '' ? [] : [input]), configurable: true })
    await runProgram(args)
    return { code: Number(process.exitCode ?? 0), ...caught.texts }
  } finally {
    caught.release()
    process.env = environment
    process.chdir(cwd)
    process.exitCode = exitCode
    Object.defineProperty(process, 'stdin', stdin)
  }
}

type Written = ((error?: Error | null) => void) | undefined

/** Keeps what is written to stdout and stderr, until it is released. The log writes to the descriptor itself. */
function catchOutput(): { readonly texts: { stdout: string; stderr: string }; release(): void } {
  const texts = { stdout: '', stderr: '' }
  const keep = (name: keyof typeof texts) =>
    ((chunk: string | Uint8Array, encoding?: BufferEncoding | Written, written?: Written) => {
      texts[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
      const done = typeof encoding === 'function' ? encoding : written
      if (done !== undefined) process.nextTick(done)
      return true
    }) as typeof process.stdout.write
  const real = { out: process.stdout.write, err: process.stderr.write, sync: fs.writeSync }
  process.stdout.write = keep('stdout')
  process.stderr.write = keep('stderr')
  fs.writeSync = ((descriptor: number, chunk: string | NodeJS.ArrayBufferView, ...rest: never[]) => {
    if (descriptor !== 2) return real.sync(descriptor, chunk as string, ...rest)
    const text =
      typeof chunk === 'string' ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('utf8')
    texts.stderr += text
    return Buffer.byteLength(text)
  }) as typeof fs.writeSync
  return {
    texts,
    release: () => {
      process.stdout.write = real.out
      process.stderr.write = real.err
      fs.writeSync = real.sync
    },
  }
}
