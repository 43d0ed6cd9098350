// Every read at random records, and lists with random queries: serve answers as the API does, and as its own document says.

import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { stringifyJson } from '../../src/api/wire/json.ts'
import { readEndpoints } from '../../src/catalog/catalog.ts'
import { addDays } from '../../src/clock.ts'
import { keepsAll } from '../../src/privacy/rules.ts'
import { entries, readProfile } from '../../src/profile/profile.ts'
import { openApiDocument } from '../../src/serve/openapi/document.ts'
import { judgeBounds } from '../../src/sync/lists/windows.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { drawnAnswer, type Served } from './drawn-reads.ts'
import { createOpenApiCheck, type OpenApiCheck } from './openapi-check.ts'
import { openReads } from './reads-rig.ts'

let ids: {
  readonly rentals: string[]
  readonly resources: string[]
  readonly companies: string[]
  readonly users: string[]
}
let days: string[]

const rig = opened(() => openReads({ sandbox: { size: 60 } }))
beforeAll(async () => {
  const { pool } = rig.mirror.app.database
  const idsOf = async (table: string): Promise<string[]> =>
    (await pool.query<{ id: string }>(`select id::text from mirror.${table} order by id`)).rows.map(({ id }) => id)
  ids = {
    rentals: await idsOf('rentals'),
    resources: await idsOf('resources'),
    companies: await idsOf('companies'),
    users: await idsOf('users'),
  }
  const { rows } = await pool.query<{ day: string }>(
    `select distinct left(_payload ->> 'departureDatetime', 10) as day from mirror.rentals order by 1`,
  )
  days = rows.map(({ day }) => day)
  await (await readProfile(pool)).found(entries.bounds, 'rentals', 'included')
})

/** Some of these parameters, each with one of its values. */
const some = (values: Readonly<Record<string, fc.Arbitrary<string>>>): fc.Arbitrary<URLSearchParams> =>
  fc.record(values, { requiredKeys: [] }).map((chosen) => {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(chosen)) if (value !== undefined) query.set(name, value)
    return query
  })

const paging = {
  page: fc.integer({ min: 1, max: 30 }).map(String),
  perPage: fc.integer({ min: 1, max: 100 }).map(String),
}

/** Whether serve answers as the API does. Without a page size each has its own. */
async function isSame(path: string, query: URLSearchParams): Promise<void> {
  if (!query.has('perPage')) query.set('perPage', '20')
  const [served, real] = [await rig.get(`${path}?${query}`), await rig.ask(`${path}?${query}`)]
  expect([String(query), served.status, served.json]).toEqual([String(query), real.status, real.json])
}

describe('every read', () => {
  let check: OpenApiCheck
  let served: Served
  beforeAll(() => {
    const { app } = rig.mirror
    const document = openApiDocument({ api: app.config.api, privacy: keepsAll, isOpenToLocal: true })
    check = createOpenApiCheck(JSON.parse(stringifyJson(document)))
    const today = app.clock.now().toISOString().slice(0, 10)
    const { slotDurations: durations } = app.config
    served = { url: rig.url, headers: { authorization: 'Bearer all' }, today, durations }
  })
  /** Without a size, serve and API have each their own. */
  const paged = /\/(users|companies|resources|rentals)$/
  /** The order of records without an id is not published. */
  const unordered = /\/(unavailabilities|tides|pricings)$/
  const comparable = (endpoint: string, body: unknown): unknown =>
    unordered.test(endpoint) && Array.isArray(body) ? body.map((each) => JSON.stringify(sorted(each))).sort() : body
  const sorted = (record: object): unknown => Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))

  it.each(readEndpoints)('%s', async (endpoint) => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (draw) => {
        const drawn = await drawnAnswer(served, endpoint, draw)
        const url = paged.test(endpoint) ? `${drawn.url}?perPage=100` : drawn.url
        const [{ status, json: body }, real] = [await rig.get(url), await rig.ask(url)]
        expect([url, status, comparable(endpoint, body)]).toEqual([url, real.status, comparable(endpoint, real.json)])
        expect(check.faultsOf(endpoint, { status, contentType: 'application/json', body }), url).toEqual([])
      }),
      { numRuns: runsOf(10) },
    )
  })
})

it('lists of rentals are those of the API, whatever is asked for together', async () => {
  const one = (of: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...of)
  const day = one(days).chain((each) => fc.integer({ min: -1, max: 1 }).map((more) => addDays(each, more)))
  const query = some({
    ...paging,
    order: one(['creationDateAsc', 'creationDateDesc']),
    id: one(ids.rentals),
    resourceId: one(ids.resources),
    companyId: one(ids.companies),
    customerId: one(ids.users),
    status: one(['PENDING', 'VALIDATED']),
    departureMinDate: day,
    departureMaxDate: day,
  })
  await fc.assert(
    fc.asyncProperty(query, (asked) => isSame('/v3/rentals', asked)),
    { numRuns: runsOf(60) },
  )
})

it('lists of users, companies and resources are those of the API', async () => {
  const query = some({
    ...paging,
    deactivated: fc.constantFrom('true', 'false'),
    organizationType: fc.constantFrom('INDIVIDUAL', 'SOCIETY', 'ASSOCIATION'),
    id: fc.constantFrom(...ids.users),
  })
  await fc.assert(
    fc.asyncProperty(query, (asked) => isSame('/v3/users', asked)),
    { numRuns: runsOf(40) },
  )
  const list = fc.constantFrom('/v3/companies', '/v3/resources')
  await fc.assert(
    fc.asyncProperty(list, some(paging), (path, asked) => isSame(path, asked)),
    { numRuns: runsOf(20) },
  )
})

it('days of a window are included where records of both were answered, and none of a day outside', () => {
  const day = fc.integer({ min: 0, max: 12 }).map((more) => addDays('2026-07-01', more))
  fc.assert(
    fc.property(fc.array(day), day, day, (answered, a, b) => {
      const [from, to] = a < b ? [a, b] : [b, a]
      const seen = judgeBounds(answered, { from, to })
      const isOutside = answered.some((each) => each < from || each > to)
      const isProof = answered.includes(from) && answered.includes(to)
      expect(seen).toBe(isOutside ? 'contradicted' : isProof ? 'included' : 'unproven')
    }),
  )
})
