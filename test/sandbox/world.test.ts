// The world's pure parts: randomness, dates, durations, orders.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { byKey, Collection, compareKeys, Order } from '../../sandbox/world/collection.ts'
import {
  addDays,
  daysBetween,
  daysInYear,
  isDate,
  localDatetime,
  parseDuration,
  spansOf,
  wallTime,
} from '../../sandbox/world/dates.ts'
import { createEntity, type Entity } from '../../sandbox/world/entity.ts'

describe('dates', () => {
  it('have the offset of summer and winter, by the rule of the European Union', () => {
    const at = (text: string, winter: number): string => localDatetime(wallTime(text), winter)
    expect(at('2026-01-10T09:00:00', 1)).toBe('2026-01-10T09:00:00+01:00')
    expect(at('2026-07-14T09:00:00', 1)).toBe('2026-07-14T09:00:00+02:00')
    expect(at('2026-03-28T23:00:00', 1)).toBe('2026-03-28T23:00:00+01:00')
    expect(at('2026-03-29T03:00:00', 1)).toBe('2026-03-29T03:00:00+02:00')
    expect(at('2026-10-25T09:00:00', 2)).toBe('2026-10-25T09:00:00+02:00')
    expect(at('2026-07-14T09:00:00', 0)).toBe('2026-07-14T09:00:00+01:00')
    expect(at('2026-01-14T09:00:00', 0)).toBe('2026-01-14T09:00:00Z')
  })

  it('are counted in whole days', () => {
    expect(addDays('2024-02-28', 1)).toBe('2024-02-29')
    expect(daysBetween('2026-12-31', '2027-01-02')).toBe(2)
    expect([daysInYear(2024), daysInYear(2026)]).toEqual([366, 365])
    for (const wrong of ['2026-02-30', '2026-2-3', 'x', '']) expect(isDate(wrong), wrong).toBe(false)
  })
})

describe('durations', () => {
  it('become spans of the day: one departure, or two', () => {
    const spans = (text: string, two = false) => {
      const duration = parseDuration(text)
      return duration
        ? spansOf(duration, '2026-07-14', two).map(({ from, to }) =>
            [new Date(from), new Date(to)].map((d) => d.toISOString().slice(5, 16)),
          )
        : []
    }
    expect(spans('DAYS,2')).toEqual([['07-14T09:00', '07-15T18:00']])
    expect(spans('DAYS,1', true)).toHaveLength(2)
    expect(spans('WEEKS,1')).toEqual([['07-14T14:00', '07-21T10:00']])
    expect(spans('DATE,2026-07-16')).toEqual([['07-14T09:00', '07-16T18:00']])
    expect(spans('DATE,2026-07-13')).toEqual([])
  })
})

describe('orders', () => {
  it('stay sorted and complete through any additions, changes and removals', () => {
    type Step = { op: 'add' | 'remove' | 'change'; key: number; value: number }
    const step: fc.Arbitrary<Step> = fc.record({
      op: fc.constantFrom('add', 'remove', 'change'),
      key: fc.nat(15),
      value: fc.nat(5),
    })
    const value = (entity: Entity): number => Number(entity.own.value)
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const order = new Order<Entity>((a, b) => value(a) - value(b) || byKey(a, b))
        const even = new Order<Entity>(byKey, (entity) => value(entity) % 2 === 0)
        const collection = new Collection<Entity>([order, even])
        const model = new Map<string, number>()
        for (const { op, key, value: next } of steps) {
          const name = String(key)
          const entity = collection.get(name)
          if (op === 'add') {
            collection.add(createEntity('users', name, { value: next }))
            model.set(name, next)
          } else if (entity && op === 'remove') {
            collection.remove(entity)
            model.delete(name)
          } else if (entity) {
            collection.change(entity, () => (entity.own.value = next))
            model.set(name, next)
          }
        }
        const sorted = [...model].toSorted(([a, x], [b, y]) => x - y || compareKeys(a, b)).map(([key]) => key)
        expect(order.items.map(({ key }) => key)).toEqual(sorted)
        expect(even.items.map(({ key }) => key)).toEqual(
          [...model]
            .filter(([, x]) => x % 2 === 0)
            .map(([key]) => key)
            .toSorted(compareKeys),
        )
      }),
    )
  })

  it('put ids in numeric order at any size', () => {
    expect(['10', '9', '90071992547409931', '90071992547409930'].toSorted(compareKeys)).toEqual([
      '9',
      '10',
      '90071992547409930',
      '90071992547409931',
    ])
  })
})
