// The shape of an answer, found out from it, and a list that is put into this shape.

import { describe, expect, it } from 'vitest'
import { type ListShape, readEnvelope, shapeOf } from '../../src/api/paging/envelope.ts'
import { styles } from '../../src/api/paging/styles.ts'
import { type Json, parseJson } from '../../src/api/wire/json.ts'
import { type PagingSettings, type PagingStyle, readConfig } from '../../src/config.ts'
import { shaped } from '../../src/serve/reads/paging.ts'

const pagingOf = (style: PagingStyle): PagingSettings => ({
  ...readConfig({ API_PAGING: style === 'none' ? 'page' : style }, '/nonexistent').api.paging,
  style,
})

const records = '[{"id":1},{"id":2}]'

type Said = { readonly body: string; readonly headers?: Readonly<Record<string, string>>; readonly style?: PagingStyle }

function shapeIn({ body, headers = {}, style = 'page' }: Said): ListShape {
  const { value } = parseJson(body)
  return shapeOf(value, readEnvelope(value, headers, pagingOf(style)), { ...styles[style].names, prefix: '' })
}

/** The first page of two, of a list of four records. */
function servedAs(shape: ListShape, style: PagingStyle = 'page') {
  const list = { total: 4, window: { offset: 0, size: 2 }, pageBase: 1, list: 'users' }
  const { before, after, headers } = shaped(pagingOf(style), { shape, ...list, url: '/v3/users?perPage=2' })
  return { json: parseJson(before + records + after).value, headers }
}

/** Two records of four, as an API answers the first page. */
const answers: readonly (Said & { readonly name: string })[] = [
  { name: 'a bare array', body: records },
  {
    name: 'totals and links whose names hold dots',
    body: `{"@odata.count":4,"value":${records},"@odata.nextLink":"/v3/users?perPage=2&page=2"}`,
  },
  {
    name: 'a link inside an object, whose name holds dots',
    body: `{"paging":{"next.link":"/v3/users?perPage=2&page=2"},"value":${records}}`,
  },
  { name: 'the number of the next page', body: `{"data":${records},"meta":{"total":4,"next_page":2}}` },
  { name: 'the number of the next page as text', body: `{"data":${records},"meta":{"total":4,"next_page":"2"}}` },
  { name: 'the next offset', body: `{"items":${records},"nextOffset":2}`, style: 'offset' },
  {
    name: 'embedded records',
    body: `{"_embedded":{"users":${records}},"page":{"totalElements":4},"_links":{"next":"/v3/users?perPage=2&page=2"}}`,
  },
  { name: 'a link as an object', body: `{"_links":{"next":{"href":"/v3/users?perPage=2&page=2"}},"users":${records}}` },
  { name: 'headers', body: records, headers: { 'x-total': '4', 'x-next-page': '2' } },
  {
    name: 'a Link header beside numbered pages',
    body: records,
    headers: { link: '</v3/users?perPage=2&page=2>; rel="next"' },
  },
  {
    name: 'a link that stands for a token',
    body: `{"data":${records},"next":"/v3/users?perPage=2&limit=2&cursor=TOKEN"}`,
    style: 'cursor',
  },
  { name: 'a token', body: `{"data":${records},"nextPageToken":"TOKEN"}`, style: 'cursor' },
  {
    name: 'the cursor of the end of the page',
    body: `{"data":${records},"paging":{"cursors":{"after":"TOKEN"}}}`,
    style: 'cursor',
  },
  {
    name: 'members that JavaScript knows',
    body: `{"__proto__":{"next":"/v3/users?perPage=2&page=2"},"constructor":${records}}`,
  },
]

const withToken = (value: Json): Json =>
  parseJson(JSON.stringify(value).replace(/(?<=cursor=|"nextPageToken":"|"after":")[\w-]+/, 'TOKEN')).value

describe('a list is served like the answer that showed its shape, with', () => {
  for (const { name, ...said } of answers)
    it(name, () => {
      const { json, headers } = servedAs(shapeIn(said), said.style)
      expect(withToken(json)).toEqual(parseJson(said.body).value)
      expect(headers).toMatchObject(said.headers ?? {})
      expect(Object.keys({})).toEqual([])
      expect(({} as { next?: unknown }).next).toBe(undefined)
    })

  it('nothing where a token belongs to a paging that is not in use', () => {
    const shape = shapeIn({ body: `{"data":${records},"total":4,"nextCursor":"c2Vjb25k"}` })
    expect(servedAs(shape).json).toEqual(parseJson(`{"data":${records},"total":4}`).value)
  })

  it('null at the end, where the answer said so', () => {
    const shape = shapeIn({ body: `{"data":${records},"next":null}` })
    expect(shape.next).toEqual({ at: ['next'], kind: null })
    const end = {
      total: 2,
      window: { offset: 0, size: 2 },
      pageBase: 1,
      list: 'users',
      url: '/v3/users',
    }
    expect(shaped(pagingOf('page'), { shape, ...end })).toMatchObject({ before: '{"data":', after: ',"next":null}' })
  })
})

it('settings that say what to ignore are heeded', () => {
  const { value } = parseJson(`{"data":${records},"total":4,"next":"/v3/users?page=2"}`)
  const settings = { ...pagingOf('page'), totalPath: 'none', nextPath: 'none' }
  const how = { anyLink: true, byToken: false, prefix: '' }
  expect(shapeOf(value, readEnvelope(value, {}, settings), how)).toEqual({ items: ['data'], total: null, next: null })
})
