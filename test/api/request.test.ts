// Requests are built so that values stay values, and the secret goes where API_AUTH says and nowhere else.

import { describe, expect, it } from 'vitest'
import { buildRequest, buildTarget, linkedRequest, withoutSecrets } from '../../src/api/wire/request.ts'
import type { AuthSetting } from '../../src/config.ts'

const target = (
  auth: AuthSetting = { kind: 'none' },
  token: string | null = 's3cr&t/ö',
  language: string | null = null,
) => buildTarget({ baseUrl: 'https://api.example:8443/base/', token, auth, language }, '1.2.3')
const single = 'GET /v3/resources/{resourceId}/slots/{slotId}'
const path = (resourceId: string, slotId = '1'): string =>
  buildRequest(target(), { endpoint: single, params: { resourceId, slotId } }).path

describe('paths', () => {
  for (const [id, segment] of [
    ['12-NICE', '12-NICE'],
    ['a/b:c,d', 'a%2Fb%3Ac%2Cd'],
    ['..', '%2E%2E'],
    ['.', '%2E'],
    ['../../users?x=1#y', '..%2F..%2Fusers%3Fx%3D1%23y'],
    ['é😀', '%C3%A9%F0%9F%98%80'],
    ['half\ud800', 'half%EF%BF%BD'],
    ['%2F', '%252F'],
    ['{slotId}', '%7BslotId%7D'],
  ] as const)
    it(`${id} is one segment`, () => expect(path(id)).toBe(`/base/v3/resources/${segment}/slots/1`))

  for (const params of [{}, { resourceId: '', slotId: '1' }])
    it(`a value that is ${'resourceId' in params ? 'empty' : 'missing'} would reach another endpoint and is refused`, () => {
      expect(() => buildRequest(target(), { endpoint: single, params })).toThrow(
        expect.objectContaining({ code: 'API_REJECTED', mayHaveTakenEffect: false, endpoint: single }),
      )
    })

  it('method and query come along', () => {
    expect(buildRequest(target(), { endpoint: 'POST /v3/users', query: { q: 'a&b c', page: '1' } })).toEqual({
      method: 'POST',
      path: '/base/v3/users?q=a%26b+c&page=1',
    })
  })
})

describe('credentials', () => {
  const headersOf = (auth: AuthSetting, token?: string) => target(auth, token).headers

  it('are sent as API_AUTH says', () => {
    expect(headersOf({ kind: 'bearer' }, 'abc').authorization).toBe('Bearer abc')
    expect(headersOf({ kind: 'basic' }, 'me:pässword').authorization).toBe(
      `Basic ${Buffer.from('me:pässword').toString('base64')}`,
    )
    expect(headersOf({ kind: 'header', name: 'X-Api-Key' }, 'abc')).toMatchObject({ 'x-api-key': 'abc' })
    expect(headersOf({ kind: 'none' }, 'abc')).not.toHaveProperty('authorization')
  })

  it('in the query go with every request, also with one that follows a link', () => {
    const secret = target({ kind: 'query', name: 'key' }, 'a&b')
    expect(buildRequest(secret, { endpoint: 'GET /v3/users', query: { page: '2' } }).path).toBe(
      '/base/v3/users?page=2&key=a%26b',
    )
    expect(linkedRequest(secret, '/base/v3/users?page=2').path).toBe('/base/v3/users?page=2&key=a%26b')
    expect(secret.headers).not.toHaveProperty('authorization')
  })

  it('a link is sent as it came when nothing is to be added', () => {
    const link = '/base/v3/users?after=%2fx%20y+z'
    expect(linkedRequest(target({ kind: 'bearer' }), link)).toEqual({ method: 'GET', path: link })
  })
})

it('says who we are, what we read and in which language', () => {
  expect(target({ kind: 'none' }, null, 'fr').headers).toEqual({
    accept: 'application/json',
    'accept-encoding': 'gzip, deflate, br',
    'user-agent': 'boat-mirror/1.2.3',
    'accept-language': 'fr',
  })
})

describe('secrets', () => {
  const token = 's3cr&t/"ö'
  const { secrets } = target({ kind: 'basic' }, `me:${token}`)

  for (const [name, shown] of [
    ['as they are', token],
    ['with the user', `me:${token}`],
    ['encoded as a component', encodeURIComponent(token)],
    ['encoded as a form', new URLSearchParams({ t: token }).toString().slice(2)],
    ['inside JSON', JSON.stringify({ t: token })],
    ['as base64', Buffer.from(`me:${token}`).toString('base64')],
    ['in a header', `Authorization: Bearer other-token-of-somebody`],
  ] as const)
    it(`are taken out of what the API says: ${name}`, () => {
      const cleaned = withoutSecrets(`You sent ${shown}.`, secrets)
      expect(cleaned).toMatch(/\[secret\]/)
      expect(cleaned).not.toMatch(/s3cr|other-token/)
      expect(cleaned).not.toContain(Buffer.from(`me:${token}`).toString('base64'))
    })

  it('of three characters hide nothing else', () => {
    expect(withoutSecrets('abc abcd', target({ kind: 'bearer' }, 'abc').secrets)).toBe('abc abcd')
  })
})
