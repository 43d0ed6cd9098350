// What every command shares: settings read once, the log, the sandbox where no API is configured, and how a command ends.

import type { Command } from 'commander'
import { type App, type AppOptions, openApp } from '../app.ts'
import { type Config, readConfig, readEnvironment } from '../config.ts'
import { BoatMirrorError, exitCodeOf, messageOf } from '../errors.ts'
import { createLogger, type Logger } from '../log.ts'
import { attachSandbox } from './sandbox-host.ts'

/** 0 done, 1 failed, 2 wrong usage, 3 finished but something needs a person (design, section 4). */
export type ExitCode = 0 | 1 | 2 | 3

export type CommandContext = {
  readonly config: Config
  readonly log: Logger
  /** Aborted by SIGTERM and SIGINT. */
  readonly signal: AbortSignal
  /** Opens what the command needs; starts the sandbox, or attaches to a running one, when no API is configured. */
  open(options: {
    readonly schema: AppOptions['schema']
    readonly api: boolean
    readonly patienceMs: number | null
  }): Promise<App & { readonly apiUrl: string; readonly sandbox: boolean }>
}

type Run = (context: CommandContext) => Promise<ExitCode>

/** Writes a result line to stdout. */
export const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

/** Says what went wrong in a few lines: the message, then what to do. Never a stack trace. */
export function printError(error: unknown): void {
  const remedy = error instanceof BoatMirrorError ? error.remedy : undefined
  const code = error instanceof BoatMirrorError ? ` [${error.code}]` : ''
  process.stderr.write(`boat-mirror: ${messageOf(error)}${code}\n${remedy === undefined ? '' : `${remedy}\n`}`)
}

/** Runs a command to its exit code: settings, signals, errors. A second signal ends the process at once. */
export async function runCommand(run: Run, options: { readonly logLevel?: string } = {}): Promise<void> {
  const stopping = new AbortController()
  const onSignal = (): void => {
    if (stopping.signal.aborted) process.exit(1)
    stopping.abort(new BoatMirrorError('ABORTED', 'Stopped by a signal.'))
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  try {
    const config = readConfig(readEnvironment())
    const log = createLogger(options.logLevel ?? config.logLevel)
    process.exitCode = await run({
      config,
      log,
      signal: stopping.signal,
      open: (wanted) => openFor(config, log, wanted),
    })
  } catch (error) {
    if (stopping.signal.aborted && error instanceof BoatMirrorError && error.kind === 'abort') process.exitCode = 0
    else {
      printError(error)
      process.exitCode = exitCodeOf(error)
    }
  } finally {
    process.off('SIGTERM', onSignal)
    process.off('SIGINT', onSignal)
  }
}

type Wanted = Parameters<CommandContext['open']>[0]

async function openFor(
  config: Config,
  log: Logger,
  { schema, api, patienceMs }: Wanted,
): ReturnType<CommandContext['open']> {
  const sandbox = config.api.baseUrl === null && api ? await attachSandbox(config.dataDir) : null
  const apiUrl = config.api.baseUrl ?? sandbox?.url ?? 'http://127.0.0.1:9'
  try {
    const app = await openApp({ config, log, apiUrl, sandbox: config.api.baseUrl === null, schema, patienceMs })
    const dispose = async (): Promise<void> => {
      await app[Symbol.asyncDispose]()
      await sandbox?.close()
    }
    return { ...app, apiUrl, sandbox: config.api.baseUrl === null, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await sandbox?.close()
    throw error
  }
}

/** A command that takes `--json`. */
export const withJson = (command: Command): Command => command.option('--json', 'print JSON instead of text', false)
