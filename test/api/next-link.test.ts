// Next links lead nowhere but to the API's own lists.

import { describe, expect, it } from 'vitest'
import { type LinkBase, looksLikeLink, nextOfLinkHeader, resolveNextLink } from '../../src/api/paging/next-link.ts'

const base: LinkBase = { origin: 'https://api.example', prefix: '/base', path: '/base/v3/rentals', secretParam: 'key' }

for (const [link, expected] of [
  ['https://api.example/base/v3/rentals?page=2', '/base/v3/rentals?page=2'],
  ['https://api.example:443/base/v3/rentals?page=2', '/base/v3/rentals?page=2'],
  ['/base/v3/rentals?page=2', '/base/v3/rentals?page=2'],
  ['?page=2', '/base/v3/rentals?page=2'],
  ['rentals?page=2#top', '/base/v3/rentals?page=2'],
  ['https://user:pass@api.example/base/v3/rentals?page=2', '/base/v3/rentals?page=2'],
  ['?page=2&key=s3cret&x=1', '/base/v3/rentals?page=2&x=1'],
] as const)
  it(`${link} is followed, for path and query alone`, () => {
    expect(resolveNextLink(link, base)).toBe(expected)
  })

for (const link of [
  'https://evil.example/base/v3/rentals?page=2',
  'http://api.example/base/v3/rentals',
  'https://api.example:444/base/v3/rentals',
  'https://api.example.evil/base/v3/rentals',
  '//evil.example/base/v3/rentals',
  '\\\\evil.example/base/v3/rentals',
  'https://api.example/v3/rentals',
  '/base/v3/../admin',
  '/base/v3/%2e%2e/admin',
  '/base/v3x/rentals',
  'javascript:alert(1)',
  'http://',
])
  it(`${link} is refused`, () => {
    expect(() => resolveNextLink(link, base)).toThrow(
      expect.objectContaining({ code: 'PAGING_FOREIGN_LINK', remedy: expect.stringContaining('API_BASE_URL') }),
    )
  })

it('a refusal names where the link leads, and nothing of its path', () => {
  expect(() => resolveNextLink('https://evil.example/v3/x?token=1', base)).toThrow(
    /^A next link points to https:\/\/evil\.example, not below https:\/\/api\.example\/base\/v3\/\.$/,
  )
  expect(() => resolveNextLink('http://', base)).toThrow(/points to an invalid address,/)
})

it('a refusal names no more of a long origin than one line holds', () => {
  const named = (length: number): string => {
    try {
      return resolveNextLink(`https://${'x'.repeat(length)}/`, base)
    } catch (error) {
      return /to (\S+), not/.exec((error as Error).message)?.[1] ?? ''
    }
  }
  expect(named(92)).toBe(`https://${'x'.repeat(92)}`)
  expect(named(93)).toBe(named(92))
})

it('only the parameter of the secret is taken out of a link', () => {
  const open = { ...base, secretParam: null }
  expect(resolveNextLink('?page=2&null=1&key=x', open)).toBe('/base/v3/rentals?page=2&null=1&key=x')
})

describe('Link header', () => {
  for (const [header, expected] of [
    [undefined, undefined],
    ['<https://x/?a=1,2>; rel=next', 'https://x/?a=1,2'],
    ['<a>; title="x, y; rel=next"; rel="prev", <b>; REL="last next"', 'b'],
    ['<a>;rel="next"', 'a'],
    ['<a> ; rel = "next"', 'a'],
    ['<a>; crossorigin; rel=next', 'a'],
    ['<a>; rel="next prev"', 'a'],
    ['<a>; rel="nextpage"', undefined],
    ['<a>; title="next"; rel="last"', undefined],
    ['<a>; rel="prev"', undefined],
    ['<a>', undefined],
    ['nonsense', undefined],
  ] as const)
    it(`${header} has next ${expected}`, () => expect(nextOfLinkHeader(header)).toBe(expected))
})

it('tokens are told from links, even tokens that begin with a slash', () => {
  const links = ['https://x/y', 'HTTP://x', '?page=2', '/base/v3/rentals?after=1']
  const tokens = ['xhttps://x/y', 'abc', '/9j/4AAQSkZJRg==', '2', 'eyJpZCI6MX0=']
  expect(links.map((next) => looksLikeLink(next, '/base'))).toEqual(links.map(() => true))
  expect(tokens.map((next) => looksLikeLink(next, '/base'))).toEqual(tokens.map(() => false))
})
