// The services of a storm, all of its own: a Postgres on a small file system, a Redis, the sandbox, and a proxy before each.

import { join } from 'node:path'
import pg from 'pg'
import { createSandbox } from '../../../sandbox/index.ts'
import { withDatabase } from '../../helpers/addresses.ts'
import { openOwnPostgres } from '../../helpers/postgres-server.ts'
import { findOnPath, type OwnRedis, startRedis } from '../../helpers/redis-server.ts'
import { openTcpProxy, type TcpProxy } from '../../helpers/tcp-proxy.ts'
import { openStormPool } from './pool.ts'
import { openVolume } from './volume.ts'

export type Queue = 'postgres' | 'redis'

export type Stage = Awaited<ReturnType<typeof openStage>>

/** A database of this size is left room to grow, and is filled within a second. */
const volumeMb = 900
/** Little enough that a storm can take all of them, and enough for three workers with their queue. */
const connections = '120'
const timeLimitMs = '2000'
/** Over all workers. */
const requestsPerSecond = 200

const throughProxy = (url: string, { port }: TcpProxy): string => {
  const address = new URL(url)
  address.port = String(port)
  return address.href
}

async function createDatabase(adminUrl: string): Promise<{ readonly ownerUrl: string; readonly controlUrl: string }> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const password = client.escapeLiteral(new URL(adminUrl).password)
    // Not a superuser: what is reserved for superusers stays free for the control.
    await client.query(`create role owner login createrole password ${password}`)
    await client.query('create database storm owner owner')
    // A usual tuning: a crash loses every commit that does not ask for more.
    await client.query('alter database storm set synchronous_commit = off')
  } finally {
    await client.end()
  }
  const controlUrl = withDatabase(adminUrl, 'storm')
  const owner = new URL(controlUrl)
  owner.username = 'owner'
  return { ownerUrl: owner.href, controlUrl }
}

export type StageOptions = {
  /** Removed by the caller. */
  readonly folder: string
  readonly queue: Queue
  readonly seed: number
  /** Rentals of the world. */
  readonly size: number
}

/** Opens all services; what was opened is closed again when one of them cannot be. */
export async function openStage({ folder, queue, seed, size }: StageOptions) {
  const closers: (() => Promise<unknown>)[] = []
  const close = async (): Promise<void> => {
    for (let next = closers.pop(); next !== undefined; next = closers.pop()) await next()
  }
  const keep = <T extends { close(): Promise<unknown> }>(opened: T): T => {
    closers.push(() => opened.close())
    return opened
  }
  try {
    const volume = await openVolume(join(folder, 'volume'), volumeMb)
    if (typeof volume !== 'string') keep(volume)
    const dataDir = join(folder, typeof volume === 'string' ? 'postgres' : 'volume/data')
    const postgres = keep(await openOwnPostgres(dataDir, { max_connections: connections, max_wal_size: '256MB' }))
    const { ownerUrl, controlUrl } = await createDatabase(postgres.url)
    const control = openStormPool(controlUrl, 'control', 1)
    closers.push(() => control.end())
    const postgresProxy = keep(await openTcpProxy(Number(new URL(ownerUrl).port)))
    const sandbox = keep(await createSandbox({ size, seed, latencyMs: 1, envelope: 'items' }))
    const apiProxy = keep(await openTcpProxy(sandbox.port))
    let redis: { readonly server: OwnRedis; readonly proxy: TcpProxy } | null = null
    if (queue === 'redis') {
      const program = findOnPath('redis-server')
      if (program === undefined) throw new Error('There is no redis-server on the path.')
      const server = keep(await startRedis(program, folder))
      redis = { server, proxy: keep(await openTcpProxy(Number(new URL(server.url).port))) }
    }
    const env = {
      API_BASE_URL: `http://127.0.0.1:${apiProxy.port}`,
      API_AUTH: 'none',
      API_PAGE_SIZE: '20',
      API_TIMEOUT_MS: timeLimitMs,
      API_RATE_LIMIT: String(requestsPerSecond),
      // Deletions are still confirmed one by one; the world loses more in ten minutes than a fleet in a day.
      DELETE_LIMIT: '100%',
      LOG_LEVEL: 'warn',
      PORT: '0',
      DATABASE_URL: throughProxy(ownerUrl, postgresProxy),
      ...(redis === null ? {} : { REDIS_URL: throughProxy(redis.server.url, redis.proxy) }),
    }
    return {
      ...{ queue, sandbox, postgres, postgresProxy, apiProxy, controlUrl, close },
      /** Null where the queue is on Postgres. */
      redis,
      /** The file system of the database, or why it has none of its own. */
      volume,
      /** As its owner, past the proxy: partners, the consumer, hogs. */
      ownerUrl,
      /** As superuser, to look and to end connections: there is room for it when everything else is refused. */
      control,
      /** The settings of the workers. */
      env,
    }
  } catch (error) {
    await close()
    throw error
  }
}
