// A PgBouncer of a test's own. Without one on the path those suites are not run, unless
// REQUIRE_PGBOUNCER is 1.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { sleep } from '../../src/clock.ts'
import { findFreePort } from '../../src/embedded/connection.ts'
import { chooseIdentity } from '../../src/embedded/identity.ts'
import { messageOf } from '../../src/errors.ts'
import { findOnPath } from './redis-server.ts'

export const pgbouncerPidFile = 'pgbouncer.pid'

/** The program, or undefined where it is not installed. @throws Error when it is required. */
export function findPgBouncer(): string | undefined {
  const program = findOnPath('pgbouncer', `${process.env.PATH ?? ''}:/usr/sbin`)
  if (program !== undefined) return program
  const notRun = 'not run: PgBouncer suites (install pgbouncer)'
  if (process.env.REQUIRE_PGBOUNCER === '1') throw new Error(`${notRun}, and REQUIRE_PGBOUNCER is 1`)
  process.stdout.write(`\n${notRun}\n`)
  return undefined
}

export type PgBouncer = AsyncDisposable & {
  /** The address of the same database through the pooler. */
  through(url: string): string
  /** What it wrote so far: a line for each client and server connection, warnings and errors. */
  log(): string
}

export type PgBouncerSettings = { readonly pool_mode: 'session' | 'transaction' | 'statement' } & Readonly<
  Record<string, string>
>

/**
 * Starts a PgBouncer on a free port, with its files in a folder of its own below `runFolder`.
 * @param server address of the Postgres behind it.
 * @param settings lines of its section [pgbouncer]; all else is as it comes.
 * @param roles passwords of roles that come as themselves; without them, everybody comes as the user of the address.
 */
export async function startPgBouncer(
  program: string,
  runFolder: string,
  server: string,
  settings: PgBouncerSettings,
  roles: Readonly<Record<string, string>> = {},
): Promise<PgBouncer> {
  const folder = await mkdtemp(join(runFolder, 'pgbouncer-'))
  await chmod(folder, 0o711)
  // It refuses to run as root, as Postgres does.
  const identity = await chooseIdentity(folder)
  const port = await findFreePort()
  const file = join(folder, 'pgbouncer.ini')
  const users = join(folder, 'users.txt')
  const hasRoles = Object.keys(roles).length > 0
  const listed = {
    ...settings,
    listen_port: String(port),
    ...(hasRoles ? { auth_type: 'trust', auth_file: users } : {}),
  }
  await writeFile(file, ini(new URL(server), listed, !hasRoles), { mode: 0o600 })
  await writeFile(users, userList(new URL(server), roles), { mode: 0o600 })
  if (identity !== null) for (const one of [file, users]) await chown(one, identity.uid, identity.gid)
  const account = identity === null ? {} : { uid: identity.uid, gid: identity.gid }
  const child = spawn(program, [file], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], ...account })
  let written = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      written += chunk
    })
  await writeFile(join(folder, pgbouncerPidFile), String(child.pid))
  const through = (url: string): string => Object.assign(new URL(url), { hostname: '127.0.0.1', port }).href
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGTERM') // at once; SIGINT would wait for its clients
    await exited
  }
  try {
    await untilReady(through(server), () => child.exitCode === null)
  } catch (error) {
    await stop()
    throw new Error(`${messageOf(error)}\n${written}`, { cause: error })
  }
  return { through, log: () => written, [Symbol.asyncDispose]: stop }
}

/** One line for each who may come, with the password that the server is shown. */
function userList({ username, password }: URL, roles: Readonly<Record<string, string>>): string {
  const own = { [decodeURIComponent(username)]: decodeURIComponent(password) }
  return Object.entries({ ...own, ...roles })
    .map(([name, secret]) => `"${name}" "${secret}"\n`)
    .join('')
}

/** `asOne`: all clients come to the server as the user of the address, whatever user they name. */
function ini(server: URL, settings: PgBouncerSettings, asOne: boolean): string {
  const quoted = (value: string): string => `'${decodeURIComponent(value).replaceAll("'", "''")}'`
  const password = server.password === '' ? '' : ` password=${quoted(server.password)}`
  const place = `host=${server.hostname} port=${server.port || '5432'}`
  const database = asOne ? `${place} user=${quoted(server.username)}${password}` : place
  const lines = Object.entries({ listen_addr: '127.0.0.1', unix_socket_dir: '', auth_type: 'any', ...settings })
  return `[databases]\n* = ${database}\n[pgbouncer]\n${lines.map(([name, value]) => `${name} = ${value}`).join('\n')}\n`
}

async function untilReady(url: string, lives: () => boolean): Promise<void> {
  const deadline = Date.now() + 30_000
  for (;;) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {}) // reported by connect(), which is tried again
    try {
      await client.connect()
      await client.query('select')
      return
    } catch (error) {
      if (!lives()) throw new Error('pgbouncer ended before it was ready', { cause: error })
      if (Date.now() > deadline) throw new Error('pgbouncer did not answer within 30 s', { cause: error })
      await sleep(50)
    } finally {
      await client.end()
    }
  }
}
