// `db`: prints the database's address; `db psql` opens psql on it.

import { type ChildProcess, spawn } from 'node:child_process'
import type { Config } from '../../config.ts'
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../embedded/embedded-postgres.ts'
import { BoatMirrorError } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import type { CommandContext, ExitCode } from '../context.ts'
import { print, tell } from '../terminal/output.ts'
import { seekDatabase } from '../worker-mark.ts'

type DbOptions = { readonly psql: boolean; readonly log: Logger; readonly signal: AbortSignal }

export const runAddress = ({ config, log, signal }: CommandContext): Promise<ExitCode> =>
  runDb(config, { psql: false, log, signal })

export const runPsql = ({ config, log, signal }: CommandContext): Promise<ExitCode> =>
  runDb(config, { psql: true, log, signal })

/** Prints the address, or runs psql. An embedded database is started for it. @throws BoatMirrorError EMBEDDED_UNAVAILABLE, PROGRAM_MISSING */
export async function runDb(
  config: Pick<Config, 'databaseUrl' | 'dataDir' | 'api'>,
  options: DbOptions,
): Promise<ExitCode> {
  const { psql, log, signal } = options
  if (config.databaseUrl !== null) return show(config.databaseUrl, psql, signal)
  await seekDatabase(config, log, false)
  const server = await openEmbeddedPostgres({ dataDir: config.dataDir, log, signal })
  try {
    if (!psql) noteWhereAndHowLong(server, config.dataDir, log)
    return await show(server.url, psql, signal)
  } finally {
    await server.close()
  }
}

async function show(url: string, psql: boolean, signal: AbortSignal): Promise<ExitCode> {
  if (psql) return openPsql(url, signal)
  print(url)
  return 0
}

function noteWhereAndHowLong(server: EmbeddedPostgres, dataDir: string, log: Logger): void {
  const notes = [
    ...(server.location === dataDir ? [] : [`The files of this database are in ${server.location}.`]),
    ...(server.startedHere
      ? [
          'No worker is running, so the database runs only while a command uses it. `npm start` keeps it running, `db psql` opens it.',
        ]
      : []),
  ]
  for (const note of notes) tell(log, 'embedded_database', note)
}

/** A pager takes what is pasted after a long answer for its own keys. `~/.psqlrc` is read later and may want one. */
const withoutPager = ['-P', 'pager=off']

/** Runs psql on this terminal. Ctrl-C then belongs to psql (it cancels a query); a signal to stop ends psql. */
async function openPsql(address: string, signal: AbortSignal): Promise<ExitCode> {
  const url = new URL(address)
  const password = url.searchParams.get('password') ?? decodeURIComponent(url.password)
  url.password = '' // arguments of a process are public
  url.searchParams.delete('password')
  const env = password === '' ? process.env : { ...process.env, PGPASSWORD: password }
  const interrupts = process.listeners('SIGINT')
  const ignore = (): void => {}
  process.removeAllListeners('SIGINT').on('SIGINT', ignore)
  try {
    const code = await ended(
      spawn('psql', [...withoutPager, url.href], { stdio: 'inherit', env, signal, killSignal: 'SIGTERM' }),
    )
    return code === 0 ? 0 : 1
  } catch (error) {
    if (signal.aborted) return 0
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new BoatMirrorError('PROGRAM_MISSING', 'psql is not on the path.', {
      remedy:
        'Install a Postgres client (package postgresql-client), or open the address that `boat-mirror db` prints with another client.',
    })
  } finally {
    process.off('SIGINT', ignore)
    for (const listener of interrupts) process.on('SIGINT', listener)
  }
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
}
