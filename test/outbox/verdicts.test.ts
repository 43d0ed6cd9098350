// Whether a write whose answer was lost took effect.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/api/wire/json.ts'
import { writeNamed } from '../../src/catalog/writes.ts'
import type { Evidence } from '../../src/outbox/change.ts'
import type { Verdict } from '../../src/outbox/kinds/kind.ts'
import { kindOf } from '../../src/outbox/kinds/kinds.ts'
import type { Seen } from '../../src/outbox/reads.ts'

const seen = (record: Json): Seen => ({ record, exact: record, readAt: new Date(0), source: 'GET /v3' })

/** What a kind decides when the API shows these records; null: there is nowhere to look. */
function verdictOf(operation: string, body: JsonObject, evidence: Evidence, now: readonly Json[] | null): Verdict {
  const write = writeNamed(operation)
  const sent = { params: {}, body, applied: {}, evidence, warnings: [] }
  return kindOf(write).decide(write, sent, now === null ? null : now.map(seen), 'UTC')
}

/** The verdict about one record; null: it is gone. */
const about = (operation: string, body: JsonObject, now: Json, before?: Json): Verdict =>
  verdictOf(operation, body, before === undefined ? {} : { before }, now === null ? [] : [now])

const took = (record: Json | undefined): object => ({ kind: 'took', seen: record === null ? null : { record } })

const update = 'rental.update'
const before = { status: 'PENDING', rentalPrice: 100, discountPrice: 10, orderLink: 'a' }
const sent = { status: 'VALIDATED', rentalPrice: 100, discountPrice: 10, orderLink: 'a' }

describe('an update', () => {
  const cases: readonly { name: string; now: Json; verdict: object }[] = [
    {
      name: 'took effect when what was to change shows what was sent',
      now: sent,
      verdict: took(sent),
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
    it(name, () => expect(about(update, sent, now, before)).toMatchObject(verdict))

  it('took effect when the API took some fields and ignored the others', () => {
    const both = { status: 'VALIDATED', rentalPrice: 90 }
    const now = { ...before, status: 'VALIDATED' }
    expect(about(update, both, now, before)).toMatchObject(took(now))
  })

  it('names the fields that nobody can explain, and shows what is there', () => {
    const both = { status: 'VALIDATED', orderLink: 'b' }
    const now = { ...before, status: 'CANCELED_BY_CLIENT', orderLink: 'c' }
    expect(about(update, both, now, before)).toEqual({
      kind: 'unclear',
      why: 'status, orderLink: the value is neither what was sent nor what was there before.',
      candidates: [now],
    })
  })

  it.each([
    [
      'took effect where the API rewrote what was sent',
      { orderLink: 'HTTPS://example.com/b ' },
      { orderLink: 'https://example.com/b' },
      'took',
    ],
    ['took effect where the API rounded it', { rentalPrice: 90.005 }, { rentalPrice: 90.01 }, 'took'],
    [
      'did not where all is as before, though that is what was sent but for its spelling',
      { orderLink: 'A' },
      {},
      'not',
    ],
  ])('%s', (_, wished, shown, kind) => {
    expect(about(update, wished, { ...before, ...shown }, before)).toMatchObject({ kind })
  })

  it('that changes nothing took effect', () => {
    expect(about(update, sent, sent, sent)).toMatchObject(took(sent))
  })

  it('is told apart for any record: as sent took effect, as before did not', () => {
    const links = fc.record({ contractLink: fc.string(), orderLink: fc.string(), referenceId: fc.string() })
    fc.assert(
      fc.property(links, links, (old, wished) => {
        const differs = Object.keys(old).some(
          (key) => old[key as keyof typeof old].trim() !== wished[key as keyof typeof wished].trim(),
        )
        expect(about(update, wished, wished, old).kind).toBe('took')
        if (differs) expect(about(update, wished, old, old).kind).toBe('not')
      }),
    )
  })
})

describe('a removal', () => {
  it('took effect when the record is gone, whoever removed it', () => {
    expect(about('rental.delete', {}, null)).toEqual(took(null))
    expect(about('rental.delete', {}, { id: 1 })).toEqual({ kind: 'not' })
  })
})

describe('an add', () => {
  const add = 'rental_payment.add'
  const payment = { currency: 'EUR', method: { id: 2 }, price: 50, reference: 'p-1' }
  const known = { ids: ['1'] }

  it('took effect when exactly one new record has its content', () => {
    const now = [
      { id: 1, ...payment },
      { id: 2, ...payment, price: 60 },
      { id: 3, ...payment },
    ]
    expect(verdictOf(add, payment, known, now)).toMatchObject(took(now[2]))
  })

  it('did not when only known records have it', () => {
    expect(verdictOf(add, payment, known, [{ id: 1, ...payment }])).toEqual({ kind: 'not' })
  })

  it('finds the record it was meant for gone', () => {
    expect(verdictOf(add, payment, known, null)).toEqual({ kind: 'gone' })
  })

  it('is unclear when several new records have it, and names them', () => {
    const now = [
      { id: 3, ...payment },
      { id: 4, ...payment },
    ]
    const why = '2 new records could be the result: 3, 4.'
    expect(verdictOf(add, payment, known, now)).toEqual({ kind: 'unclear', why, candidates: now })
  })

  it('is recognised though the API does not show all of it, but never without an id', () => {
    const { reference: _, ...shown } = payment
    expect(verdictOf(add, payment, known, [{ id: 3, ...shown }])).toMatchObject({ kind: 'took' })
    expect(verdictOf(add, payment, known, [{ ...payment }])).toMatchObject({ kind: 'unclear', mayClear: true })
  })

  it('took effect where the API rewrote the currency, the cents and the end of the reference', () => {
    const sent = { currency: 'eur', method: { id: 2 }, price: 50.005, reference: 'booking-4711-deposit-and-more' }
    const stored = {
      currency: 'EUR',
      method: { id: '2', name: 'Card' },
      price: '50.01',
      reference: 'Booking-4711-deposit',
    }
    expect(verdictOf(add, sent, known, [{ id: 3, ...stored }])).toMatchObject({ kind: 'took' })
  })

  it('is the record that shows the whole reference, where another shows its beginning', () => {
    const sent = { ...payment, reference: 'booking-4711-deposit' }
    const now = [
      { id: 3, ...sent, reference: 'booking-4711' },
      { id: 4, ...sent },
    ]
    expect(verdictOf(add, sent, known, now)).toMatchObject(took(now[1]))
  })

  it('is unclear where a new record may be what the API made of it, and shows that record', () => {
    const now = [{ id: 3, ...payment, reference: null }]
    const why = 'none of the new records matches what was sent, but the API may have rewritten it. Candidates: 3.'
    expect(verdictOf(add, payment, known, now)).toEqual({ kind: 'unclear', why, candidates: now, mayClear: true })
  })

  it('is the one that fits, where others are not ruled out', () => {
    const now = [
      { id: 3, ...payment, reference: 'p-2' },
      { id: 4, ...payment },
    ]
    expect(verdictOf(add, payment, known, now)).toMatchObject(took(now[1]))
  })

  it.each([
    ['a payment of another amount by another method', add, payment, { price: 60, method: { id: 3 } }, 'not'],
    ['a payment of another amount', add, payment, { price: 60, method: { id: 2 }, reference: 'p-1' }, 'unclear'],
    ['a payment whose method is not shown', add, payment, { price: 60, method: { name: 'Card' } }, 'unclear'],
    ['another option', 'rental_option.add', { optionId: 7, quantity: 1 }, { option: { id: 8 } }, 'not'],
    [
      'that option, in another quantity',
      'rental_option.add',
      { optionId: 7, quantity: 1 },
      { option: 7, quantity: 2 },
      'unclear',
    ],
    [
      'a crew member of another name',
      'rental_crew_member.add',
      { firstName: 'Ann', lastName: 'Lee' },
      { firstName: 'Bo', lastName: 'Fry' },
      'not',
    ],
    [
      'a crew member of the same last name',
      'rental_crew_member.add',
      { firstName: 'Zoé', lastName: 'Lee' },
      { firstName: 'Zo?', lastName: 'LEE' },
      'unclear',
    ],
  ] as const)('beside %s', (_, operation, sent, shown, kind) => {
    expect(verdictOf(operation, sent, known, [{ id: 3, ...shown }])).toMatchObject({ kind })
  })

  it('recognises an option by the option it is of, and does not miss the commission that is not shown', () => {
    const option = { optionId: 7, quantity: 2, commissionPrice: '5' }
    const now = [{ id: 9, option: { id: 7 }, quantity: 2 }]
    const beside = now.map((record) => ({ ...record, commissionPrice: null }))
    for (const shown of [now, beside])
      expect(verdictOf('rental_option.add', option, { ids: [] }, shown)).toMatchObject({ kind: 'took' })
  })

  it('never takes a record for its own that was known before, whatever is there', () => {
    const records = fc.array(fc.record({ id: fc.nat({ max: 20 }), price: fc.nat({ max: 2 }) }))
    fc.assert(
      fc.property(records, fc.array(fc.nat({ max: 20 })), (now, ids) => {
        const verdict = verdictOf(add, { price: 1 }, { ids: ids.map(String) }, now)
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
    expect(verdictOf('user.create', body, { ids: ['1'] }, now)).toMatchObject(took({ id: 2 }))
  })

  it('is the same with space around its name, and without one where none was given', () => {
    const spaced = { ...body, firstName: ' Ann ' }
    expect(verdictOf('user.create', spaced, { ids: [] }, [{ id: 2, ...body }])).toMatchObject({ kind: 'took' })
    expect(verdictOf('user.create', body, { ids: [] }, [{ id: 2, ...spaced }])).toMatchObject({ kind: 'took' })
    const { lastName: _, ...nameless } = body
    expect(verdictOf('user.create', nameless, { ids: [] }, [{ id: 2, ...nameless, lastName: null }])).toMatchObject({
      kind: 'took',
    })
    expect(verdictOf('user.create', nameless, { ids: [] }, [{ id: 2, ...body }])).toMatchObject({ kind: 'unclear' })
  })

  it('is left to a person when neither e-mail nor name was given', () => {
    expect(verdictOf('user.create', {}, {}, null)).toMatchObject({ kind: 'unclear', candidates: [] })
  })

  it.each([
    ['of the same name', { email: 'bo@example.com' }, 'unclear'],
    ['with the same e-mail', { lastName: 'Fry' }, 'unclear'],
    ['of another name and e-mail', { email: 'bo@example.com', lastName: 'Fry' }, 'not'],
    ['born on another day', { email: null, birthDate: '1991-05-01' }, 'not'],
    ['born on that day, as an instant', { email: null, birthDate: '1990-04-30T22:00:00Z' }, 'unclear'],
  ])('is told from a user %s', (_, shown, kind) => {
    const sent = { ...body, birthDate: '1990-05-01' }
    expect(verdictOf('user.create', sent, { ids: [] }, [{ id: 2, ...sent, ...shown }])).toMatchObject({ kind })
  })

  it('is not ruled out where the look-up was cut off', () => {
    expect(verdictOf('user.create', body, { ids: [], partial: true }, [])).toMatchObject({ kind: 'unclear' })
  })

  it('is not guessed when several could be it', () => {
    const now = [
      { id: 1, ...body },
      { id: 2, ...body },
    ]
    expect(verdictOf('user.create', body, { ids: [] }, now)).toMatchObject({
      why: '2 users could be the result: 1, 2.',
    })
  })
})

describe('a new rental', () => {
  const departure = '2026-07-14T07:00:00.000Z'
  const evidence = { departure, ids: ['1'] }
  const decide = (
    now: readonly Json[],
    { departure: known = departure }: { departure?: string | null } = {},
  ): Verdict => verdictOf('rental.create', { referenceId: 'bm-1' }, { ...evidence, departure: known }, now)

  it('is the one with this reference and departure that was not there before', () => {
    const now = [
      { id: 1, referenceId: 'bm-1', departureDatetime: departure },
      { id: 2, referenceId: 'bm-1', departureDatetime: '2026-07-14T09:00:00+02:00' },
      { id: 3, referenceId: 'bm-1', departureDatetime: '2026-07-15T09:00:00+02:00' },
      { id: 4, referenceId: 'bm-2', departureDatetime: departure },
    ]
    expect(decide(now)).toMatchObject(took({ id: 2 }))
  })

  it('is found by its reference alone where the slot is not known', () => {
    const shown = { id: 2, referenceId: 'bm-1', departureDatetime: departure }
    expect(decide([shown], { departure: null })).toMatchObject({ kind: 'took' })
    expect(decide([{ id: 2, referenceId: 'bm-1' }])).toMatchObject({ kind: 'took' })
  })

  it('is not guessed when several could be it', () => {
    const now = [
      { id: 2, referenceId: 'bm-1' },
      { id: 3, referenceId: 'bm-1' },
    ]
    expect(decide(now)).toMatchObject({ why: '2 rentals could be the result: 2, 3.' })
  })
})

describe('a new rental that is not shown as it was sent', () => {
  const departure = '2026-07-14T07:00:00.000Z'
  const at = (departureDatetime: string, more: JsonObject = {}) => ({
    id: 2,
    referenceId: 'other',
    departureDatetime,
    ...more,
  })
  const decide = (now: readonly Json[], ids: readonly string[] = ['1']): Verdict =>
    verdictOf('rental.create', { referenceId: 'bm-0123456789-17' }, { departure, ids }, now)

  it.each([
    ['the same time, with another reference', at(departure), 'unclear'],
    ['the same time, without an offset', at('2026-07-14T07:00:00'), 'unclear'],
    ['a time without an offset that may be the same elsewhere', at('2026-07-14 09:00'), 'unclear'],
    ['the same time, with a short offset', at('2026-07-14T07:00:00+00'), 'unclear'],
    ['another time', at('2026-07-14T07:00:00+02:00'), 'not'],
    ['another day', at('2026-07-16T07:00:00'), 'not'],
    ['no time that can be read', at('soon'), 'unclear'],
    ['the same time, with the beginning of the reference', at(departure, { referenceId: 'BM-0123456789' }), 'took'],
  ])('is told from a rental that departs at %s', (_, now, kind) => {
    expect(decide([now])).toMatchObject({ kind })
  })

  it('is ruled out by a page that may be cut off only where it reaches back to what was known', () => {
    const page = [9, 8, 7, 6, 5].map((id) =>
      at('2026-08-01T07:00:00Z', { id, creationDatetime: `2026-05-0${id}T00:00:00Z` }),
    )
    expect(decide(page, ['5'])).toEqual({ kind: 'not' })
    expect(decide(page, ['9'])).toMatchObject({ kind: 'unclear', mayClear: true })
    expect(decide([...page].reverse(), ['9'])).toMatchObject({ kind: 'unclear', mayClear: true })
  })
})

describe('an assignment', () => {
  it.each([
    { name: 'took effect when the rental shows the id alone', rental: { user: 7 }, kind: 'took' },
    {
      name: 'is unclear when the rental shows a user without an id',
      rental: { user: { name: 'Ann' } },
      kind: 'unclear',
    },
    { name: 'took effect when the rental shows the user', rental: { user: { id: 7 } }, kind: 'took' },
    { name: 'did not when the rental has none', rental: { id: 1 }, kind: 'not' },
    { name: 'is a conflict when another user is attached', rental: { user: { id: 8 } }, kind: 'conflict' },
    { name: 'finds its rental gone', rental: null, kind: 'gone' },
  ])('$name', ({ rental, kind }) => {
    expect(about('rental_user.assign', { userId: 7 }, rental).kind).toBe(kind)
  })

  it('shows both users of a conflict', () => {
    expect(about('rental_user.assign', { userId: 7 }, { user: { id: 8 } })).toEqual({
      kind: 'conflict',
      conflict: { userId: { base: null, local: 7, remote: 8 } },
    })
  })
})

describe('a document', () => {
  const license = { number: 'L-1', country: { code: 'FR' }, type: { id: 3 }, year: 2010 }

  it.each([
    { name: 'took effect when it is as sent', now: { ...license, type: { id: 3, name: 'Coastal' } }, kind: 'took' },
    {
      name: 'took effect when the API wrote the number in capitals',
      now: { ...license, number: 'l-1 ' },
      kind: 'took',
    },
    { name: 'did not when there is none', now: null, kind: 'not' },
    { name: 'is a conflict when another one is there', now: { ...license, number: 'L-2' }, kind: 'conflict' },
  ])('$name', ({ now, kind }) => expect(about('user_license.add', license, now).kind).toBe(kind))

  it('shows what differs in a conflict, and nothing else', () => {
    expect(
      about('user_license.add', license, { ...license, number: 'L-2', country: { code: 'IT', name: 'Italy' } }),
    ).toEqual({
      kind: 'conflict',
      conflict: {
        number: { base: null, local: 'L-1', remote: 'L-2' },
        country: { base: null, local: { code: 'FR' }, remote: { code: 'IT' } },
      },
    })
  })
})
