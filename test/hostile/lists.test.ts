// Answers of lists: odd envelopes, totals, next links, Link and Retry-After headers, and servers that page as they please.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { readEnvelope } from '../../src/api/paging/envelope.ts'
import { nextOfLinkHeader, resolveNextLink } from '../../src/api/paging/next-link.ts'
import { readPages } from '../../src/api/paging/pages.ts'
import { parseRetryAfter } from '../../src/api/retry.ts'
import type { Answer, Page } from '../../src/api/types.ts'
import { type Json, parseJson, stringifyJson } from '../../src/api/wire/json.ts'
import type { PagingStyle } from '../../src/config.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { settingsOf } from './draw.ts'
import { digits, jsonText, names, objectText, text } from './generators.ts'

const paths = [
  'data',
  'items',
  'data.items',
  'meta.total',
  'total',
  'count',
  'next',
  'links.next',
  '_links.next.href',
  '_embedded.x',
]

/** `{"a": {"b": value}}` for `a.b`. */
const nested = (path: string, value: string): string =>
  path
    .split('.')
    .reverse()
    .reduce((inner, name) => `{${JSON.stringify(name)}:${inner}}`, value)

const list = fc.array(objectText, { maxLength: 3 }).map((items) => `[${items.join(',')}]`)

/** Bodies near to an envelope: usual names with wrong values, several at once, arrays where objects are expected. */
const body: fc.Arbitrary<Json> = fc
  .oneof(
    jsonText,
    list,
    fc
      .tuple(fc.constantFrom(...paths, ...names), fc.oneof(list, jsonText, digits))
      .map(([path, value]) => nested(path, value)),
    fc
      .uniqueArray(
        fc.tuple(
          fc.constantFrom('data', 'items', 'total', 'count', 'next', 'links', 'errors', '__proto__'),
          fc.oneof(list, jsonText),
        ),
        {
          selector: ([name]) => name,
          maxLength: 5,
        },
      )
      .map((members) => `{${members.map(([name, value]) => `"${name}":${value}`).join(',')}}`),
  )
  .map((source) => parseJson(source).value)

const linkHeader = fc.oneof(
  text,
  fc
    .array(
      fc.tuple(
        text,
        fc.constantFrom('rel="next"', 'rel=next', "rel='next'", 'REL="prev next"', 'rel', 'rel="next', 'x=y;;rel=next'),
      ),
      { maxLength: 3 },
    )
    .map((links) => links.map(([target, parameters]) => `<${target}>; ${parameters}`).join(', ')),
)

const headers = fc.record(
  { link: linkHeader, 'x-total-count': fc.oneof(text, digits), 'total-count': digits, constructor: text },
  { requiredKeys: [] },
)

const isOurs = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof BoatMirrorError && codes.includes(error.code) && error.message.length < 2_000

describe('an envelope', () => {
  it('gives an array of records, a whole total and a next text, or is refused with the names it has', () => {
    const path = fc.option(fc.constantFrom(...paths, ...names, 'header:X-Total-Count', 'header:constructor'), {
      nil: null,
    })
    fc.assert(
      fc.property(body, headers, path, path, path, (value, given, itemsPath, nextPath, totalPath) => {
        try {
          const found = readEnvelope(value, given, { itemsPath, nextPath, totalPath })
          assert(Array.isArray(found.items))
          assert(found.total === null || (Number.isSafeInteger(found.total) && found.total >= 0))
          assert(found.next === null || found.next === undefined || typeof found.next === 'string')
        } catch (error) {
          assert(isOurs(error, 'PAGING_ENVELOPE', 'API_ERROR_BODY'), String(error))
        }
      }),
      settingsOf(12_000),
    )
  })
})

describe('a next link', () => {
  const base = { origin: 'https://api.example.com', prefix: '/root', path: '/root/v3/rentals', secretParam: 'key' }
  const link = fc.oneof(
    text,
    fc
      .tuple(
        fc.constantFrom(
          '',
          'https://api.example.com',
          'http://api.example.com',
          'https://api.example.com:444',
          'https://x@api.example.com',
          '//evil.example',
          'javascript:',
          '\\\\evil.example\\',
          'https:evil.example',
          'https:/\\evil.example',
        ),
        fc.constantFrom(
          '',
          '/root/v3/',
          '/root/v3/../../admin/',
          '/root/v3/%2e%2e/%2e%2e/',
          '/root/v3',
          '/v3/',
          '?',
          './',
          '../',
          '/root//v3/',
          '/ROOT/v3/',
        ),
        fc.oneof(text, fc.constant('rentals?page=2&key=leak&KEY=x&k%65y=leak')),
      )
      .map((parts) => parts.join('')),
  )

  it('leads nowhere but below /v3 of the API itself, and never repeats the secret', () => {
    fc.assert(
      fc.property(link, linkHeader, (target, header) => {
        const fromHeader = nextOfLinkHeader(header)
        for (const next of fromHeader === undefined ? [target] : [target, fromHeader])
          try {
            const url = new URL(resolveNextLink(next, base), base.origin)
            assert.equal(url.origin, base.origin)
            assert(url.pathname.startsWith('/root/v3/'), url.href)
            assert.equal(url.searchParams.get('key'), null)
          } catch (error) {
            assert(isOurs(error, 'PAGING_FOREIGN_LINK'), String(error))
          }
      }),
      settingsOf(8_000),
    )
  })
})

describe('Retry-After', () => {
  it('is a time from nothing to an hour, or nothing', () => {
    const value = fc.oneof(
      text,
      digits,
      fc.constantFrom(
        '1e9',
        '-5',
        '9'.repeat(400),
        '0.5',
        'Wed, 21 Oct 2099 07:28:00 GMT',
        'Sunday, 06-Nov-94 08:49:37 GMT',
        'Sun Nov  6 08:49:37 1994',
        'Wed, 99 Foo 2015 99:99:99 GMT',
        'Infinity',
      ),
    )
    fc.assert(
      fc.property(value, fc.option(value, { nil: undefined }), (header, date) => {
        const ms = parseRetryAfter(header, date, new Date('2026-07-14T00:00:00Z'))
        assert(ms === undefined || (Number.isInteger(ms) && ms >= 0 && ms <= 3_600_000), `${header}: ${ms}`)
      }),
      settingsOf(4_000),
    )
  })
})

const answerOf = (value: Json, given: Readonly<Record<string, string>> = {}): Answer => ({
  status: 200,
  body: value,
  startedAt: new Date(0),
  bytes: 1,
  retries: 0,
  sanitized: 0,
  headers: given,
})

describe('a list from a server that pages as it pleases', () => {
  const record = fc.oneof(
    fc.nat(5).map((id) => `{"id":${id}}`),
    objectText,
    jsonText,
  )
  const page = fc.tuple(
    fc.array(record, { maxLength: 3 }),
    fc.oneof(
      fc.constant(''),
      fc
        .tuple(
          fc.constantFrom('next', 'total', 'count', 'links'),
          fc.oneof(jsonText, digits, fc.constantFrom('"?page=2"', '"/v3/x?c=1"', '"c1"')),
        )
        .map(([name, value]) => `,"${name}":${value}`),
    ),
  )
  const styles: readonly PagingStyle[] = ['page', 'offset', 'cursor', 'link', 'none']

  it('ends, yields what was answered and nothing else, or is refused with an error that names the endpoint', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(page, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        fc.constantFrom(...styles),
        fc.constantFrom(1, 2, 100),
        async (pages, bare, style, pageSize) => {
          const bodies = pages.map(
            ([items, more]) => parseJson(bare ? `[${items.join(',')}]` : `{"data":[${items.join(',')}]${more}}`).value,
          )
          let asked = 0
          const fetch = async (): Promise<Answer> => answerOf(bodies[asked++ % bodies.length] ?? null)
          const paging = {
            style,
            pageParam: 'page',
            sizeParam: 'perPage',
            pageSize,
            pageBase: null,
            itemsPath: null,
            nextPath: null,
            totalPath: null,
          }
          const linkBase = { origin: 'http://api', prefix: '', path: '/v3/rentals', secretParam: null }
          const yielded: Page[] = []
          try {
            for await (const each of readPages(
              { endpoint: 'GET /v3/rentals', paging, pageBase: 1 },
              { fetch, nameOf: JSON.stringify, linkBase },
            )) {
              yielded.push(each)
              assert(yielded.length <= 100, 'it does not end')
            }
          } catch (error) {
            assert(
              isOurs(
                error,
                ...['PAGING_ENVELOPE', 'PAGING_IGNORED', 'PAGING_ENDLESS', 'PAGING_FOREIGN_LINK', 'PAGING_UNPROVEN'],
              ),
              String(error),
            )
            assert(error instanceof Error && error.message.startsWith('GET /v3/rentals'))
          }
          // Empty pages are passed over, and some pages are asked for again to see whether the list ends there.
          const shown = bodies.map((each) => stringifyJson(readEnvelope(each, {}, paging).items))
          for (const each of yielded) assert(shown.includes(stringifyJson(each.items.values())))
        },
      ),
      settingsOf(3_000),
    )
  })
})
