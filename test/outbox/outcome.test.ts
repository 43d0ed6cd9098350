// What a change leaves behind, in values: what is stored of an answer, and what an outcome is called.

import { describe, expect, it } from 'vitest'
import { LosslessNumber } from '../../src/api/wire/json.ts'
import { writeNamed } from '../../src/catalog/writes.ts'
import { ApiError, BoatMirrorError } from '../../src/errors.ts'
import {
  codeIn,
  errorText,
  gone,
  jsonParameter,
  leftBehind,
  responseOf,
  resultOf,
  storable,
} from '../../src/outbox/outcome.ts'

const refused = new ApiError('API_REJECTED', 'POST /v3/users answered 400.', {
  endpoint: 'POST /v3/users',
  status: 400,
  body: '{"code":"BAD"}',
})

describe('of an answer is stored', () => {
  const rental = { id: 7, status: 'BOOKED', message: 'call me', user: { id: 5, email: 'a@b.fr' } }
  const scrubbed = { id: 7, status: 'BOOKED', user: { id: 5 } }
  const assign = writeNamed('rental_user.assign')
  const update = writeNamed('rental.update')
  for (const [name, write, body, stored] of [
    ['nothing where there was nothing', update, undefined, null],
    ['what is no record as it is', update, 'fine', 'fine'],
    ['a list as it is', update, [rental], [rental]],
    ['a rental without its person and message', update, rental, scrubbed],
    ['a rental without a user as it is', update, { id: 7 }, { id: 7 }],
    ['no user where an unknown one stands', update, { id: 7, user: 'Ann' }, { id: 7, user: null }],
    ['a user without an id as one', update, { id: 7, user: { email: 'x' } }, { id: 7, user: { id: null } }],
    ['of an assigned user the id', assign, { id: 5, email: 'a@b.fr' }, { id: 5 }],
    ['of an assigned user without an id that there is none', assign, { email: 'a@b.fr' }, { id: null }],
    ['of an assignment the rental without its person', assign, rental, scrubbed],
    ['a created user whole', writeNamed('user.create'), rental, rental],
  ] as const)
    it(name, () => expect(storable(write, body as never)).toEqual(stored))
})

describe('an outcome', () => {
  it('has a code for the log where its error begins with one, and none where it is a sentence', () => {
    expect(codeIn(errorText(refused))).toBe('API_REJECTED')
    expect(codeIn('The record of rental.update is gone upstream: nothing was sent.')).toBeUndefined()
  })

  it('of a record that is gone is expired for a step of a pending rental, and failed for others', () => {
    expect(gone({ deadline: new Date(0), operation: 'rental.update' })).toEqual({
      kind: 'expired',
      error: expect.stringContaining('expired in the API'),
      response: { status: 404, body: null },
    })
    expect(gone({ deadline: null, operation: 'rental.update' })).toEqual({
      kind: 'failed',
      error: 'The record of rental.update is gone from the API.',
      response: { status: 404, body: null },
    })
  })

  it('keeps status and body of what the API answered, and nothing of other faults', () => {
    expect(responseOf(refused)).toEqual({ status: 400, body: '{"code":"BAD"}' })
    const bare = new ApiError('API_UNREACHABLE', 'No connection.', { endpoint: 'GET /v3/users' })
    expect(responseOf(bare)).toEqual({ status: null, body: null })
    expect(responseOf(new Error('x'))).toBeNull()
  })

  it('names the code of an error of the API, and other errors by their message', () => {
    expect(errorText(refused)).toBe('API_REJECTED: POST /v3/users answered 400.')
    expect(errorText(new BoatMirrorError('INTERNAL', 'Odd.', {}))).toBe('Odd.')
  })
})

describe('for later changes is left behind', () => {
  const record = { id: 7, orderLink: 'https://x.example', referenceId: 'r', nbBoats: 3 }
  const update = writeNamed('rental.update')

  it('what the change applied, as it is shown now', () => {
    expect(leftBehind(update, { orderLink: 'asked' }, record)).toEqual({ orderLink: 'https://x.example' })
    expect(leftBehind(update, { contractLink: 'asked' }, record)).toEqual({ contractLink: null })
  })

  it('after a creation all that an update could write', () => {
    const left = leftBehind(writeNamed('rental.create'), null, record)
    expect(Object.keys(left ?? {}).sort()).toEqual(update.body.map(({ name }) => name).sort())
    expect(left).toMatchObject({ orderLink: 'https://x.example', referenceId: 'r', contractLink: null })
  })

  it('nothing where there is no record, no update of it, or only an assignment', () => {
    expect(leftBehind(update, null, 'gone')).toBeNull()
    expect(leftBehind(writeNamed('rental_user.assign'), null, record)).toBeNull()
    expect(leftBehind(writeNamed('user_identity.add'), null, { number: '1' })).not.toHaveProperty('orderLink')
  })
})

describe('the result of a create', () => {
  for (const [record, result] of [
    [{ id: 7, name: 'x' }, { id: 7 }],
    [{ id: null }, null],
    [{ name: 'x' }, null],
    ['x', null],
  ] as const)
    it(`${JSON.stringify(record)} makes ${JSON.stringify(result)}`, () => expect(resultOf(record)).toEqual(result))
})

it('a jsonb parameter is JSON to the last digit, and null stays SQL null', () => {
  expect([undefined, null].map(jsonParameter)).toEqual([null, null])
  expect(jsonParameter({ a: new LosslessNumber('12345678901234567890') })).toBe('{"a":12345678901234567890}')
  expect(jsonParameter('')).toBe('""')
})
