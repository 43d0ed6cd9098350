// What a webhook carries and how it is signed; when a message is repeated; which addresses are taken.

import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { holdsPerson, streams } from '../../src/catalog/catalog.ts'
import { readConfig } from '../../src/config.ts'
import { streamProblems } from '../../src/jobs/schedule.ts'
import { nextPostMs } from '../../src/messages/post.ts'
import {
  batchOf,
  bodyLimit,
  type ReadEntry,
  selectionOf,
  signedHeaders,
  testBody,
} from '../../src/messages/webhook/batch.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

const entry = (seq: number, diff: string | null = '{"name": [null, "Brest"]}'): ReadEntry => ({
  cursor: `1.2.3.${seq}`,
  seq: String(seq),
  stream: 'harbours',
  key: `{"id": ${seq}}`,
  operation: 'insert',
  changedAt: new Date('2030-01-01T12:00:00Z'),
  diff,
})

describe('a batch', () => {
  const madeAt = new Date('2030-01-01T12:00:01Z')

  it('holds the changes as the feed tells them, and stands for those that are not for the receiver, too', () => {
    const batch = batchOf(
      [entry(1, null), entry(2), entry(3, '{"weight": [1, 12345678901234567890]}'), entry(4, null)],
      madeAt,
    )
    expect(batch).toMatchObject({ changes: 2, endCursor: '1.2.3.4' })
    expect(batch.body).toContain('12345678901234567890')
    expect(JSON.parse(batch.body)).toEqual({
      type: 'mirror.changed',
      timestamp: '2030-01-01T12:00:01.000Z',
      data: {
        changes: [
          {
            cursor: '1.2.3.2',
            seq: 2,
            stream: 'harbours',
            key: { id: 2 },
            operation: 'insert',
            changedAt: '2030-01-01T12:00:00.000Z',
            diff: { name: [null, 'Brest'] },
          },
          expect.objectContaining({ cursor: '1.2.3.3' }),
        ],
      },
    })
  })

  it('ends where the next change would make it larger than 256 kB; a larger change goes alone', () => {
    const wish = fc.record({ kB: fc.integer({ min: 0, max: 300 }), isTold: fc.boolean(), isWide: fc.boolean() })
    const bytesOf = (entries: readonly ReadEntry[]): number => Buffer.byteLength(batchOf(entries, madeAt).body)
    const empty = bytesOf([entry(1, null)])
    fc.assert(
      fc.property(fc.array(wish, { minLength: 1, maxLength: 30 }), (wishes) => {
        const entries = wishes.map(({ kB, isTold, isWide }, index) =>
          entry(index + 1, isTold ? `{"a": [null, "${(isWide ? 'é' : 'ab').repeat(kB * 500)}"]}` : null),
        )
        const told: number[] = []
        for (let rest = entries; rest.length > 0; ) {
          const { body, changes, endCursor } = batchOf(rest, madeAt)
          const seqs = JSON.parse(body).data.changes.map(({ seq }: { seq: number }) => seq)
          expect(seqs).toHaveLength(changes)
          if (changes > 1) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(bodyLimit)
          told.push(...seqs)
          rest = entries.slice(Number(endCursor.split('.').at(-1)))
          const [next] = rest
          if (next === undefined) continue
          // What is not for the receiver never ends a call, and the next change had no room in it.
          expect(next.diff).not.toBe(null)
          expect(Buffer.byteLength(body) + 1 + bytesOf([next]) - empty).toBeGreaterThan(bodyLimit)
        }
        expect(told).toEqual(wishes.flatMap(({ isTold }, index) => (isTold ? [index + 1] : [])))
      }),
      { numRuns: 50 },
    )
  })

  it('is signed by each secret as the reference verifier wants it, and as Standard Webhooks writes it down', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.uuid(), fc.integer({ min: 1, max: 3 }), (text, id, count) => {
        const keys = Array.from({ length: count }, (_, index) => Buffer.alloc(32, index))
        const secrets = keys.map((key) => `whsec_${key.toString('base64')}`)
        const body = JSON.stringify({ text: text.toWellFormed() })
        const sentAt = new Date()
        const headers = signedHeaders(secrets, { id, body }, sentAt)
        for (const each of secrets) expect(new Webhook(each).verify(body, { ...headers })).toEqual(JSON.parse(body))
        expect(() => new Webhook(secret).verify(body, { ...headers })).toThrow()
        const stamp = Math.floor(sentAt.getTime() / 1_000)
        const macs = keys.map((key) => createHmac('sha256', key).update(`${id}.${stamp}.${body}`).digest('base64'))
        expect(headers).toEqual({
          'webhook-id': id,
          'webhook-timestamp': `${stamp}`,
          'webhook-signature': macs.map((mac) => `v1,${mac}`).join(' '),
        })
      }),
      { numRuns: 30 },
    ))

  it('that tests a receiver holds no change', () =>
    expect(JSON.parse(testBody(madeAt))).toEqual({
      type: 'mirror.test',
      timestamp: '2030-01-01T12:00:01.000Z',
      data: { changes: [] },
    }))
})

describe('what leaves the machine', () => {
  it('is, with no streams named, every stream but documents, without what is personal', () => {
    const selection = selectionOf(null)
    for (const stream of streams) {
      const left = selection[stream.name]
      if (stream.document === true) expect(left, stream.name).toBe(undefined)
      else {
        for (const { name, personal } of stream.columns)
          expect(left?.includes(name), `${stream.name}.${name}`).toBe(personal === true)
        expect(left?.includes('_payload'), stream.name).toBe(holdsPerson(stream))
      }
    }
    expect(selection.users).toContain('last_name')
  })

  it('is a named stream whole, documents too, and no other', () =>
    expect(selectionOf(['users', 'user_licenses'])).toEqual({ users: [], user_licenses: [] }))
})

describe('a message that was not taken', () => {
  const failed = { status: 503, retryAfterMs: 0 }

  it('is repeated after 1 s, 2 s, 4 s … at most five minutes, up to a half of it sooner', () => {
    expect([1, 2, 3, 9, 10, 4_000].map((attempts) => nextPostMs(failed, attempts, 1))).toEqual([
      1_000, 2_000, 4_000, 256_000, 300_000, 300_000,
    ])
    expect(nextPostMs(failed, 3, 0)).toBe(2_000)
  })

  it('is never repeated sooner than the receiver asked for', () =>
    expect(nextPostMs({ status: 429, retryAfterMs: 600_000 }, 1, 0)).toBe(600_000))

  it('is offered once in an hour to who is gone', () =>
    expect(nextPostMs({ status: 410, retryAfterMs: 0 }, 1, 0)).toBe(3_600_000))
})

describe('the settings', () => {
  const read = (env: Readonly<Record<string, string>>) => readConfig({ WEBHOOK_SECRET: secret, ...env }, '/nonexistent')
  const taken = [
    ['https://hooks.example/a/b/?c=d', 'https://hooks.example/a/b/?c=d'],
    ['http://localhost:9/x', 'http://localhost:9/x'],
    ['http://127.0.0.1/x/', 'http://127.0.0.1/x/'],
    ['http://[::1]:80/x', 'http://[::1]/x'],
    ['http://receiver:3000', 'http://receiver:3000/'],
    ['http://a.localhost/x', 'http://a.localhost/x'],
  ] as const
  for (const [given, kept] of taken)
    it(`take ${given}`, () => expect(read({ WEBHOOK_URL: given }).webhookUrl).toBe(kept))

  const refused = [
    'http://hooks.example/secret',
    'http://10.0.0.1/secret',
    'http://134744072/secret',
    'http://[2001:db8::1]/secret',
    'http://127.0.0.1.evil.example/secret',
    'https://me:secret@hooks.example/x',
    'https://hooks.example/#secret',
    'ftp://localhost/secret',
    'hooks.example/secret',
  ]
  for (const given of refused)
    it(`refuse ${given} without quoting its path`, () => {
      expect(() => read({ WEBHOOK_URL: given })).toThrow(/^WEBHOOK_URL is .*. It must be an https:\/\/ address/)
      expect(() => read({ WEBHOOK_URL: given })).not.toThrow(/secret/)
    })

  it('demand a secret with the address, and say how to make one', () =>
    expect(() => readConfig({ WEBHOOK_URL: 'https://hooks.example' }, '/nonexistent')).toThrow(
      /^WEBHOOK_URL is set, but WEBHOOK_SECRET is not. .*openssl rand -base64 32/,
    ))

  const other = `whsec_${Buffer.alloc(24).toString('base64')}`
  it('take several secrets during a rotation, each once', () =>
    expect(read({ WEBHOOK_SECRET: ` ${secret}  ${other}\t${secret} ` }).webhookSecrets).toEqual([secret, other]))

  const wrong = ['whsec_', 'whsec_c2hvcnQ=', 'x'.repeat(40), `whsec_${Buffer.alloc(65).toString('base64')}`]
  for (const each of [...wrong, `${secret},${other}`, `${secret} whsec_`])
    it(`refuse the secret ${each.slice(0, 12)}…${each.slice(-12)} without quoting it`, () =>
      expect(() => read({ WEBHOOK_SECRET: each })).toThrow(
        'WEBHOOK_SECRET is a value that is not shown. It must be whsec_ and 24 to 64 bytes in base64, or several of these, separated by spaces.',
      ))

  it('name streams that there are', () => {
    const config = read({ WEBHOOK_STREAMS: 'rentals, users,rentals' })
    expect(config.webhookStreams).toEqual(['rentals', 'users'])
    expect(streamProblems({ ...config, lists: {} })).toEqual([])
    expect(streamProblems({ ...read({ WEBHOOK_STREAMS: 'rentls' }), lists: {} })).toEqual([
      'WEBHOOK_STREAMS: there is no stream "rentls" (did you mean rentals?).',
      expect.stringContaining('named after their tables: '),
    ])
  })
})
