// The wire: sizes, encodings, time limits, redirects and error bodies.

import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { collect, json, openApi, type Respond, startServer } from './http-server.ts'

const users = { endpoint: 'GET /v3/users' } as const
const text = JSON.stringify([{ name: 'Zoë 😀', pad: 'x'.repeat(5_000) }])

async function outcome(respond: Respond, timeoutMs?: number): Promise<unknown> {
  await using server = await startServer(respond)
  await using test = openApi(server.url, timeoutMs === undefined ? {} : { timeoutMs })
  // One attempt is enough: what is tried again is the client's business.
  return await test.api.send(users).catch((error: unknown) => error)
}

describe('compressed answers', () => {
  for (const [encoding, compress] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['deflate', (input: string) => deflateRawSync(input, { level: 0 })],
    ['gzip', (input: string) => Buffer.concat([gzipSync(input.slice(0, 99)), gzipSync(input.slice(99))])],
    ['br', brotliCompressSync],
    ['GZIP', gzipSync],
    ['identity', Buffer.from],
    ['UTF-8', Buffer.from],
    ['application/json, gzip', gzipSync],
    ['deflate, gzip', (input: string) => gzipSync(deflateSync(input))],
  ] as const satisfies readonly (readonly [string, (input: string) => Buffer])[])
    it(`are read as ${encoding}`, async () => {
      const answer = await outcome((response) => {
        response.writeHead(200, { 'content-encoding': encoding }).end(compress(text))
      })
      expect(answer).toMatchObject({ status: 200, body: JSON.parse(text), bytes: Buffer.byteLength(text) })
    })

  for (const [name, headers, body] of [
    ['in an encoding nobody asked for', { 'content-encoding': 'zstd' }, Buffer.from('x')],
    ['in too many encodings', { 'content-encoding': 'gzip, gzip, gzip' }, Buffer.from('x')],
    ['damaged', { 'content-encoding': 'gzip' }, Buffer.from('not gzip at all')],
    ['cut off', { 'content-encoding': 'gzip' }, gzipSync(text).subarray(0, 40)],
    ['cut off (br)', { 'content-encoding': 'br' }, brotliCompressSync(text).subarray(0, 20)],
    ['called toString', { 'content-encoding': 'toString' }, Buffer.from('x')],
  ] as const)
    it(`${name} are refused`, async () => {
      expect(await outcome((response) => void response.writeHead(200, headers).end(body))).toMatchObject({
        code: 'API_NOT_JSON',
        endpoint: users.endpoint,
        remedy: expect.stringMatching(/proxy/),
      })
    })
})

describe('size', () => {
  it('of an answer is counted while it unfolds: 200 MB in 200 kB are stopped at 20 MB', async () => {
    const bomb = gzipSync(Buffer.alloc(200_000_000, 0x20), { level: 1 })
    const before = process.memoryUsage().rss
    expect(
      await outcome((response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)),
    ).toMatchObject({
      code: 'API_TOO_LARGE',
      kind: 'skip',
      message: 'GET /v3/users: The answer is larger than 20 MB.',
    })
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000)
  })

  it('of a plain answer is limited the same way', async () => {
    const respond: Respond = (response) => {
      response.writeHead(200)
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(1_000_000, 0x20)));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    }
    expect(await outcome(respond)).toMatchObject({ code: 'API_TOO_LARGE' })
  })

  it('of an error body does not hide the status', async () => {
    const respond: Respond = (response) => void response.writeHead(400).end(`"${'x'.repeat(3_000_000)}"`)
    const error = (await outcome(respond)) as { status: number; body: string }
    expect([error.status, error.body.length]).toEqual([400, 500])
  })

  it('of nesting is limited', async () => {
    expect(await outcome((response) => void response.end('['.repeat(100_000)))).toMatchObject({ code: 'API_TOO_LARGE' })
  })
})

describe('time', () => {
  for (const [name, respond] of [
    ['no answer', () => undefined],
    [
      'an answer that drips',
      (response) => {
        response.writeHead(200)
        const timer = setInterval(() => response.write(' '), 20)
        response.once('close', () => clearInterval(timer))
      },
    ],
    [
      'an error that drips',
      (response) => {
        response.writeHead(404)
        const timer = setInterval(() => response.write(' '), 20)
        response.once('close', () => clearInterval(timer))
      },
    ],
  ] as const satisfies readonly (readonly [string, Respond])[])
    it(`is up for ${name}`, async () => {
      expect(await outcome(respond, 200)).toMatchObject({
        code: 'API_TIMEOUT',
        kind: 'retry',
        message: 'GET /v3/users did not answer within 200 ms.',
        remedy: expect.stringContaining('API_TIMEOUT_MS'),
      })
    })
})

describe('redirects', () => {
  for (const status of [301, 302, 307, 308])
    it(`${status} is refused, and the token goes nowhere else`, async () => {
      await using elsewhere = await startServer((response) => json(response, {}))
      const error = await outcome((response) => json(response, {}, status, { location: `${elsewhere.url}/v3/users` }))
      expect(error).toMatchObject({
        code: 'API_REDIRECT',
        kind: 'skip',
        status,
        remedy: expect.stringContaining('API_BASE_URL'),
      })
      expect(elsewhere.seen).toHaveLength(0)
    })
})

describe('content types', () => {
  it('are no reason to refuse what is JSON', async () => {
    const respond: Respond = (response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('[1]')
    expect(await outcome(respond)).toMatchObject({ body: [1] })
  })

  it('are named when the body is not JSON', async () => {
    const respond: Respond = (response) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Jane</p>')
    expect(await outcome(respond)).toMatchObject({
      code: 'API_NOT_JSON',
      message: 'GET /v3/users: The text (11 characters) is not JSON, or is cut off. (content type text/html)',
    })
  })
})

describe('what is wrong with the JSON of an answer, and where,', () => {
  for (const [name, text, says] of [
    ['NaN', '[{"id":1},{"id":2,"price":{"value":NaN}}]', 'NaN at $[1].price.value, character 36'],
    ['Infinity in an envelope', '{"data":[{"a,]":"\\""},-Infinity]}', '-Infinity at $.data[1], character 23'],
    ['undefined', '{"data":[],"next":undefined}', 'undefined at $.next, character 19'],
    ['a comma too many', '[{"id":1,"é":2,}]', 'an unexpected } at $[0], character 16'],
    ['a letter', '[{"id":1},{"id":x}]', 'unexpected text at $[1].id, character 17'],
    ['its end', '[{"id":1},{"name":"Jan', 'it ends too early, at $[1].name, character 23'],
  ] as const)
    it(`is said: ${name}`, async () => {
      const error = await outcome((response) => void response.writeHead(200).end(text))
      expect(error).toMatchObject({
        code: 'API_NOT_JSON',
        message: `GET /v3/users: The answer (${text.length} characters) is not JSON: ${says}. (content type none)`,
        remedy: expect.stringContaining('not valid JSON'),
      })
    })
})

describe('the reason of a refusal', () => {
  for (const [name, body, reason] of [
    ['message', { message: 'slot taken' }, 'slot taken'],
    ['error', { error: 'slot taken' }, 'slot taken'],
    ['error.message', { error: { message: 'slot taken' } }, 'slot taken'],
    ['problem details', { title: 'Conflict', detail: 'slot taken' }, 'slot taken'],
    ['a list of errors', { errors: [{ message: 'a' }, 'b', { code: 3 }] }, 'a; b'],
    ['none', { code: 17 }, undefined],
    ['an array', [1], undefined],
  ] as const)
    it(`is found as ${name}`, async () => {
      const error = await outcome((response) => json(response, body, 409))
      expect(error).toMatchObject({ code: 'API_REJECTED', reason, body: JSON.stringify(body) })
    })

  it('is not found in HTML, whose beginning is kept', async () => {
    const respond: Respond = (response) => void response.writeHead(502).end(`<html>${'x'.repeat(1_000)}`)
    const error = (await outcome(respond)) as { body: string; reason: unknown }
    expect([error.body.length, error.reason]).toEqual([500, undefined])
  })

  it('may be lost with the connection, the status is not', async () => {
    const respond: Respond = (response) => {
      response.writeHead(404, { 'content-length': 100 }).write('{', () => response.destroy())
    }
    expect(await outcome(respond)).toMatchObject({ code: 'API_NOT_FOUND', status: 404, body: undefined })
  })
})

describe('lists over HTTP', () => {
  it('follow links on the API’s own origin, with the secret that links and cursors never hold', async () => {
    await using server = await startServer((response, seen, count) =>
      json(
        response,
        [{ id: count }],
        200,
        count < 3 ? { link: `<${server.url}${seen.url}&page=${count + 1}>; rel="next"` } : {},
      ),
    )
    await using test = openApi(server.url, { auth: { kind: 'query', name: 'key' } })
    const paging = {
      style: 'link',
      pageParam: 'page',
      sizeParam: 'perPage',
      pageSize: 50,
      pageBase: null,
      itemsPath: null,
      nextPath: null,
      totalPath: null,
    } as const
    const pages = await collect(test.api.list({ ...users, query: { order: 'asc' }, paging, pageBase: 1 }))
    expect(pages.map((page) => page.items.values())).toEqual([[{ id: 1 }], [{ id: 2 }], [{ id: 3 }]])
    expect(server.seen.map((seen) => new URL(seen.url, server.url).searchParams.getAll('key'))).toEqual([
      ['s3cret-token'],
      ['s3cret-token'],
      ['s3cret-token'],
    ])
    expect(JSON.stringify(pages)).not.toContain('s3cret')
    expect(pages.map((page) => page.cursor)).toEqual([
      '',
      '/v3/users?order=asc&perPage=50&page=2',
      '/v3/users?order=asc&perPage=50&page=2&page=3',
    ])
  })

  it('are numbered below the record they belong to', async () => {
    await using server = await startServer((response, seen) =>
      json(response, seen.url.includes('page=1') ? [{ id: 1 }] : []),
    )
    await using test = openApi(server.url)
    const paging = {
      style: 'page',
      pageParam: 'page',
      sizeParam: 'perPage',
      pageSize: 50,
      pageBase: null,
      itemsPath: null,
      nextPath: null,
      totalPath: null,
    } as const
    const call = { endpoint: 'GET /v3/rentals/{rentalId}/options', params: { rentalId: '7/8' }, paging, pageBase: 1 }
    expect((await collect(test.api.list(call))).map((page) => page.items.values())).toEqual([[{ id: 1 }]])
    expect(server.seen.map((seen) => seen.url)).toEqual([
      '/v3/rentals/7%2F8/options?perPage=50&page=1',
      '/v3/rentals/7%2F8/options?perPage=50&page=2',
    ])
  })
})
