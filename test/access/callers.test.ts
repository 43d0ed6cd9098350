// Who a request comes from, with tokens in a real database.

import type { IncomingHttpHeaders } from 'node:http'
import { afterAll, describe, expect, it } from 'vitest'
import { isObject } from '../../src/api/wire/json.ts'
import type { Connecting } from '../../src/database/together.ts'
import { type AccessSettings, createCallerOf } from '../../src/serve/access/access.ts'
import { createToken, revokeToken, type TokenRequest } from '../../src/serve/access/tokens.ts'
import { type Answer, Refusal } from '../../src/serve/problem.ts'
import type { Caller } from '../../src/serve/types.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror } from '../helpers/rows.ts'

const mirror = opened(openMirror)
afterAll(async () => {
  const { rows } = await mirror.db.pool.query<{ id: string }>(
    'select id from sync.access_tokens where revoked_at is null',
  )
  for (const { id } of rows) await revoke(id)
})

let names = 0
const create = (wishes: Partial<TokenRequest> = {}) =>
  mirror.db.transaction((client) =>
    createToken(client, {
      ...{ name: `t${++names}`, companies: null, personal: false, write: false, validMs: null, server: null },
      ...wishes,
    }),
  )
const revoke = (id: string) => mirror.db.transaction((client) => revokeToken(client, id))

const open = (settings: Partial<AccessSettings> = {}, db: Connecting = mirror.db.pool) =>
  createCallerOf(db, { auth: { kind: 'bearer' }, host: '0.0.0.0', perSecond: null, ...settings })

type Asking = { readonly headers?: IncomingHttpHeaders; readonly url?: string; readonly ip?: string }
const ask = (
  access: ReturnType<typeof open>,
  { headers = {}, url = '/v3/rentals', ip = '10.0.0.1' }: Asking,
): Promise<Caller | Answer> =>
  access({ headers, url, ip }).catch((error: unknown) => {
    if (error instanceof Refusal) return error.answer
    throw error
  })
const bearing = (token: string, ip?: string): Asking => ({
  headers: { authorization: `Bearer ${token}` },
  ...(ip !== undefined && { ip }),
})

const isCaller = (answer: Caller | Answer): answer is Caller => !('status' in answer)
const refusal = (answer: Caller | Answer) => {
  if (isCaller(answer)) throw new Error('The request was not refused.')
  const { status, headers, body } = answer
  return { status, headers, detail: isObject(body) ? body.detail : undefined }
}
/** A token with another secret. */
const spoilt = (token: string): string => `${token.slice(0, -3)}${token.endsWith('AAA') ? 'BBB' : 'AAA'}`

describe('a caller', () => {
  it('is what the token was created as', async () => {
    const one = await create({ companies: ['1', '2'], write: true })
    const two = await create({ personal: true })
    const access = open()
    expect(await ask(access, bearing(one.token))).toEqual({
      token: { id: one.id, name: expect.any(String) },
      ...{ role: one.role, companies: ['1', '2'], personal: false, write: true, tagKey: expect.any(String) },
    })
    expect(await ask(access, bearing(two.token))).toMatchObject({
      role: two.role,
      companies: null,
      personal: true,
      write: false,
    })
  })

  it('sends the token as the API takes its secret, too', async () => {
    const { id, token } = await create()
    const access = open({ auth: { kind: 'query', name: 'key' } })
    expect(await ask(access, { url: `/v3/rentals?key=${token}` })).toMatchObject({ token: { id } })
    expect(await ask(access, bearing(token))).toMatchObject({ token: { id } })
    const wrong = refusal(await ask(access, { url: `/v3/rentals?key=${spoilt(token)}` }))
    expect(wrong.headers['www-authenticate']).toContain('in="query", name="key"')
  })

  it('without a token may read on loopback, unless a proxy asks for somebody else', async () => {
    for (const host of ['127.0.0.1', 'localhost', '::1']) {
      const access = open({ host })
      expect(await ask(access, { ip: '127.0.0.1' })).toEqual({
        ...{ token: null, role: null, companies: null, personal: false, write: false, tagKey: expect.any(String) },
      })
      for (const name of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip'])
        expect(refusal(await ask(access, { headers: { [name]: 'x' } })).status, name).toBe(401)
      expect(refusal(await ask(access, bearing('wrong'))).status).toBe(401)
    }
    expect(refusal(await ask(open({ host: '0.0.0.0' }), { ip: '127.0.0.1' })).status).toBe(401)
  })
})

describe('a token that does not count', () => {
  it('is refused alike, whether it never was, is wrong or was revoked; an expired one is called so', async () => {
    const [right, gone, old] = [await create(), await create(), await create({ validMs: 1 })]
    await revoke(gone.id)
    await mirror.all(`update sync.access_tokens set expires_at = clock_timestamp() where id = $1`, [old.id])
    const access = open()
    const answers = await Promise.all(
      [
        'x',
        '',
        'bmt_1_x',
        spoilt(right.token),
        gone.token,
        right.token.replace(/^bmt_\d+/, 'bmt_999999999999999999'),
      ].map(async (token) => refusal(await ask(access, bearing(token)))),
    )
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': expect.stringContaining('Bearer') },
    })
    expect(refusal(await ask(access, bearing(old.token)))).toMatchObject({
      ...{ status: 401, detail: 'This access token has expired.' },
    })
    expect(refusal(await ask(access, bearing(spoilt(old.token)))).detail).not.toContain('expired')
    expect(refusal(await ask(access, {})).detail).toBe('This request has no access token.')
  })

  it('is refused by the next request after it was revoked, while others go on', async () => {
    const [one, two] = [await create(), await create()]
    const access = open()
    for (const { token } of [one, two]) expect(isCaller(await ask(access, bearing(token)))).toBe(true)
    await revoke(one.id)
    expect(refusal(await ask(access, bearing(one.token))).status).toBe(401)
    expect(isCaller(await ask(access, bearing(two.token)))).toBe(true)
  })

  it('has no database role yet: 503, and it works once the role exists', async () => {
    const { token, role } = await create()
    await mirror.all(`drop role ${role}`)
    const access = open()
    expect(refusal(await ask(access, bearing(token))).status).toBe(503)
    await mirror.all(`create role ${role} nologin`)
    expect(isCaller(await ask(access, bearing(token)))).toBe(true)
  })
})

describe('limits', () => {
  it('are for each token', async () => {
    const [one, two] = [await create(), await create()]
    const access = open({ perSecond: 1 })
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(access, bearing(one.token))))
    const refused = answers.filter((answer) => !isCaller(answer)).map(refusal)
    expect(refused.length).toBeGreaterThan(100)
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([429]))
    expect(refused[0]?.headers['retry-after']).toBe('1')
    expect(isCaller(await ask(access, bearing(two.token)))).toBe(true)
  })

  it('10,000 wrong tokens from one address refuse no right one, from there or elsewhere, and cost one statement at a time', async () => {
    const { token } = await create()
    let [running, most] = [0, 0]
    const counting: Connecting = {
      connect: async () => {
        most = Math.max(most, ++running)
        const client = await mirror.db.pool.connect()
        const { release } = client
        return Object.assign(client, {
          release: (error?: boolean) => {
            running--
            release.call(client, error)
          },
        })
      },
    }
    const access = open({}, counting)
    const wrong = spoilt(token)
    const statuses = new Map<number, number>()
    for (let round = 0; round < 20; round++) {
      const guesses = Array.from({ length: 500 }, async (_, n) => {
        const guess = n % 2 === 0 ? wrong : `bmt_${1_000_000 + n}_${token.slice(-43)}`
        const { status } = refusal(await ask(access, bearing(guess)))
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      })
      const right = ['10.0.0.1', '10.0.0.2'].map((ip) => ask(access, bearing(token, ip)))
      expect((await Promise.all(right)).every(isCaller)).toBe(true)
      await Promise.all(guesses)
    }
    expect([...statuses.values()].reduce((sum, each) => sum + each, 0)).toBe(10_000)
    expect(statuses.get(429)).toBeGreaterThan(9_000)
    expect(most).toBe(1)
  })
})
