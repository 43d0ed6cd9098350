// The shape in which a field is written, and when two values of it mean the same.

import { describe, expect, it } from 'vitest'
import { type Json, LosslessNumber } from '../../src/api/wire/json.ts'
import type { BodyField } from '../../src/catalog/types.ts'
import { canonicalDecimal } from '../../src/decimal.ts'
import { readValue, sameValue, writeShape } from '../../src/outbox/values.ts'

const field = (type: BodyField['type'], more: Partial<BodyField> = {}): BodyField => ({
  name: 'x',
  type,
  comment: '',
  ...more,
})
const text = field('string')
const code = { name: 'code', type: 'string', required: true, comment: '' } as const
const country = field('object', { members: [{ name: 'label', type: 'string', comment: '' }, code] })
const free = field('object', { members: [{ name: 'label', type: 'string', comment: '' }] })
const both = field('object', { members: [code, { ...code, name: 'kind' }] })

describe('a field is read', () => {
  for (const [name, of, record, value] of [
    ['by its name', text, { x: 1 }, 1],
    ['by its path', field('integer', { readPath: 'option.id' }), { x: 1, option: { id: 2 } }, 2],
    [
      'by the id alone where an object with an id is known',
      field('integer', { readPath: 'option.id' }),
      { option: 2 },
      2,
    ],
    ['not where it is never shown', field('number', { readPath: null }), { x: 1 }, null],
    ['as null where it is absent', text, {}, null],
    ['as null where there is no record', text, undefined, null],
  ] as const)
    it(name, () => expect(readValue(of, record)).toBe(value))
})

describe('the written shape', () => {
  const cases: readonly (readonly [string, BodyField, Json, Json])[] = [
    ['of null is null', country, null, null],
    ['of a date is its day', field('date'), '1988-03-12T00:00:00Z', '1988-03-12'],
    ['of a date that is no text is what came', field('date'), 19880312, 19880312],
    ['of a text is the text, long or not', text, '2026-05-01T12:00:00Z', '2026-05-01T12:00:00Z'],
    ['of an object in place of a value is its code', text, { id: 7, iso: 'EUR' }, 'EUR'],
    ['of one without a usable code is its id', text, { code: null, id: 7 }, 7],
    ['of one that names nothing is the object', text, { label: 'x' }, { label: 'x' }],
    ['of an object has its writable members alone', country, { code: 'FR', name: 'France' }, { code: 'FR' }],
    ['of an object leaves out what is null', country, { code: 'FR', label: null }, { code: 'FR' }],
    ['of an object without writable members is null', country, { name: 'France' }, null],
    ['of an object field without members is null', field('object'), { code: 'FR' }, null],
    ['of a value in place of an object names it', country, 'FR', { code: 'FR' }],
    ['of a value that nothing names is the value', free, 'FR', 'FR'],
    ['of a list in place of an object is the list', country, ['FR'], ['FR']],
  ]
  for (const [name, of, value, shape] of cases)
    it(name, () => {
      const written = writeShape(of, value)
      expect(written).toStrictEqual(shape)
    })
})

describe('a decimal has one form', () => {
  for (const [given, form] of [
    [' 1.50 ', '1.5'],
    ['+007', '7'],
    ['-0.00', '0'],
    ['-.5', '-0.5'],
    ['1.', '1'],
    ['.', undefined],
    ['-', undefined],
    ['', undefined],
    ['a1', undefined],
    ['1a', undefined],
    ['1.2.3', undefined],
    ['1e3', '1000'],
    ['1.50E-2', '0.015'],
    ['-12.5e1', '-125'],
    ['0e5', '0'],
    ['-0.00e-3', '0'],
    ['.5e1', '5'],
    ['1e4000', undefined],
    ['e5', undefined],
  ] as const)
    it(`${JSON.stringify(given)} is ${form}`, () => expect(canonicalDecimal(given)).toBe(form))
})

describe('the same are', () => {
  const cases: readonly (readonly [BodyField, Json | undefined, Json | undefined, boolean])[] = [
    [text, null, undefined, true],
    [text, null, 'null', false],
    [text, '', null, false],
    [country, null, { code: 'FR' }, false],
    [text, ' a ', 'a', true],
    [text, 'a', 'A', false],
    [text, '1.0', '1', false],
    [field('email'), 'A@b.fr ', 'a@B.fr', true],
    [field('email'), 'a@b.fr', 'c@b.fr', false],
    [field('email'), 'a@b.fr', ['a@b.fr'], false],
    [field('email'), ['a@b.fr'], 'a@b.fr', false],
    [field('date'), '1990-05-01', '1990-05-01T00:00:00Z', true],
    [field('number'), '1.50', 1.5, true],
    [field('number'), new LosslessNumber('1.50'), '1.5', true],
    [field('integer'), '007', 7, true],
    [field('integer'), 7, 8, false],
    [field('number'), 'many', 'many', true],
    [field('number'), 'many', 'more', false],
    [field('number'), 5, 'many', false],
    [field('number'), 'many', 5, false],
    [text, [1], [1], true],
    [text, [1], [2], false],
    [text, { label: 'x' }, { label: 'x' }, true],
    [text, { label: 'x' }, { label: 'y' }, false],
    [country, { code: 'FR', label: 'a' }, { code: 'FR', label: 'b' }, true],
    [country, { code: 'FR' }, 'FR', true],
    [country, { code: 'FR' }, { code: 'DE' }, false],
    [country, { label: 'x' }, ['x'], false],
    [free, { label: 'x' }, { label: 'y' }, false],
    [both, { code: 'a', kind: 'b' }, { code: 'a', kind: 'c' }, false],
  ]
  for (const [of, left, right, same] of cases)
    it(`${JSON.stringify(left)} and ${JSON.stringify(right)} as ${of.type}: ${same}`, () =>
      expect(sameValue(of, left, right)).toBe(same))
})
