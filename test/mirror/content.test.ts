// What differs in the order of arrays alone is the same: neither written nor logged. Everything else is.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isObject, type Json, parseJson, stringifyJson } from '../../src/api/wire/json.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { compareWrites } from '../../src/mirror/comparison.ts'
import type { MirrorWrites } from '../../src/mirror/rows.ts'
import { mostSentRows } from '../../src/mirror/staging.ts'
import { isSame } from '../../src/sync/details/comparison.ts'
import { openAlteringFront } from '../helpers/altering-front.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'
import { at, changeLog, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)

/** The same value with the elements of all its arrays in another order. */
function reordered(value: Json, seed: number): Json {
  if (Array.isArray(value)) {
    const inner = value.map((item, index) => reordered(item, seed + index))
    const from = inner.length === 0 ? 0 : seed % inner.length
    const turned = [...inner.slice(from), ...inner.slice(0, from)]
    return seed % 2 === 0 ? turned : turned.reverse()
  }
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member], index) => [name, reordered(member, seed + index)]),
  )
}

/** The same value with all its arrays the other way round. */
function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map(reversed).reverse()
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, reversed(member)]))
    : value
}

/** A value with its members and elements in one order: what the function in SQL is to agree with. */
function inOneOrder(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(inOneOrder).sort().join(',')}]`
  if (!isObject(value)) return stringifyJson(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${inOneOrder(member)}`)
  return `{${members.sort().join(',')}}`
}

const json = (value: unknown): Json => parseJson(JSON.stringify(value)).value

describe('two values say the same', () => {
  const values = fc
    .letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom(null, true, false, 0, 1, 12, 'a', 'b', 'ab'),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3 }),
      ),
    }))
    .value.map(json)

  it('in Postgres and in the program, in whatever order their arrays are, and only then', async () => {
    const pairs = [
      ...fc
        .sample(fc.tuple(values, fc.nat(99)), 1_000)
        .map(([value, seed]) => [value, reordered(value, seed)] as const),
      ...fc.sample(fc.tuple(values, values), 1_000),
    ]
    const { rows } = await mirror.db.pool.query<{ same: boolean }>(
      'select mirror.same_content(one::jsonb, other::jsonb) as same from unnest($1::text[], $2::text[]) p (one, other)',
      [pairs.map(([one]) => stringifyJson(one)), pairs.map(([, other]) => stringifyJson(other))],
    )
    const resources = streamNamed('resources')
    for (const [index, [one, other]] of pairs.entries()) {
      const same = inOneOrder(one) === inOneOrder(other)
      expect(rows[index]?.same, `${stringifyJson(one)} and ${stringifyJson(other)}`).toBe(same)
      expect(isSame(resources, one, other)).toBe(same)
    }
  })
})

const images = { cover: null, others: [{ small: { uri: '1' } }, { small: { uri: '2' } }] }
const equipments = [{ id: 1, tags: ['a', 'b'] }, { id: 2 }]

const boat = (id: number, { price = 10, isReversed = false, more = {} } = {}) => {
  const record = { id: String(id), minPrice: price, images, equipments, ...more }
  const other = isReversed ? reversed(json(record)) : json(record)
  const shown = stringifyJson(isObject(other) ? (other.images ?? null) : null)
  return rowOf('resources', { id, min_price: price, images: shown }, stringifyJson(other))
}

const logged = async (): Promise<readonly unknown[]> =>
  (await changeLog(mirror))
    .filter(({ operation }) => operation === 'update')
    .map(({ key, diff }) => [key.id, Object.keys(diff).sort()])

describe('a record whose arrays come in another order', () => {
  for (const [how, others] of [
    ['alone', 0],
    ['among many', mostSentRows],
  ] as const)
    it(`is neither written nor logged: ${how}`, async () => {
      await mirror.all('truncate mirror.resources, mirror.change_log')
      const many = (isReversed: boolean) =>
        Array.from({ length: others }, (_, index) => boat(100 + index, { isReversed }))
      const write = (minute: number, isReversed: boolean, rows: readonly ReturnType<typeof boat>[]): MirrorWrites => ({
        tables: [tableOf('resources', minute, [...many(isReversed), ...rows])],
      })
      await mirror.write(write(1, false, [boat(1), boat(2), boat(3), boat(4)]))
      const changed = [
        boat(1, { isReversed: true }),
        boat(2, { isReversed: true, price: 11 }),
        boat(3, { isReversed: true, more: { equipments: [{ id: 1, tags: ['a', 'c'] }, { id: 2 }] } }),
        boat(4, { isReversed: true, more: { equipments: [...equipments, { id: 2 }] } }),
      ]
      const counts = await mirror.write(write(2, true, changed))
      expect(counts.get('resources')).toMatchObject({ updated: 3, unchanged: others + 1 })
      expect(await logged()).toEqual([
        ['2', ['images', 'min_price']],
        ['3', ['images']],
        ['4', ['images']],
      ])
      const [row] = await mirror.all(
        `select _read_at, _payload ->> 'equipments' as equipments from mirror.resources where id = '1'`,
      )
      expect(row).toMatchObject({ _read_at: at(1), equipments: '[{"id": 1, "tags": ["a", "b"]}, {"id": 2}]' })
      const compared = await mirror.db.transaction((client) =>
        compareWrites(client, [
          tableOf('resources', 3, [boat(1, { isReversed: true }), boat(2, { isReversed: true })]),
        ]),
      )
      expect(compared.map(({ different }) => different)).toEqual([1])
    })
})

it('an API that answers each set in another order each time changes nothing in the mirror', async () => {
  let turn = 0
  const streams = ['resources', 'resource_options', 'resource_pricings', 'rental_resources']
  await using whole = await openTestMirror({ size: 6 }, {}, undefined, (url) =>
    openAlteringFront(url, ({ text, path }) => {
      // The order of a list is its pages', that of durations says which slots are read.
      const body = json(JSON.parse(text))
      turn++
      if (!Array.isArray(body)) return stringifyJson(reordered(body, turn))
      return /durations/.test(path) ? text : stringifyJson(body.map((item) => reordered(item, turn)))
    }),
  )
  const { pool } = whole.app.database
  const failed = async (): Promise<readonly unknown[]> =>
    (await whole.sync({ full: true, streams }))
      .filter((run) => run.status !== 'done')
      .map(({ stream, error }) => `${stream}: ${error}`)
  expect(await failed()).toEqual([])
  const { rows: before } = await pool.query('select max(seq)::int as last from mirror.change_log')
  expect(await failed()).toEqual([])
  const { rows } = await pool.query('select stream, key, operation, diff from mirror.changes where seq > $1', [
    before[0].last,
  ])
  expect(rows).toEqual([])
})
