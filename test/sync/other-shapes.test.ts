// Another shape is not absence: whatever stands in a record in place of what is known is in a column, is reported, or sends the
// record to quarantine. An id in place of a record is that id; a list may come as an object with numbers for names.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { elementsIn, isObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../src/api/wire/json.ts'
import { streamNamed, streams } from '../../src/catalog/catalog.ts'
import type { ColumnType, StreamDef } from '../../src/catalog/types.ts'
import { type Found, projected } from '../../src/sync/change-set.ts'
import { embeddedRecords, foundInside } from '../../src/sync/details/embeds.ts'
import { projectRecord } from '../../src/sync/records/project.ts'
import { openAlteringFront } from '../helpers/altering-front.ts'
import { openTestMirror } from '../helpers/mirror.ts'

let last = 0

/** A value of a type; texts and whole numbers are never the same: they may be keys. */
const sampleOf = (type: ColumnType): Json => clone({ ...samples, text: `sample ${++last}`, bigint: last }[type])

const samples = {
  numeric: 1.5,
  boolean: false,
  date: '2026-07-14',
  timestamptz: '2026-07-14T09:00:00Z',
  timestamp: '2026-07-14T09:00:00Z',
  jsonb: { any: 'thing' },
}

const clone = (value: Json): Json => parseJson(stringifyJson(value)).value

/** Puts a value at a path, with objects on the way. */
function put(record: JsonObject, path: string, value: Json): void {
  const steps = path.split('.')
  let at = record
  for (const step of steps.slice(0, -1)) {
    const next = at[step]
    const held = isObject(next) ? next : {}
    at[step] = held
    at = held
  }
  at[steps.at(-1) ?? ''] = value
}

/** A record of a stream as the catalog knows it, with all that stands inside it. */
function recordOf({ name, columns, embeds = [] }: StreamDef): JsonObject {
  const record: JsonObject = {}
  for (const { path, stream } of embeds) put(record, path, recordOf(streamNamed(stream)))
  const byDepth = columns.flatMap(({ path, type }) => (path === null ? [] : [{ path, type }]))
  for (const { path, type } of byDepth.sort((a, b) => a.path.length - b.path.length)) put(record, path, sampleOf(type))
  for (const child of streams)
    if (child.parent === name && child.reads.kind === 'inside') put(record, child.reads.path, [recordOf(child)])
  return clone(record) as JsonObject
}

/** The paths of everything in a record, but not of what stands in lists and in values that a column shows whole. */
function pathsIn(value: Json, prefix = ''): readonly string[] {
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, member]) => [
    `${prefix}${name}`,
    ...pathsIn(member, `${prefix}${name}.`),
  ])
}

/** Texts and numbers in a value. */
function leavesIn(value: Json): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(leavesIn)
  if (isObject(value)) return Object.values(value).flatMap(leavesIn)
  return [String(value)]
}

const shapes: readonly Json[] = [
  'another',
  '4711',
  4711,
  -0.25,
  true,
  [],
  ['another'],
  [4711],
  [{ id: 4711 }],
  { another: 4711 },
  { 0: { id: 4711 }, 1: { id: 4712 } },
  [[4711]],
]

/** Where what stands in a record has gone: values of its row and of stubs, and what is said of it. */
function fateOf(stream: StreamDef, record: Json) {
  const asked = stream.columns.filter(({ path }) => path === null)
  const request = Object.fromEntries(asked.map(({ name, type }) => [name, type === 'date' ? '2026-07-14' : '1']))
  const received = { stream, record, request, endpoint: 'GET /v3/x', timeZone: 'UTC' }
  const { row, found } = projected(received)
  const inside: readonly Found[] = row === undefined ? [] : foundInside(received, row.key[0] ?? '', new Date(0))
  const stubs = embeddedRecords(
    inside.flatMap(({ embedding = [] }) => embedding),
    [],
    'UTC',
  ).map((embedded) => projectRecord(embedded.stream, embedded.record, {}, 'UTC'))
  const rows = [
    ...(row === undefined ? [] : [row]),
    ...inside.flatMap(({ tables = [] }) => tables.flatMap((table) => table.rows)),
    ...stubs.flatMap((stub) => (stub.ok ? [stub.row] : [])),
  ]
  const all = [found, ...inside]
  return {
    // Of a stub that cannot be made the run is warned.
    inQuarantine: all.some(({ bad = [] }) => bad.length > 0) || stubs.some((stub) => !stub.ok),
    told: all.flatMap(({ unknown = [] }) => unknown.map(({ path }) => path)),
    values: rows.flatMap(({ values }) => values.flatMap((value) => value ?? [])),
  }
}

describe('each value of each record, in another shape,', () => {
  for (const stream of streams.filter(({ reads }) => reads.kind !== 'calendar'))
    it(`is shown, told or in quarantine: ${stream.name}`, () => {
      const whole = recordOf(stream)
      expect(fateOf(stream, whole)).toMatchObject({ inQuarantine: false, told: [] })
      const places = fc.constantFrom(...pathsIn(whole))
      fc.assert(
        fc.property(places, fc.constantFrom(...shapes), (path, shape) => {
          const record = clone(whole) as JsonObject
          put(record, path, shape)
          const { inQuarantine, told, values } = fateOf(stream, record)
          const isTold = told.some(
            (each) => each === path || each.startsWith(`${path} `) || each.startsWith(`${path}.`),
          )
          const isShown =
            values.some((value) => value.includes(stringifyJson(shape))) ||
            (leavesIn(shape).length > 0 &&
              leavesIn(shape).every((leaf) => values.some((value) => value.includes(leaf))))
          if (
            !inQuarantine &&
            !isTold &&
            !isShown &&
            !isLeftOut(whole, path, shape) &&
            !isKnownObject(stream, path, shape)
          )
            throw new Error(`${stream.name}.${path} = ${JSON.stringify(shape)} is lost: ${JSON.stringify(values)}`)
        }),
        { numRuns: 150 },
      )
    })
})

const valueIn = (record: Json, path: string): Json | undefined =>
  path.split('.').reduce<Json | undefined>((value, step) => (isObject(value) ? value[step] : undefined), record)

/** Of a list that is empty nothing is lost; lists in a record that stands inside another are left to its own read. */
const isLeftOut = (whole: Json, path: string, shape: Json): boolean =>
  Array.isArray(valueIn(whole, path)) &&
  elementsIn(shape) !== undefined &&
  (path.includes('.') || leavesIn(shape).length === 0)

/** Members of an object that is documented, and has no columns except its id, are no news. */
const isKnownObject = (stream: StreamDef, path: string, shape: Json): boolean =>
  isObject(shape) && (stream.alsoKnown ?? []).includes(path)

/** Rewrites each member of this name, wherever it stands. */
function rewritten(value: Json, members: Readonly<Record<string, (value: Json) => Json>>): Json {
  if (Array.isArray(value)) return value.map((item) => rewritten(item, members))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const other = rewritten(member, members)
      return [name, other === null ? null : (members[name]?.(other) ?? other)]
    }),
  )
}

const idOf = (value: Json): Json => (isObject(value) ? (value.id ?? value.code ?? null) : value)
const numbered = (value: Json): Json =>
  Array.isArray(value) && value.length > 0
    ? Object.fromEntries(value.map((item, index) => [String(index), item]))
    : value
const inArray = (value: Json): Json => [value]

it('ids in place of records, and objects in place of lists, are mirrored as what they mean', async () => {
  const names = ['user', 'company', 'harbour', 'departureHarbour', 'arrivalHarbour', 'city', 'addressCountry']
  const members = {
    ...Object.fromEntries(names.map((name) => [name, idOf])),
    ...{ nationality: idOf, country: idOf, characteristics: numbered, equipments: numbered, pricetable: numbered },
  }
  await using mirror = await openTestMirror({ size: 5 }, {}, undefined, (url) =>
    openAlteringFront(url, ({ text }) => stringifyJson(rewritten(parseJson(text).value, members))),
  )
  const runs = await mirror.sync()
  expect(runs.filter((run) => run.status !== 'done').map((run) => `${run.stream}: ${run.error}`)).toEqual([])
  const rows = await mirror.all('select path from sync.unknown_fields')
  expect(rows).toEqual([])
  const differences = await mirror.differences()
  expect(differences.filter((each) => !/: (_payload|key)$/.test(each))).toEqual([])
})

it('a shape that nobody knows leaves its columns empty, and is said in the run and by drift', async () => {
  await using mirror = await openTestMirror({ size: 5 }, {}, undefined, (url) =>
    openAlteringFront(url, ({ text, path }) =>
      path.startsWith('/v3/resources')
        ? stringifyJson(rewritten(parseJson(text).value, { company: inArray, version: String }))
        : text,
    ),
  )
  const runs = await mirror.sync({ streams: ['resources'] })
  const run = runs.find(({ stream }) => stream === 'resources')
  expect(run?.status).toBe('done')
  expect(run?.warnings).toEqual(
    expect.arrayContaining([
      'resources: company (as array) has an unexpected shape, so no column shows it. Its value is in _payload.',
      'resources: version (as text) has an unexpected shape, so no column shows it. Its value is in _payload.',
    ]),
  )
  const rows = await mirror.all('select path from sync.unknown_fields order by path')
  expect(rows).toEqual([{ path: 'company (as array)' }, { path: 'version (as text)' }])
  const boats = await mirror.all('select distinct company_id, version_id from mirror.resources')
  expect(boats).toEqual([{ company_id: null, version_id: null }])
})
