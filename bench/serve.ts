// How many reads `serve` answers, and how soon: a generator, `serve` and Postgres on the processors of this machine, for a
// token that sees everything and one that sees some companies.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { sleep } from '../src/clock.ts'
import { nodeFlags, type Place } from './lists.ts'
import type { LoadOptions, LoadResult } from './load-process.ts'
import { prepared } from './prepared.ts'
import { runOnce, start } from './processes.ts'
import { halfLoad, type ReadKind, type TokenKind, tokenKinds } from './targets.ts'

const program = resolve('dist/src/cli/main.js')
const execute = promisify(execFile)

/** What each kind of read came to: reads answered at full speed, and the 99th percentile at half load in milliseconds. */
export type ServeResult = Readonly<Record<ReadKind, { readonly perSecond: number; readonly p99: number }>>

/** Results by token. */
export type ServeResults = Readonly<Record<TokenKind, ServeResult>>

/** A token with what it is used to read. */
type Reader = { readonly token: string; readonly paths: Readonly<Record<ReadKind, readonly string[]>> }

type Environment = Readonly<Record<string, string>>

export type ServeWishes = { readonly seconds: number; readonly rounds: number }

const pageSize = 100
const connections = 16
/** Different addresses of each kind. */
const mostPaths = 2_000

/** Opens what is measured: a mirror of the world's rentals, two tokens, and `serve`. */
export async function openServe(place: Place) {
  const streams = ['companies', 'resources', 'rentals', 'rental_resources']
  const database = await prepared(place, streams)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env: Environment = {
    ...{ DATABASE_URL: database, API_BASE_URL: place.world.url, API_AUTH: 'none' },
    ...{ SERVE_LISTEN: `127.0.0.1:${port}`, AUTO_MIGRATE: 'off' },
  }
  // What prepared the database named no API.
  await execute(process.execPath, [program, 'moved', 'api'], { env: { ...process.env, ...env } })
  const readers = await openReaders(database, env)
  const child = start(program, ['serve'], nodeFlags, { env: { ...process.env, ...env } as Environment })
  await answers(`${url}/v3/rentals?perPage=1`, readers.unrestricted.token)
  return {
    measure: async ({ seconds, rounds }: ServeWishes, onRound: (round: number) => void): Promise<ServeResults[]> => {
      const run = async (kind: ReadKind, { token, paths }: Reader, perSecond: number | null) => {
        const options: LoadOptions = { url, token, paths: paths[kind], connections, seconds, perSecond }
        const result = await runOnce<LoadResult>(place.programs.load, options)
        if (result.failed > 0) throw new Error(`serve did not answer ${result.failed} of the ${kind}.`)
        return result
      }
      const of = async (reader: Reader): Promise<ServeResult> => {
        const kind = async (name: ReadKind) => ({
          perSecond: (await run(name, reader, null)).perSecond,
          p99: (await run(name, reader, halfLoad[name])).p99,
        })
        return { singles: await kind('singles'), lists: await kind('lists') }
      }
      // The first requests of a process are compiled while they run.
      for (const kind of tokenKinds) await run('singles', readers[kind], null)
      const results: ServeResults[] = []
      for (let round = 1; round <= rounds; round++) {
        onRound(round)
        results.push({ unrestricted: await of(readers.unrestricted), restricted: await of(readers.restricted) })
      }
      return results
    },
    close: async () => {
      await child.end()
      await place.databases.drop(database)
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Waits until the server answers 200. @throws Error after a minute */
async function answers(url: string, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  let last = 'nothing'
  for (let tries = 0; tries < 600; tries++) {
    const status = await fetch(url, { headers }).then((answer) => answer.status, String)
    if (status === 200) return
    last = String(status)
    await sleep(100)
  }
  throw new Error(`serve did not answer within a minute: ${last}`)
}

/** Both tokens: one of all companies, one of half of those that have rentals. */
async function openReaders(database: string, env: Environment): Promise<Readonly<Record<TokenKind, Reader>>> {
  const client = new Client({ connectionString: database })
  await client.connect()
  const idsOf = async (companies: readonly string[] | null): Promise<readonly string[]> => {
    const { rows } = await client.query<{ id: string }>(
      `select id from mirror.rentals where _deleted_at is null and ($1::bigint[] is null or company_id = any ($1))`,
      [companies],
    )
    return rows.map(({ id }) => id)
  }
  try {
    const { rows } = await client.query<{ id: string }>(
      'select distinct company_id as id from mirror.rentals where company_id is not null order by 1',
    )
    const companies = rows.slice(0, Math.ceil(rows.length / 2)).map(({ id }) => id)
    return {
      unrestricted: await readerOf(env, ['--personal'], await idsOf(null)),
      restricted: await readerOf(env, ['--companies', companies.join(',')], await idsOf(companies)),
    }
  } finally {
    await client.end()
  }
}

async function readerOf(env: Environment, flags: readonly string[], ids: readonly string[]): Promise<Reader> {
  const args = [program, 'access', 'token', 'create', `bench-${flags[0]?.slice(2)}`, ...flags]
  const { stdout } = await execute(process.execPath, args, { env: { ...process.env, ...env } })
  const token = stdout.split('\n').find((line) => line.startsWith('bmt_'))
  if (token === undefined) throw new Error('access token create printed no token.')
  const step = Math.max(1, Math.floor(ids.length / mostPaths))
  const pages = Math.max(1, Math.floor(ids.length / pageSize))
  return {
    token: token.trim(),
    paths: {
      singles: ids.filter((_, index) => index % step === 0).map((id) => `/v3/rentals/${id}`),
      lists: Array.from({ length: pages }, (_, page) => `/v3/rentals?perPage=${pageSize}&page=${page + 1}`),
    },
  }
}
