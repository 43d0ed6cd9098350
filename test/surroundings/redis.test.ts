// Redis as administrators really have it: the program syncs to the truth, or refuses it by name within seconds. With
// `npm run test:all` the lists of rentals and harbours stand for the whole world: what a Redis refuses, it refuses to any of them.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { readConfig } from '../../src/config.ts'
import { findFreePort } from '../../src/embedded/connection.ts'
import { type CommandLine, type Ended, errorOf, openCommandLine } from '../cli/program.ts'
import { type Certificate, makeCertificate } from '../helpers/certificates.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { findOnPath, type OwnRedis, startRedis } from '../helpers/redis-server.ts'
import { openTcpProxy } from '../helpers/tcp-proxy.ts'
import { differencesFromTruth } from '../helpers/truth.ts'
import { ranges } from './ranges.ts'

const program = findOnPath('redis-server') ?? ''
const there = inject('redisUrl') !== null && program !== ''
const timeout = 180_000
/** What a first sync reads; all, where it is empty. */
const wanted = isFull ? [] : ['rentals', 'harbours']

let folder: string
let sandbox: Sandbox
let cli: CommandLine
let certificate: Certificate

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'boat-mirror-redis-'))
  sandbox = await createSandbox({ size: isFull ? 12 : 4 })
  certificate = await makeCertificate(folder, '127.0.0.1')
  cli = await openCommandLine({
    API_BASE_URL: sandbox.url,
    API_AUTH: 'none',
    API_RATE_LIMIT: '0',
    PORT: '0',
    ...ranges,
  })
}, timeout)
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await sandbox.close()
  await rm(folder, { recursive: true, force: true })
})

/** How the mirror differs from the truth, in these tables or all. */
const differences = async (database: TestDatabase, tables: readonly string[]): Promise<readonly string[]> => {
  const { slotDays, slotDurations, priceDays, calendarYears } = readConfig(ranges, '/nonexistent')
  const truth = sandbox.truthText({ days: slotDays, durations: slotDurations, priceDays, calendarYears })
  const all = await differencesFromTruth(database.pool, truth)
  return all.filter((each) => tables.length === 0 || tables.some((table) => each.startsWith(`${table} `)))
}

/** Runs a Redis with these settings for the time of `use`. */
async function withRedis<T>(settings: readonly string[], use: (redis: OwnRedis) => Promise<T>): Promise<T> {
  const own = await mkdtemp(join(folder, 'redis-'))
  const redis = await startRedis(program, own, settings)
  try {
    return await use(redis)
  } finally {
    await redis.close()
  }
}

const tls = (): string[] => {
  const { key, certificate: cert } = certificate.files
  return ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-auth-clients', 'no']
}

/** The address with a user, a database or another scheme. */
function address(url: string, change: Partial<Pick<URL, 'username' | 'password' | 'pathname' | 'port'>>): string {
  return Object.assign(new URL(url), change).href
}

describe.runIf(there)('Redis as it can be used', () => {
  /** The first sync of a new mirror over this Redis. */
  async function expectTruth(url: string, env: Readonly<Record<string, string>> = {}): Promise<Ended> {
    await using database = await createTestDatabase()
    const settings = { DATABASE_URL: database.url, REDIS_URL: url, ...env }
    // Processes of their own: Node reads NODE_EXTRA_CA_CERTS at its start.
    const { code, stderr } = await cli.start(['sync', ...wanted], settings).ended
    expect(stderr).toMatch(/rentals: done/)
    expect(stderr).not.toMatch(/without it|queue_silent/)
    expect(code).toBe(0)
    expect(await differences(database, wanted)).toEqual([])
    return await cli.start(['check'], settings).ended
  }

  it.runIf(isFull)(
    'with TLS and a certificate of its own authority, a first sync equals the truth',
    { timeout },
    async () => {
      const port = await findFreePort()
      await withRedis(['--tls-port', String(port), ...tls()], async () => {
        const { code } = await expectTruth(`rediss://127.0.0.1:${port}`, {
          NODE_EXTRA_CA_CERTS: certificate.files.authority,
        })
        expect(code).toBe(0)
      })
    },
  )

  it.runIf(isFull)('with the ACL of docs/operations.md, a first sync equals the truth', { timeout }, async () => {
    const acl = ['boats', 'on', '>hush-hush', '~boat-mirror-*', '&*', '+@all', '-@dangerous', '-@admin', '+info']
    await withRedis(['--user', ...acl, '--user', 'default', 'off'], async ({ url }) => {
      const { code, stdout } = await expectTruth(address(url, { username: 'boats', password: 'hush-hush' }))
      expect(code).toBe(0)
      expect(stdout).not.toContain('hush')
    })
  })

  it.runIf(isFull)(
    'in a database with a number, a first sync equals the truth and nothing is left elsewhere',
    {
      timeout,
    },
    async () => {
      await withRedis([], async ({ url }) => {
        const { code } = await expectTruth(address(url, { pathname: '/5' }))
        expect(code).toBe(0)
        const client = new Redis(url)
        expect(await client.dbsize()).toBe(0)
        client.disconnect()
      })
    },
  )

  it.runIf(isFull)(
    'with maxmemory and eviction, a first sync equals the truth and check warns',
    { timeout },
    async () => {
      await withRedis(['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'], async ({ url }) => {
        const { code, stdout } = await expectTruth(url)
        expect(stdout).toMatch(/warn {2}queue .*maxmemory-policy is allkeys-lru/)
        expect(code).toBe(0)
      })
    },
  )
})

type Refused = {
  readonly name: string
  readonly settings?: () => readonly string[]
  readonly change?: Parameters<typeof address>[1]
  readonly secure?: boolean
  /** Leads to the port that speaks TLS. */
  readonly toTls?: boolean
  readonly absent?: boolean
  readonly code: 'QUEUE_REFUSED' | 'QUEUE_UNREACHABLE'
  readonly says: RegExp
  readonly cure: RegExp
}

const user = (...rules: string[]): string[] => ['--user', 'default', 'on', 'nopass', '~*', '&*', '+@all', ...rules]

const refused: readonly Refused[] = [
  { name: 'absent', absent: true, code: 'QUEUE_UNREACHABLE', says: /refused.*ECONNREFUSED/, cure: /Check REDIS_URL/ },
  {
    name: 'a password missing',
    settings: () => ['--requirepass', 'right'],
    code: 'QUEUE_REFUSED',
    says: /requires a password/,
    cure: /redis:\/\/USER:PASSWORD@HOST:PORT/,
  },
  {
    name: 'a password wrong',
    settings: () => ['--requirepass', 'right'],
    change: { password: 'wrong' },
    code: 'QUEUE_REFUSED',
    says: /rejects this user and password/,
    cure: /Correct user and password in REDIS_URL/,
  },
  {
    name: 'an ACL without scripts',
    settings: () => user('-eval', '-evalsha'),
    code: 'QUEUE_REFUSED',
    says: /ACL forbids.*eval/,
    cure: /ACL SETUSER/,
  },
  {
    name: 'an ACL without INFO',
    settings: () => user('-info'),
    code: 'QUEUE_REFUSED',
    says: /ACL forbids.*info/,
    cure: /ACL SETUSER.*\+info/,
  },
  {
    name: 'an ACL without streams',
    settings: () => user('-xadd'),
    code: 'QUEUE_REFUSED',
    says: /ACL forbids.*xadd/,
    cure: /ACL SETUSER/,
  },
  {
    name: 'an ACL for other keys',
    settings: () => user('resetkeys', '~others-*'),
    code: 'QUEUE_REFUSED',
    says: /ACL forbids.*key/,
    cure: /~boat-mirror-\*/,
  },
  {
    name: 'a database number that is not there',
    change: { pathname: '/99' },
    code: 'QUEUE_REFUSED',
    says: /has no database 99/,
    cure: /number after the last slash of REDIS_URL/,
  },
  {
    name: 'TLS to a plain port',
    secure: true,
    code: 'QUEUE_UNREACHABLE',
    says: /does not work/,
    cure: /use redis:\/\//,
  },
  {
    name: 'no TLS to a port that speaks it',
    toTls: true,
    code: 'QUEUE_UNREACHABLE',
    says: /as a TLS port does/,
    cure: /use rediss:\/\/ in REDIS_URL/,
  },
  {
    name: 'a certificate that nobody here trusts',
    toTls: true,
    secure: true,
    code: 'QUEUE_UNREACHABLE',
    says: /does not trust the authority that signed the certificate/,
    cure: /NODE_EXTRA_CA_CERTS/,
  },
  {
    name: 'a read-only replica',
    settings: () => ['--replicaof', '127.0.0.1', '1'],
    code: 'QUEUE_REFUSED',
    says: /read-only replica/,
    cure: /Set REDIS_URL to the primary/,
  },
  {
    name: 'a memory that is full',
    settings: () => ['--maxmemory', '1'],
    code: 'QUEUE_UNREACHABLE',
    says: /its memory is full/,
    cure: /Raise maxmemory/,
  },
]

describe.runIf(there)('Redis as it cannot be used: sync and check refuse it by name', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  // Every sixth of them in a slice: each is one refusal more of the same check of Redis.
  for (const { name, settings, change = {}, secure, toTls, absent, code, says, cure } of refused.filter(
    (_, place) => isFull || place % 6 === 0,
  ))
    it(name, { timeout }, async () => {
      const tlsPort = String(await findFreePort())
      const all = [...(settings?.() ?? []), ...(toTls ? ['--tls-port', tlsPort, ...tls()] : [])]
      await withRedis(all, async (redis) => {
        if (absent) await redis.close()
        const plain = address(redis.url, { ...change, ...(toTls ? { port: tlsPort } : {}) })
        const url = secure ? plain.replace('redis:', 'rediss:') : plain
        const env = { DATABASE_URL: database.url, REDIS_URL: url }
        const [synced, checked] = await Promise.all([cli.run(['sync'], env), cli.run(['check'], env)])
        expect(synced.code).toBe(1)
        expect(errorOf(synced)).toContain(`[${code}]`)
        expect(errorOf(synced)).toMatch(says)
        expect(errorOf(synced)).toMatch(cure)
        expect(checked.stdout).toMatch(new RegExp(`FAIL {2}queue .*${says.source}`, 'i'))
        expect(checked.stdout).toMatch(cure)
      })
    })
})

describe.runIf(there && isFull)('Redis that is not there when a worker starts', () => {
  it('the worker mirrors and pushes without it, says so, and takes the queue up when it comes', {
    timeout,
  }, async () => {
    await using database = await createTestDatabase()
    await withRedis([], async (redis) => {
      const way = await openTcpProxy(Number(new URL(redis.url).port))
      await way.refuse()
      const port = String(await findFreePort())
      const env = { DATABASE_URL: database.url, REDIS_URL: `redis://127.0.0.1:${way.port}`, PORT: port }
      const worker = cli.start(['worker'], env)
      const ask = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${port}${path}`)).text()
      try {
        await expect.poll(() => worker.text()).toContain('Running. Next')
        expect(worker.text()).toMatch(/"event":"queue_absent".*Check REDIS_URL.*the worker works without it/)
        expect(await differences(database, [])).toEqual([])
        const { rows } = await database.pool.query<{ id: string }>(
          `select outbox.enqueue('rental.update', jsonb_build_object('rentalId', id), '{"referenceId": "R-1"}')::text as id
           from mirror.rentals where _deleted_at is null order by id limit 1`,
        )
        const status = async (): Promise<unknown> =>
          (await database.pool.query('select status from outbox.changes where id = $1', [rows[0]?.id])).rows[0]?.status
        await expect.poll(status).toBe('done')
        expect(JSON.parse(await ask('/readyz'))).toMatchObject({
          ready: false,
          queue: { ok: false, code: 'QUEUE_UNREACHABLE' },
        })
        expect(await ask('/metrics')).toMatch(/^boat_mirror_queue_up 0$/m)

        await way.pass()
        await expect.poll(() => ask('/metrics')).toMatch(/^boat_mirror_queue_up 1$/m)
        const client = new Redis(redis.url)
        await expect.poll(() => client.keys('boat-mirror-*:repeat:rentals')).toHaveLength(1)
        client.disconnect()
      } finally {
        worker.process.kill('SIGTERM')
        expect((await worker.ended).code).toBe(0)
        await way.close()
      }
    })
  })
})
