// The catalog and the sandbox read the same sources (docs/sources.md) independently of each other: a slip in one shows here.

import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { operations } from '../../sandbox/operations.ts'
import { readEndpoints, readsOf, streams } from '../../src/catalog/catalog.ts'
import type { StreamDef } from '../../src/catalog/types.ts'
import { writes } from '../../src/catalog/writes.ts'

const operationName = ({ method, path }: { readonly method: string; readonly path: string }): string =>
  `${method} ${path}`

/** Fields of a record that the catalog keeps elsewhere than in a column of the same table. */
const keptElsewhere: Readonly<Record<string, readonly string[]>> = {
  // Tables of their own, filled from inside the resource or from an endpoint.
  resources: ['characteristics', 'equipments', 'durations'],
  // The answer holds a list; each of its elements is a row.
  resource_pricetable: ['results', 'resourceId'],
  resource_availability_years: ['availability', 'availabilities', 'bits', 'bitstring', 'year', 'resourceId'],
}

const topLevel = (stream: StreamDef): ReadonlySet<string> =>
  new Set(stream.columns.flatMap((column) => (column.path === null ? [] : [column.path.split('.')[0] ?? ''])))

/** The fields of the record that the sandbox answers for a stream's own read. */
function fieldsOf(stream: StreamDef): readonly string[] | null {
  const own = readsOf(stream).at(stream.reads.kind === 'list' ? 1 : 0)
  const operation = operations.find((each) => operationName(each) === own)
  return operation?.response ? Object.keys(operation.response.properties) : null
}

describe('the catalog and the sandbox', () => {
  it('know the same operations', () => {
    const catalog = [...readEndpoints, ...writes.map((write) => write.endpoint)]
    expect([...catalog].sort()).toEqual(operations.map(operationName).sort())
  })

  for (const write of writes)
    it(`agree on what ${write.operation} can write`, () => {
      const operation = operations.find((each) => operationName(each) === write.endpoint)
      expect([...(operation?.writable ?? [])].sort()).toEqual(write.body.map((field) => field.name).sort())
    })

  for (const stream of streams.filter((each) => each.reads.kind !== 'inside'))
    it(`agree on the fields of ${stream.name}`, () => {
      const fields = fieldsOf(stream) ?? []
      expect(fields).not.toEqual([])
      const known = topLevel(stream)
      const elsewhere = new Set(keptElsewhere[stream.name] ?? [])
      const shapeUnknown = stream.keyed === 'content' || /Shape not published/.test(stream.comment)
      // Where nobody published the shape, the sandbox invents one, and the mirror keeps it in the payload.
      const missing = shapeUnknown ? [] : fields.filter((field) => !known.has(field) && !elsewhere.has(field))
      expect(missing).toEqual([])
      // Columns for what is likely but not published are null where the API does not give it.
      const invented = shapeUnknown ? [] : [...known].filter((field) => !fields.includes(field))
      expect(stream.name === 'resource_pricetable' ? [] : invented).toEqual([])
    })
})

describe('an endpoint', () => {
  it('stands in the catalog as one literal text, which a search finds', () => {
    const folder = new URL('../../src/catalog/', import.meta.url)
    const texts = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'))
    const endpoints = [...readEndpoints, ...writes.map((write) => write.endpoint)]
    expect(endpoints.filter((endpoint) => !texts.some((text) => text.includes(`'${endpoint}'`)))).toEqual([])
  })
})
