// Runs one of our modules as a process of its own, for tests that kill, interrupt or race whole processes.
// Node 20 reads no TypeScript, so the module is bundled once.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { bundle } from '../../scripts/bundle.mjs'

export type Program = AsyncDisposable & { readonly file: string }

/** Bundles a TypeScript file (path from the project's folder) for `node`. Disposing removes the bundle. */
export async function buildProgram(entry: string): Promise<Program> {
  const root = resolve('node_modules/.cache')
  await mkdir(root, { recursive: true })
  const outDir = await mkdtemp(join(root, 'program-')) // below the project, so that packages are found
  await bundle({ entries: { program: resolve(entry) }, outDir })
  const dispose = (): Promise<void> => rm(outDir, { recursive: true, force: true })
  return { file: join(outDir, 'program.js'), [Symbol.asyncDispose]: dispose }
}

export type Child = {
  readonly process: ChildProcess
  /** Waits for the next line on stdout; rejects with what stderr holds when the process ends before. */
  nextLine(): Promise<string>
  /** Sends a signal, if the process still runs, and waits for its end. Returns exit code or signal. */
  end(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>
}

type StartOptions = {
  /** In a process group of its own, as a shell does for what a terminal's Ctrl-C reaches. */
  readonly group?: boolean
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a bundled program. */
export function startProgram(file: string, args: readonly string[], { group, env }: StartOptions = {}): Child {
  const options = { stdio: 'pipe', detached: group ?? false, env: { ...process.env, ...env } } as const
  const child = spawn(process.execPath, [file, ...args], options)
  let complaints = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString('utf8')
  })
  const closed = once(child, 'close')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    process: child,
    nextLine: async () => {
      const { value, done } = await lines.next()
      if (done) throw new Error(`the program ended without a further line: ${complaints}`)
      return value
    },
    end: async (signal) => {
      if (signal !== undefined) child.kill(signal)
      await closed
      return child.exitCode ?? child.signalCode
    },
  }
}
