// Every read answers what the API answers, after a sync.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readEndpoints } from '../../src/catalog/catalog.ts'
import { type Got, openReads, type ReadsRig } from './reads-rig.ts'

let rig: ReadsRig

beforeAll(async () => {
  rig = await openReads({ sandbox: { size: 40 } })
})
afterAll(() => rig[Symbol.asyncDispose]())

type Row = Readonly<Record<string, string>>

/** Rows of the mirror that the path parameters of an endpoint can name. */
async function paramsOf(endpoint: string): Promise<readonly Row[]> {
  const { pool } = rig.mirror.app.database
  const sources: Readonly<Record<string, string>> = {
    'rentals optionId': 'select rental_id::text as "rentalId", id::text as "optionId" from mirror.rental_options',
    'rentals paymentId': 'select rental_id::text as "rentalId", id::text as "paymentId" from mirror.rental_payments',
    'rentals crewMemberId':
      'select rental_id::text as "rentalId", id::text as "crewMemberId" from mirror.rental_crew_members',
    'resources optionId': 'select resource_id as "resourceId", id::text as "optionId" from mirror.resource_options',
    'resources slotId': 'select resource_id as "resourceId", id as "slotId" from mirror.resource_slots',
  }
  const names = Array.from(endpoint.matchAll(/\{(\w+)\}/g), ([, name = '']) => name)
  const [, , table = ''] = endpoint.split('/')
  const snake = table.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase()
  const own = names.at(-1) === undefined ? undefined : sources[`${table} ${names.at(-1)}`]
  if (names.length === 0) return [{}]
  const key = snake === 'countries' ? 'code' : 'id'
  const sql = own ?? `select ${key}::text as "${names[0]}" from mirror.${snake} where _deleted_at is null`
  const { rows } = await pool.query<Row>(`${sql} limit 12`)
  return rows
}

/** Of records without a number of their own nobody knows the order. */
const unordered = /\/(unavailabilities|tides|pricings)$/
const comparable = (endpoint: string, { json }: Got): unknown =>
  unordered.test(endpoint) && Array.isArray(json) ? json.map((each) => JSON.stringify(sorted(each))).sort() : json
const sorted = (record: object): unknown => Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))

/** Queries that an endpoint needs. */
async function queriesOf(endpoint: string, params: Row): Promise<readonly string[]> {
  const { pool } = rig.mirror.app.database
  const { rows } = await pool.query<{ date: string; duration: string; ids: string }>(
    `select date, duration, string_agg(resource_id, ',') as ids from mirror.resource_availability
     where $1::text is null or resource_id = $1 group by date, duration`,
    [params.resourceId ?? null],
  )
  if (/\/availability$|\/slots$/.test(endpoint))
    return rows.map(({ date, duration }) => `?date=${date}&duration=${encodeURIComponent(duration)}`)
  if (endpoint === 'GET /v3/resources/availabilities')
    return rows.map(
      ({ date, duration, ids }) =>
        `?resourceIds=${encodeURIComponent(ids)}&date=${date}&duration=${encodeURIComponent(duration)}`,
    )
  const [{ first, last } = { first: '', last: '' }] = (
    await pool.query<{ first: string; last: string }>(
      'select min(date)::text as first, max(date)::text as last from mirror.resource_pricetable',
    )
  ).rows
  if (endpoint.endsWith('/pricetable')) return [`?from=${first}&to=${last}`, `?from=${last}&to=${last}`]
  if (endpoint.endsWith('/durations')) return ['', `?date=${first}`]
  if (['users', 'companies', 'resources', 'rentals'].some((list) => endpoint === `GET /v3/${list}`))
    return ['?perPage=100', '?perPage=7&page=2', '?perPage=3&page=1000']
  return ['']
}

describe('every read', () => {
  it.each(readEndpoints)('%s', async (endpoint) => {
    const all = await paramsOf(endpoint)
    let compared = 0
    for (const params of all)
      for (const query of await queriesOf(endpoint, params)) {
        const path = endpoint
          .replace('GET ', '')
          .replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
        const [served, real] = [await rig.get(path + query), await rig.ask(path + query)]
        expect([path + query, served.status, comparable(endpoint, served)]).toEqual([
          path + query,
          real.status,
          real.status === 200 ? comparable(endpoint, real) : expect.objectContaining({ status: real.status }),
        ])
        compared += 1
      }
    expect(compared).toBeGreaterThan(0)
  })
})
