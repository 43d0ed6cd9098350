// What tokens see: rows of their companies, personal members or not, and nothing of users without the right to it.

import { beforeAll, describe, expect, it } from 'vitest'
import { readEndpoints } from '../../src/catalog/catalog.ts'
import { opened } from '../helpers/opened.ts'
import { fetchJson, type Got } from './reads-rig.ts'
import { openServed } from './served-rig.ts'

const served = opened(() => openServed({ sandbox: { size: 40 } }))
let company: string
const tokens = { plain: '', personal: '', company: '', companyPersonal: '' }

const all = async <R extends object>(sql: string): Promise<R[]> =>
  (await served.mirror.app.database.pool.query<R & Record<string, unknown>>(sql)).rows

beforeAll(async () => {
  const [row] = await all<{ id: string }>(
    'select company_id as id from mirror.rentals group by 1 order by count(*) limit 1',
  )
  company = row?.id ?? ''
  const create = async (name: string, wishes = {}) => (await served.createToken(name, wishes)).token
  tokens.plain = await create('plain')
  tokens.personal = await create('personal', { personal: true })
  tokens.company = await create('company', { companies: [company] })
  tokens.companyPersonal = await create('company-personal', { companies: [company], personal: true })
})

const get = (path: string, who: keyof typeof tokens): Promise<Got> =>
  fetchJson(`${served.url}${path}`, { token: tokens[who] })

type Rental = {
  readonly id: number
  readonly message?: string
  readonly user?: Readonly<Record<string, unknown>> | null
}

describe('a token without --personal', () => {
  it('sees rentals without what is said of persons', async () => {
    const [{ id } = { id: '' }] = await all<{ id: string }>(
      'select id from mirror.rentals where user_id is not null and message is not null limit 1',
    )
    const shown = (await get(`/v3/rentals/${id}`, 'plain')).json as Rental
    const whole = (await get(`/v3/rentals/${id}`, 'personal')).json as Rental
    expect(whole.message).toBeTypeOf('string')
    expect(whole.user).toHaveProperty('email')
    const { message, user, ...rest } = whole
    const { user: left, ...others } = shown
    expect(others).toEqual(rest)
    expect(shown).not.toHaveProperty('message')
    expect(Object.keys(left ?? {})).not.toEqual(
      expect.arrayContaining(['email', 'firstName', 'lastName', 'mobilePhone']),
    )
    expect(left?.id).toBe(user?.id)
  })

  it('sees in lists what it sees of each record, and crew members without names', async () => {
    const list = (await get('/v3/rentals?perPage=20', 'plain')).json as Rental[]
    const [first] = list
    expect(first).toEqual((await get(`/v3/rentals/${first?.id}`, 'plain')).json)
    const [{ id } = { id: '' }] = await all<{ id: string }>(
      'select rental_id as id from mirror.rental_crew_members limit 1',
    )
    const crew = (await get(`/v3/rentals/${id}/crewMembers`, 'plain')).json as Record<string, unknown>[]
    expect(crew.length).toBeGreaterThan(0)
    expect(new Set(crew.flatMap(Object.keys))).toEqual(new Set(['id', 'type']))
  })

  it.each(['/v3/users', '/v3/users/1', '/v3/users/1/identity', '/v3/users/1/license', '/v3/rentals/1/user'])(
    'is refused %s',
    async (path) => {
      expect((await get(path, 'plain')).status).toBe(403)
    },
  )

  it('has other tags than a token with --personal', async () => {
    const [{ id } = { id: '' }] = await all<{ id: string }>('select id from mirror.companies limit 1')
    const [one, other] = await Promise.all([
      get(`/v3/companies/${id}`, 'plain'),
      get(`/v3/companies/${id}`, 'personal'),
    ])
    expect(one.json).toEqual(other.json)
    expect(one.headers.get('etag')).not.toBe(other.headers.get('etag'))
  })
})

describe('a token with --companies', () => {
  it('lists the rentals, resources and companies of its own alone, and counts them', async () => {
    for (const [path, sql] of [
      ['/v3/rentals', `select id from mirror.rentals where company_id = ${company} order by id`],
      ['/v3/resources', `select id from mirror.resources where company_id = ${company} order by id collate "C"`],
      ['/v3/companies', `select id from mirror.companies where id = ${company}`],
    ]) {
      const rows = await all<{ id: string }>(sql ?? '')
      const { json, headers } = await get(`${path}?perPage=100`, 'company')
      expect((json as { id: unknown }[]).map(({ id }) => String(id))).toEqual(rows.slice(0, 100).map(({ id }) => id))
      expect(headers.get('x-total-count')).toBe(String(rows.length))
    }
  })

  it('is refused every record of others, and what hangs below them, whether it exists or not', async () => {
    const [{ rental } = { rental: '' }] = await all<{ rental: string }>(
      `select id as rental from mirror.rentals where company_id <> ${company} limit 1`,
    )
    const [{ resource } = { resource: '' }] = await all<{ resource: string }>(
      `select id as resource from mirror.resources where company_id <> ${company} limit 1`,
    )
    const [cell] = await all<{ date: string; duration: string }>(
      `select date, duration from mirror.resource_availability where resource_id = '${resource}' limit 1`,
    )
    const at = `date=${cell?.date}&duration=${encodeURIComponent(cell?.duration ?? '')}`
    const below = readEndpoints.filter((each) => /\{(rentalId|resourceId)\}/.test(each) && !/\/user$|slotId/.test(each))
    for (const endpoint of below) {
      const path = endpoint
        .replace('GET ', '')
        .replace('{rentalId}', rental)
        .replace('{resourceId}', resource)
        .replace(/\{\w+\}/, '1')
      const needs = /availability$|slots$/.test(path)
        ? `?${at}`
        : path.endsWith('pricetable')
          ? `?from=${cell?.date}&to=${cell?.date}`
          : ''
      expect([path, (await get(path + needs, 'company')).status]).toEqual([path, 403])
    }
    expect((await get(`/v3/resources/availabilities?resourceIds=${resource}&${at}`, 'company')).status).toBe(403)
    expect((await get('/v3/rentals/999999999', 'company')).status).toBe(403)
  })

  it('reads records of its own, and of reference data as everybody', async () => {
    const [{ id } = { id: '' }] = await all<{ id: string }>(
      `select id from mirror.rentals where company_id = ${company} limit 1`,
    )
    for (const below of ['', '/options', '/payments', '/crewMembers', '/resource'])
      expect([below, (await get(`/v3/rentals/${id}${below}`, 'company')).status]).toEqual([below, 200])
    expect((await get('/v3/countries', 'company')).status).toBe(200)
    expect((await get('/v3/countries/XX', 'company')).status).toBe(404)
  })

  it('reads no user even with --personal, who stands in its rentals all the same', async () => {
    const [{ id } = { id: '' }] = await all<{ id: string }>(
      `select id from mirror.rentals where company_id = ${company} and user_id is not null limit 1`,
    )
    for (const path of ['/v3/users', '/v3/users/1', '/v3/users/1/license', `/v3/rentals/${id}/user`])
      expect([path, (await get(path, 'companyPersonal')).status]).toEqual([path, 403])
    expect(((await get(`/v3/rentals/${id}`, 'companyPersonal')).json as Rental).user).toHaveProperty('email')
  })
})

it('a wrong token is refused, and one that is revoked from that moment on', async () => {
  const brief = await served.createToken('brief')
  const ask = async (token: string): Promise<number> =>
    (await fetchJson(`${served.url}/v3/countries`, { token })).status
  expect(await ask(brief.token)).toBe(200)
  await served.revokeToken(brief)
  expect(await ask(brief.token)).toBe(401)
  expect(await ask('nonsense')).toBe(401)
  expect(await ask('')).toBe(200)
})

describe('metrics on loopback', () => {
  it('are shown to this machine, and not to those for whom a proxy on it asks without a token', async () => {
    await get('/v3/countries', 'plain')
    const own = await fetchJson(`${served.url}/metrics`, { token: '' })
    expect(own.text).toContain('boat_mirror_serve_requests_total{route="/v3/countries",status="200"}')
    const passedOn = { 'x-forwarded-for': '203.0.113.7' }
    const foreign = await fetchJson(`${served.url}/metrics`, { token: '', headers: passedOn })
    expect(foreign.status).toBe(401)
    expect(foreign.text).not.toContain('boat_mirror')
  })
})
