// Which proxy leads to an API, and what is said where it does not lead there.

import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proxyFor } from '../../src/api/wire/proxy.ts'
import { readConfig } from '../../src/config.ts'
import type { ApiError } from '../../src/errors.ts'
import { type Certificate, makeCertificate } from '../helpers/certificates.ts'
import { isQuick } from '../helpers/extent.ts'
import { openHttpProxy } from '../helpers/http-proxy.ts'
import { openTlsFront } from '../helpers/tls-front.ts'
import { closedPort, json, openApi, startServer } from './http-server.ts'

const endpoint = 'GET /v3/harbours'

/** Reads once through a client with these settings of proxies, and returns its error. */
async function failure(baseUrl: string, env: Readonly<Record<string, string>> = {}): Promise<ApiError> {
  await using client = openApi(baseUrl, { proxies: readConfig(env, '/nonexistent').api.proxies })
  const stopped = new AbortController()
  const reading = client.api.read({ endpoint, signal: stopped.signal }).catch((error: unknown) => error)
  while (client.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const error = client.calls[0]?.error as ApiError
  stopped.abort()
  await reading
  return error
}

describe('the proxy for an address', () => {
  const both = { HTTPS_PROXY: 'http://secure:1', HTTP_PROXY: 'http://plain:2' }
  const cases: readonly [origin: string, env: Record<string, string>, proxy: string | null][] = [
    ['https://api.boats.test', both, 'http://secure:1'],
    ['http://api.boats.test', both, 'http://plain:2'],
    ['https://api.boats.test', { HTTP_PROXY: 'http://plain:2' }, null],
    ['http://api.boats.test', { HTTPS_PROXY: 'http://secure:1' }, null],
    ['https://api.boats.test', { https_proxy: 'http://lower:3' }, 'http://lower:3'],
    ['https://api.boats.test', { ...both, https_proxy: 'http://lower:3' }, 'http://lower:3'],
    ['https://api.boats.test', { HTTPS_PROXY: 'proxy.test:3128' }, 'http://proxy.test:3128'],
    ['https://api.boats.test', { ...both, NO_PROXY: '*' }, null],
    ['https://api.boats.test', { ...both, no_proxy: 'other.test, BOATS.test' }, null],
    ['https://api.boats.test', { ...both, NO_PROXY: '.boats.test' }, null],
    ['https://api.boats.test', { ...both, NO_PROXY: '*.boats.test' }, null],
    ['https://api.boats.test', { ...both, NO_PROXY: 'oats.test' }, 'http://secure:1'],
    ['https://api.boats.test', { ...both, NO_PROXY: 'api.boats.test:444' }, 'http://secure:1'],
    ['https://api.boats.test:444', { ...both, NO_PROXY: 'api.boats.test:444' }, null],
    ['https://10.1.2.3', { ...both, NO_PROXY: '10.0.0.0/8' }, null],
    ['https://11.1.2.3', { ...both, NO_PROXY: '10.0.0.0/8,10.0.0.0/99,x/8' }, 'http://secure:1'],
    ['https://[fd00::7]', { ...both, NO_PROXY: 'fd00::/8' }, null],
    ['https://[fd00::7]', { ...both, NO_PROXY: 'fd00::7' }, null],
    ['https://[fd00::7]', { ...both, NO_PROXY: '[fd00::7]' }, null],
    ['http://127.0.0.1:8080', both, null],
    ['http://127.9.9.9', both, null],
    ['http://localhost:8080', both, null],
    ['http://sandbox.localhost', both, null],
    ['https://[::1]', both, null],
  ]
  for (const [origin, env, proxy] of cases)
    it(`${origin} with ${JSON.stringify(env)} is ${proxy ?? 'none'}`, () => {
      expect(proxyFor(origin, readConfig(env, '/nonexistent').api.proxies)?.origin ?? null).toBe(proxy)
    })

  it('is asked with its user and password, of which nothing is shown', () => {
    const { proxies } = readConfig({ HTTPS_PROXY: 'http://me:p%40ss@proxy:1' }, '/nonexistent').api
    const proxy = proxyFor('https://api.boats.test', proxies)
    expect(proxy?.authorization).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`)
    expect(proxy?.origin).toBe('http://proxy:1')
  })

  for (const address of ['socks5://u:hush@proxy:1', 'http://', 'http://u:hush%zz@proxy:1', 'u:hush@ proxy'])
    it(`${address} stops the start, by the name of the variable and without the password`, () => {
      const read = (): unknown => readConfig({ HTTPS_PROXY: address }, '/nonexistent')
      expect(read).toThrow(/HTTPS_PROXY is ".*". It must be an http\(s\) address, for example/)
      expect(read).not.toThrow(/hush/)
    })
})

describe('an http API behind a proxy', () => {
  it('is asked for by its whole address, over connections that are kept, no more than allowed at once', async () => {
    await using server = await startServer((response, _seen, count) =>
      setTimeout(() => json(response, [{ id: count }]), 20),
    )
    await using proxy = await openHttpProxy({ credentials: 'me:secret' })
    const { port } = new URL(server.url)
    await using client = openApi(`http://api.boats.test:${port}`, {
      concurrency: 2,
      proxies: readConfig({ HTTP_PROXY: proxy.url }, '/nonexistent').api.proxies,
    })
    await Promise.all(Array.from({ length: 12 }, () => client.api.read({ endpoint })))
    expect(server.seen).toHaveLength(12)
    expect(server.seen[0]?.headers.host).toBe(`api.boats.test:${port}`)
    expect(server.seen[0]?.headers['proxy-authorization']).toBeUndefined()
    expect(new Set(proxy.asked)).toEqual(new Set([`GET http://api.boats.test:${port}/v3/harbours`]))
    expect(proxy.mostAtOnce()).toBeLessThanOrEqual(2)
  })

  it('says which proxy wants a password, and of a write that it did not leave', async () => {
    await using proxy = await openHttpProxy({ credentials: 'me:secret' })
    const url = `http://me:wrong@127.0.0.1:${proxy.port}`
    const error = await failure('http://api.boats.test', { HTTP_PROXY: url })
    expect(error.code).toBe('API_UNREACHABLE')
    expect(error.message).toContain(`refused with 407 at the proxy http://127.0.0.1:${proxy.port} (HTTP_PROXY)`)
    expect(error.remedy).toContain('http://USER:PASSWORD@HOST:PORT')
    expect(`${error.message}${error.remedy}`).not.toContain('wrong')
    await using client = openApi('http://api.boats.test', {
      proxies: readConfig({ HTTP_PROXY: url }, '/nonexistent').api.proxies,
    })
    await expect(client.api.send({ endpoint: 'POST /v3/rentals', body: {} })).rejects.toMatchObject({
      code: 'API_UNREACHABLE',
      mayHaveTakenEffect: false,
    })
  })

  it('says that the proxy is not there', async () => {
    const port = await closedPort()
    const error = await failure('http://api.boats.test', { HTTP_PROXY: `http://127.0.0.1:${port}` })
    expect(error.message).toContain(
      `the connection was refused at the proxy http://127.0.0.1:${port} (HTTP_PROXY) (ECONNREFUSED)`,
    )
    expect(error.remedy).toMatch(/Check HTTP_PROXY.*NO_PROXY/)
  })
})

describe('an https API behind a proxy', () => {
  let folder: string
  let certificate: Certificate
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'boat-mirror-tls-'))
    certificate = await makeCertificate(folder, 'api.boats.test')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('is reached through a tunnel, whose end says whose certificate it does not trust', async () => {
    await using front = await openTlsFront(await closedPort(), certificate)
    await using proxy = await openHttpProxy()
    const error = await failure(`https://api.boats.test:${front.port}`, { HTTPS_PROXY: proxy.url })
    expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT api.boats.test:${front.port}`]))
    expect(error.message).toMatch(
      /does not trust the authority that signed the certificate at https:\/\/api\.boats\.test/,
    )
    expect(error.remedy).toContain('NODE_EXTRA_CA_CERTS')
  })

  for (const [refuseWith, cure] of [
    [407, 'USER:PASSWORD'],
    [403, 'Ask the operator of the proxy'],
  ] as const)
    it(`says that the proxy refused with ${refuseWith}`, async () => {
      await using proxy = await openHttpProxy({ refuseWith })
      const error = await failure('https://api.boats.test', { HTTPS_PROXY: proxy.url })
      expect(error.message).toContain(`refused with ${refuseWith} at the proxy ${proxy.url} (HTTPS_PROXY)`)
      expect(error.remedy).toContain(cure)
      expect(error.mayHaveTakenEffect).toBe(false)
    })

  it('says that the proxy is not there', async () => {
    const port = await closedPort()
    const error = await failure('https://api.boats.test', { HTTPS_PROXY: `http://127.0.0.1:${port}` })
    expect(error.message).toContain(`refused at the proxy http://127.0.0.1:${port} (HTTPS_PROXY) (ECONNREFUSED)`)
  })

  // Waits for the time limit on connections, and then tries again after a pause.
  // Waits for a time limit.
  it.skipIf(isQuick)('is asked for again when a proxy that never answered is given up', async () => {
    await using proxy = await openHttpProxy({ silent: true })
    const { proxies } = readConfig({ HTTPS_PROXY: proxy.url }, '/nonexistent').api
    await using client = openApi('https://api.boats.test', { proxies, concurrency: 1, timeoutMs: 30_000 })
    const stop = new AbortController()
    const reading = client.api.read({ endpoint, signal: stop.signal }).catch(() => undefined)
    while (proxy.asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 50))
    stop.abort()
    await reading
    expect(client.calls[0]?.error?.message).toContain(`at the proxy ${proxy.url} (HTTPS_PROXY)`)
  })
})

describe('an API that speaks another protocol than its address says', () => {
  it('https to an http port: says to begin the address with http', async () => {
    await using server = await startServer((response) => json(response, []))
    const error = await failure(server.url.replace('http:', 'https:'))
    expect(error.message).toMatch(/the port does not speak https at https:/)
    expect(error.remedy).toContain('Use http:// in API_BASE_URL')
  })

  it('http to an https port: says to begin the address with https', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-tls-'))
    try {
      await using front = await openTlsFront(await closedPort(), await makeCertificate(folder, '127.0.0.1'))
      const error = await failure(`http://127.0.0.1:${front.port}`)
      expect(error.message).toContain('as a TLS port does')
      expect(error.remedy).toContain('use https:// in API_BASE_URL')
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('http to a port that answers with bytes of TLS: the same', async () => {
    const alert = createServer((socket) => {
      socket.on('error', () => {}) // hung up
      socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, 70]))
    })
    await new Promise<void>((resolve) => alert.listen(0, '127.0.0.1', resolve))
    const address = alert.address()
    const error = await failure(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
    alert.close()
    expect(error.remedy).toContain('use https:// in API_BASE_URL')
  })
})
