// Where a request carries its token, and how many requests a token may send: without a database.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildRequest, buildTarget } from '../../src/api/wire/request.ts'
import { wishesIn } from '../../src/profile/search/auth.ts'
import { challenge, credentialIn } from '../../src/serve/access/credential.ts'
import { createLimit, requestLimit } from '../../src/serve/access/limit.ts'
import type { AuthSetting } from '../../src/settings.ts'

const token = 'bmt_17_0123456789abcdefghijklmnopqrstuvwxyzABCDE-_'
const auths: readonly AuthSetting[] = [
  { kind: 'bearer' },
  { kind: 'basic' },
  { kind: 'header', name: 'X-Api-Key' },
  { kind: 'query', name: 'api_key' },
  { kind: 'none' },
]
const basic = (login: string) => ({ authorization: `Basic ${Buffer.from(login).toString('base64')}` })

describe('the credential of a request', () => {
  for (const auth of auths) {
    it(`is found as a bearer where the API takes ${auth.kind}`, () => {
      for (const scheme of ['Bearer', 'bearer', 'BEARER '])
        expect(credentialIn({ headers: { authorization: `${scheme} ${token}` }, url: '/v3/rentals' }, auth)).toBe(token)
      expect(credentialIn({ headers: {}, url: '/v3/rentals' }, auth)).toBeNull()
      expect(credentialIn({ headers: { authorization: 'Digest x' }, url: '/v3/rentals?x=1' }, auth)).toBeNull()
    })
  }

  const cases = [
    { name: 'the password of any user', auth: 'basic', headers: basic(`shop:${token}`), url: '/' },
    { name: 'the user without a password', auth: 'basic', headers: basic(`${token}:`), url: '/' },
    { name: 'a header, whatever its case', auth: 'header', headers: { 'x-api-key': token }, url: '/' },
    { name: 'a parameter of the query', auth: 'query', headers: {}, url: `/v3/rentals?page=1&api_key=${token}` },
  ] as const
  for (const { name, auth, headers, url } of cases)
    it(`is ${name} where the API takes ${auth}, and not elsewhere`, () => {
      for (const other of auths)
        expect(credentialIn({ headers, url }, other), other.kind).toBe(other.kind === auth ? token : null)
    })

  it('is where the client of the API puts its secret', () => {
    for (const auth of auths.filter(({ kind }) => kind !== 'none')) {
      const secret = auth.kind === 'basic' ? `shop:${token}` : token
      const target = buildTarget({ baseUrl: 'http://127.0.0.1:1', token: secret, auth, language: null }, '0.0.0')
      const { path } = buildRequest(target, { endpoint: 'GET /v3/rentals', query: { page: '1' } })
      expect(credentialIn({ headers: target.headers, url: path }, auth), auth.kind).toBe(token)
    }
  })

  it("is asked for so that a program that looks for the API's way finds it", () => {
    for (const auth of auths.filter(({ kind }) => kind === 'header' || kind === 'query' || kind === 'basic'))
      expect(wishesIn(challenge(auth), undefined)[0]).toEqual(auth)
  })
})

describe('the limit of a token', () => {
  it('lets through no more in any stretch of time than the requests of one second and what that time allows', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 }),
        (perSecond, steps) => {
          let at = 0
          const limit = createLimit({ burst: perSecond, perSecond, now: () => at })
          const gone: number[] = []
          for (const step of steps) {
            at += step
            if (limit.take('1') === 0) gone.push(at)
          }
          for (const [first, from] of gone.entries())
            for (const [last, to] of gone.entries())
              if (last >= first)
                expect(last - first + 1).toBeLessThanOrEqual(perSecond + ((to - from) / 1_000) * perSecond + 1e-6)
        },
      ),
    )
  })

  it('lets a token through again after the time that it says, and never counts for another token', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), (perSecond) => {
        let at = 0
        const limit = createLimit({ burst: perSecond, perSecond, now: () => at })
        for (let n = 0; n < perSecond; n++) expect(limit.take('1')).toBe(0)
        const seconds = limit.take('1')
        expect(limit.take('2')).toBe(0)
        expect(limit.wait('1')).toBe(seconds)
        at += seconds * 1_000
        expect(limit.take('1')).toBe(0)
      }),
    )
  })

  it('is none where SERVE_RATE_LIMIT is not set', () => {
    const limit = requestLimit(null)
    expect(Array.from({ length: 10_000 }, () => limit.take('1')).every((wait) => wait === 0)).toBe(true)
  })
})
