// Where a page stands and where the next one does, for each paging style.

import { describe, expect, it } from 'vitest'
import type { Envelope } from '../../src/api/paging/envelope.ts'
import type { PageAddress } from '../../src/api/paging/style.ts'
import { styles } from '../../src/api/paging/styles.ts'
import type { PagingStyle } from '../../src/config.ts'
import { callOf } from './page-servers.ts'

const base = { origin: 'https://api.example', prefix: '/base', path: '/base/v3/users', secretParam: null }
const answer = (next: Envelope['next']): Envelope => ({
  items: [1, 2, 3],
  ...{ total: null, totalAt: null, pages: null, more: undefined },
  ...{ nextAt: null, nextShownAt: null, endCursor: undefined },
  nextByHeader: false,
  envelope: 'array',
  next,
})

it('a list begins at its base where it is numbered, and without a cursor elsewhere', () => {
  const first = (style: PagingStyle): string => styles[style].first(callOf(style, { pageBase: 7 }))
  expect((['page', 'offset', 'cursor', 'link', 'none'] as const).map(first)).toEqual(['7', '7', '', '', ''])
})

describe('a page is asked for', () => {
  const size = { perPage: '10' }
  const cases: readonly [string, PagingStyle, string, PageAddress][] = [
    ['by its number', 'page', '3', { kind: 'query', query: { ...size, page: '3' } }],
    ['by its offset', 'offset', '30', { kind: 'query', query: { ...size, page: '30' } }],
    ['by its token', 'cursor', 'abc', { kind: 'query', query: { ...size, page: 'abc' } }],
    ['by a link that stands for a token', 'cursor', '/base/v3/users?a=1', { kind: 'link', link: '/base/v3/users?a=1' }],
    ['by its link, whatever that looks like', 'link', '/v3/users?a=1', { kind: 'link', link: '/v3/users?a=1' }],
    ['by its size alone when it is the first', 'cursor', '', { kind: 'query', query: size }],
    ['by its size alone when it is the first of links', 'link', '', { kind: 'query', query: size }],
    ['by a link that an answer named after all', 'none', '?a=1', { kind: 'link', link: '?a=1' }],
    ['by a token that an answer named after all', 'none', 'abc', { kind: 'query', query: { page: 'abc' } }],
    ['by nothing where a list has no pages', 'none', '', { kind: 'query', query: {} }],
    [
      'from the beginning after a cursor of another style',
      'page',
      'x12',
      { kind: 'query', query: { ...size, page: '1' } },
    ],
    ['from the beginning after a link of old', 'offset', '12?a=1', { kind: 'query', query: { ...size, page: '0' } }],
  ]
  for (const [name, style, cursor, expected] of cases)
    it(name, () => expect(styles[style].request(callOf(style), cursor, '/base')).toEqual(expected))
})

describe('the page before', () => {
  const previous = (style: PagingStyle, cursor: string): string | null => styles[style].before(callOf(style), cursor)
  it('of a number is the number before it, of an offset one page size less, and of the first there is none', () => {
    expect([previous('page', '3'), previous('offset', '30'), previous('offset', '5')]).toEqual(['2', '20', '0'])
    expect([previous('page', '1'), previous('offset', '0')]).toEqual([null, null])
  })
  it('is not known where only answers lead on', () => {
    expect([previous('cursor', 'abc'), previous('link', '/v3/users?a=1'), previous('none', 'abc')]).toEqual([
      null,
      null,
      null,
    ])
  })
})

describe('the next page', () => {
  const next = (style: PagingStyle, cursor: string, said: Envelope['next'], more = false): string | null =>
    styles[style].next(callOf(style), cursor, answer(said), { base, more })
  const cases: readonly [string, string | null, string | null][] = [
    ['of a number is the number after it', next('page', '3', undefined), '4'],
    ['of an offset is past what came', next('offset', '30', undefined), '33'],
    ['of a number is none when the answer says so', next('page', '3', null), null],
    ['of an offset is none when the answer says so', next('offset', '30', null), null],
    ['is there all the same when the total says so', next('page', '3', null, true), '4'],
    ['of a token is the token that came', next('cursor', 'abc', '/9j/4AAQ'), '/9j/4AAQ'],
    ['of a token may be a link', next('cursor', 'abc', '?after=2'), '/base/v3/users?after=2'],
    ['of a link is the link that came, below the list', next('link', '', 'users?after=2'), '/base/v3/users?after=2'],
    ['of a token is none when nothing came', next('cursor', 'abc', undefined), null],
    ['of a link is none when null came', next('link', '', null, true), null],
  ]
  for (const [name, found, expected] of cases) it(name, () => expect(found).toBe(expected))
})
