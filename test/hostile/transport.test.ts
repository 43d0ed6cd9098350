// Bytes on the wire that no server should send: each request ends with JSON or with an ApiError, within its time.

import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createServer, type Server } from 'node:net'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { parseJson, stringifyJson } from '../../src/api/wire/json.ts'
import { buildTarget } from '../../src/api/wire/request.ts'
import { createTransport, type Transport } from '../../src/api/wire/transport.ts'
import { ApiError } from '../../src/errors.ts'
import { settingsOf } from './draw.ts'
import { brokenJsonText, digits, jsonText, text } from './generators.ts'

const bytes = fc.oneof(
  { weight: 3, arbitrary: fc.oneof(jsonText, brokenJsonText).map((source) => Buffer.from(source)) },
  { weight: 1, arbitrary: jsonText.map((source) => gzipSync(source)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((raw) => Buffer.from(raw)) },
  { weight: 1, arbitrary: fc.constant(Buffer.from('7b226e616d65223a22c3', 'hex')) },
)
const headerText = fc.oneof(text, digits).map((each) => each.replace(/[^\t\x20-\xff]/g, '?').slice(0, 500))
const header = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        'Content-Type',
        'Retry-After',
        'Link',
        'X-Total-Count',
        'Date',
        'Location',
        '__proto__',
        'constructor',
        'Set-Cookie',
        'Content-Encoding',
      ),
      headerText,
    )
    .map((pair) => pair.join(': ')),
  fc.constantFrom(
    'Content-Encoding: gzip',
    'Content-Encoding: gzip, gzip, gzip',
    'Content-Encoding: __proto__',
    'Content-Encoding: br',
    'Transfer-Encoding: chunked',
    'Content-Length: 5',
    'Content-Length: -1',
    'Content-Length: 99',
    'Connection: close',
    ' folded',
    'no colon',
  ),
)
const statusLine = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('HTTP/1.1 200 OK', 'HTTP/1.1 200') },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(204, 206, 301, 400, 401, 404, 409, 410, 429, 500, 503, 599, 600, 99)
      .map((status) => `HTTP/1.1 ${status} X`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'HTTP/9.9 200 OK',
      'HTTP/1.1 2000 OK',
      'ICY 200 OK',
      '',
      'HTTP/1.1 101 Switching Protocols',
    ),
  },
)
const answer = fc
  .tuple(statusLine, fc.array(header, { maxLength: 3 }), bytes, fc.boolean())
  .map(([status, headers, body, measured]) =>
    Buffer.concat([
      Buffer.from(
        [status, ...headers, ...(measured ? [`Content-Length: ${body.length}`] : []), '', ''].join('\r\n'),
        'latin1',
      ),
      body,
    ]),
  )

describe('an answer on the wire', () => {
  let server: Server
  let transport: Transport
  let next = Buffer.alloc(0)
  beforeAll(async () => {
    server = createServer((socket) => {
      socket.on('error', () => {}) // the client hangs up on what it cannot read
      socket.once('data', () => socket.end(next))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    transport = createTransport(
      buildTarget({ baseUrl, token: 'secret-token', auth: { kind: 'bearer' }, language: null }, '1'),
      1,
      null,
    )
  })
  afterAll(async () => {
    await transport?.close()
    await new Promise((resolve) => server?.close(resolve))
  })

  it('is JSON that can be stored, or an ApiError that names the endpoint', async () => {
    const plain = Object.getOwnPropertyNames(Object.prototype).join()
    await fc.assert(
      fc.asyncProperty(answer, async (raw) => {
        next = raw
        try {
          const { status, body, headers } = await transport.send(
            { method: 'GET', path: '/v3/rentals', endpoint: 'GET /v3/rentals', timeoutMs: 2_000 },
            () => new Date(0),
          )
          assert(status >= 200 && status < 300)
          if (body !== undefined) assert.equal(stringifyJson(parseJson(stringifyJson(body)).value), stringifyJson(body))
          for (const value of Object.values(headers)) assert.equal(typeof value, 'string')
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          assert.equal(error.endpoint, 'GET /v3/rentals')
          // Refused credentials are the same news whichever endpoint reports them, and are logged once.
          if (error.code !== 'API_UNAUTHORIZED') assert(error.message.startsWith('GET /v3/rentals'), error.message)
          assert(error.message.length < 500 && (error.body ?? '').length <= 500 && (error.reason ?? '').length <= 200)
          assert(error.retryAfterMs === undefined || (error.retryAfterMs >= 0 && error.retryAfterMs <= 3_600_000))
        }
      }),
      settingsOf(400),
    )
    assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), plain)
  })
})
