// Behind a company's proxy, and behind certificates of its own: the built program against a sandbox that only the proxy
// can find. With `npm run test:all` a list with its details stands for the whole world: all requests take one way.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { readConfig } from '../../src/config.ts'
import { type CommandLine, type Ended, errorOf, openCommandLine } from '../cli/program.ts'
import { type Certificate, makeCertificate } from '../helpers/certificates.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { type HttpProxy, openHttpProxy } from '../helpers/http-proxy.ts'
import { openTlsFront, type TlsFront } from '../helpers/tls-front.ts'
import { differencesFromTruth } from '../helpers/truth.ts'
import { ranges } from './ranges.ts'

const host = 'api.boats.test'

let folder: string
let certificate: Certificate
let sandbox: Sandbox
let front: TlsFront
let proxy: HttpProxy
let database: TestDatabase
let cli: CommandLine

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'boat-mirror-proxies-'))
  certificate = await makeCertificate(folder, host)
  sandbox = await createSandbox({ size: isFull ? 12 : 4 })
  front = await openTlsFront(plainPort(), certificate)
  cli = await openCommandLine({ API_AUTH: 'none', API_RATE_LIMIT: '0', ...ranges })
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await front[Symbol.asyncDispose]()
  await sandbox.close()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  database = await createTestDatabase()
  proxy = await openHttpProxy({ credentials: 'me:hush-hush' })
  return async () => {
    await proxy[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  }
})

const plainPort = (): number => Number(new URL(sandbox.url).port)

/** What is synced; all, where it is empty. */
const wanted = isFull ? [] : ['rentals', 'harbours']

/** In a process of its own: Node reads NODE_EXTRA_CA_CERTS at its start. */
const run = (command: 'sync' | 'check', env: Readonly<Record<string, string>>): Promise<Ended> =>
  cli.start([command, ...(command === 'sync' ? wanted : [])], { DATABASE_URL: database.url, ...env }).ended

/** Syncs with these settings, and returns how the mirror differs from the truth. */
async function differencesAfterSync(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const { code, stderr } = await run('sync', env)
  expect(stderr).toMatch(/rentals: done/)
  expect(code).toBe(0)
  const { slotDays, slotDurations, priceDays, calendarYears } = readConfig(ranges, '/nonexistent')
  const truth = sandbox.truthText({ days: slotDays, durations: slotDurations, priceDays, calendarYears })
  const all = await differencesFromTruth(database.pool, truth)
  return all.filter((each) => wanted.length === 0 || wanted.some((table) => each.startsWith(`${table} `)))
}

const trusting = (): Record<string, string> => ({ NODE_EXTRA_CA_CERTS: certificate.files.authority })

describe('HTTPS_PROXY with a password, an https API with a certificate of its own authority', () => {
  const env = (): Record<string, string> => ({
    API_BASE_URL: `https://${host}:${front.port}`,
    HTTPS_PROXY: proxy.url,
  })

  it.runIf(isFull)('a first sync equals the truth, and check names the proxy without the password', async () => {
    expect(await differencesAfterSync({ ...env(), ...trusting() })).toEqual([])
    expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT ${host}:${front.port}`]))
    const checked = await run('check', { ...env(), ...trusting() })
    expect(checked.stdout).toContain(`through the proxy http://127.0.0.1:${proxy.port} (HTTPS_PROXY)`)
    expect(checked.stdout + checked.stderr).not.toContain('hush')
    expect(checked.code).toBe(0)
  })

  it.runIf(isFull)('without NODE_EXTRA_CA_CERTS it is refused by that name', async () => {
    const ended = await run('sync', env())
    expect(ended.code).toBe(1)
    expect(errorOf(ended)).toMatch(/does not trust the authority that signed.*API_UNREACHABLE/)
    expect(errorOf(ended)).toContain('NODE_EXTRA_CA_CERTS')
  })

  it.runIf(isFull)('a wrong password of the proxy is refused by the name of the variable', async () => {
    const ended = await run('sync', { ...env(), HTTPS_PROXY: `http://me:wrong@127.0.0.1:${proxy.port}` })
    expect(ended.code).toBe(1)
    expect(errorOf(ended)).toContain(`refused with 407 at the proxy http://127.0.0.1:${proxy.port} (HTTPS_PROXY)`)
    expect(ended.stderr).not.toContain('wrong')
  })
})

describe('http_proxy with a password, an http API', () => {
  it('a first sync equals the truth', async () => {
    const env = { API_BASE_URL: `http://${host}:${plainPort()}`, http_proxy: proxy.url }
    expect(await differencesAfterSync(env)).toEqual([])
    expect(proxy.asked.length).toBeGreaterThan(10)
    expect(proxy.asked.every((line) => line.startsWith(`GET http://${host}:${plainPort()}/v3/`))).toBe(true)
  })
})

describe('Proxies set, an API that needs none', () => {
  it.runIf(isFull)('loopback is never asked for through a proxy: a first sync equals the truth', async () => {
    const gone = 'http://127.0.0.1:9'
    const env = { API_BASE_URL: sandbox.url, HTTP_PROXY: gone, HTTPS_PROXY: gone, NO_PROXY: 'elsewhere.test' }
    expect(await differencesAfterSync(env)).toEqual([])
  })

  it.runIf(isFull)('NO_PROXY keeps a named host from the proxy', async () => {
    const unresolved = `http://${'x'.repeat(64)}.boats.test`
    const ended = await run('sync', {
      API_BASE_URL: unresolved,
      HTTP_PROXY: proxy.url,
      NO_PROXY: '.boats.test',
    })
    expect(ended.code).toBe(1)
    expect(errorOf(ended)).toContain('the host is unknown')
    expect(proxy.asked).toEqual([])
  })
})

describe('Certificates that are not right', () => {
  const cases = [
    { name: 'an expired one is refused as expired', host: '127.0.0.1', days: 0, says: 'the certificate has expired' },
    {
      name: 'one for another name is refused as such',
      host,
      days: 2,
      says: 'the certificate is for another host name',
    },
  ]
  for (const each of isFull ? cases : cases.slice(0, 1))
    it(each.name, async () => {
      const own = await makeCertificate(await mkdtemp(join(folder, 'own-')), each.host, each.days)
      await new Promise((resolve) => setTimeout(resolve, 1_100)) // one that is valid for no day is so for this second
      await using server = await openTlsFront(plainPort(), own)
      const ended = await run('sync', {
        API_BASE_URL: `https://127.0.0.1:${server.port}`,
        NODE_EXTRA_CA_CERTS: own.files.authority,
      })
      expect(ended.code).toBe(1)
      expect(errorOf(ended)).toContain(each.says)
    })
})
