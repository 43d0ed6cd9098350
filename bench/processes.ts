// Starts bench processes and reads what they tell.

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

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

/** Starts a program with this Node. `flags` are Node's own. */
export function start(file: string, args: readonly string[], flags: readonly string[] = []): Child {
  const child = spawn(process.execPath, [...flags, file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
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

/** Runs a bench process to its end and returns the one thing it tells. */
export async function runOnce<T>(file: string, options: object, flags: readonly string[] = []): Promise<T> {
  const child = start(file, [JSON.stringify(options)], flags)
  try {
    return await child.next<T>()
  } finally {
    await child.end()
  }
}
