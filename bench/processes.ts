// Starts bench processes and reads what they report.

import { type ChildProcess, type ChildProcessByStdio, type StdioOptions, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

export type Child = {
  readonly process: ChildProcess
  /** The next line of JSON; rejects when the process ends without one. */
  next<T>(): Promise<T>
  /** Asks the process to end, and waits for it. */
  end(): Promise<void>
}

const running = new Set<Child>()

/** Ends every process that was started and has not ended. */
export const endAll = async (): Promise<void> => void (await Promise.all([...running].map((child) => child.end())))

/** Where a program runs, and with which environment: this process's, unless it says otherwise. */
type Surroundings = { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> }

/** Starts a program with this Node. `flags` are Node's own. */
export function start(
  file: string,
  args: readonly string[],
  flags: readonly string[] = [],
  surroundings: Surroundings = {},
): Child {
  const stdio: StdioOptions = ['pipe', 'pipe', 'inherit']
  const child = spawn(process.execPath, [...flags, file, ...args], { stdio, ...surroundings }) as ChildProcessByStdio<
    Writable,
    Readable,
    null
  >
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const started: Child = {
    process: child,
    next: async <T>() => {
      const { value, done } = await lines.next()
      if (done) throw new Error(`${file} ended without a result (exit code ${child.exitCode ?? child.signalCode}).`)
      return JSON.parse(value) as T
    },
    end: async () => {
      child.kill('SIGTERM')
      await closed
    },
  }
  running.add(started)
  void closed.then(() => running.delete(started))
  return started
}

/** Runs a bench process to its end and returns the one thing it reports. */
export async function runOnce<T>(file: string, options: object, flags: readonly string[] = []): Promise<T> {
  const child = start(file, [JSON.stringify(options)], flags)
  try {
    return await child.next<T>()
  } finally {
    await child.end()
  }
}
