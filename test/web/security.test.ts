// Who may see the pages, and what a foreign site cannot do to them.

import { request } from 'node:http'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hostNameOf, isKnownHost, isOwnForm } from '../../src/addresses.ts'
import { createGuesses, credentialIn, isToken } from '../../src/web/guard.ts'
import { opened } from '../helpers/opened.ts'
import { type BarePages, openBarePages } from './pages-rig.ts'

const token = 'a-token-of-sixteen-and-more'
const basic = (given: string, user = 'ann'): string => `Basic ${Buffer.from(`${user}:${given}`).toString('base64')}`

describe('the token', () => {
  const cases = [
    { name: 'opens as a bearer', authorization: `Bearer ${token}`, allowed: true },
    { name: 'opens whatever the case of the scheme', authorization: `bearer ${token}`, allowed: true },
    { name: 'opens as the password of any user', authorization: basic(token), allowed: true },
    { name: 'opens as the password of nobody', authorization: basic(token, ''), allowed: true },
    { name: 'must be whole', authorization: `Bearer ${token.slice(1)}`, allowed: false },
    { name: 'must be whole as a password', authorization: basic(`${token}:`), allowed: false },
    { name: 'does not open as a user', authorization: basic('', token), allowed: false },
    { name: 'does not open as basic without encoding', authorization: `Basic ${token}`, allowed: false },
    { name: 'is needed', authorization: undefined, allowed: false },
  ]
  for (const { name, authorization, allowed } of cases)
    it(name, () => {
      const shown = credentialIn(authorization)
      expect(shown !== null && isToken(token, shown.token)).toBe(allowed)
    })

  it('is never something made up', () =>
    fc.assert(
      fc.property(fc.string(), (text) =>
        [text, `Basic ${text}`, basic(text)].every((given) => {
          const shown = credentialIn(given)
          return shown === null || !isToken(token, shown.token)
        }),
      ),
    ))
})

describe('a Host header', () => {
  const cases = [
    { header: 'localhost:8484', listening: '127.0.0.1', known: true },
    { header: '127.0.0.1:9999', listening: '127.0.0.1', known: true },
    { header: '[::1]:8484', listening: '::1', known: true },
    { header: 'evil.example:8484', listening: '127.0.0.1', known: false },
    { header: '192.168.1.5:8484', listening: '127.0.0.1', known: false },
    { header: 'worker:8484', listening: '127.0.0.1', known: false },
    { header: undefined, listening: '127.0.0.1', known: false },
    { header: '192.168.1.5:8484', listening: '0.0.0.0', known: true },
    { header: 'worker:8484', listening: '0.0.0.0', known: true },
    { header: 'evil.example', listening: '0.0.0.0', known: false },
    { header: 'mirror.example:80', listening: 'mirror.example', known: true },
    { header: 'localhost.evil.example', listening: '0.0.0.0', known: false },
    { header: '127.0.0.1.evil.example', listening: '127.0.0.1', known: false },
    { header: 'a b', listening: '0.0.0.0', known: false },
  ]
  for (const { header, listening, known } of cases)
    it(`${header} is ${known ? '' : 'not '}answered on ${listening}`, () =>
      expect(isKnownHost(header, listening)).toBe(known))

  it('never makes the check fail', () => fc.assert(fc.property(fc.string(), (text) => hostNameOf(text) !== '')))
})

describe('a form', () => {
  const host = 'localhost:8484'
  const cases = [
    {
      name: 'of our own page is taken',
      headers: { host, origin: 'http://localhost:8484', 'sec-fetch-site': 'same-origin' },
      own: true,
    },
    { name: 'of our own page behind TLS is taken', headers: { host, origin: 'https://localhost:8484' }, own: true },
    { name: 'without an origin is refused', headers: { host, 'sec-fetch-site': 'same-origin' }, own: false },
    {
      name: 'of another site is refused',
      headers: { host, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      own: false,
    },
    {
      name: 'of another port is refused',
      headers: { host, origin: 'http://localhost:9', 'sec-fetch-site': 'same-site' },
      own: false,
    },
    { name: 'of nowhere is refused', headers: { host, origin: 'null' }, own: false },
    { name: 'that says nothing is refused', headers: { host }, own: false },
  ]
  for (const { name, headers, own } of cases) it(name, () => expect(isOwnForm(headers)).toBe(own))
})

describe('pages with a token', () => {
  const pages = opened(() => openBarePages({ ADMIN_TOKEN: token }))

  for (const path of ['/', '/api/status', '/metrics', '/nowhere'])
    it(`${path} answers nobody without it`, async () => {
      const answer = await pages.get(path)
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="boat-mirror"')
      expect(await answer.text()).not.toContain('stream')
    })

  it('ask a browser for it', async () => {
    const answer = await pages.get('/', { accept: 'text/html' })
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      401,
      'Basic realm="boat-mirror", charset="UTF-8"',
    ])
  })

  it('are open to the bearer, and to a browser that sends the token as a password', async () => {
    for (const path of ['/', '/api/status', '/metrics'])
      for (const authorization of [`Bearer ${token}`, basic(token)])
        expect((await pages.get(path, { authorization })).status, path).toBe(200)
  })

  it('do not take it from the address', async () => {
    expect((await pages.get(`/api/status?token=${token}`)).status).toBe(401)
  })

  it('tell those who only ask for health no more than codes and numbers', async () => {
    const ready = await (await pages.get('/readyz')).text()
    expect(ready).not.toMatch(/postgres:|127\.0\.0\.1|localhost/)
    expect((await pages.get('/healthz')).status).toBe(200)
  })
})

describe('guesses of the token', () => {
  const asBearer = (pages: BarePages, given: string): Promise<Response> =>
    pages.get('/api/status', { authorization: `Bearer ${given}` })
  const asPassword = (pages: BarePages, given: string): Promise<Response> =>
    pages.get('/', { authorization: basic(given), accept: 'text/html' })

  for (const [name, guess] of [
    ['as a bearer', asBearer],
    ['as a password', asPassword],
  ] as const)
    it(`${name} are limited, and then the right one waits, too`, async () => {
      await using pages = await openBarePages({ ADMIN_TOKEN: token })
      const statuses: number[] = []
      while (!statuses.includes(429)) statuses.push((await guess(pages, `a-wrong-token-${statuses.length}`)).status)
      // On a machine that takes long for ten, the bucket has filled a little meanwhile.
      expect(statuses.slice(0, 10)).toEqual(new Array(10).fill(401))
      for (const other of [asBearer, asPassword]) {
        const answer = await other(pages, token)
        if (answer.status === 200) continue // six seconds later
        expect(answer.status).toBe(429)
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
        expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(60)
      }
      expect((await pages.get('/healthz')).status).toBe(200)
      expect((await pages.get('/')).status).toBe(401)
    })

  it('are not what the right token is, however often it comes', async () => {
    await using pages = await openBarePages({ ADMIN_TOKEN: token })
    for (let number = 0; number < 25; number++) expect((await asBearer(pages, token)).status).toBe(200)
  })

  const right = (): boolean => true
  const wrong = (): boolean => false

  it('from many addresses are limited together, but for an address that was right before', () => {
    const judge = createGuesses({ perAddress: 10, inAll: 20, now: () => 0 })
    expect(judge('operator', right)).toBe('right')
    for (let number = 0; number < 20; number++) expect(judge(`guesser-${number}`, wrong)).toBe('wrong')
    expect(judge('another', wrong)).toBeTypeOf('number')
    expect(judge('another', right)).toBeTypeOf('number')
    expect(judge('operator', right)).toBe('right')
  })

  it('of one address use up no more than its own share of all', () => {
    const judge = createGuesses({ perAddress: 10, inAll: 20, now: () => 0 })
    const verdicts = Array.from({ length: 200 }, () => judge('one', wrong))
    expect(verdicts.filter((verdict) => verdict === 'wrong')).toHaveLength(10)
    expect(judge('two', wrong)).toBe('wrong')
  })

  it('that go on make nobody wait longer: the right token is heard after the time that was named', () => {
    let at = 0
    const judge = createGuesses({ perAddress: 2, inAll: 20, now: () => at })
    for (let number = 0; number < 2; number++) judge('one', wrong)
    const seconds = judge('one', right)
    expect(seconds).toBe(30)
    for (let number = 0; number < 50; number++) expect(judge('one', wrong)).toBe(30)
    at += 30_000
    expect(judge('one', right)).toBe('right')
  })
})

describe('pages', () => {
  const pages = opened(() => openBarePages())

  it('let nothing in but what they send themselves', async () => {
    for (const path of ['/', '/nowhere', '/api/status']) {
      const { headers } = await pages.get(path)
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy, path).toContain("default-src 'none'")
      expect(policy, path).not.toContain('unsafe')
      expect(policy, path).toContain("frame-ancestors 'none'")
      expect(headers.get('x-content-type-options'), path).toBe('nosniff')
      expect(headers.get('cache-control'), path).toContain('no-store')
    }
  })

  it('hold no inline script, style or handler', async () => {
    expect(await (await pages.get('/')).text()).not.toMatch(
      /<style|\sstyle=|\son[a-z]+=|<script(?![^>]*(src=|application\/json))/,
    )
  })

  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    it(`take no ${method}`, async () => {
      for (const path of ['/', '/api/status'])
        expect((await fetch(`${pages.url}${path}`, { method })).status, path).toBe(405)
    })

  it('answer to no foreign name', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      request(`${pages.url}/healthz`, { headers: { host: 'evil.example' } }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
        .on('error', reject)
        .end()
    })
    expect(status).toBe(421)
  })
})
