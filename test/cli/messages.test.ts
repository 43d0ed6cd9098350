// One clear message, what to do about it, and the right exit code.

import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { oneOf, pagingStyles } from '../../src/settings.ts'
import { withDatabase } from '../helpers/addresses.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { findOnPath, startRedis } from '../helpers/redis-server.ts'
import { errorOf, openCommandLine } from './program.ts'

const database = opened(() => createTestDatabase())
const guarded = opened(() => createSandbox({ size: 5, auth: 'bearer', token: 'right' }))
const cli = opened(() => openCommandLine({ DATABASE_URL: database.url, API_AUTH: 'none' }))
beforeAll(async () => {
  await cli.run(['migrate'])
  await writeFile(join(cli.folder, 'streams.yaml'), 'targets: { boats: 5m }\nlists: { citis: { paging: page } }\n')
  await writeFile(
    join(cli.folder, 'values.yaml'),
    'schedules: { rentals: soon }\nlists: { cities: { paging: pag, pages: 3 } }\n',
  )
})

const nobody = 'http://127.0.0.1:1'

type Case = {
  readonly name: string
  readonly args: readonly string[]
  readonly env?: () => Record<string, string>
  readonly code: number
  readonly says: readonly RegExp[]
}

const cases: readonly Case[] = [
  {
    name: 'a wrong variable',
    args: ['sync'],
    env: () => ({ API_PAGE_SIZE: 'many', DELETE_LIMIT: 'x' }),
    code: 2,
    says: [/API_PAGE_SIZE is "many". It must be a whole number/, /DELETE_LIMIT is "x"/],
  },
  {
    name: 'pages that others could read without a token',
    args: ['worker'],
    env: () => ({ HOST: '0.0.0.0' }),
    code: 2,
    says: [
      /HOST is "0\.0\.0\.0", which is not a loopback address\. The operator pages then need ADMIN_TOKEN/,
      /Set ADMIN_TOKEN/,
    ],
  },
  {
    name: 'no API, and no place for the sandbox that stands in',
    args: ['sync', 'cities'],
    env: () => ({ DATA_DIR: '/dev/null/data' }),
    code: 2,
    says: [/API_BASE_URL is not set, so the built-in sandbox .* DATA_DIR \(\/dev\/null\/data\)/, /Set API_BASE_URL/],
  },
  {
    name: 'a database that is down',
    args: ['sync'],
    env: () => ({ DATABASE_URL: 'postgres://me:secret@127.0.0.1:1/boats' }),
    code: 1,
    says: [/DATABASE_UNREACHABLE/, /Start Postgres, or correct host and port in DATABASE_URL/],
  },
  {
    name: 'an unknown database',
    args: ['status'],
    env: () => ({ DATABASE_URL: withDatabase(database.url, 'no_such_database') }),
    code: 1,
    says: [/no_such_database" does not exist/, /correct its name in DATABASE_URL/],
  },
  {
    name: 'an API that refuses connections',
    args: ['sync'],
    env: () => ({ API_BASE_URL: nobody }),
    code: 1,
    says: [/the connection was refused at http:\/\/127\.0\.0\.1:1/, /Check API_BASE_URL/],
  },
  {
    name: 'an API whose host is unknown',
    args: ['sync'],
    env: () => ({ API_BASE_URL: 'http://no-such-host.invalid' }),
    code: 1,
    says: [/API_UNREACHABLE/, /Check API_BASE_URL/],
  },
  {
    name: 'wrong credentials',
    args: ['sync'],
    env: () => ({ API_BASE_URL: guarded.url, API_AUTH: 'bearer', API_TOKEN: 'wrong-token' }),
    code: 1,
    says: [/answered 401/, /Check API_TOKEN, and API_AUTH/],
  },
  {
    name: 'an address where there is no API',
    args: ['sync'],
    env: () => ({ API_BASE_URL: `${guarded.url}/elsewhere`, API_AUTH: 'bearer', API_TOKEN: 'right' }),
    code: 1,
    says: [/404 to GET \/v3\/countries/, /root of the API, without \/v3/],
  },
  { name: 'an unknown stream', args: ['sync', 'boats'], code: 2, says: [/no stream "boats"/, /rental_options/] },
  {
    name: 'a configuration file with streams that there are not, and a wrong value elsewhere',
    args: ['status'],
    env: () => ({ BOAT_MIRROR_CONFIG: 'streams.yaml', API_PAGE_SIZE: 'ten' }),
    code: 2,
    says: [
      /API_PAGE_SIZE is "ten"/,
      /targets\.boats in the file: there is no stream "boats"/,
      /lists\.citis .*"citis"/,
      /named after their tables: .*rental_options/,
    ],
  },
  {
    name: 'a configuration file with wrong values',
    args: ['status'],
    env: () => ({ BOAT_MIRROR_CONFIG: 'values.yaml' }),
    code: 2,
    says: [
      /schedules\.rentals is "soon". It must be a duration, for example 15m, or off/,
      new RegExp(`lists\\.cities\\.paging is "pag". It must be ${oneOf(pagingStyles).takes}`),
      /lists\.cities\.pages is "3". Known are paging, pageParam/,
    ],
  },
  { name: 'an unknown flag', args: ['sync', '--fast'], code: 2, says: [/unknown option '--fast'/] },
  { name: 'an unknown command', args: ['frobnicate'], code: 2, says: [/unknown command 'frobnicate'/] },
  { name: 'a run that does not exist', args: ['runs', 'show', '99'], code: 1, says: [/no run 99/, /boat-mirror runs/] },
  { name: 'a wrong number', args: ['runs', 'release', 'x'], code: 2, says: [/'x' is invalid/] },
  { name: 'retry without an entry', args: ['quarantine', 'retry'], code: 2, says: [/numbers of entries or --all/] },
  {
    name: 'a Redis that is down',
    args: ['sync', 'types'],
    env: () => ({
      API_BASE_URL: guarded.url,
      API_AUTH: 'bearer',
      API_TOKEN: 'right',
      REDIS_URL: 'redis://127.0.0.1:1',
    }),
    code: 1,
    says: [/queue on Redis does not work/, /Check REDIS_URL/],
  },
]

it('a command that serves no pages needs no token, wherever pages would listen', async () => {
  const ended = await cli.run(['schedule'], { HOST: '0.0.0.0' })
  expect(ended.code, ended.stderr).toBe(0)
})

describe('the command line says what is wrong and what to do', () => {
  for (const { name, args, env, code, says } of cases)
    it(`${name}: exit code ${code}`, async () => {
      const ended = await cli.run(args, env?.())
      expect(ended).toMatchObject({ code, stdout: '' })
      for (const text of says) expect(errorOf(ended)).toMatch(text)
      expect(ended.stderr).not.toMatch(/\n\s+at |secret|wrong-token/)
    })

  const pages = [
    { name: 'a web page in place of the API', status: 200, says: [/API_NOT_JSON/, /may be a web page/] },
    {
      name: 'a web server asked for http on its TLS port',
      status: 400,
      says: [/answered 400/, /use https:\/\/ in API_BASE_URL/],
    },
  ]
  for (const { name, status, says } of pages)
    it(`${name}: exit code 1`, async () => {
      const server = createServer((_request, response) => response.writeHead(status).end('<html>hello</html>'))
      try {
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        const ended = await cli.run(['sync'], { API_BASE_URL: url })
        expect(ended.code).toBe(1)
        for (const text of says) expect(errorOf(ended)).toMatch(text)
      } finally {
        server.close()
      }
    })
})

it('a fault of ours is one line, and for whoever debugs a stack that names the source', async () => {
  const fault = { NODE_OPTIONS: '--import=data:text/javascript,process.stdout.write=undefined' }
  const plain = await cli.run(['migrate', '--status'], fault)
  expect(plain.code).toBe(1)
  expect(errorOf(plain)).toMatch(
    /^process.stdout.write is not a function \[INTERNAL\]\nReport it with .*LOG_LEVEL=debug\.$/,
  )
  expect(plain.stderr).not.toContain('stack')
  const debugged = await cli.run(['migrate', '--status'], { ...fault, LOG_LEVEL: 'debug' })
  const { stack } = JSON.parse(debugged.stderr.trimEnd().split('\n').at(-1) ?? '') as { stack: string }
  expect(stack).toMatch(/^TypeError: .*\n(.*\n)* +at .*src\/cli\/[a-z-]+\.ts:\d+:\d+\)\n/)
})

describe('check', () => {
  it('finds everything right, and says how it reads each list', async () => {
    const env = { API_BASE_URL: guarded.url, API_AUTH: 'bearer', API_TOKEN: 'right' }
    const { code, stdout } = await cli.run(['check', '--json'], env)
    const { ok, findings } = JSON.parse(stdout) as {
      ok: boolean
      findings: { name: string; status: string; detail: string }[]
    }
    // The Postgres of the tests has no need to survive a crash.
    expect(findings.filter(({ name, status }) => status !== 'ok' && name !== 'durability')).toEqual([])
    expect(findings.find((finding) => finding.name === 'list rentals')?.detail).toMatch(
      /a bare array, paging by page from 1/,
    )
    expect({ code, ok, lists: findings.filter(({ name }) => name.startsWith('list ')).length }).toEqual({
      code: 0,
      ok: true,
      lists: 17,
    })
  })

  it('warns of a Redis that may drop keys of the queue, and so does a worker', async (test) => {
    const program = findOnPath('redis-server')
    if (program === undefined) return test.skip('there is no redis-server')
    const redis = await startRedis(program, cli.folder, ['--maxmemory-policy', 'allkeys-lru'])
    const env = { REDIS_URL: redis.url, API_BASE_URL: guarded.url, API_AUTH: 'bearer', API_TOKEN: 'right', PORT: '0' }
    try {
      const { code, stdout } = await cli.run(['check'], env)
      expect(stdout).toMatch(/warn {2}queue .*maxmemory-policy is allkeys-lru/)
      expect(stdout).toMatch(/queue: Set maxmemory-policy noeviction in Redis/)
      expect(code).toBe(0)
      const worker = cli.start(['worker'], env)
      await expect.poll(() => worker.text()).toMatch(/"event":"queue_risk".*allkeys-lru/)
      worker.process.kill('SIGTERM')
      const { stderr } = await worker.ended
      // Also what the queue's own package says about it.
      const events = stderr
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { event: string }).event)
      expect(events.filter((event) => event === 'foreign_warning')).toHaveLength(1)
    } finally {
      await redis.close()
    }
  })

  it('goes on after a failure and ends with 1', async () => {
    const env = {
      DATABASE_URL: 'postgres://127.0.0.1:1/boats',
      API_BASE_URL: guarded.url,
      API_AUTH: 'bearer',
      API_TOKEN: 'wrong',
    }
    const { code, stdout } = await cli.run(['check'], env)
    expect(code).toBe(1)
    expect(stdout).toMatch(/fail {2}database/)
    expect(stdout).toMatch(/fail {2}API .*401/)
    expect(stdout).toMatch(/API: Check API_TOKEN/)
  })
})
