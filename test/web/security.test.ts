// Who may see the pages, and what a foreign site cannot do to them.

import { request } from 'node:http'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hostNameOf, isKnownHost, isOwnForm } from '../../src/hosts.ts'
import { createGuesses } from '../../src/web/guesses.ts'
import {
  cookieName,
  credentialOf,
  isRight,
  isSession,
  issueSession,
  sessionCookie,
  sessionOf,
  sessionSeconds,
} from '../../src/web/session.ts'
import { type BarePages, openBarePages } from './pages-rig.ts'

const token = 'a-token-of-sixteen-and-more'
const now = new Date('2030-05-01T12:00:00Z')
const later = (seconds: number): Date => new Date(now.getTime() + seconds * 1_000)

describe('a session', () => {
  const session = issueSession(token, now)
  const cases = [
    { name: 'is good at once', token, session, at: now, good: true },
    { name: 'is good until its end', token, session, at: later(sessionSeconds - 1), good: true },
    { name: 'is over at its end', token, session, at: later(sessionSeconds), good: false },
    { name: 'ends with a new token', token: `${token}2`, session, at: now, good: false },
    { name: 'can not be prolonged', token, session: session.replace(/^\d+/, '9999999999'), at: now, good: false },
    { name: 'needs its signature', token, session: session.split('.')[0] ?? '', at: now, good: false },
    { name: 'is not empty', token, session: '', at: now, good: false },
  ]
  for (const { name, token: key, session: given, at, good } of cases)
    it(name, () => expect(isSession(key, given, at)).toBe(good))

  it('is never something made up', () =>
    fc.assert(
      fc.property(fc.string(), (text) => !isSession(token, text, now) && !isSession(token, `99999999999.${text}`, now)),
    ))

  it('does not hold the token', () => expect(session).not.toContain(token))

  it('is found among other cookies', () => expect(sessionOf(`a=b; ${cookieName}=1.x; c=d`)).toBe('1.x'))

  it('is kept from scripts and from requests of other sites', () =>
    expect(sessionCookie(session, true)).toMatch(/; HttpOnly; SameSite=Strict; Secure$/))
})

describe('the token', () => {
  const cases = [
    { name: 'opens as a bearer', headers: { authorization: `Bearer ${token}` }, allowed: true },
    { name: 'opens whatever the case of the scheme', headers: { authorization: `bearer ${token}` }, allowed: true },
    { name: 'must be whole', headers: { authorization: `Bearer ${token.slice(1)}` }, allowed: false },
    { name: 'does not open as basic', headers: { authorization: `Basic ${token}` }, allowed: false },
    { name: 'is not the session', headers: { cookie: `${cookieName}=${token}` }, allowed: false },
    { name: 'is needed', headers: {}, allowed: false },
  ]
  for (const { name, headers, allowed } of cases)
    it(name, () => {
      const shown = credentialOf(headers)
      expect(shown !== null && isRight(token, shown, now)).toBe(allowed)
    })
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
  let pages: BarePages
  beforeAll(async () => {
    pages = await openBarePages({ ADMIN_TOKEN: token })
  })
  afterAll(() => pages[Symbol.asyncDispose]())

  const post = (path: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${pages.url}${path}`, {
      method: 'POST',
      body,
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: pages.url, ...headers },
    })

  for (const path of ['/', '/api/status', '/metrics', '/nowhere'])
    it(`${path} answers nobody without it`, async () => {
      const answer = await pages.get(path)
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="boat-mirror"')
      expect(await answer.text()).not.toContain('stream')
    })

  it('send a browser to the sign-in', async () => {
    const answer = await pages.get('/', { accept: 'text/html' })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/sign-in'])
  })

  it('are open to the bearer', async () => {
    for (const path of ['/', '/api/status', '/metrics'])
      expect((await pages.get(path, { authorization: `Bearer ${token}` })).status, path).toBe(200)
  })

  it('do not take it from the address', async () => {
    expect((await pages.get(`/api/status?token=${token}`)).status).toBe(401)
    expect((await pages.get(`/sign-in?token=${token}`)).headers.get('set-cookie')).toBe(null)
  })

  it('are open after signing in, until signing out', async () => {
    const answer = await post('/sign-in', new URLSearchParams({ token }).toString())
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/'])
    const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    expect((await pages.get('/', { cookie })).status).toBe(200)
    expect((await post('/sign-out', '', { cookie })).headers.get('set-cookie')).toContain('Max-Age=0')
  })

  it('lead back to the page that was asked for, and to no other host', async () => {
    const asked = await pages.get('/runs/5?x=1', { accept: 'text/html' })
    expect([asked.status, asked.headers.get('location')]).toEqual([303, '/sign-in?to=%2Fruns%2F5'])
    expect(await (await pages.get('/sign-in?to=%2Fruns%2F5')).text()).toContain('action="/sign-in?to=%2Fruns%2F5"')
    const places = ['/runs/5', '//evil.example', '/\\evil.example', 'https://evil.example', '/a//b', '/a"b']
    const led = []
    for (const to of places) {
      const answer = await post(`/sign-in?${new URLSearchParams({ to })}`, new URLSearchParams({ token }).toString())
      led.push(answer.headers.get('location'))
    }
    expect(led).toEqual(['/runs/5', '/', '/', '/', '/', '/'])
  })

  it('take no sign-in from another site', async () => {
    const answer = await post('/sign-in', new URLSearchParams({ token }).toString(), { origin: 'https://evil.example' })
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([403, null])
  })

  it('tell those who only ask for health no more than codes and numbers', async () => {
    const ready = await (await pages.get('/readyz')).text()
    expect(ready).not.toMatch(/postgres:|127\.0\.0\.1|localhost/)
    expect((await pages.get('/healthz')).status).toBe(200)
  })
})

describe('guesses of the token', () => {
  const form = (pages: BarePages, given: string): Promise<Response> =>
    fetch(`${pages.url}/sign-in`, {
      method: 'POST',
      body: new URLSearchParams({ token: given }).toString(),
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: pages.url },
    })
  const bearer = (pages: BarePages, given: string): Promise<Response> =>
    pages.get('/api/status', { authorization: `Bearer ${given}` })
  const session = (pages: BarePages, given: string): Promise<Response> =>
    pages.get('/api/status', { cookie: `${cookieName}=${issueSession(given, new Date())}` })

  for (const [name, guess] of [
    ['in the form', form],
    ['as a bearer', bearer],
    ['as a session made with it', session],
  ] as const)
    it(`${name} are limited to ten a minute, and then the right one waits, too`, async () => {
      await using pages = await openBarePages({ ADMIN_TOKEN: token })
      const statuses: number[] = []
      for (let number = 0; number < 12; number++) statuses.push((await guess(pages, `a-wrong-token-${number}`)).status)
      expect(statuses).toEqual([...new Array(10).fill(401), 429, 429])
      for (const other of [form, bearer, session]) {
        const answer = await other(pages, token)
        expect(answer.status).toBe(429)
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
        expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(60)
      }
      expect((await pages.get('/healthz')).status).toBe(200)
      expect((await pages.get('/')).status).toBe(401)
    })

  it('keep nobody out whose session was right before', async () => {
    await using pages = await openBarePages({ ADMIN_TOKEN: token })
    const cookie = ((await form(pages, token)).headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    expect((await pages.get('/api/status', { cookie })).status).toBe(200)
    for (let number = 0; number < 12; number++) await bearer(pages, `a-wrong-token-${number}`)
    expect((await bearer(pages, token)).status).toBe(429)
    expect((await pages.get('/api/status', { cookie })).status).toBe(200)
  })

  it('are not what the right token is, however often it comes', async () => {
    await using pages = await openBarePages({ ADMIN_TOKEN: token })
    for (let number = 0; number < 25; number++) expect((await bearer(pages, token)).status).toBe(200)
  })

  it('are not what a page does whose session is over: its cookie is taken away', async () => {
    await using pages = await openBarePages({ ADMIN_TOKEN: token })
    const old = issueSession(token, new Date(Date.now() - 2 * sessionSeconds * 1_000))
    const answer = await pages.get('/api/status', { cookie: `${cookieName}=${old}` })
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, expect.stringContaining('Max-Age=0')])
  })

  const shown = { kind: 'token', text: 'x' } as const
  const right = (): boolean => true
  const wrong = (): boolean => false

  it('from many addresses are limited together, but for an address that was right before', async () => {
    const judge = createGuesses({ perAddress: 10, inAll: 20, seconds: 60 })
    expect(await judge('operator', shown, right)).toEqual({ kind: 'right' })
    for (let number = 0; number < 20; number++)
      expect(await judge(`guesser-${number}`, shown, wrong)).toEqual({ kind: 'wrong' })
    expect(await judge('another', shown, wrong)).toMatchObject({ kind: 'wait' })
    expect(await judge('another', shown, right)).toMatchObject({ kind: 'wait' })
    expect(await judge('operator', shown, right)).toEqual({ kind: 'right' })
  })

  it('of one address, at the same moment, are counted, and use up no more than its own share of all', async () => {
    const judge = createGuesses({ perAddress: 10, inAll: 20, seconds: 60 })
    const verdicts = await Promise.all(Array.from({ length: 200 }, () => judge('one', shown, wrong)))
    expect(verdicts.filter(({ kind }) => kind === 'wrong')).toHaveLength(10)
    expect(await judge('two', shown, wrong)).toEqual({ kind: 'wrong' })
  })

  it('that go on make nobody wait longer: the right token is heard when the window has passed', async () => {
    const judge = createGuesses({ perAddress: 2, inAll: 20, seconds: 1 })
    for (let number = 0; number < 2; number++) await judge('one', shown, wrong)
    const verdict = await judge('one', shown, right)
    expect(verdict).toMatchObject({ kind: 'wait', seconds: 1 })
    for (let number = 0; number < 50; number++) await judge('one', shown, wrong)
    await expect.poll(() => judge('one', shown, right)).toEqual({ kind: 'right' })
  })
})

describe('pages', () => {
  let pages: BarePages
  beforeAll(async () => {
    pages = await openBarePages()
  })
  afterAll(() => pages[Symbol.asyncDispose]())

  it('let nothing in but what they send themselves', async () => {
    for (const path of ['/', '/sign-in', '/nowhere', '/api/status']) {
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
