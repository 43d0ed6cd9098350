// Hostile calls of outbox.enqueue: near enough to good ones that many are accepted.

import fc from 'fast-check'
import { parseJson, stringifyJson } from '../../src/api/wire/json.ts'
import type { BodyField, WriteDef } from '../../src/catalog/types.ts'
import { writes } from '../../src/catalog/writes.ts'
import { digits, jsonText, names, text } from './generators.ts'

/** A call, its arguments as texts; null: SQL null. */
export type Call = {
  readonly operation: string | null
  readonly target: string | null
  readonly body: string | null
  readonly options: string | null
}

const storable = (value: string): string => value.replace(/\0|\p{Surrogate}/gu, '\ufffd')

/** JSON that `::jsonb` takes, so that outbox.enqueue is reached at all: nothing unstorable, no number beyond numeric. */
const storableJson = jsonText.map((source) => stringifyJson(parseJson(source.replace(/e\d{6,}/gi, 'e5')).value))

const quoted = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  value.map((each) => JSON.stringify(storable(each)))

const reference = fc.oneof(
  fc.integer({ min: -1, max: 40 }).map((id) => `{"change":${id}}`),
  fc.constantFrom(
    '{"change":null}',
    '{"change":"1"}',
    '{"change":{"change":1}}',
    '{"change":1,"x":2}',
    '{"change":[1]}',
  ),
  digits.map((number) => `{"change":${number.replace(/e\d{6,}/i, 'e5')}}`),
)

const dates = fc.constantFrom(
  '"2026-07-14"',
  '"2026-02-30"',
  '"0000-00-00"',
  '"9999-12-31"',
  '"2026-07-14\\n"',
  '"infinity"',
  '"1-1-1"',
)
const email = fc.oneof(
  fc.constantFrom('"a@b"', '"a@b@c"', '"@"', '"a @b"'),
  quoted(text.map((each) => `${each}@example.com`)),
)

/** A value of a field's own type, hostile in what the type leaves open. */
function fitting(field: BodyField): fc.Arbitrary<string> {
  if (field.values !== undefined) return fc.constantFrom(...field.values.map((value) => JSON.stringify(value)))
  switch (field.type) {
    case 'string':
      return quoted(text)
    case 'integer':
      return fc.constantFrom('1', '42', '0', '-1', '9223372036854775807', '1e3')
    case 'number':
      return fc.oneof(
        fc.constantFrom('0', '1.50', '-0', '1e400', '0.000000000001'),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      )
    case 'boolean':
      return fc.constantFrom('true', 'false')
    case 'date':
      return dates
    case 'email':
      return email
    case 'uri':
      return quoted(text.map((each) => `https://example.com/${each.replace(/\s/g, '')}`))
    case 'object':
      return objectOf(field.members ?? [], 0)
    default:
      return field.type satisfies never
  }
}

const anything = fc.oneof(
  storableJson,
  digits.map((each) => each.replace(/e\d{6,}/i, 'e5')),
  quoted(text),
  reference,
  fc.constant('null'),
)

/** Members by name, most of them fitting; now and then one that nobody knows. */
function objectOf(fields: readonly BodyField[], strangers: number): fc.Arbitrary<string> {
  const members = fields.map((field) =>
    fc.oneof(
      { weight: 8, arbitrary: fitting(field).map((value) => `${JSON.stringify(field.name)}:${value}`) },
      { weight: field.required ? 0 : 6, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: anything.map((value) => `${JSON.stringify(field.name)}:${value}`) },
    ),
  )
  const stranger = fc.oneof(
    { weight: 30, arbitrary: fc.constant('') },
    {
      weight: strangers,
      arbitrary: fc.tuple(quoted(fc.oneof(fc.constantFrom(...names), text)), anything).map((pair) => pair.join(':')),
    },
  )
  return fc.tuple(...members, stranger).map((parts) => `{${parts.filter((part) => part !== '').join(',')}}`)
}

const parameter = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('1', '42', '0', '-1', '9223372036854775807', '1e3') },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 10 }).map((id) => `{"change":${id}}`) },
  { weight: 1, arbitrary: anything },
)

const targetOf = (write: WriteDef): fc.Arbitrary<string> =>
  fc
    .tuple(...Object.keys(write.target).map((name) => parameter.map((value) => `${JSON.stringify(name)}:${value}`)))
    .map((members) => `{${members.join(',')}}`)

const instants = fc.oneof(
  fc.constantFrom(
    '2026-07-14T09:00:00+02:00',
    '2026-07-14',
    '2026-07-14T09:00:00+99:00',
    '2026-07-14 09:00 Nowhere/Zone',
    '2026-99-99',
    '2026-01-01 BC',
    '9999-12-31',
    '2026-07-14 24:00:01',
    '2026-07-14T09:00:00 America/New_York',
    '2026-01-01 allballs',
    '2026-J-1',
    '2026-07-14T09:00:00+15:59:59',
    '2026-epoch',
  ),
  text,
)

const optionsOf = (write: WriteDef): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc
        .option(fc.oneof(quoted(text), anything), { nil: null, freq: 3 })
        .map((value) => (value === null ? '' : `"reference":${value}`)),
      fc
        .option(fc.oneof(quoted(instants), anything), { nil: null, freq: 3 })
        .map((value) => (value === null ? '' : `"expires_at":${value}`)),
      fc
        .option(fc.oneof(fc.constantFrom('"fail"', '"local_wins"', '"remote_wins"'), anything), { nil: null, freq: 4 })
        .map((value) => (value === null ? '' : `"on_conflict":${value}`)),
      fc
        .option(
          fc.oneof(
            objectOf(
              write.body.map(({ name, comment }): BodyField => ({ name, comment, type: 'string' })),
              1,
            ),
            deep,
            anything,
          ),
          { nil: null, freq: 6 },
        )
        .map((value) => (value === null ? '' : `"base":${value}`)),
      fc.constantFrom('', '', '', '', '', '"constructor":1', '"__proto__":{}', '"a\'b":null'),
    )
    .map((parts) => `{${parts.filter((part) => part !== '').join(',')}}`)

/** Nested deeper than any answer of the API may be. */
const deep = fc.integer({ min: 30, max: 1_500 }).map((depth) => `{"status":${'['.repeat(depth)}${']'.repeat(depth)}}`)

const good: fc.Arbitrary<Call> = fc.constantFrom(...writes).chain((write) =>
  fc.record({
    operation: fc.constant(write.operation),
    target: targetOf(write),
    body: objectOf(write.body, 1),
    options: fc.oneof({ weight: 1, arbitrary: fc.constant('{}') }, { weight: 2, arbitrary: optionsOf(write) }),
  }),
)

const argument = fc.option(fc.oneof(anything, deep), { nil: null })

const wild: fc.Arbitrary<Call> = fc.record({
  operation: fc.option(fc.oneof(fc.constantFrom(...writes.map((write) => write.operation)), text.map(storable)), {
    nil: null,
  }),
  target: argument,
  body: argument,
  options: argument,
})

export const calls: fc.Arbitrary<Call> = fc.oneof({ weight: 4, arbitrary: good }, { weight: 1, arbitrary: wild })
