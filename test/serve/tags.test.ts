// Tags of a real serve: one is taken whole, of the record and by the token it was served to, and in the history it was read in.

import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { createLogger } from '../../src/log.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { openServed } from './served-rig.ts'
import { type Got, sendTo } from './writes-rig.ts'

const database = opened(() => createTestDatabase())
const served = opened(() => openServed({ database }))
const tokens = { writer: '', other: '', reader: '' }
beforeAll(async () => {
  for (const name of ['writer', 'other', 'reader'] as const)
    tokens[name] = (await served.createToken(name, { personal: true, write: name !== 'reader' })).token
})

type Who = keyof typeof tokens
type Headers = Readonly<Record<string, string>>
const send = (method: string, path: string, headers: Headers = {}, body?: unknown, via = served.url): Promise<Got> =>
  sendTo(via, {
    ...{ method, path, body, token: tokens.writer },
    // Nothing pushes here: a write is answered as soon as it is queued.
    headers: { prefer: 'respond-async', ...headers },
  })
const get = (path: string, who: Who | null = 'writer', headers: Headers = {}, via = served.url): Promise<Got> =>
  sendTo(via, { method: 'GET', path, token: who === null ? '' : tokens[who], headers })
const tagOf = async (path: string, who?: Who | null, via?: string): Promise<string> =>
  (await get(path, who, {}, via)).headers.get('etag') ?? ''

const query = async (sql: string): Promise<readonly Record<string, string>[]> =>
  (await served.mirror.app.database.pool.query(sql)).rows
const queued = async (): Promise<number> => (await query('select id from outbox.queue')).length

/** Two records of a kind that can be updated and removed, by their paths. */
const kinds: readonly (readonly [string, string])[] = [
  ['rental', `select '/v3/rentals/' || id as path from mirror.rentals where status = 'VALIDATED' order by id`],
  ['user', `select '/v3/users/' || id as path from mirror.users order by id`],
  ['document', `select '/v3/users/' || user_id || '/identity' as path from mirror.user_identities order by user_id`],
  [
    'payment',
    `select '/v3/rentals/' || rental_id || '/payments/' || id as path from mirror.rental_payments order by id`,
  ],
  ['option', `select '/v3/rentals/' || rental_id || '/options/' || id as path from mirror.rental_options order by id`],
]

describe('a tag in If-Match', () => {
  it.each(kinds)('of a %s is taken only as it was served, of this record, to this token', async (_, records) => {
    const [one = '', two = ''] = (await query(`${records} limit 2`)).map(({ path }) => path)
    const { json } = await get(one)
    const own = await tagOf(one)
    const [text, foreign] = [own.slice(1, -1), (await tagOf(two)).slice(1, -1)]
    const letter = fc.constantFrom(...'AZaz09-_')
    const wrong = [
      ...[`"${foreign}"`, await tagOf(one, 'other'), await tagOf(one, 'reader'), await tagOf(one, null)],
      // An invented hash before the right marks, and marks of another record behind the right hash.
      ...[`"${'A'.repeat(27)}${text.slice(27)}"`, `"${text.slice(0, 27)}${foreign.slice(27)}"`],
      ...[`W/${own}`, `w/${own}`, text, `"${text}`, '""', ...fc.sample(fc.nat(text.length - 1), 8).map(altered)],
    ]
    function altered(at: number): string {
      const [other = ''] = fc.sample(
        letter.filter((each) => each !== text[at]),
        1,
      )
      return `"${text.slice(0, at)}${other}${text.slice(at + 1)}"`
    }
    const before = await queued()
    for (const tag of wrong)
      for (const method of ['PUT', 'DELETE'])
        expect(
          (await send(method, one, { 'if-match': tag }, method === 'PUT' ? json : undefined)).status,
          `${method} ${tag}`,
        ).toBe(412)
    expect(await queued()).toBe(before)
    expect((await send('PUT', one, { 'if-match': `"a,b" , W/"c",${own}` }, json)).status).toBe(202)
    expect((await send('DELETE', one, { 'if-match': own })).status).toBe(202)
  })

  it('is asked for after the rights of the token, so that nobody learns of the records of others', async () => {
    const [row] = await query(`select company_id as company from mirror.rentals where company_id is not null limit 1`)
    const some = await served.createToken('some', { companies: [row?.company ?? ''], personal: true, write: true })
    const [foreign] = await query(
      `select id from mirror.rentals where company_id <> ${row?.company} and status = 'VALIDATED' limit 1`,
    )
    const statuses = await Promise.all(
      [foreign?.id, '1'].map(
        async (id) =>
          (
            await sendTo(served.url, {
              ...{ method: 'PUT', path: `/v3/rentals/${id}`, body: { orderLink: 'x' }, token: some.token },
              headers: { prefer: 'respond-async', 'if-match': '*' },
            })
          ).status,
      ),
    )
    expect(new Set(statuses).size).toBe(1)
    expect(statuses[0]).toBeGreaterThan(400)
  })
})

it('a write with If-None-Match is refused where the record is the one that it names, and goes on otherwise', async () => {
  const [row] = await query(`select id from mirror.rentals where status = 'VALIDATED' order by id desc limit 1`)
  const path = `/v3/rentals/${row?.id}`
  const own = await tagOf(path)
  const put = async (tag: string) => (await send('PUT', path, { 'if-none-match': tag }, { orderLink: tag })).status
  expect([await put('*'), await put(own), await put(`"x", W/${own}`), await put('"x"')]).toEqual([412, 412, 412, 202])
  expect((await send('POST', `${path}/payments`, { 'if-none-match': '*' }, { price: 1 })).status).toBe(400)
})

const paths = async (): Promise<readonly string[]> => {
  const [row] = await query('select rental_id as id from mirror.rental_options limit 1')
  return [`/v3/rentals/${row?.id}`, `/v3/rentals/${row?.id}/options`, '/v3/rentals?perPage=5', '/v3/companies']
}

it('tags are the same from every server of a database, whenever it was started', async () => {
  await using second = await served.serve()
  for (const path of await paths())
    for (const who of ['writer', 'reader', null] as const)
      expect(await tagOf(path, who, second.url), path).toBe(await tagOf(path, who))
})

it('a tag of one database is no tag of its copy, though records and tokens are the same', async () => {
  const [rental = '', ...others] = await paths()
  await using elsewhere = await createTestDatabase({ migrated: false })
  const allow = (connections: boolean) =>
    elsewhere.pool.query(`alter database "${new URL(database.url).pathname.slice(1)}" allow_connections ${connections}`)
  await allow(false) // otherwise worker and server are back before it is copied
  await using copy = await createTestDatabase({ copyOf: database }).finally(() => allow(true))
  const db = openDatabase({ url: copy.url, applicationName: 'test', max: 4, log: createLogger('silent') })
  try {
    await using ofCopy = await served.serve(db)
    for (const path of [rental, ...others])
      for (const who of ['writer', 'reader', null] as const) {
        const old = { 'if-none-match': await tagOf(path, who) }
        const own = { 'if-none-match': await tagOf(path, who, ofCopy.url) }
        const statuses = [old, own].map(async (headers) => (await get(path, who, headers, ofCopy.url)).status)
        expect(await Promise.all(statuses), `${path} ${who}`).toEqual([200, 304])
      }
    const put = async (tag: string) =>
      (await send('PUT', rental, { 'if-match': tag }, { orderLink: 'x' }, ofCopy.url)).status
    expect([await put(await tagOf(rental)), await put(await tagOf(rental, 'writer', ofCopy.url))]).toEqual([412, 202])
  } finally {
    await db.close()
  }
})
