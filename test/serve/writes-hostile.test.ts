// Whatever a body or a key holds, it is queued or refused with a reason: never a fault of ours.

import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { writes } from '../../src/catalog/writes.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { openWrites } from './writes-rig.ts'

const served = opened(() => openWrites({ sandbox: { size: 5 } }))
beforeAll(async () => {
  await served.pause()
})

const odd = fc.constantFrom(
  '1e400',
  '1e999999',
  '-0',
  '1.10',
  '123456789012345678901234567890',
  '"\\u0000"',
  '"\\ud800"',
  '{"change":1}',
  '{"change":"x"}',
  '{"__proto__":{"a":1}}',
  '{}',
  '[]',
  '"bmh1:x"',
)
const value = fc.oneof(odd, fc.json({ maxDepth: 3 }))
const request = fc.constantFrom(...writes).chain((write) =>
  fc.record({
    write: fc.constant(write),
    ids: fc.constantFrom('1', '0', '-1', '007', '999999999999999999', '1e3', '%00', '..%2f', '１'),
    members: fc.dictionary(
      fc.oneof(fc.constantFrom(...write.body.map(({ name }) => name), '__proto__', 'constructor'), fc.string()),
      value,
    ),
    whole: fc.option(fc.oneof(value, fc.string(), fc.constant('['.repeat(10_000))), { nil: null }),
    key: fc.option(fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 450 }), { nil: null }),
    match: fc.option(fc.constantFrom('*', '"x"', `"${'-'.repeat(200)}"`, '"', 'W/"a"'), { nil: null }),
  }),
)

describe('a write with odd content', () => {
  it('is queued, or refused as problem+json with a status of 4xx', async () => {
    await fc.assert(
      fc.asyncProperty(request, async ({ write, ids, members, whole, key, match }) => {
        const [method = '', template = ''] = write.endpoint.split(' ')
        const entries = Object.entries(members).map(([name, text]) => `${JSON.stringify(name)}:${text}`)
        const got = await served.send({
          method,
          path: template.replace(/\{\w+\}/g, ids),
          body: whole ?? `{${entries.join(',')}}`,
          headers: {
            prefer: 'respond-async',
            ...(key !== null && key.trim() !== '' && { 'idempotency-key': key.trim() }),
            ...(match !== null && { 'if-match': match }),
          },
        })
        if (got.status === 202) return
        expect([got.status, got.headers.get('content-type')], got.text).toEqual([
          expect.toSatisfy((status: number) => status >= 400 && status < 500),
          expect.stringContaining('problem+json'),
        ])
      }),
      { numRuns: runsOf(300) },
    )
  })
})
