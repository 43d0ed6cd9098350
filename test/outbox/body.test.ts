// What is sent.

import { describe, expect, it } from 'vitest'
import { type Json, LosslessNumber, stringifyJson } from '../../src/api/wire/json.ts'
import type { WriteDef } from '../../src/catalog/types.ts'
import { writeNamed } from '../../src/catalog/writes.ts'
import { referredChange, resolveFields, resolveTarget } from '../../src/outbox/change.ts'
import { numericReference, ownReference } from '../../src/outbox/kinds/rental-creation.ts'
import { creationBody } from '../../src/outbox/kinds/shared.ts'
import { updateBody } from '../../src/outbox/kinds/update.ts'
import { refusedFields } from '../../src/outbox/outcome.ts'

const rental = {
  id: 42,
  status: 'PENDING',
  rentalPrice: 120.5,
  discountPrice: 20,
  commissionPrice: null,
  orderLink: 'https://example.com/o',
  totalToPay: 100,
}

describe('an update sends', () => {
  const write = writeNamed('rental.update')

  it('all writable fields as read with the change laid over, null as null, and no read-only or absent one', () => {
    expect(updateBody(write, { status: 'VALIDATED' }, rental)).toEqual({
      status: 'VALIDATED',
      rentalPrice: 120.5,
      discountPrice: 20,
      commissionPrice: null,
      orderLink: 'https://example.com/o',
    })
  })

  it('no present status that the API would refuse', () => {
    expect(updateBody(write, { orderLink: 'x' }, rental)).not.toHaveProperty('status')
  })

  it('null for a field that is to be cleared', () => {
    expect(updateBody(write, { orderLink: null }, rental)).toHaveProperty('orderLink', null)
  })

  it('nothing of a field whose present value was refused before', () => {
    expect(updateBody(write, { status: 'VALIDATED' }, rental, ['orderLink'])).not.toHaveProperty('orderLink')
  })

  it('digits as they were read', () => {
    const exact = { ...rental, rentalPrice: new LosslessNumber('123456789012345678.10') }
    expect(stringifyJson(updateBody(write, { status: 'VALIDATED' }, exact))).toContain('123456789012345678.10')
  })

  it('objects and dates with all that was received, whatever of it is known', () => {
    const user = {
      firstName: 'Ann',
      addressCountry: { code: 'FR', name: 'France' },
      nationality: null,
      language: { code: 'fr', name: 'Français', script: 'Latn' },
      birthDate: '1990-05-01T00:00:00Z',
      civility: 'DR',
    }
    const { firstName: _, ...untouched } = user
    expect(updateBody(writeNamed('user.update'), { firstName: 'Anne' }, user)).toEqual({
      firstName: 'Anne',
      ...untouched,
    })
  })

  it('what is written in another shape than it is shown in that shape: a currency by its code, a method by its id', () => {
    const payment = { id: 1, currency: { code: 'EUR', symbol: '€' }, method: 3, price: 10 }
    expect(updateBody(writeNamed('rental_payment.update'), { price: 12 }, payment)).toEqual({
      currency: 'EUR',
      method: { id: 3 },
      price: 12,
    })
  })
})

describe('a creation sends', () => {
  it('the commission of an option as text', () => {
    const body = { optionId: 7, quantity: 1, commissionPrice: new LosslessNumber('5.50') }
    expect(creationBody(writeNamed('rental_option.add'), body)).toEqual({
      optionId: 7,
      quantity: 1,
      commissionPrice: '5.50',
    })
  })

  it('nothing for null: there is nothing to clear yet', () => {
    expect(creationBody(writeNamed('user.create'), { firstName: 'Ann', addressStreet2: null })).toEqual({
      firstName: 'Ann',
    })
  })
})

describe('a reference to another change', () => {
  const results = new Map([['17', 4711]])

  it('becomes its result, as text in a text field', () => {
    const { body } = writeNamed('rental.update')
    expect(resolveFields({ referenceId: { change: 17 } }, body, results)).toEqual({ referenceId: '4711' })
    expect(resolveFields({ userId: { change: 17 } }, writeNamed('rental_user.assign').body, results)).toEqual({
      userId: 4711,
    })
    expect(resolveTarget({ rentalId: { change: 17 }, optionId: 3 }, results)).toEqual({
      rentalId: '4711',
      optionId: '3',
    })
  })

  it('can’t be resolved before that change is done', () => {
    expect(resolveTarget({ rentalId: { change: 18 } }, results)).toBeNull()
  })
})

describe('a value', () => {
  it('refers to a change only as an object that names one', () => {
    const values = [undefined, null, 'change', { change: null }, { id: 17 }, { change: 17 }, { change: '18' }]
    expect(values.map(referredChange)).toEqual([null, null, null, null, null, '17', '18'])
  })

  it('is resolved to the result of its change, and as text only in its own text field', () => {
    const fields = [
      { name: 'userId', type: 'integer', comment: '' },
      { name: 'referenceId', type: 'string', comment: '' },
    ] as const
    const given = { userId: { change: 1 }, referenceId: { change: 1 } }
    expect(resolveFields(given, fields, new Map([['1', 5]]))).toEqual({ userId: 5, referenceId: '5' })
    expect(resolveFields(given, fields, new Map([['1', null]]))).toBeNull()
  })

  it('goes as text or number where the API wants it so, and as it is where it is neither', () => {
    const write: WriteDef = {
      ...writeNamed('rental_option.add'),
      body: [
        { name: 'a', type: 'number', sendAs: 'number', comment: '' },
        { name: 'b', type: 'number', sendAs: 'string', comment: '' },
        { name: 'c', type: 'number', comment: '' },
      ],
    }
    const sent = creationBody(write, { a: '1.50', b: 2.5 })
    expect(stringifyJson(sent)).toBe('{"a":1.50,"b":"2.5"}')
    expect(Object.keys(sent)).toEqual(['a', 'b'])
    expect(creationBody(write, { b: ['x'] })).toEqual({ b: ['x'] })
  })

  it('is a reference of digits only when it is nothing else, and of at most 18', () => {
    const asNumber = (referenceId: Json): string | null => {
      const body = numericReference({ referenceId })
      return body === null ? null : stringifyJson(body)
    }
    expect(['0', '007', '00'].map(asNumber)).toEqual(['{"referenceId":0}', null, null])
    expect(['12', '12a', 'a12', '1'.repeat(19), null].map(asNumber)).toEqual([
      '{"referenceId":12}',
      '{"referenceId":"12a"}',
      '{"referenceId":"a12"}',
      `{"referenceId":"${'1'.repeat(19)}"}`,
      '{"referenceId":null}',
    ])
  })
})

describe('our own reference', () => {
  const installation = { id: 'a1b2c3d4e5', number: 123_456 }

  it('names installation and change', () => {
    expect(ownReference(installation, '42', false)).toBe('bm-a1b2c3d4e5-42')
  })

  it('is a whole number below 2^53 for an API that takes numbers only, and is then sent as one', () => {
    expect(ownReference(installation, '42', true)).toBe('123456000000042')
    expect(stringifyJson(numericReference({ referenceId: '123456000000042' }) ?? null)).toBe(
      '{"referenceId":123456000000042}',
    )
    expect(numericReference({ referenceId: 'A-7' })).toEqual({ referenceId: 'A-7' })
  })
})

describe('the fields an error names', () => {
  it('are read from its list of errors, and from nothing else', () => {
    expect(refusedFields('{"errors":[{"field":"status","message":"no"},{"message":"x"}]}')).toEqual(['status'])
    expect(refusedFields('status is wrong')).toEqual([])
    expect(refusedFields('{"errors":"status"}')).toEqual([])
    expect(refusedFields(undefined)).toEqual([])
  })
})
