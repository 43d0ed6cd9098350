// Reads of one record, or of what hangs below one, that come at the same moment are looked up together: each is answered as if it
// came alone, and by the keys of the tables.

import fc from 'fast-check'
import { beforeAll, expect, it, vi } from 'vitest'
import { readEndpoints } from '../../src/catalog/catalog.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { opened } from '../helpers/opened.ts'
import { drawnAnswer } from './drawn-reads.ts'
import { fetchJson } from './reads-rig.ts'
import { openServed } from './served-rig.ts'

const served = opened(() => openServed({ sandbox: { size: 40 } }))
type Asked = { readonly path: string; readonly token: string }
/** Each read of one record, or of what hangs below one, at a record that has an answer, at one that does not exist, and as others. */
let asked: readonly Asked[]
let restricted: { readonly role: string; readonly token: string }

beforeAll(async () => {
  const { app } = served.mirror
  const { rows } = await app.database.pool.query<{ id: string }>(
    'select company_id as id from mirror.rentals group by 1 order by count(*) limit 1',
  )
  const company = await served.createToken('company', { companies: [rows[0]?.id ?? ''] })
  const { token: personal } = await served.createToken('personal', { personal: true })
  const { token: other } = await served.createToken('other')
  const found = await app.database.pool.query<{ role: string }>('select role from sync.access_tokens where id = $1', [
    company.id,
  ])
  restricted = { role: found.rows[0]?.role ?? '', token: company.token }
  const today = app.clock.now().toISOString().slice(0, 10)
  const of = (token: string) => ({
    ...{ url: served.url, headers: { authorization: `Bearer ${token}` }, today },
    durations: app.config.slotDurations,
  })
  const below = readEndpoints.filter((endpoint) => endpoint.includes('{'))
  const paths: string[] = []
  for (const endpoint of below) {
    paths.push((await drawnAnswer(of(personal), endpoint, 1)).url)
    if (!/\/users|\/user$/.test(endpoint)) paths.push((await drawnAnswer(of(company.token), endpoint, 2)).url)
  }
  const missing = paths.map((path) => path.replace(/\/\d+/, '/999999999'))
  asked = [personal, other, company.token, ''].flatMap((token) =>
    [...new Set([...paths, ...missing])].map((path) => ({ path, token })),
  )
})

const answerTo = async ({ path, token }: Asked) => {
  const { status, text, headers } = await fetchJson(`${served.url}${path}`, { token })
  return { path, status, text: status === 404 ? '' : text, tag: headers.get('etag') }
}

it('is answered as if it came alone, whoever else asks for what', async () => {
  const alone = new Map<Asked, object>()
  for (const each of asked) alone.set(each, await answerTo(each))
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...asked), { minLength: 2, maxLength: 60 }), async (some) => {
      const together = await Promise.all(some.map(answerTo))
      expect(together).toEqual(some.map((each) => alone.get(each)))
    }),
    { numRuns: 20 },
  )
})

type Plan = {
  readonly 'Node Type': string
  readonly Alias?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly Plan[]
}

/** The tables that the statements name; how few rows a policy compares, the planner weighs. */
const named = ['t', 'p', 'o']

/** Plans as for tables that are too long to be read whole. */
const asOfMany = `discard plans; set local plan_cache_mode = force_generic_plan; set local cpu_tuple_cost = 1000;
  set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off`

const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

it('finds what it names by a key also under row level security, however many are asked for', async () => {
  const { pool } = served.mirror.app.database
  await Promise.all(asked.filter(({ token }) => token === restricted.token).map(answerTo))
  // Each connection has the statements that it was sent.
  const clients = await Promise.all(Array.from({ length: pool.options.max ?? 10 }, () => pool.connect()))
  const planned = new Set<string>()
  try {
    for (const client of clients) {
      const { rows } = await client.query<{ name: string; types: string[] }>(
        `select name, parameter_types::text[] as types from pg_prepared_statements where name ~ '^serve:.*:rows$' and name !~ 'user'`,
      )
      for (const { name, types } of rows) {
        const values = types.map((type) =>
          type === 'text[]' ? `'{a}'` : type === 'date[]' ? `'{2026-01-01}'` : `'{1}'`,
        )
        await client.query('begin')
        await client.query(`set local role "${restricted.role}"`)
        await client.query(asOfMany)
        const explained = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
          `explain (format json, verbose) execute "${name}"(${values.join(', ')})`,
        )
        await client.query('rollback')
        const plan = explained.rows[0]?.['QUERY PLAN'][0].Plan
        const scans = nodesOf(plan as Plan).filter(({ Alias }) => named.includes(Alias ?? ''))
        const unkeyed = scans.filter(
          (node) => node['Node Type'] !== 'Bitmap Heap Scan' && node['Index Cond'] === undefined,
        )
        expect([name, scans.length > 0, unkeyed]).toEqual([name, true, []])
        planned.add(name)
      }
    }
  } finally {
    for (const client of clients) client.release()
  }
  expect(planned.size).toBeGreaterThan(20)
})

it('of a token that is revoked meanwhile are answered, or refused as those that come later', async () => {
  const { pool } = served.mirror.app.database
  const { rows } = await pool.query<{ id: string }>('select id from mirror.rentals limit 1')
  const path = `/v3/rentals/${rows[0]?.id}`
  for (let round = 0; round < 2; round++) {
    const brief = await served.createToken(`brief-${round}`)
    const reader = async (): Promise<number> => {
      for (;;) {
        const { status } = await answerTo({ path, token: brief.token })
        if (status !== 200) return status
      }
    }
    const reading = Array.from({ length: 8 }, reader)
    await new Promise((resolve) => setTimeout(resolve, 100))
    await served.revokeToken(brief)
    expect(new Set(await Promise.all(reading))).toEqual(new Set([401]))
  }
})

it('shows a write of the same token that settles while the read is answered', async () => {
  const { app } = served.mirror
  const { pool } = app.database
  const { token } = await served.createToken('writer', { write: true, personal: true })
  const { rows } = await pool.query<{ id: string }>(`select id from mirror.rentals where status = 'VALIDATED' limit 1`)
  const url = `${served.url}/v3/rentals/${rows[0]?.id}`
  const body = { orderLink: 'https://example.com/settled' }
  const sent = await fetchJson(url, { token, method: 'PUT', body, headers: { prefer: 'respond-async' } })
  expect(sent.status).toBe(202)
  let hasSettled = false
  const query = pool.query.bind(pool) as (...of: unknown[]) => Promise<unknown>
  const asking = vi.spyOn(pool, 'query').mockImplementation(async (...of: unknown[]) => {
    if (!String(of[0]).includes('from outbox.requests')) return await query(...of)
    asking.mockRestore()
    hasSettled = true
    await createPusher(app.pushContext).drain(new AbortController().signal, { until: 'idle' })
    return await query(...of)
  })
  expect((await fetchJson(url, { token })).json).toMatchObject(body)
  expect(hasSettled).toBe(true)
})
