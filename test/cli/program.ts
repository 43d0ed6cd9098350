// The command line, for tests of exit codes and messages: in the process of the test, or as the built program, a process of
// its own, which `npm run build` makes and which takes a second to start. test/surroundings/built.test.ts compares the two.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runInProcess } from './in-process.ts'

const main = resolve('dist/src/cli/main.js')

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** What ended a command, as a terminal shows it: from the log's last line, or a wrong usage, which is text. */
export function errorOf({ stderr }: Pick<Ended, 'stderr'>): string {
  const last = stderr.trimEnd().split('\n').at(-1) ?? ''
  if (!last.startsWith('{')) return stderr
  const { level, event, code, msg, remedy } = JSON.parse(last) as Record<string, string | undefined>
  return level === 'fatal' && event === 'command_failed' ? `${msg} [${code}]\n${remedy ?? ''}` : ''
}

export type Started = { readonly process: ChildProcess; readonly ended: Promise<Ended>; text(): string }

/** Where the outputs of a process go: to no reader, to a full disk, stdout alone to one, nowhere. */
const unwritable = { gone: '', full: '>/dev/full 2>/dev/full', 'stdout full': '>/dev/full', closed: '>&- 2>&-' }
export type Unwritable = keyof typeof unwritable

export type CommandLine = AsyncDisposable & {
  /** An empty folder in which the commands run, so that no `.env` of the project is read. */
  readonly folder: string
  /** Starts the built program. `stdin`: nothing to read, or what the test writes. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>, stdin?: 'ignore' | 'pipe'): Started
  /** Starts the built program with outputs that cannot be written. */
  startInto(place: Unwritable, args: readonly string[], env?: Readonly<Record<string, string>>): Started
  /** Runs a command to its end: in this process, except those whose NODE_OPTIONS need one of their own. `stdin`: what it reads, without NODE_OPTIONS. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>, stdin?: string): Promise<Ended>
}

/** Opens a folder for commands; `settings` are the environment of each of them. */
export async function openCommandLine(settings: Readonly<Record<string, string>> = {}): Promise<CommandLine> {
  const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-cli-'))
  const running = new Set<ChildProcess>()
  const environment = (env: Readonly<Record<string, string>>): Record<string, string> => ({
    PATH: process.env.PATH ?? '',
    HOME: folder,
    DATA_DIR: join(folder, 'data'),
    ...settings,
    ...env,
  })

  const start: CommandLine['start'] = (args, env, stdin) => open([process.execPath, main, ...args], env, stdin)
  const open = (
    [program = '', ...args]: readonly string[],
    env: Readonly<Record<string, string>> = {},
    stdin: 'ignore' | 'pipe' = 'ignore',
  ): Started => {
    if (!existsSync(main)) throw new Error('dist is missing: run `npm run build` first')
    const child = spawn(program, args, { cwd: folder, env: environment(env), stdio: [stdin, 'pipe', 'pipe'] })
    running.add(child)
    const texts = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
        texts[name] += chunk
      })
    const ended = once(child, 'close').then(() => {
      running.delete(child)
      return { code: child.exitCode, ...texts }
    })
    return { process: child, ended, text: () => texts.stdout + texts.stderr }
  }
  return {
    folder,
    start,
    startInto: (place, args, env) => {
      const started = open(['sh', '-c', `exec "$@" ${unwritable[place]}`, 'sh', process.execPath, main, ...args], env)
      if (place !== 'gone') return started
      started.process.stdout?.destroy()
      started.process.stderr?.destroy()
      return started
    },
    run: (args, env = {}, stdin = '') => {
      const { NODE_OPTIONS, ...inProcess } = environment(env)
      return NODE_OPTIONS === undefined ? runInProcess(args, { folder, env: inProcess, stdin }) : start(args, env).ended
    },
    [Symbol.asyncDispose]: async () => {
      for (const child of running) child.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}
