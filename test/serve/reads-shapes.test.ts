// A list is served in the form of the API: style of paging, number of the first page, envelope, total, next page. Where
// the last three stand is set, or found out by the sync.

import { expect, it } from 'vitest'
import type { SandboxOptions } from '../../sandbox/index.ts'
import { listenServe } from '../../src/serve/app.ts'
import { callers, contextOf, fetchJson, openReads } from './reads-rig.ts'

type Shape = readonly [
  name: string,
  sandbox: Partial<SandboxOptions>,
  env: Readonly<Record<string, string>>,
  /** Paths of the first page and of one in the middle. */
  paths: readonly string[],
]

const users = '/v3/users?perPage=3'
const shapes: readonly Shape[] = [
  ['bare pages from 0', { pageBase: 0 }, { API_PAGE_BASE: '0' }, [`${users}&page=0`, `${users}&page=1`]],
  [
    'pages with a total in the body',
    { envelope: 'data' },
    { API_ITEMS_PATH: 'data', API_TOTAL_PATH: 'meta.total' },
    [users, `${users}&page=2`],
  ],
  [
    'pages with the address of the next one',
    { envelope: 'results' },
    { API_ITEMS_PATH: 'results', API_TOTAL_PATH: 'count', API_NEXT_PATH: 'next' },
    [users, `${users}&page=2`, `${users}&page=99`],
  ],
  [
    'offsets, two levels deep',
    { paging: 'offset', envelope: 'nested' },
    { API_PAGING: 'offset', API_ITEMS_PATH: 'data.items', API_TOTAL_PATH: 'meta.total' },
    [users, `${users}&offset=2`],
  ],
  ['a Link header', { paging: 'link' }, { API_PAGING: 'link', API_PAGE_PARAM: 'page' }, [users, `${users}&page=2`]],
  [
    'links in the body',
    { paging: 'link', envelope: 'nested' },
    {
      ...{ API_PAGING: 'link', API_PAGE_PARAM: 'page', API_ITEMS_PATH: 'data.items' },
      ...{ API_TOTAL_PATH: 'meta.total', API_NEXT_PATH: 'meta.next' },
    },
    [users, `${users}&page=2`, `${users}&page=99`],
  ],
  [
    'cursors',
    { paging: 'cursor', envelope: 'items' },
    { API_PAGING: 'cursor', API_ITEMS_PATH: 'items', API_TOTAL_PATH: 'total', API_NEXT_PATH: 'nextCursor' },
    [users],
  ],
  [
    'links in the body, of a vocabulary',
    { paging: 'link', envelope: 'hydra' },
    {
      ...{ API_PAGING: 'link', API_PAGE_PARAM: 'page', API_ITEMS_PATH: 'hydra:member' },
      ...{ API_TOTAL_PATH: 'hydra:totalItems', API_NEXT_PATH: 'hydra:view.hydra:next' },
    },
    [users],
  ],
]

const places = ['API_ITEMS_PATH', 'API_TOTAL_PATH', 'API_NEXT_PATH']
const withoutPlaces = (env: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !places.includes(name)))

/** Each shape with the places of its parts set, and with none of them set. */
const all = shapes.flatMap(([name, sandbox, env, paths]): readonly Shape[] => [
  [name, sandbox, env, paths],
  ...('envelope' in sandbox ? [[`${name}, found out`, sandbox, withoutPlaces(env), paths] as const] : []),
])

/** Cursors are each server's own, and addresses are relative here: what both lead to is compared page by page. */
function withoutOrigin(value: unknown): unknown {
  const text = JSON.stringify(value).replace(/"nextCursor":"[^"]+"/g, '"nextCursor":"one"')
  return JSON.parse(text.replace(/"http:\/\/127\.0\.0\.1:\d+/g, '"'))
}

/** What a vocabulary says of its own types is about no record and no page. */
const withoutTypes = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replace(/"@type":"hydra:\w+",?/g, ''))

const linkOf = (headers: Headers): string | null => headers.get('link')?.replace(/http:\/\/[^/]+/, '') ?? null

it.each(all)('%s are those of the API', async (_, sandbox, env, paths) => {
  await using rig = await openReads({
    sandbox: { size: 12, ...sandbox },
    env: { API_PAGE_SIZE: '5', API_SIZE_PARAM: 'perPage', ...env },
    sync: false,
  })
  const runs = await rig.mirror.sync({ streams: ['users'] })
  expect(runs.map(({ stream, status, error }) => [stream, status, error])).toEqual([['users', 'done', null]])
  for (const path of paths) {
    const [served, real] = [await rig.get(path), await rig.ask(path)]
    expect([path, served.status, withoutOrigin(served.json), linkOf(served.headers)]).toEqual([
      ...[path, real.status, withoutOrigin(withoutTypes(real.json)), linkOf(real.headers)],
    ])
  }
  if (sandbox.paging !== 'cursor') return
  const walk = async (ask: (path: string) => Promise<{ readonly json: unknown }>): Promise<readonly unknown[]> => {
    const found: unknown[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { json } = await ask(`${users}${cursor === '' ? '' : `&cursor=${cursor}`}`)
      const page = json as { readonly items: readonly unknown[]; readonly nextCursor: string | null }
      found.push(page.items)
      cursor = page.nextCursor
    }
    return found
  }
  expect(await walk(rig.get)).toEqual(await walk(rig.ask))
})

it('a cursor of a list is refused in another history, where other rows stand at its place', async () => {
  await using rig = await openReads({
    sandbox: { size: 12, paging: 'cursor', envelope: 'items' },
    env: {
      ...{ API_PAGING: 'cursor', API_PAGE_SIZE: '5', API_SIZE_PARAM: 'perPage' },
      ...{ API_ITEMS_PATH: 'items', API_TOTAL_PATH: 'total', API_NEXT_PATH: 'nextCursor' },
    },
    sync: false,
  })
  await rig.mirror.sync({ streams: ['users'] })
  const { nextCursor } = (await rig.get(users)).json as { readonly nextCursor: string }
  const next = `${users}&cursor=${nextCursor}`
  expect((await rig.get(next)).status).toBe(200)
  await rig.mirror.app.database.pool.query('update sync.log_identity set number = number + 1')
  expect(await rig.get(next)).toMatchObject({ status: 400, json: { detail: expect.stringContaining('cursor') } })
})

it('every name that the API was found to take for page and size is taken, and no other', async () => {
  await using rig = await openReads({
    sandbox: { size: 12 },
    env: {
      API_PAGE_SIZE: '5',
      API_SIZE_PARAM: 'perPage',
      SERVE_SIZE_PARAMS: 'limit',
      SERVE_PAGE_PARAMS: 'p,pageNumber',
    },
    sync: false,
  })
  await rig.mirror.sync({ streams: ['users'] })
  const real = await rig.ask(`${users}&page=2`)
  for (const path of [`${users}&page=2`, '/v3/users?limit=3&page=2', `${users}&pageNumber=2`])
    expect(await rig.get(path), path).toMatchObject({ status: 200, json: real.json })
  for (const query of ['pageSize=3', 'limit=3&perPage=3', 'page=1&p=1', 'pageNo=2'])
    expect((await rig.get(`/v3/users?${query}`)).status, query).toBe(400)
})

it('a list of one page shows less of its shape than a longer one, and is served in that of the longer one', async () => {
  await using rig = await openReads({
    sandbox: { size: 12, envelope: 'results' },
    env: { API_PAGE_SIZE: '5', API_SIZE_PARAM: 'perPage' },
    sync: false,
  })
  const same = async (path: string): Promise<void> => {
    const [served, real] = [await rig.get(path), await rig.ask(path)]
    expect([path, served.status, withoutOrigin(served.json)]).toEqual([path, 200, withoutOrigin(real.json)])
  }
  // `count` is the length of the page in some APIs: of one page alone, nothing says what it is.
  await rig.mirror.sync({ streams: ['companies'] })
  expect((await rig.get('/v3/companies')).json).toEqual({ results: expect.any(Array), next: null })
  await rig.mirror.sync({ streams: ['users', 'countries'] })
  for (const path of ['/v3/countries', '/v3/users?perPage=3&page=2']) await same(path)
  for (const path of ['/v3/companies', '/v3/companies?perPage=1', '/v3/companies?perPage=1&page=2']) await same(path)
})

it('settings say what was not found out', async () => {
  await using rig = await openReads({ sandbox: { size: 12, envelope: 'hydra', totals: false }, sync: false })
  const { app } = rig.mirror
  await rig.mirror.sync({ streams: ['companies'] })
  const paging = { ...app.config.api.paging, itemsPath: 'rows', totalPath: 'total', nextPath: 'next' }
  const settings = { api: { ...app.config.api, paging } }
  const answer = async (): Promise<unknown> => {
    await using server = await listenServe(contextOf(rig.mirror, callers, settings), { host: '127.0.0.1', port: 0 })
    return (await fetchJson(`${server.url}/v3/companies?perPage=1`)).json
  }
  const set = { total: expect.any(Number), next: '/v3/companies?perPage=1&page=2' }
  expect(await answer()).toEqual({ 'hydra:member': [expect.anything()], ...set })
  await app.database.pool.query("delete from sync.pinned where key like 'shape:%'")
  expect(await answer()).toEqual({ rows: [expect.anything()], ...set })
})

it('a shape that changed is found out by the next complete sync, also where pages had not changed', async () => {
  await using rig = await openReads({
    sandbox: { size: 12, entityTags: true, totalHeader: 'X-Total' },
    env: { API_PAGE_SIZE: '5', API_SIZE_PARAM: 'perPage' },
    sync: false,
  })
  const { pool } = rig.mirror.app.database
  const stored = async (): Promise<unknown> =>
    (await pool.query("select value from sync.pinned where key = 'shape:users'")).rows[0]?.value
  await rig.mirror.sync({ streams: ['users'] })
  const found = { items: [], total: 'header:x-total', next: null, isWhole: false }
  expect(await stored()).toEqual(found)
  const total = (await rig.ask('/v3/users')).headers.get('x-total')
  expect((await rig.get('/v3/users')).headers.get('x-total')).toBe(total)
  // As a mirror that read the list before shapes were stored: its first page is received once more.
  await pool.query("delete from sync.pinned where key = 'shape:users'")
  await rig.mirror.sync({ streams: ['users'] })
  expect(await stored()).toEqual(found)
  await pool.query("update sync.pinned set value = jsonb_set(value, '{items}', '[\"data\"]') where key = 'shape:users'")
  await rig.mirror.sync({ streams: ['users'], full: true })
  expect(await stored()).toEqual(found)
})
