// What every command shares: settings, log, database, app, and how a command ends.

import { setMaxListeners } from 'node:events'
import { sleep } from '../clock.ts'
import { type Config, readConfig, readEnvironment } from '../config.ts'
import { type Database, openDatabase } from '../database/database.ts'
import { sqlStateOf, translateDatabaseError } from '../database/sql-states.ts'
import { withTls } from '../database/tls.ts'
import { openDatabaseServer } from '../embedded/embedded-postgres.ts'
import { BoatMirrorError, exitCodeOf } from '../errors.ts'
import { streamProblems } from '../jobs/schedule.ts'
import { createLogger, type Logger, logThirdPartyWarnings } from '../log.ts'
import { privacySettings } from '../privacy/rules.ts'
import { assertSchemaCurrent } from '../schema/migrate.ts'
import type { DecidedBy } from '../sync/decisions.ts'
import type { OpenedApp, OpenOptions } from './open.ts'
import { printError } from './terminal/output.ts'
import { isLostResult, printed } from './terminal/unwritten.ts'
import { seekDatabase } from './worker-mark.ts'

export type { OpenedApp } from './open.ts'

/** 0 done, 1 failed, 2 wrong usage, 3 finished but something needs your attention. */
export type ExitCode = 0 | 1 | 2 | 3

export type CommandContext = {
  readonly config: Config
  /** The variables of the process, and those of `.env` that it lacks. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly log: Logger
  /** Aborted by {@link endSignals}, and when `privacy apply` or a newer program forbids this process to write. */
  readonly signal: AbortSignal
  /** Opens all that a sync needs; starts the sandbox, or attaches to a running one, when no API is configured. */
  open(options: OpenOptions): Promise<OpenedApp>
  /** Opens only the database; the schema must exist. */
  openDatabase(): Promise<OpenedDatabase>
}

export type OpenedDatabase = {
  readonly database: Database
  readonly url: string
  /** The address without a pooler, where notifications arrive. */
  readonly directUrl: string
  [Symbol.asyncDispose](): Promise<void>
}

/** What a command does; without an exit code it ends with 0. */
export type Run<Given extends unknown[] = []> = (
  context: CommandContext,
  ...given: Given
) => Promise<ExitCode> | Promise<void>

export type RunOptions = {
  /** Replaces the default of LOG_LEVEL. */
  readonly logLevel?: string
  /** Its output is its result, not a report of its work. */
  readonly isResult?: boolean
  /** Exit code after a signal; 1 by default. 0: the command runs until it is stopped. */
  readonly stoppedCode?: ExitCode
}

const wasStopped = (signal: AbortSignal, error: unknown): boolean =>
  signal.aborted &&
  fencedBy(signal) === null &&
  (error === signal.reason || (error instanceof Error && error.name === 'AbortError'))

/** Why a command was stopped without a signal; null: it was not. */
const fencedBy = ({ reason }: AbortSignal): BoatMirrorError | null =>
  reason instanceof BoatMirrorError && reason.code !== 'ABORTED' ? reason : null

/** Runs a command that stays, again and again while a database that has answered before is gone. */
async function outlast(run: (onAnswered: () => void) => ReturnType<Run>, log: Logger, signal: AbortSignal) {
  let answered = false
  const onAnswered = (): void => {
    answered = true
  }
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await run(onAnswered)
    } catch (thrown) {
      const error = translateDatabaseError(thrown)
      if (!(error instanceof BoatMirrorError && error.code === 'DATABASE_UNREACHABLE')) throw error
      const state = sqlStateOf(error.cause) ?? ''
      answered ||= state.startsWith('57P') // it ended the session, or is starting
      if (!answered || state === '08P01') throw error // a pooler may refuse for good
      if (isFirst) log.warn({ event: 'database_awaited', reason: error.message }, 'waiting for the database to start')
    }
    await sleep(1_000, signal)
  }
}

/** The signals that end a command in order: a stop, Ctrl-C, and a closed terminal. */
const endSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** Runs a command to its exit code: settings, signals, errors. A second signal ends the process at once. */
export async function runCommand(run: Run, options: RunOptions = {}): Promise<void> {
  printed.isResult = options.isResult === true
  const stopping = new AbortController()
  setMaxListeners(0, stopping.signal) // every running request listens to it
  const onSignal = (signal: NodeJS.Signals): void => {
    // A closed terminal signals twice: to the foreground process, and to all processes started by the shell.
    if (stopping.signal.aborted && signal === 'SIGHUP') return
    if (stopping.signal.aborted) process.exit(1)
    stopping.abort(new BoatMirrorError('ABORTED', 'Stopped by a signal.'))
  }
  for (const name of endSignals) process.on(name, onSignal)
  let restoreWarnings = (): void => {}
  try {
    const { environment, inDotenv } = readEnvironment()
    // Only commands that call the API need the token.
    const reading = { tokenOptional: true, inDotenv, problemsOf: streamProblems }
    const config = readConfig(environment, process.cwd(), reading)
    privacySettings(config) // refuses invalid settings
    const log = createLogger(environment.LOG_LEVEL ? config.logLevel : (options.logLevel ?? config.logLevel))
    restoreWarnings = logThirdPartyWarnings(log)
    const stoppers = { signal: stopping.signal, onFenced: (error: BoatMirrorError) => stopping.abort(error) }
    const attempt = (onAnswered?: () => void): ReturnType<Run> =>
      run({
        config,
        environment,
        log,
        signal: stopping.signal,
        // Queue, API and sandbox take a second to load, and most commands need none of them.
        open: async (wanted) =>
          (await import('./open.ts')).openFor(config, log, { ...stoppers, onAnswered, ...wanted }),
        openDatabase: () => openOnlyDatabase(config, log),
      })
    const code = await (options.stoppedCode === 0 ? outlast(attempt, log, stopping.signal) : attempt())
    const fenced = fencedBy(stopping.signal)
    if (fenced !== null) throw fenced
    process.exitCode = typeof code === 'number' ? code : 0
  } catch (thrown) {
    const error = fencedBy(stopping.signal) ?? translateDatabaseError(thrown)
    if (wasStopped(stopping.signal, error)) process.exitCode = options.stoppedCode ?? 1
    else if (!isLostResult(error)) {
      printError(error)
      process.exitCode = exitCodeOf(error)
    }
  } finally {
    for (const name of endSignals) process.off(name, onSignal)
    restoreWarnings()
  }
}

async function openOnlyDatabase(config: Config, log: Logger): Promise<OpenedDatabase> {
  await seekDatabase(config, log, false)
  const server = await withTls(await openDatabaseServer(config, log), log)
  const database = openDatabase({ url: server.url, applicationName: 'boat-mirror', max: 2, log })
  const dispose = async (): Promise<void> => {
    await database.close()
    await server.close()
  }
  try {
    await assertSchemaCurrent(database, config.autoMigrate ? firstSteps : undefined)
    return { database, url: server.url, directUrl: server.directUrl, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw translateDatabaseError(error, server.url)
  }
}

type Owner = { readonly name: string; readonly statementTimeoutMs?: number }

/** Works past a pooler on one connection of the role in DATABASE_URL, which is to own the tables. */
export async function asOwner<T>(
  { openDatabase: open, log }: CommandContext,
  { name, ...options }: Owner,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  await using opened = await open()
  const database = openDatabase({
    ...options,
    url: opened.directUrl,
    applicationName: `boat-mirror ${name}`,
    max: 1,
    log,
  })
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The hint for a mirror that is still empty. */
const firstSteps = 'Start `boat-mirror worker` or `boat-mirror sync`, which migrate it, or run `boat-mirror migrate`.'

export type Json = { readonly json: boolean }

/** Returns what was found. @throws BoatMirrorError NOT_FOUND: `There is no ${what}.` */
export function present<T>(found: T | null, what: string, remedy: string): T {
  if (found !== null) return found
  throw new BoatMirrorError('NOT_FOUND', `There is no ${what}.`, { remedy })
}

/** The flag of every command that decides: the plan as it was read. */
export type Expected = { readonly expected?: string | undefined }

export const decidedBy = ({ expected }: Expected): DecidedBy => ({
  via: 'command',
  ...(expected === undefined ? {} : { expected }),
})
