// What a bench works on: a Postgres of its own with the settings of the embedded one, and worlds served by the sandbox,
// each in a process of its own.

import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Client, escapeIdentifier } from 'pg'
import { sleep } from '../src/clock.ts'
import { openEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts'
import { migrateQueue } from '../src/jobs/backend.ts'
import { createLogger } from '../src/log.ts'
import { migrate } from '../src/schema/migrate.ts'
import { type Child, start } from './processes.ts'

const log = createLogger('error')
const template = 'bench_template'

export type Databases = {
  /** A folder for files of this bench. */
  readonly folder: string
  /** A fresh database with our tables and the queue's. Returns its address. */
  create(): Promise<string>
  /** A copy of a database that nobody is connected to. Returns its address. */
  copy(url: string): Promise<string>
  drop(url: string): Promise<void>
  /** Whether autovacuum of the server is on. */
  setAutovacuum(isOn: boolean): Promise<void>
  close(): Promise<void>
}

/** Starts a Postgres in a folder that disappears afterwards. */
export async function openDatabases(): Promise<Databases> {
  const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-bench-'))
  // Started as root, Postgres runs as another user: without a way through, its files would lie elsewhere and be left there.
  await chmod(folder, 0o711)
  const server = await openEmbeddedPostgres({
    dataDir: join(folder, 'data'),
    log,
  })
  const admin = new Client({ connectionString: server.url })
  await admin.connect()
  const addressOf = (name: string): string => Object.assign(new URL(server.url), { pathname: `/${name}` }).href
  const nameOf = (url: string): string => new URL(url).pathname.slice(1)
  let made = 0
  const copy = async (from: string): Promise<string> => {
    const name = `bench_${++made}`
    await admin.query(`create database ${name} template ${escapeIdentifier(from)} strategy file_copy`)
    // What copying left to write back is not to be written during the next measurement.
    await admin.query('checkpoint')
    return addressOf(name)
  }
  await admin.query(`create database ${template} encoding 'UTF8' template template0`)
  await migrate(addressOf(template))
  await migrateQueue(addressOf(template), log)
  return {
    folder,
    create: () => copy(template),
    copy: (url) => copy(nameOf(url)),
    drop: async (url) => {
      // A pool that was ended has not yet closed its connections: cut off, they would report an error.
      const open = 'select from pg_stat_activity where datname = $1'
      for (let tries = 0; tries < 50 && (await admin.query(open, [nameOf(url)])).rowCount !== 0; tries++)
        await sleep(20)
      await admin.query(`drop database ${escapeIdentifier(nameOf(url))} with (force)`)
    },
    setAutovacuum: async (isOn) => {
      await admin.query(`alter system set autovacuum = ${isOn}`)
      await admin.query('select pg_reload_conf()')
    },
    close: async () => {
      await admin.end()
      await server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export type World = {
  readonly url: string
  /** Changes `share` of the rentals (0 to 1), spread over all of them. Returns their number. */
  change(size: number, share: number, seed: number): Promise<number>
  /** Changes records of the sandbox. */
  mutate(changes: readonly object[]): Promise<void>
  /** The largest resident set of the sandbox so far, in MB; NaN if the system does not report it. */
  peakMb(): Promise<number>
  close(): Promise<void>
}

const program = resolve('dist/src/cli/main.js')
/** Of a request to the sandbox. */
const changedAtOnce = 1_000

/** Serves a world of so many rentals, in a process of its own. */
export async function openWorld(size: number, latencyMs = 0): Promise<World> {
  const args = ['sandbox', '--port', '0', '--size', String(size), '--latency', String(latencyMs), '--json']
  const child: Child = start(program, args)
  const { url } = await child.next<{ url: string }>()
  const get = async <T>(path: string): Promise<T> => (await (await fetch(`${url}${path}`)).json()) as T
  const mutate = async (changes: readonly object[]): Promise<void> => {
    const answer = await fetch(`${url}/_sandbox/mutate`, { method: 'POST', body: JSON.stringify(changes) })
    if (!answer.ok) throw new Error(`The sandbox refused the changes: ${await answer.text()}`)
  }
  return {
    url,
    mutate,
    peakMb: async () => {
      const status = await readFile(`/proc/${child.process.pid}/status`, 'utf8').catch(() => '')
      return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024
    },
    change: async (rentals, share, seed) => {
      const step = Math.round(1 / share)
      const changes: object[] = []
      for (let first = 1; first <= rentals; first += 100) {
        const page = (first - 1) / 100 + 1
        const records = await get<{ id: number }[]>(`/v3/rentals?order=creationDateAsc&perPage=100&page=${page}`)
        for (const [index, { id }] of records.entries())
          if ((first + index) % step === 0)
            changes.push({ record: 'rentals', op: 'update', id, set: { message: `changed in round ${seed}` } })
      }
      for (let first = 0; first < changes.length; first += changedAtOnce)
        await mutate(changes.slice(first, first + changedAtOnce))
      return changes.length
    },
    close: () => child.end(),
  }
}
