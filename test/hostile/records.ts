// Records of every stream as the sandbox shows them, and what may become of them on the way.

import fc from 'fast-check'
import { createSandbox } from '../../sandbox/index.ts'
import { parseJson } from '../../src/api/wire/json.ts'
import { streams } from '../../src/catalog/catalog.ts'
import type { StreamDef } from '../../src/catalog/types.ts'
import { digits, jsonText, names, text } from './generators.ts'

export type Example = {
  readonly record: Record<string, unknown>
  readonly request: Readonly<Record<string, string | null>>
}

/** Some records of each stream, with the values that come from the request. */
export async function exampleRecords(): Promise<ReadonlyMap<string, readonly Example[]>> {
  const sandbox = await createSandbox({ size: 20 })
  try {
    const truth = sandbox.truth({ days: 2, durations: 1, priceDays: 3, calendarYears: 1 })
    return new Map(
      streams.map((stream) => [
        stream.name,
        (truth[stream.name] ?? [])
          .slice(0, 25)
          .map((row) => ({ record: row.record as Record<string, unknown>, request: requestOf(stream, row.key) })),
      ]),
    )
  } finally {
    await sandbox.close()
  }
}

const requestOf = (
  stream: StreamDef,
  key: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string | null>> =>
  Object.fromEntries(
    stream.columns
      .filter(({ path }) => path === null)
      .map(({ name }) => [name, name in key ? String(key[name]) : name === 'position' ? '0' : null]),
  )

type Change = {
  readonly kind: 'replace' | 'drop' | 'add' | 'twice'
  readonly at: number
  readonly name: string
  readonly value: string
}

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('replace', 'replace', 'replace', 'drop', 'add', 'twice'),
  at: fc.nat(200),
  name: fc.oneof(fc.constantFrom(...names), text),
  value: fc.oneof(
    jsonText,
    digits,
    text.map((each) => JSON.stringify(each)),
    fc.constantFrom('null', '[]', '{}', '{"id":1}', '"2026-07-14T09:00:00"', '"12"', '""'),
  ),
})

/** A record as JSON text with a few members replaced, dropped, added, or given twice, at any depth. */
export const mutations: fc.Arbitrary<(record: unknown) => string> = fc
  .array(change, { minLength: 1, maxLength: 4 })
  .map((changes) => (record: unknown) => changes.reduce(applied, JSON.stringify(record)))

function applied(source: string, { kind, at, name, value }: Change): string {
  const places = [
    ...source.matchAll(/(?<=[{,])"[^"\\]*":(?:"[^"\\]*"|-?[\d.eE+]+|true|false|null|\{[^{}]*\}|\[[^[\]]*\])/g),
  ]
  const place = places[at % Math.max(1, places.length)]
  if (place === undefined) return source
  const [found] = place
  const label = found.slice(0, found.indexOf(':') + 1)
  const put = {
    replace: label + value,
    drop: `${JSON.stringify(name)}:null`,
    add: `${found},${JSON.stringify(name)}:${value}`,
    twice: `${found},${label}${value}`,
  }[kind]
  const mutated = source.slice(0, place.index) + put + source.slice(place.index + found.length)
  return isJson(mutated) ? mutated : source
}

/** Whether we read it: a member inside a text looks like one to the pattern, and what that breaks is excluded. */
export function isJson(source: string): boolean {
  try {
    parseJson(source)
    return true
  } catch {
    return false
  }
}
