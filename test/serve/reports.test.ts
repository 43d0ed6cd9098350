// Reports as CSV over HTTP: who may read which rows, by token and by key, and what a spreadsheet makes of them.

import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { companyReports } from '../../src/reports/report-views.ts'
import { createCallerOf } from '../../src/serve/access/access.ts'
import { wrongTokenLimit } from '../../src/serve/access/limit.ts'
import { createReportKey, revokeReportKey } from '../../src/serve/access/secrets.ts'
import { createToken, revokeToken } from '../../src/serve/access/tokens.ts'
import type { ServeContext } from '../../src/serve/context.ts'
import { failureAnswer, send } from '../../src/serve/problem.ts'
import { registerReports } from '../../src/serve/reports.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror, quiet, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)
let app: FastifyInstance
const tokens: string[] = []
afterAll(async () => {
  await app.close()
  // Roles belong to the server, and stay when the database is dropped.
  for (const id of tokens) await mirror.db.transaction((client) => revokeToken(client, id))
})

function serve(serveRateLimit: number | null = null): FastifyInstance {
  const server = Fastify()
  const wrongTokens = wrongTokenLimit(20)
  const access = { auth: { kind: 'query', name: 'key' }, host: '0.0.0.0', perSecond: null } as const
  const callerOf = createCallerOf(mirror.db.pool, access, wrongTokens)
  const context = { sync: { database: mirror.db }, settings: { serveRateLimit }, wrongTokens, callerOf }
  server.setErrorHandler((thrown, request, reply) =>
    send(reply, failureAnswer(quiet, thrown, request.routeOptions.url)),
  )
  registerReports(server, context as unknown as ServeContext)
  return server
}

const today = new Date().toISOString().slice(0, 10)
const at = (days: number): string => new Date(Date.parse(today) + days * 86_400_000).toISOString()

beforeAll(async () => {
  app = serve()
  const year = Number(today.slice(0, 4))
  const days = '01'.repeat(183)
  await mirror.write({
    tables: [
      tableOf(
        'companies',
        1,
        [1, 2].map((id) => rowOf('companies', { id, company_brand_name: `Brand ${id}` })),
      ),
      // One boat in a harbour of each company: its double bookings are of both.
      tableOf('resources', 1, [
        rowOf('resources', { id: 'a', name: '=1+1', company_id: 1, boat_id: 7, min_price: '-12.50' }),
        rowOf('resources', { id: 'b', name: 'B, "the" boat', company_id: 2, boat_id: 7 }),
      ]),
      tableOf(
        'resource_availability_years',
        1,
        ['a', 'b'].map((resource_id) => rowOf('resource_availability_years', { resource_id, year, days })),
      ),
      tableOf(
        'rentals',
        1,
        [1, 2, 3, 4, 5, 6].map((id) =>
          rowOf('rentals', {
            ...{
              id,
              departure_datetime: at(3),
              arrival_datetime: at(5),
              total_to_pay: '100.10',
              reference_id: 'Ada <ada@example.com>',
              user_id: 5,
            },
            status: id > 4 ? 'CANCELED_BY_CLIENT' : 'VALIDATED',
          }),
        ),
      ),
    ],
  })
  await mirror.all(
    `insert into sync.pace_days (as_of, departure_month, company_id, currencies, rentals, days, amount, canceled, lead_days, with_lead)
     select '2026-01-01', '2026-02-01', company, '{EUR}', 1, 1, 1, 0, 0, 0 from unnest('{1,2,null}'::bigint[]) company;
     update sync.settings set pace_from = '2026-01-01', pace_until = '2026-01-02'`,
  )
  // Known from the rental's resource.
  await mirror.all(
    `update mirror.rentals set company_id = 2 - id % 2, resource_id = case id % 2 when 1 then 'a' else 'b' end`,
  )
})

const keyFor = async (report: string, company: string): Promise<string> =>
  (await createReportKey(mirror.db.pool, report, company)) ?? ''
const ask = (name: string, key?: string, headers: Record<string, string> = {}) =>
  app.inject({ url: `/reports/${name}.csv${key === undefined ? '' : `?key=${encodeURIComponent(key)}`}`, headers })

async function tokenFor(companies: readonly string[] | null): Promise<string> {
  const wishes = { name: `t${tokens.length}`, companies, personal: false, write: false, validMs: null, server: null }
  const { id, token } = await mirror.db.transaction((client) => createToken(client, wishes))
  tokens.push(id)
  return token
}

/** Rows by the names of their columns; RFC 4180. */
function rowsIn(csv: string): readonly Readonly<Record<string, string>>[] {
  const [names = [], ...rows] = csv
    .split(/\n(?=(?:[^"]*"[^"]*")*[^"]*$)/)
    .filter((line) => line !== '')
    .map((line) =>
      [...line.matchAll(/(?:^|,)("(?:[^"]|"")*"|[^,]*)/g)].map(([, cell = '']) =>
        cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
      ),
    )
  return rows.map((cells) => Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ''])))
}

/** What both the key and the token of company 1 must show. */
const ofCompany = (name: string): Promise<{ row: string }[]> => {
  const other = name === 'overlaps' ? 'and other_company_id = 1' : ''
  return mirror.all(`select v::text as row from report.${name} v where company_id = 1 ${other}`)
}

describe('a report', () => {
  it.each(companyReports.map(({ name }) => name))(
    '%s shows the rows of one company to its key and token',
    async (name) => {
      const own = await ofCompany(name)
      expect(own.length).toBeGreaterThan(0)
      for (const secret of [await keyFor(name, '1'), await tokenFor(['1'])]) {
        const { statusCode, headers, body } = await ask(name, secret)
        expect([statusCode, headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8'])
        const rows = rowsIn(body)
        expect(rows).toHaveLength(own.length)
        for (const row of rows) expect([row.company_id, row.other_company_id ?? '1']).toEqual(['1', '1'])
      }
    },
  )

  it('shows all companies to a token of all, and nothing without one', async () => {
    const all = rowsIn((await ask('fleet', await tokenFor(null))).body)
    expect(all.map(({ company_id }) => company_id)).toEqual(['1', '2'])
    expect((await ask('fleet')).statusCode).toBe(401)
    expect((await ask('fleet', `bmt_1_${'x'.repeat(43)}`)).statusCode).toBe(401)
  })

  it('has no cell that is a formula, and keeps numbers and texts', async () => {
    const { body } = await ask('fleet', await tokenFor(null))
    expect(body).not.toMatch(/(^|,)"?[=@\t\r]/m)
    expect(rowsIn(body)).toMatchObject([
      { resource_name: "'=1+1", min_price: '-12.50', boat_id: '7' },
      { resource_name: 'B, "the" boat', min_price: '' },
    ])
  })

  it('is none where its rows are of no company, or there is none of this name', async () => {
    const token = await tokenFor(null)
    for (const name of ['freshness', 'nothing', 'fleet.csv', '../fleet', "fleet'"])
      expect((await ask(encodeURIComponent(name), token)).statusCode, name).toBe(404)
    expect((await app.inject(`/reports/fleet?key=${token}`)).statusCode).toBe(404)
  })

  it('has a tag that stays while nothing changes, and says as of when it is', async () => {
    const key = await keyFor('fleet', '1')
    const first = await ask('fleet', key)
    expect(first.headers).not.toHaveProperty('x-as-of')
    await mirror.all(`update sync.streams set as_of = '2026-01-01T00:00:00Z'`)
    const tag = String(first.headers.etag)
    const same = await ask('fleet', key, { 'if-none-match': tag })
    expect([same.statusCode, same.body, same.headers.etag]).toEqual([304, '', tag])
    expect(same.headers['x-as-of']).toBe('2026-01-01T00:00:00.000Z')
    await mirror.all(`update mirror.resources set model_name = '@home' where id = 'a'`)
    const changed = await ask('fleet', key, { 'if-none-match': tag })
    expect([changed.statusCode, rowsIn(changed.body)[0]?.model_name]).toEqual([200, "'@home"])
  })
})

describe('the key of a report', () => {
  it('opens one report of one company until it is revoked or another one is made', async () => {
    const { pool } = mirror.db
    const [first, other] = [await keyFor('rentals', '1'), await keyFor('rentals', '2')]
    const statusOf = async (name: string, key: string) => (await ask(name, key)).statusCode
    expect([await statusOf('rentals', first), await statusOf('rentals', other)]).toEqual([200, 200])
    expect([await statusOf('fleet', first), await statusOf('rentals', `${first}x`)]).toEqual([404, 404])
    expect(await statusOf('rentals', '')).toBe(404)
    expect((await app.inject(`/reports/rentals.csv?key=${first}&key=${first}`)).statusCode).toBe(404)
    const next = await keyFor('rentals', '1')
    expect([await statusOf('rentals', first), await statusOf('rentals', next)]).toEqual([404, 200])
    expect([await revokeReportKey(pool, 'rentals', '1'), await revokeReportKey(pool, 'rentals', '1')]).toEqual([
      true,
      false,
    ])
    expect([await statusOf('rentals', next), await statusOf('rentals', other)]).toEqual([404, 200])
    expect(await createReportKey(pool, 'rentals', '99')).toBeNull()
    expect(JSON.stringify((await pool.query('select * from sync.calendar_keys')).rows)).not.toContain(other)
  })

  it('is refused with 429 for a while after too many wrong ones, a right one never; and each may ask so often', async () => {
    const key = await keyFor('rentals', '1')
    const limited = serve(2)
    const address = (secret: string) => `/reports/rentals.csv?key=${secret}`
    const wrong = await Promise.all(Array.from({ length: 40 }, () => limited.inject(address(`${key}x`))))
    expect(new Set(wrong.map(({ statusCode }) => statusCode))).toEqual(new Set([404, 429]))
    expect((await limited.inject(address(key))).statusCode).toBe(200)
    const often = await Promise.all(Array.from({ length: 20 }, () => limited.inject(address(key))))
    expect(often.some(({ statusCode, headers }) => statusCode === 429 && Number(headers['retry-after']) > 0)).toBe(true)
    await limited.close()
  })
})
