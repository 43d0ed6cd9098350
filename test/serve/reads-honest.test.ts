// No answer that looks true and is not: what is refused, with which status, and what the headers say.

import { inspect } from 'node:util'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { parseJson } from '../../src/api/wire/json.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { readConfig } from '../../src/config.ts'
import { createLogger } from '../../src/log.ts'
import { createServeApp } from '../../src/serve/app.ts'
import { present, recordTag } from '../../src/serve/rights.ts'
import { opened } from '../helpers/opened.ts'
import { contextOf, openReads } from './reads-rig.ts'

let resource: string
let today: string
let duration: string

const all = async <R extends object>(sql: string): Promise<R[]> =>
  (await rig.mirror.app.database.pool.query<R & Record<string, unknown>>(sql)).rows

const rig = opened(() => openReads({ sandbox: { size: 20 } }))
beforeAll(async () => {
  const [slot] = await all<{ id: string; date: string; duration: string }>(
    'select resource_id as id, date, duration from mirror.resource_availability order by 1, 2, 3 limit 1',
  )
  resource = slot?.id ?? ''
  today = slot?.date ?? ''
  duration = encodeURIComponent(slot?.duration ?? '')
})

/** Status and the field that a problem names. */
async function refusal(path: string): Promise<readonly [number, string | undefined]> {
  const { status, json, headers } = await rig.get(path)
  if (status !== 200) expect(headers.get('content-type')).toContain('application/problem+json')
  const { errors = [] } = json as { readonly errors?: readonly { readonly field: string }[] }
  return [status, errors[0]?.field]
}

describe('400 names the parameter', () => {
  it.each([
    ['of the mirror is not one', '/v3/rentals?perPage=5&sort=id', 'sort'],
    ['has a meaning that nobody knows', '/v3/rentals?status=CANCELED', 'status'],
    ['is no whole number', '/v3/rentals?page=one', 'page'],
    ['is a page before the first', '/v3/rentals?page=0', 'page'],
    ['is a page larger than documented', '/v3/rentals?perPage=101', 'perPage'],
    ['is given twice', '/v3/rentals?page=1&page=2', 'page'],
    ['pages a list without pages', '/v3/countries?page=1', 'page'],
    ['is a range that sync never asks for', '/v3/rentals?creationMinDate=2026-01-01', 'creationMinDate'],
    ['asks for test resources', '/v3/resources?test=true', 'test'],
    ['asks a list to be read first', '/v3/rentals?fresh=1', 'fresh'],
    ['is an id that is no number', '/v3/rentals/abc', 'rentalId'],
  ])('that %s', async (_, path, field) => {
    expect(await refusal(path)).toEqual([400, field])
  })

  it('that lies outside of what is mirrored', async () => {
    const base = `/v3/resources/${resource}`
    const far = '2099-01-01'
    expect(await refusal(`${base}/pricetable?from=${today}&to=${far}`)).toEqual([400, 'to'])
    expect(await refusal(`${base}/pricetable?from=${today}`)).toEqual([400, 'to'])
    expect(await refusal(`${base}/availabilities?year=2099`)).toEqual([400, 'year'])
    expect(await refusal(`${base}/availability?date=${far}&duration=${duration}`)).toEqual([400, 'date'])
    expect(await refusal(`${base}/availability?date=${today}&duration=DAYS,77`)).toEqual([400, 'duration'])
    expect(await refusal(`${base}/slots?date=${today}`)).toEqual([400, 'duration'])
    const slots = `${base}/slots?date=${today}&duration=${duration}`
    expect(await refusal(`${slots}&withMandatoryOptions=true`)).toEqual([400, 'withMandatoryOptions'])
    expect(await refusal(`${slots}&withMandatoryOptions=false&test=false`)).toEqual([200, undefined])
    expect(await refusal(`${base}/durations?date=${far}`)).toEqual([400, 'date'])
  })
})

describe('404 is proven', () => {
  it('by a complete list, which says as of when', async () => {
    const { status, headers } = await rig.get('/v3/rentals/999999999')
    const [stream] = await all<{ as_of: Date }>(`select as_of from sync.streams where stream = 'rentals'`)
    expect([status, headers.get('x-as-of')]).toEqual([404, stream?.as_of.toISOString()])
  })

  it('by a complete collection, and below what is not there', async () => {
    const [rental] = await all<{ id: string }>('select id from mirror.rentals limit 1')
    expect((await rig.get(`/v3/rentals/${rental?.id}/payments/999999999`)).status).toBe(404)
    expect((await rig.get('/v3/rentals/999999999/payments')).status).toBe(404)
    expect((await rig.get('/v3/rentals/999999999/resource')).status).toBe(404)
  })

  it('by a tombstone, also of what hangs below it', async () => {
    const [rental] = await all<{ id: string }>(
      'update mirror.rentals set _deleted_at = now() where id = (select max(id) from mirror.rentals) returning id',
    )
    const paths = ['', '/options', '/resource', '/user'].map((below) => `/v3/rentals/${rental?.id}${below}`)
    const answers = await Promise.all(paths.map((path) => rig.get(path)))
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404])
    await all(`update mirror.rentals set _deleted_at = null where id = ${rental?.id}`)
  })

  it('for a path that the API does not have', async () => {
    expect((await rig.get('/v3/boats')).status).toBe(404)
  })
})

describe('what the settings switch off', () => {
  it.each([
    ['MIRROR_DOCUMENTS', { mirrorDocuments: false }, '/v3/users/1/identity'],
    ['SLOT_DAYS', { slotDays: 0 }, '/v3/resources/x/slots?date=2026-01-01&duration=DAYS,1'],
    ['CALENDAR_YEARS', { calendarYears: 0 }, '/v3/resources/x/availabilities'],
    ['PRICE_DAYS', { priceDays: 0 }, '/v3/resources/x/pricetable?from=2026-01-01&to=2026-01-01'],
  ])('is 501 and names %s', async (setting, settings, url) => {
    const app = createServeApp(contextOf(rig.mirror, rig.callers, settings))
    const answer = await app.inject({ url, headers: { host: 'localhost', authorization: 'Bearer all' } })
    expect([answer.statusCode, answer.json().setting]).toEqual([501, setting])
    await app.close()
  })
})

describe('a list', () => {
  it('is not answered before it was read completely', async () => {
    await all(`update sync.streams set as_of = null where stream = 'characteristics'`)
    const { status, headers } = await rig.get('/v3/characteristics')
    expect(status).toBe(503)
    expect(headers.get('retry-after')).not.toBeNull()
    await all(`update sync.streams set as_of = now() where stream = 'characteristics'`)
  })

  it('is not answered while records that cannot be mirrored are more than are asked for, or have no id', async () => {
    const refuse = (count: number, key: string): Promise<unknown> =>
      all(`insert into sync.quarantine (stream, key, endpoint, payload, reason)
        select 'types', ${key}, 'GET /v3/types', '{}', 'test' from generate_series(1, ${count}) n`)
    for (const [count, key] of [
      [21, 'n::text'],
      [1, `'#AbCdEfGhIjKlMnOpQrStUv'`],
    ] as const) {
      await refuse(count, key)
      expect((await rig.get('/v3/types')).status).toBe(503)
      await all(`delete from sync.quarantine where stream = 'types'`)
      expect((await rig.get('/v3/types')).status).toBe(200)
    }
  })

  it('of the rentals of a resource is not answered while a rental may be one of them', async () => {
    const [rental] = await all<{ id: string; resource_id: string }>(
      'select id, resource_id from mirror.rentals limit 1',
    )
    await all(`update mirror.rentals set resource_id = null where id = ${rental?.id}`)
    expect((await rig.get(`/v3/rentals?resourceId=${rental?.resource_id}`)).status).toBe(503)
    await all(`update mirror.rentals set resource_id = '${rental?.resource_id}' where id = ${rental?.id}`)
    expect((await rig.get(`/v3/rentals?resourceId=${rental?.resource_id}`)).status).toBe(200)
  })

  it('says how many records it has, whatever the page', async () => {
    const [{ count } = { count: '' }] = await all<{ count: string }>('select count(*) from mirror.rentals')
    for (const query of ['', '?perPage=3', '?perPage=3&page=99'])
      expect((await rig.get(`/v3/rentals${query}`)).headers.get('x-total-count')).toBe(count)
  })
})

describe('every answer', () => {
  it('says how old it is, and is kept by nobody but its caller', async () => {
    const [rental] = await all<{ id: string; at: Date }>(
      `select r.id, greatest(r._read_at, s.as_of) as at from mirror.rentals r, sync.streams s where s.stream = 'rentals' limit 1`,
    )
    const { headers } = await rig.get(`/v3/rentals/${rental?.id}`)
    expect(headers.get('x-as-of')).toBe(rental?.at.toISOString())
    expect(Number(headers.get('age'))).toBeGreaterThanOrEqual(0)
    expect(headers.get('cache-control')).toBe('private, no-cache')
    expect(headers.get('vary')).toBe('Authorization')
    const { headers: ofList } = await rig.get('/v3/rentals')
    const [stream] = await all<{ as_of: Date }>(`select as_of from sync.streams where stream = 'rentals'`)
    expect(ofList.get('x-as-of')).toBe(stream?.as_of.toISOString())
    const [read] = await all<{ at: Date }>(
      `select detail_read_at as at from sync.records where stream = 'rental_options' and key = '${rental?.id}'`,
    )
    expect((await rig.get(`/v3/rentals/${rental?.id}/options`)).headers.get('x-as-of')).toBe(read?.at.toISOString())
  })

  it('has a tag, by which it is 304 for the same caller and not for another one', async () => {
    const [rental] = await all<{ id: string }>('select id from mirror.rentals limit 1')
    for (const path of [`/v3/rentals/${rental?.id}`, '/v3/rentals', `/v3/rentals/${rental?.id}/options`]) {
      const tag = (await rig.get(path)).headers.get('etag') ?? ''
      expect(tag).toMatch(/^"[\w.-]+"$/)
      const headers = { 'if-none-match': tag }
      const again = await rig.get(path, { headers })
      expect([again.status, again.text]).toEqual([304, ''])
      expect((await rig.get(path, { headers, token: 'impersonal' })).status).toBe(200)
      expect((await rig.get(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
    }
  })
})

it('a record has the tag that a write compares with If-Match', async () => {
  const { writer } = rig.callers
  if (writer === undefined) throw new Error('There is no caller of this name.')
  for (const name of ['rentals', 'users']) {
    const [row] = await all<{ id: string; payload: string }>(
      `select id, _payload::text as payload from mirror.${name} limit 1`,
    )
    const served = present(writer, streamNamed(name), parseJson(row?.payload ?? '').value)
    const { headers } = await rig.get(`/v3/${name}/${row?.id}`, { token: 'writer' })
    expect(headers.get('etag')).toBe(
      `"${recordTag(writer, { stream: streamNamed(name), key: [row?.id ?? ''] }, served)}"`,
    )
  }
})

describe('the guard', () => {
  it('answers to names of this machine alone', async () => {
    const app = createServeApp(contextOf(rig.mirror, rig.callers))
    const statusFor = async (headers: Record<string, string>): Promise<number> =>
      (await app.inject({ url: '/v3/countries', headers: { authorization: 'Bearer all', ...headers } })).statusCode
    expect(await statusFor({ host: 'evil.example' })).toBe(421)
    expect(await statusFor({ host: 'localhost:8585', origin: 'https://evil.example' })).toBe(403)
    expect(await statusFor({ host: 'localhost:8585', 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await statusFor({ host: 'localhost:8585', origin: 'http://localhost:8585' })).toBe(200)
    await app.close()
  })

  it('says which methods a path has, and opens no answer to other origins', async () => {
    const { status, headers } = await rig.get('/v3/rentals/1', { method: 'PATCH' })
    expect([status, headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD, PUT'])
    expect((await rig.get('/v3/countries')).headers.get('access-control-allow-origin')).toBeNull()
  })

  it('keeps a connection open for longer than a write may wait on it', async () => {
    for (const wait of ['1ms', '20s', '150s', '10m', '24h']) {
      const { serveWaitMs } = readConfig({ SERVE_WAIT: wait }, '/nonexistent')
      const app = createServeApp(contextOf(rig.mirror, rig.callers, { serveWaitMs }))
      const limits = [app.server.timeout, app.server.keepAliveTimeout, app.server.requestTimeout]
      await app.close()
      expect(limits[0], wait).toBeGreaterThan(serveWaitMs)
      expect(Math.min(...limits), 'no request is cut off as it comes in').toBeGreaterThanOrEqual(30_000)
    }
  })

  it('logs no credential of a query', async () => {
    const log = createLogger('silent')
    const warn = vi.spyOn(log, 'warn')
    const base = contextOf(rig.mirror, rig.callers)
    const failing = { ...base, log, callerOf: async () => Promise.reject(new Error('broken')) }
    const app = createServeApp(failing)
    const answer = await app.inject({ url: '/v3/rentals?api_key=secret-of-mine', headers: { host: 'localhost' } })
    expect(answer.statusCode).toBe(500)
    expect(warn).toHaveBeenCalledOnce()
    expect(inspect(warn.mock.calls, { depth: 9 })).not.toContain('secret-of-mine')
    await app.close()
  })
})
