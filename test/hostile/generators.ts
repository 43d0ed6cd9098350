// Hostile texts, numbers and JSON, as text: what JSON.stringify would never write must be there too.

import fc from 'fast-check'

/** Names that mean something to JavaScript or to this program. */
export const names = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'toJSON',
  'hasOwnProperty',
  'isLosslessNumber',
  'length',
  'then',
  'id',
  'code',
  'key',
  'data',
  'items',
  'total',
  'next',
  'change',
  '',
  'a.b',
]

/** Letters that Postgres cannot pack: as a key they are longer than a row of an index may be. */
function incompressible(length: number): string {
  let state = 1
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647
    return String.fromCharCode(97 + (state % 26))
  }).join('')
}

const texts = [
  "'; drop table outbox.queue; --",
  '"; drop schema mirror cascade; --',
  "\\'; select pg_sleep(10); --",
  '$$; select 1; $$',
  '%s %I %L %',
  '{{7*7}}<%= 7*7 %>',
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</style></script><!--',
  '../../etc/passwd',
  '..',
  '.',
  '%2e%2e%2f',
  '/v3/users?x=1#y',
  'a\\b',
  'a\tb\nc\rd\\N',
  '\\N',
  '\\.',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udc00y',
  '\ufffd',
  '\ufeff',
  '\u2028\u2029',
  '\u202e',
  '🛥️',
  'İıſK',
  'e\u0301',
  'NaN',
  'Infinity',
  'null',
  'true',
  '-0',
  '1e400',
  '0x10',
  '2026-02-30',
  '2026-07-14T09:00:00+02:00',
  '2026-07-14T25:61:61+99:99',
  '0000-01-01T00:00:00Z',
  '9223372036854775808',
  'x'.repeat(3_000),
  incompressible(4_000),
  "'".repeat(200),
]

/** A text as JavaScript holds it. */
export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...texts) },
  { weight: 1, arbitrary: fc.constantFrom(...names) },
  { weight: 3, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(...texts), fc.string({ maxLength: 4 })).map((parts) => parts.join('')),
  },
)

const awkwardNumbers = [
  '0',
  '-0',
  '-0.0',
  '1',
  '1.0',
  '1.50',
  '1e400',
  '-1E+400',
  '1e-400',
  '1e5',
  '123e-2',
  '9007199254740993',
  '-9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '18446744073709551616',
  '0.0000001',
  '0.1234567890123456789',
  '1234567890123456789012345678901234567890.5',
  '1e999999999999',
  '4.9e-324',
  '1.7976931348623157e308',
  '100000000000000000000',
]

/** The digits of a JSON number. */
export const digits: fc.Arbitrary<string> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...awkwardNumbers) },
  { weight: 1, arbitrary: fc.integer().map(String) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom('', '-'),
        fc.constantFrom('0', '7', '12', '99999999', '123456789012345', '1234567890123456'),
        fc.constantFrom('', '.0', '.5', '.000000001', '.10', '.123456789012345678'),
        fc.constantFrom('', 'e3', 'E-7', 'e+20', 'e0', 'e-0', 'e15'),
      )
      .map((parts) => parts.join('')),
  },
)

/** A text as JSON writes it, with or without escapes. */
const quoted = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(value, fc.boolean())
    .map(([content, escaped]) =>
      escaped
        ? `"${[...content].map((c) => (c.length === 1 ? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}` : c)).join('')}"`
        : JSON.stringify(content),
    )

const member = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(quoted(fc.oneof(fc.constantFrom(...names), text)), fc.constantFrom(':', ' : ', ':\n'), value)
    .map((parts) => parts.join(''))

/** JSON of any shape, as text: members twice, any digits, any escapes. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false', '{}', '[]', '""'),
    digits,
    quoted(text),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    fc.array(member(tie('value')), { maxLength: 5 }).map((members) => `{${members.join(', ')}}`),
  ),
})).value

/** A JSON object as text, never anything else. */
export const objectText: fc.Arbitrary<string> = fc
  .array(member(jsonText), { maxLength: 6 })
  .map((members) => `{${members.join(',')}}`)

/** Text that should be JSON and mostly is not: cut off, with a character changed, nested too deep, or two values. */
export const brokenJsonText: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(jsonText, fc.nat(40)).map(([json, keep]) => json.slice(0, keep)),
  fc.tuple(jsonText, fc.nat(60), text).map(([json, at, put]) => json.slice(0, at) + put + json.slice(at + 1)),
  fc.tuple(fc.integer({ min: 55, max: 90 }), jsonText).map(([n, json]) => '['.repeat(n) + json + ']'.repeat(n)),
  fc.integer({ min: 60, max: 5_000 }).map((n) => '{"a":'.repeat(n)),
  fc.tuple(jsonText, jsonText).map((both) => both.join(' ')),
  fc.constantFrom(
    '',
    ' ',
    '\ufeff',
    'NaN',
    '-',
    '01',
    '.5',
    '1.',
    '+1',
    "{'a':1}",
    '{"a":1,}',
    '[1,]',
    '"\n"',
    '"\\x"',
  ),
  text,
)
