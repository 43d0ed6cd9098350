// Whether a write whose answer was lost took effect.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/api/wire/json.ts'
import { writeNamed } from '../../src/catalog/writes.ts'
import {
  proveAddition,
  proveAssignment,
  proveDocument,
  proveRemoval,
  proveRental,
  proveUpdate,
  proveUser,
} from '../../src/outbox/proof.ts'

const update = writeNamed('rental.update')
const before = { status: 'PENDING', rentalPrice: 100, discountPrice: 10, orderLink: 'a' }
const sent = { status: 'VALIDATED', rentalPrice: 100, discountPrice: 10, orderLink: 'a' }

describe('an update', () => {
  const cases: readonly { name: string; now: Json; verdict: object }[] = [
    {
      name: 'took effect when what was to change shows what was sent',
      now: sent,
      verdict: { kind: 'took', ignored: [] },
    },
    { name: 'did not when all is as before', now: before, verdict: { kind: 'not' } },
    {
      name: 'took effect though others changed what it did not touch',
      now: { ...sent, orderLink: 'z' },
      verdict: { kind: 'took' },
    },
    {
      name: 'is unclear when someone else has set another value',
      now: { ...before, status: 'CANCELED_BY_CLIENT' },
      verdict: { kind: 'unclear' },
    },
    { name: 'finds its record gone', now: null, verdict: { kind: 'gone' } },
  ]
  for (const { name, now, verdict } of cases)
    it(name, () => expect(proveUpdate(update, sent, before, now)).toMatchObject(verdict))

  it('took effect when the API took some fields and ignored the others, which it names', () => {
    const both = { status: 'VALIDATED', rentalPrice: 90 }
    expect(proveUpdate(update, both, before, { ...before, status: 'VALIDATED' })).toMatchObject({
      kind: 'took',
      ignored: ['rentalPrice'],
    })
  })

  it('names the fields that nobody can explain, and shows what is there', () => {
    const both = { status: 'VALIDATED', orderLink: 'b' }
    const now = { ...before, status: 'CANCELED_BY_CLIENT', orderLink: 'c' }
    expect(proveUpdate(update, both, before, now)).toEqual({
      kind: 'unclear',
      why: 'status, orderLink: neither what was sent nor what was there before.',
      candidates: [now],
    })
  })

  it('that changes nothing took effect', () => {
    expect(proveUpdate(update, sent, sent, sent)).toEqual({ kind: 'took', record: sent, ignored: [] })
  })

  it('is told apart for any record: as sent took effect, as before did not', () => {
    const links = fc.record({ contractLink: fc.string(), orderLink: fc.string(), referenceId: fc.string() })
    fc.assert(
      fc.property(links, links, (old, wished) => {
        const differs = Object.keys(old).some(
          (key) => old[key as keyof typeof old].trim() !== wished[key as keyof typeof wished].trim(),
        )
        expect(proveUpdate(update, wished, old, wished).kind).toBe('took')
        if (differs) expect(proveUpdate(update, wished, old, old).kind).toBe('not')
      }),
    )
  })
})

describe('a removal', () => {
  it('took effect when the record is gone, whoever removed it', () => {
    expect(proveRemoval(null)).toMatchObject({ kind: 'took', record: null })
    expect(proveRemoval({ id: 1 })).toEqual({ kind: 'not' })
  })
})

describe('an add', () => {
  const add = writeNamed('rental_payment.add')
  const payment = { currency: 'EUR', method: { id: 2 }, price: 50, reference: 'p-1' }
  const known = new Set(['1'])

  it('took effect when exactly one new record has its content', () => {
    const now = [
      { id: 1, ...payment },
      { id: 2, ...payment, price: 60 },
      { id: 3, ...payment },
    ]
    expect(proveAddition(add, payment, known, now)).toEqual({ kind: 'took', record: now[2], ignored: [] })
  })

  it('did not when only known records have it', () => {
    expect(proveAddition(add, payment, known, [{ id: 1, ...payment }])).toEqual({ kind: 'not' })
  })

  it('is unclear when several new records have it, and names them', () => {
    const now = [
      { id: 3, ...payment },
      { id: 4, ...payment },
    ]
    const why = '2 new records could be this one: 3, 4.'
    expect(proveAddition(add, payment, known, now)).toEqual({ kind: 'unclear', why, candidates: now })
  })

  it('is recognised though the API does not show all of it, but never without an id', () => {
    const { reference: _, ...shown } = payment
    expect(proveAddition(add, payment, known, [{ id: 3, ...shown }])).toMatchObject({ kind: 'took' })
    expect(proveAddition(add, payment, known, [{ ...payment }])).toEqual({ kind: 'not' })
  })

  it('recognises an option by the option it is of, and does not miss the commission that is not shown', () => {
    const option = { optionId: 7, quantity: 2, commissionPrice: '5' }
    const now = [{ id: 9, option: { id: 7 }, quantity: 2 }]
    const beside = now.map((record) => ({ ...record, commissionPrice: null }))
    for (const shown of [now, beside])
      expect(proveAddition(writeNamed('rental_option.add'), option, new Set(), shown)).toMatchObject({ kind: 'took' })
  })

  it('never takes a record for its own that was known before, whatever is there', () => {
    const records = fc.array(fc.record({ id: fc.nat({ max: 20 }), price: fc.nat({ max: 2 }) }))
    fc.assert(
      fc.property(records, fc.array(fc.nat({ max: 20 })), (now, ids) => {
        const verdict = proveAddition(add, { price: 1 }, new Set(ids.map(String)), now)
        const candidates = now.filter((each) => !ids.includes(each.id) && each.price === 1)
        const kind = candidates.length === 0 ? 'not' : candidates.length === 1 ? 'took' : 'unclear'
        expect(verdict.kind).toBe(kind)
      }),
    )
  })
})

describe('a new user', () => {
  const body: JsonObject = { email: 'ann@example.com', firstName: 'Ann', lastName: 'Lee' }

  it('is the one with this e-mail and name that was not there before', () => {
    const now = [
      { id: 1, ...body },
      { id: 2, ...body, email: 'ANN@example.com' },
      { id: 3, ...body, lastName: 'Other' },
    ]
    expect(proveUser(body, new Set(['1']), now)).toMatchObject({ kind: 'took', record: { id: 2 } })
  })

  it('is the same with space around its name, and without one where none was given', () => {
    const spaced = { ...body, firstName: ' Ann ' }
    expect(proveUser(spaced, new Set(), [{ id: 2, ...body }])).toMatchObject({ kind: 'took' })
    expect(proveUser(body, new Set(), [{ id: 2, ...spaced }])).toMatchObject({ kind: 'took' })
    const { lastName: _, ...nameless } = body
    expect(proveUser(nameless, new Set(), [{ id: 2, ...nameless, lastName: null }])).toMatchObject({ kind: 'took' })
    expect(proveUser(nameless, new Set(), [{ id: 2, ...body }])).toEqual({ kind: 'not' })
  })

  it('is not guessed when several could be it', () => {
    const now = [
      { id: 1, ...body },
      { id: 2, ...body },
    ]
    expect(proveUser(body, new Set(), now)).toMatchObject({ why: '2 users could be this one: 1, 2.' })
  })
})

describe('a new rental', () => {
  const departure = '2026-07-14T07:00:00.000Z'
  const trace = { referenceId: 'bm-1', departure, knownIds: new Set(['1']) }

  it('is the one with this reference and departure that was not there before', () => {
    const now = [
      { id: 1, referenceId: 'bm-1', departureDatetime: departure },
      { id: 2, referenceId: 'bm-1', departureDatetime: '2026-07-14T09:00:00+02:00' },
      { id: 3, referenceId: 'bm-1', departureDatetime: '2026-07-15T09:00:00+02:00' },
      { id: 4, referenceId: 'bm-2', departureDatetime: departure },
    ]
    expect(proveRental(trace, now)).toMatchObject({ kind: 'took', record: { id: 2 } })
  })

  it('is found by its reference alone where the slot is not known', () => {
    const shown = { id: 2, referenceId: 'bm-1', departureDatetime: departure }
    expect(proveRental({ ...trace, departure: null }, [shown])).toMatchObject({ kind: 'took' })
    expect(proveRental(trace, [{ id: 2, referenceId: 'bm-1' }])).toMatchObject({ kind: 'took' })
  })

  it('is not guessed when several could be it', () => {
    const now = [
      { id: 2, referenceId: 'bm-1' },
      { id: 3, referenceId: 'bm-1' },
    ]
    expect(proveRental(trace, now)).toMatchObject({ why: '2 rentals could be this one: 2, 3.' })
  })
})

describe('an assignment', () => {
  const [field] = writeNamed('rental_user.assign').body
  if (field === undefined) throw new Error('no field')

  it.each([
    { name: 'took effect when the rental shows the user', rental: { user: { id: 7 } }, kind: 'took' },
    { name: 'did not when the rental has none', rental: { id: 1 }, kind: 'not' },
    { name: 'is a conflict when another user is attached', rental: { user: { id: 8 } }, kind: 'conflict' },
    { name: 'finds its rental gone', rental: null, kind: 'gone' },
  ])('$name', ({ rental, kind }) => {
    expect(proveAssignment(field, { userId: 7 }, rental).kind).toBe(kind)
  })

  it('shows both users of a conflict', () => {
    expect(proveAssignment(field, { userId: 7 }, { user: { id: 8 } })).toEqual({
      kind: 'conflict',
      conflict: { userId: { base: null, local: 7, remote: 8 } },
    })
  })
})

describe('a document', () => {
  const add = writeNamed('user_license.add')
  const license = { number: 'L-1', country: { code: 'FR' }, type: { id: 3 }, year: 2010 }

  it.each([
    { name: 'took effect when it is as sent', now: { ...license, type: { id: 3, name: 'Coastal' } }, kind: 'took' },
    { name: 'did not when there is none', now: null, kind: 'not' },
    { name: 'is a conflict when another one is there', now: { ...license, number: 'L-2' }, kind: 'conflict' },
  ])('$name', ({ now, kind }) => expect(proveDocument(add, license, now).kind).toBe(kind))

  it('shows what differs in a conflict, and nothing else', () => {
    expect(proveDocument(add, license, { ...license, number: 'L-2', country: { code: 'IT', name: 'Italy' } })).toEqual({
      kind: 'conflict',
      conflict: {
        number: { base: null, local: 'L-1', remote: 'L-2' },
        country: { base: null, local: { code: 'FR' }, remote: { code: 'IT' } },
      },
    })
  })
})
