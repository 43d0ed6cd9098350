// Records, total and next page are found where they usually stand, and nowhere else.

import { describe, expect, it } from 'vitest'
import { type EnvelopeSettings, readEnvelope } from '../../src/api/paging/envelope.ts'
import { type Json, LosslessNumber } from '../../src/api/wire/json.ts'

const unset: EnvelopeSettings = { itemsPath: null, nextPath: null, totalPath: null }
const records: Json[] = [{ id: 1 }, { id: 2 }]

/** An object that holds a value at a dotted path. */
const at = (path: string, value: Json): Record<string, Json> => {
  const [name = '', ...rest] = path.split('.')
  return { [name]: rest.length === 0 ? value : at(rest.join('.'), value) }
}

describe('records', () => {
  for (const [name, body, envelope] of [
    ['a bare array', records, 'array'],
    ['data', { data: records }, 'data'],
    ['data.items', { data: { items: records } }, 'data.items'],
    ['hydra:member', { '@context': 'x', 'hydra:member': records }, 'hydra:member'],
    ['the only member of _embedded', { _embedded: { rentals: records }, errors: [] }, '_embedded.rentals'],
    ['the only array', { page: 1, rentals: records, errors: [] }, 'rentals'],
  ] as const)
    it(`are found as ${name}`, () => {
      expect(readEnvelope(body as Json, {}, unset)).toMatchObject({ items: records, envelope })
    })

  for (const path of [
    ...['data', 'items', 'results', 'records', 'content', 'rows', 'list'],
    ...['data.items', 'data.results', 'hydra:member', '_embedded.rentals'],
  ])
    it(`are found at ${path}, beside other arrays`, () => {
      const body = { ...at(path, records), tags: [], notes: [] }
      expect(readEnvelope(body, {}, unset)).toMatchObject({ items: records, envelope: path })
    })

  for (const name of ['errors', 'warnings', 'messages', 'links'])
    it(`are never ${name}, and are found beside them`, () => {
      expect(() => readEnvelope({ [name]: [] }, {}, unset)).toThrow(/No array of records; the answer has/)
      expect(readEnvelope({ [name]: [], boats: records }, {}, unset).envelope).toBe('boats')
    })

  it('are found at the configured path, which wins over usual names', () => {
    const body: Json = { data: [], payload: { boats: records } }
    expect(readEnvelope(body, {}, { ...unset, itemsPath: 'payload.boats' }).items).toEqual(records)
  })

  it('a bare array needs no path, whatever is configured', () => {
    expect(readEnvelope(records, {}, { ...unset, itemsPath: 'data' }).envelope).toBe('array')
  })

  for (const [name, body] of [
    ['two arrays of unknown names', { boats: records, crews: [] }],
    ['nothing but warnings', { warnings: [{ message: 'x' }] }],
    ['null', null],
    ['a text', 'maintenance'],
    ['no body', undefined],
    ['a null in place of the records', { data: null }],
  ] as const)
    it(`${name} are not guessed`, () => {
      expect(() => readEnvelope(body as Json, {}, unset)).toThrow(expect.objectContaining({ code: 'PAGING_ENVELOPE' }))
    })

  it('an answer that says that it failed is no empty list', () => {
    const failed = { success: false, data: [] }
    expect(() => readEnvelope(failed, {}, unset)).toThrow(expect.objectContaining({ code: 'API_ERROR_BODY' }))
  })

  const shapes: readonly [string, Json | undefined, string][] = [
    ['no body', undefined, 'is empty'],
    ['a text', 'Jane Doe', 'is a single value'],
    ['an empty object', {}, 'is an empty object'],
    [
      'many members',
      Object.fromEntries([...Array(14).keys()].map((n) => [`m${n}`, 'Jane Doe'])),
      'm10, m11 and 2 more',
    ],
    ['twelve members', Object.fromEntries([...Array(12).keys()].map((n) => [`m${n}`, 'x'])), 'm9, m10, m11.'],
    ['a member with a long name', { ['x'.repeat(50)]: 1 }, `has ${'x'.repeat(40)}.`],
  ]
  for (const [name, body, shape] of shapes)
    it(`${name} in place of records: the refusal tells the shape and no value`, () => {
      const told = { message: expect.stringContaining(shape), remedy: expect.stringMatching(/^Set API_ITEMS_PATH/) }
      expect(() => readEnvelope(body, {}, unset)).toThrow(expect.objectContaining(told))
      expect(() => readEnvelope(body, {}, unset)).not.toThrow(/Jane/)
    })

  it('a wrong path is named beside the members that are there, and no value is shown', () => {
    const body: Json = { rows: records, owner: 'Jane Doe' }
    expect(() => readEnvelope(body, {}, { ...unset, itemsPath: 'data.items' })).toThrow(
      expect.objectContaining({
        message: 'No array of records at API_ITEMS_PATH=data.items; the answer has rows, owner.',
        remedy: 'Correct API_ITEMS_PATH.',
      }),
    )
  })
})

describe('total', () => {
  const total = (body: Record<string, Json>, headers = {}, totalPath: string | null = null) =>
    readEnvelope({ data: records, ...body }, headers, { ...unset, totalPath }).total

  for (const [name, found, expected] of [
    ['total', total({ total: 250 }), 250],
    ['a total as digits', total({ meta: { total: '250' } }), 250],
    ['page.totalElements', total({ page: { totalElements: 7 } }), 7],
    ['X-Total-Count', total({}, { 'x-total-count': '31' }), 31],
    ['the configured header', total({ total: 1 }, { 'x-rows': '5' }, 'header:X-Rows'), 5],
    ['the configured member', total({ summary: { rows: 9 } }, {}, 'summary.rows'), 9],
    ['nothing where the configured place is empty', total({ total: 1 }, {}, 'summary.rows'), null],
    ['count above the size of the page', total({ count: 3 }), 3],
    ['not a count that may be the size of the page', total({ count: 2 }), null],
    ['not a fraction', total({ total: 2.5 }), null],
    ['not a negative number', total({ total: -1 }), null],
    ['not words', total({ total: 'many' }), null],
    ['not true', total({ total: true }), null],
    ['not a list of one', total({ total: [5] }), null],
    ['not a number too long to be true', total({ total: new LosslessNumber('12345678901234567890') }), null],
  ] as const)
    it(`is read from ${name}`, () => expect(found).toBe(expected))

  for (const [name, range, expected] of [
    ['items 0-19/60', 'items 0-19/60', 60],
    ['0-19/60, without a unit', '0-19/60', 60],
    ['a range past the end', '*/60', 60],
    ['a total that is not known', 'items 0-19/*', null],
    ['bytes, which are no records', 'bytes 0-19/60', null],
    ['nonsense', 'items', null],
  ] as const)
    it(`of Content-Range ${name} is ${expected}`, () => expect(total({}, { 'content-range': range })).toBe(expected))

  it('is read where a name holds a dot, unasked and as configured', () => {
    expect(total({ '@odata.count': 30 })).toBe(30)
    expect(total({ total: 1, '@odata.count': 30 }, {}, '@odata.count')).toBe(30)
    expect(total({ meta: { '@x.count': 7 } }, {}, 'meta.@x.count')).toBe(7)
  })

  it('does not count where API_TOTAL_PATH is none, and no number of pages does', () => {
    const { total: none, pages } = readEnvelope(
      { data: records, total: 99, meta: { last_page: 7 } },
      { 'x-total-count': '99', 'content-range': 'items 0-1/99' },
      { ...unset, totalPath: 'none' },
      206,
    )
    expect([none, pages]).toEqual([null, null])
  })

  for (const path of [
    ...['total', 'totalCount', 'totalItems', 'hydra:totalItems', 'totalElements', 'page.totalElements'],
    ...['meta.total', 'meta.totalCount', 'meta.pagination.total', 'pagination.total'],
  ])
    it(`is found at ${path}, which says more than count`, () => {
      expect(total({ ...at(path, 7), count: 99 })).toBe(7)
    })

  it('of nothing is a total too', () => {
    expect([total({ total: 0 }), total({ total: '0' }), total({}, { 'total-count': '0' })]).toEqual([0, 0, 0])
  })

  it('is none where the configured place is null, and where a header holds no number', () => {
    expect([total({ total: null }, {}, 'total'), total({}, {}, 'header:X-Rows')]).toEqual([null, null])
    expect(total({}, { 'x-total-count': 'x1', 'total-count': '1x' })).toBeNull()
    expect(total({ total: '1234567890123456' })).toBeNull()
  })

  it('a configured total that is no number is an error', () => {
    expect(() => total({ total: 'many' }, {}, 'total')).toThrow(
      expect.objectContaining({
        message: 'No number of records at API_TOTAL_PATH=total; the answer has data, total.',
        remedy: 'Correct API_TOTAL_PATH.',
      }),
    )
  })
})

describe('next', () => {
  const next = (body: Record<string, Json>, headers = {}, nextPath: string | null = null) =>
    readEnvelope({ data: records, ...body }, headers, { ...unset, nextPath }).next

  for (const [name, found, expected] of [
    ['a cursor beside the records', next({ nextCursor: 'abc' }), 'abc'],
    ['a numeric cursor', next({ next: 2 }), '2'],
    ['a link', next({ links: { next: 'https://x/v3/rentals?page=2' } }), 'https://x/v3/rentals?page=2'],
    ['a link object', next({ _links: { next: { href: '/v3/a?page=2' } } }), '/v3/a?page=2'],
    ['hydra', next({ 'hydra:view': { 'hydra:next': '/v3/a?page=3' } }), '/v3/a?page=3'],
    [
      'the Link header',
      next({}, { link: '<https://x/v3/a?p=1>; rel="prev", <https://x/v3/a?p=3>; rel="next"' }),
      'https://x/v3/a?p=3',
    ],
    ['the configured member alone', next({ next: 'wrong', page: { after: 'z' } }, {}, 'page.after'), 'z'],
    ['null as the end', next({ nextCursor: null }), null],
    ['an empty text as the end', next({ meta: { next_cursor: '' } }), null],
    ['false as the end', next({ next: false }), null],
    ['silence as silence', next({}), undefined],
    ['a value beside a null of another name', next({ nextCursor: null, links: { next: '?page=2' } }), '?page=2'],
    ['no array, no true', next({ next: [1], meta: { nextCursor: true } }), undefined],
  ] as const)
    it(`takes ${name}`, () => expect(found).toBe(expected))

  for (const path of [
    ...['nextCursor', 'next_cursor', 'next', 'meta.nextCursor', 'meta.next_cursor', 'pagination.nextCursor'],
    ...['pagination.next', 'links.next', '_links.next', 'hydra:view.hydra:next', 'paging.next'],
  ])
    it(`is found at ${path}, be it a token, a link object or the end`, () => {
      expect(next(at(path, 'abc'))).toBe('abc')
      expect(next(at(path, { href: '?page=2' }))).toBe('?page=2')
      for (const end of [null, '', false, { href: null }, { href: '' }]) expect(next(at(path, end))).toBeNull()
      expect(next(at(path, { href: 5 }))).toBeUndefined()
    })

  for (const [path, value] of [
    ['@odata.nextLink', 'https://x/v3/rentals?$skip=10'],
    ['d.__next', '?page=2'],
    ['paging.next.after', 'NTI1'],
    ['paging.next.link', '?after=NTI1'],
    ['meta.page.next_cursor', 'abc'],
    ['answer.next_page_url', 'https://x/v3/a?page=2'],
    ['nextPageToken', 'abc'],
    ['NextToken', 'abc'],
    ['continuationToken', 'abc'],
    ['nextRecordsUrl', '/v3/more/1'],
    ['a.b.next.start', 20],
    ['nextCursorTime.token', undefined],
  ] as const)
    it(`is ${value === undefined ? 'not ' : ''}found at ${path}, where a link or a token stands`, () => {
      expect(next(at(path, value ?? 'abc'))).toBe(value === undefined ? undefined : String(value))
    })

  it('is no word about something else, no text for people and no date', () => {
    for (const [path, value] of [
      ['nextDeparture', 'tomorrow'],
      ['nextSyncToken', 'abc'],
      ['links.next.label', 'Next'],
      ['links.next.rel', 'next'],
      ['paging.forward.next', 'the next page'],
      ['maintenance.next', '2026-12-01T02:00:00Z'],
      ['a.b.c.d.next', 'too deep'],
    ] as const)
      expect(next(at(path, value)), path).toBeUndefined()
    expect(next({ included: [{ next: 'abc' }] })).toBeUndefined()
  })

  it('is a link before it is a token, because a link says all of the request', () => {
    expect(next({ paging: { onward: { next: 'abc', next_url: 'https://x/v3/a?after=abc' } } })).toContain('https')
  })

  it('is found in a header of its own, and its empty header is the end', () => {
    expect(next({}, { 'x-next-page': '2' })).toBe('2')
    expect(next({}, { 'x-next-page': '' })).toBeNull()
    expect(next({}, { 'x-next-maintenance': 'abc' })).toBeUndefined()
  })

  it('does not count where API_NEXT_PATH is none', () => {
    expect(next({ next: 'abc', has_more: true }, { link: '<b>; rel=next' }, 'none')).toBeUndefined()
  })

  it('is read to the last digit', () => {
    expect(next({ next: new LosslessNumber('12345678901234567890') })).toBe('12345678901234567890')
  })

  it('is nothing where the configured place is absent, whatever else there is', () => {
    expect(next({ next: 'abc' }, { link: '<b>; rel=next' }, 'meta.after')).toBeUndefined()
  })

  it('a configured place that holds no cursor is an error', () => {
    expect(() => next({ meta: { href: 5 } }, {}, 'meta')).toThrow(/API_NEXT_PATH=meta/)
    expect(() => next({ meta: {} }, {}, 'meta')).toThrow(
      expect.objectContaining({
        message: 'No cursor at API_NEXT_PATH=meta; the answer has data, meta.',
        remedy: 'Correct API_NEXT_PATH.',
      }),
    )
  })
})

describe('more records', () => {
  const read = (body: Record<string, Json>, status = 200, headers = {}) =>
    readEnvelope({ data: records, ...body }, headers, unset, status)

  for (const [name, body, more, next] of [
    ['has_more', { has_more: true }, true, undefined],
    ['hasNextPage', { pageInfo: { hasNextPage: true } }, true, undefined],
    ['a flag as text', { meta: { hasMore: 'true' } }, true, undefined],
    ['next: true', { next: true }, true, undefined],
    ['last: false', { last: false }, true, undefined],
    ['one of two flags', { has_more: false, meta: { has_next: true } }, true, undefined],
    ['has_more: false, which is the end', { has_more: false }, false, null],
    ['last: true, which is the end', { last: true }, false, null],
    ['a flag that a link contradicts', { has_more: false, next: '?page=2' }, false, '?page=2'],
    ['no flag', { more_info: true, lastName: true, has: true }, undefined, undefined],
  ] as const)
    it(`are told by ${name}`, () => expect(read(body as Record<string, Json>)).toMatchObject({ more, next }))

  it('follow a part (206), unless it reaches the end', () => {
    expect([read({}, 206).more, read({ total: 2 }, 206).more]).toEqual([true, true])
    expect(read({}, 206, { 'content-range': 'items 0-1/60' })).toMatchObject({ more: true, total: 60 })
    expect(read({}, 206, { 'content-range': 'items 58-59/60' })).toMatchObject({ more: undefined, total: 60 })
    expect(read({}, 206, { 'content-range': 'items 0-1/*' })).toMatchObject({ more: true, total: null })
  })

  it('are told by the number of pages', () => {
    for (const path of ['meta.last_page', 'totalPages', 'page.totalPages', 'pagination.total_pages', 'meta.lastPage'])
      expect(read(at(path, 3)).pages, path).toBe(3)
    expect(read({}, 200, { 'x-total-pages': '4' }).pages).toBe(4)
    expect([read({ pages: 3 }).pages, read({ last_page: 'x' }).pages]).toEqual([null, null])
  })

  it('follow the cursor of a page’s end, which is told apart from a next one', () => {
    const of = (body: Record<string, Json>) => [read(body).endCursor, read(body).next]
    expect(of({ paging: { cursors: { before: 'a', after: 'b' } } })).toEqual(['b', undefined])
    expect(of({ page_info: { end_cursor: 'b', has_next_page: false } })).toEqual(['b', null])
    expect(of({ data: records, after: null })).toEqual([null, undefined])
    expect(of({ paging: { previous: { after: 'x' } } })).toEqual([undefined, undefined])
  })
})
