// From a settled change to its answer, for what an API or an outbox may come to say.

import { describe, expect, it } from 'vitest'
import { LosslessNumber, stringifyJson } from '../../src/api/wire/json.ts'
import { answerOf, answerOfAll, stateOf } from '../../src/serve/writes/answer.ts'
import type { WaitedChange } from '../../src/serve/writes/settled.ts'

const change: WaitedChange = {
  id: '17',
  operation: 'rental.update',
  status: 'done',
  target: { rentalId: 42 },
  response: { status: 200, body: { id: 42 } },
  result: null,
  conflict: null,
  error: null,
  warning: null,
  recordKey: '42',
  body: {},
  enqueuedAt: new Date(0),
  settledAt: new Date(0),
}
const seen = { record: { id: 42, orderLink: 'a' }, personal: true }
const nothing = { record: null, personal: true }
const failed = (response: WaitedChange['response'], error = 'API_REJECTED: refused'): WaitedChange => ({
  ...change,
  status: 'failed',
  response,
  error,
})

describe('the answer of a change', () => {
  const cases: readonly (readonly [string, WaitedChange, typeof seen | typeof nothing, object])[] = [
    ['shows the record, not the answer that was kept', change, seen, { status: 200, body: seen.record }],
    ['has the status of the API', { ...change, response: { status: 201, body: null } }, seen, { status: 201 }],
    [
      'has no body where the API sent none',
      { ...change, response: { status: 204, body: null } },
      seen,
      { status: 204, body: undefined },
    ],
    ['is usual where the answer was lost', { ...change, response: null }, seen, { status: 200, body: seen.record }],
    [
      'of a removal whose answer was lost is 204',
      { ...change, operation: 'rental.delete', response: null },
      nothing,
      { status: 204, body: undefined },
    ],
    ['names the new id where the record is not shown', { ...change, result: { id: 9 } }, nothing, { body: { id: 9 } }],
    [
      'is an array where the API answered with one',
      { ...change, response: { status: 200, body: [{ id: 42 }] } },
      seen,
      { body: [seen.record] },
    ],
    [
      'warns in ASCII',
      { ...change, warning: 'Not taken: “é”.' },
      seen,
      { headers: { warning: '199 - "Not taken: ???."' } },
    ],
    [
      'is the API’s own refusal',
      failed({ status: 400, body: '{"code":"X"}' }),
      nothing,
      { status: 400, contentType: 'application/json', body: { code: 'X' } },
    ],
    [
      'is text where the refusal is cut off',
      failed({ status: 422, body: '{"code":"X' }),
      nothing,
      { status: 422, contentType: 'text/plain', body: '{"code":"X' },
    ],
    [
      'names the fields of a refusal that was withheld',
      failed({ status: 422, body: { withheld: 'Words.', fields: ['email'] } }),
      nothing,
      { status: 422, body: { errors: [{ field: 'email' }] } },
    ],
    ['of a record that is gone is 404', failed({ status: 404, body: null }), nothing, { status: 404 }],
    [
      'of a change that cannot be sent is 422',
      failed(null, 'Nothing was sent: orderLink holds U+FFFD.'),
      nothing,
      { status: 422 },
    ],
    ['of a fault of ours is 500', failed(null, 'INTERNAL: left is undefined'), nothing, { status: 500 }],
    ['of one that was too late is 410', { ...failed(null, 'Too late.'), status: 'expired' }, nothing, { status: 410 }],
    [
      'of one that is blocked is 504',
      { ...change, status: 'blocked', settledAt: null },
      nothing,
      { status: 504, headers: { location: '/changes/17' } },
    ],
  ]
  it.each(cases)('%s', (_name, given, shown, expected) => expect(answerOf(given, shown)).toMatchObject(expected))

  it('keeps every digit', () => {
    const record = { id: new LosslessNumber('12345678901234567890'), price: new LosslessNumber('1.10') }
    expect(stringifyJson(answerOf(change, { record, personal: true }).body)).toBe(
      '{"id":12345678901234567890,"price":1.10}',
    )
  })
})

it('an array is answered as one: by all records, or by the first status that is not of success', () => {
  const answers = [answerOf(change, seen), answerOf(failed({ status: 409, body: null }), nothing)]
  expect(answerOfAll([change], answers.slice(0, 1))).toMatchObject({ status: 200, body: [seen.record] })
  expect(answerOfAll([change, failed(null)], answers)).toMatchObject({
    status: 409,
    body: { changes: [{ status: 200, body: seen.record }, { status: 409 }] },
  })
})

it('the state of a change has its answer once it is over, and none while a person has to decide', () => {
  expect(stateOf(change, seen)).toMatchObject({
    change: '17',
    state: 'done',
    answer: { status: 200, body: seen.record },
  })
  for (const status of ['queued', 'sending', 'blocked', 'unknown'] as const)
    expect(stateOf({ ...change, status, settledAt: null }, nothing)).toMatchObject({ state: status, answer: null })
  expect(stateOf({ ...change, status: 'conflict', conflict: { orderLink: {} } }, nothing)).toMatchObject({
    answer: { status: 409 },
  })
})
