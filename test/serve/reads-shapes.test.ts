// A list is served in the form of the API: style of paging, number of the first page, envelope, total, next page.

import { expect, it } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/index.ts'
import { openReads } from './reads-rig.ts'

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
]

/** Cursors are each server's own, and addresses are relative here: what both lead to is compared page by page. */
function withoutOrigin(value: unknown): unknown {
  const text = JSON.stringify(value).replace(/"nextCursor":"[^"]+"/g, '"nextCursor":"one"')
  return JSON.parse(text.replace(/"http:\/\/127\.0\.0\.1:\d+/g, '"'))
}

const linkOf = (headers: Headers): string | null => headers.get('link')?.replace(/http:\/\/[^/]+/, '') ?? null

it.each(shapes)('%s are those of the API', async (_, sandbox, env, paths) => {
  await using rig = await openReads({
    sandbox: { size: 12, ...sandbox },
    env: { API_PAGE_SIZE: '5', API_SIZE_PARAM: 'perPage', ...env },
    sync: false,
  })
  await rig.mirror.sync({ streams: ['users'] })
  for (const path of paths) {
    const [served, real] = [await rig.get(path), await rig.ask(path)]
    expect([path, served.status, withoutOrigin(served.json), linkOf(served.headers)]).toEqual([
      ...[path, real.status, withoutOrigin(real.json), linkOf(real.headers)],
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
