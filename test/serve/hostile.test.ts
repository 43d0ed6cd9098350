// Whatever the path, the query, the headers or the body of a request hold: an answer that the document describes, nothing of what
// lies behind it, and a mirror that is as it was.

import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { readEndpoints, streams } from '../../src/catalog/catalog.ts'
import { writes } from '../../src/catalog/writes.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { seed } from '../hostile/draw.ts'
import { brokenJsonText, jsonText, names, objectText, text } from '../hostile/generators.ts'
import { createOpenApiCheck, type OpenApiCheck } from './openapi-check.ts'
import { type RawAnswer, sendRaw } from './raw-request.ts'
import { openServed } from './served-rig.ts'

const settingsOf = (numRuns: number) => ({ numRuns: runsOf(numRuns), seed })

let check: OpenApiCheck
let before: string
/** `all` may see and do everything, `some` sees company 1 alone and no person, and only reads. */
const tokens = { all: '', some: '' }
const served = opened(() => openServed({ sandbox: { size: 30 }, settings: { serveWaitMs: 50 } }))
beforeAll(async () => {
  tokens.all = (await served.createToken('all', { personal: true, write: true })).token
  tokens.some = (await served.createToken('some', { companies: ['1'] })).token
  check = createOpenApiCheck(JSON.parse(await (await fetch(`${served.url}/openapi.json`)).text()))
  before = await mirrored()
})

/** What the mirror holds, in short. */
async function mirrored(): Promise<string> {
  const { pool } = served.mirror.app.database
  const sums = streams.map(
    ({ name }) =>
      `select '${name}' as name, count(*) as rows, sum(hashtextextended(_payload::text, 0)) as sum from mirror.${name} where _deleted_at is null`,
  )
  const { rows } = await pool.query(sums.join(' union all '))
  return JSON.stringify(rows)
}

/** A value as a path or a query holds it: escaped or not, but never with what ends the line. */
const raw = fc
  .tuple(text, fc.boolean())
  .map(([value, escaped]) => (escaped ? encodeURIComponent(value.toWellFormed()) : value.replace(/[^!-~]/gu, '+')))
const odd = fc.oneof(
  raw,
  fc.constantFrom(
    '1',
    '0',
    '-1',
    '007',
    '1e3',
    '1,2',
    '%',
    '%zz',
    '%00',
    '%c0%af',
    '..%2f..',
    '%EF%BC%99',
    '%F0%9F%9B%A5',
    '//',
  ),
  fc.constantFrom(...names),
)

const params = [
  ...['page', 'perPage', 'order', 'id', 'resourceId', 'companyId', 'status', 'departureMinDate', 'departureMaxDate'],
  ...['date', 'duration', 'resourceIds', 'year', 'from', 'to', 'test', 'withMandatoryOptions', 'fresh', 'deactivated'],
]
const query = fc
  .array(fc.tuple(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...params) }, odd), odd), { maxLength: 4 })
  .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.map((pair) => pair.join('=')).join('&')}`))

const endpoint = fc.constantFrom<string>(
  ...readEndpoints,
  ...writes.map((write) => write.endpoint),
  'GET /changes/{changeId}',
)
const filled = fc.tuple(endpoint, fc.array(odd, { minLength: 2, maxLength: 2 })).map(([operation, values]) => {
  const [method = '', path = ''] = operation.split(' ')
  let at = 0
  return { operation, method, path: path.replace(/\{\w+\}/g, () => values[at++] ?? '1') }
})

/** What may stand in a header: no line end, and bytes alone. */
const inHeader = text.map((value) => value.replace(/\p{Cc}/gu, '').replace(/[^\p{ASCII}]/gu, '?'))
const headerNames = [
  ...['Origin', 'Sec-Fetch-Site', 'If-None-Match', 'If-Match', 'Prefer', 'Idempotency-Key', 'Cache-Control', 'Accept'],
  ...['Content-Encoding', 'Cookie', 'X-Forwarded-For', 'X-HTTP-Method-Override', 'Accept-Encoding', 'Range', 'TE'],
]
const headers = fc.uniqueArray(fc.tuple(fc.constantFrom(...headerNames), inHeader), {
  selector: ([name]) => name,
  maxLength: 3,
})

type Sent = {
  readonly method: string
  readonly path: string
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string
  readonly type?: string
  readonly token?: string
  readonly host?: string
}

function send({
  method,
  path,
  headers = [],
  body,
  type = 'application/json',
  token = tokens.all,
  host = '127.0.0.1',
}: Sent): Promise<RawAnswer> {
  const content = Buffer.from(body ?? '')
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: close',
    ...(token === '' ? [] : [`Authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : [`Content-Type: ${type}`, `Content-Length: ${content.length}`]),
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ]
  return sendRaw(Number(new URL(served.url).port), `${lines.join('\r\n')}\r\n\r\n`, content)
}

/** Names of files, functions and statements, which no answer may hold. */
const insides = /node_modules|\.ts\b|\n {4}at |postgres|relation "|syntax error|bmt_\d/i

/** What is wrong with an answer, whatever was asked. */
function faultsOf(operation: string | null, { status, headers, body }: RawAnswer): readonly string[] {
  const faults = [
    ...(status >= 500 && ![501, 503, 504].includes(status) ? [`a fault of ours: ${status}`] : []),
    ...([...headers.keys()].some((name) => name.startsWith('access-control-')) ? ['opens itself to other sites'] : []),
    ...(status >= 400 && insides.test(body) ? ['says what lies behind it'] : []),
  ]
  const contentType = headers.get('content-type') ?? null
  const isProblem = status >= 400 && contentType?.startsWith('application/problem+json') === true
  if (status >= 400 && body !== '' && !isProblem) faults.push(`${status} as ${contentType}`)
  if (operation === null || faults.length > 0) return faults
  return check.faultsOf(operation, { status, contentType, body: body === '' ? null : JSON.parse(body) })
}

describe('a request with a hostile path or query', () => {
  it('is answered as the document says, or is none of its paths', async () => {
    await fc.assert(
      fc.asyncProperty(
        filled,
        query,
        fc.constantFrom('all', 'some'),
        async ({ operation, method, path }, search, who) => {
          const body = method === 'GET' ? {} : { body: '{}', headers: [['Prefer', 'respond-async']] as const }
          const answer = await send({ method, path: `${path}${search}`, token: tokens[who], ...body })
          // A value may make another path of it.
          const isPath = answer.status !== 404 && answer.status !== 405
          expect(faultsOf(isPath ? operation : null, answer), answer.body).toEqual([])
        },
      ),
      settingsOf(400),
    )
  })

  it('leaves the mirror as it was', async () => expect(await mirrored()).toBe(before))
})

describe('a request with hostile headers', () => {
  it('is answered as the document says', async () => {
    await fc.assert(
      fc.asyncProperty(filled, headers, fc.boolean(), async ({ operation, method }, given, known) => {
        const path = (operation.split(' ')[1] ?? '').replace(/\{\w+\}/g, '1')
        const body = method === 'GET' ? {} : { body: '{}' }
        const answer = await send({ method, path, headers: given, ...(known ? {} : { token: 'none' }), ...body })
        if (answer.status === 431) return
        expect(faultsOf(operation, answer), answer.body).toEqual([])
        if (!known) expect([401, 403, 429]).toContain(answer.status)
      }),
      settingsOf(200),
    )
  })

  it('for another host is answered 421, whatever it asks for', async () => {
    const hosts = fc.oneof(
      fc.constantFrom(
        'evil.example',
        'localhost.evil.example',
        '127.0.0.1.evil.example',
        '10.0.0.1',
        '[::2]',
        'a b',
        '127.0.0.1:x',
      ),
      fc.stringMatching(/^[a-z0-9.-]{1,20}\.example$/),
    )
    await fc.assert(
      fc.asyncProperty(hosts, filled, async (host, { method, path }) => {
        expect((await send({ method, path: encodeURI(path), host })).status).toSatisfy((status) =>
          [400, 421].includes(status),
        )
      }),
      settingsOf(100),
    )
  })

  it('of a page of another site is answered 403, also where it holds a token', async () => {
    for (const [name, value] of [
      ['Origin', 'https://evil.example'],
      ['Origin', 'null'],
      ['Sec-Fetch-Site', 'cross-site'],
    ] as const) {
      const answer = await send({ method: 'GET', path: '/v3/rentals', headers: [[name, value]] })
      expect([name, answer.status]).toEqual([name, 403])
    }
  })
})

describe('a write with a hostile body', () => {
  const body = fc.oneof(objectText, jsonText, brokenJsonText)
  const type = fc.constantFrom(
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '*/*',
  )
  const write = fc.constantFrom(...writes)

  it('is queued or refused as the document says, with a right token or a wrong one', async () => {
    await served.mirror.stopWorker()
    await fc.assert(
      fc.asyncProperty(write, body, type, fc.constantFrom('all', 'some'), async ({ endpoint }, content, media, who) => {
        const [method = '', path = ''] = endpoint.split(' ')
        const answer = await send({
          ...{ method, path: path.replace(/\{\w+\}/g, '1'), token: tokens[who] },
          headers: [['Prefer', 'respond-async']],
          ...{ body: content, type: media },
        })
        expect(faultsOf(endpoint, answer), answer.body).toEqual([])
        if (who === 'some') expect(answer.status).toBeGreaterThanOrEqual(400)
      }),
      settingsOf(400),
    )
    expect(await mirrored()).toBe(before)
  })
})

describe('after all that', () => {
  it('others are answered', async () => {
    const answer = await send({ method: 'GET', path: '/v3/rentals?perPage=5' })
    expect([answer.status, JSON.parse(answer.body).length]).toEqual([200, 5])
  })
})
