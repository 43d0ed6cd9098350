// Random histories of a small mirror: boats that are sold, rentals that move to another boat, companies that are merged, records
// that change, go and come back, persons who are erased.

import fc from 'fast-check'
import { personalColumns, streamNamed } from '../../src/catalog/catalog.ts'
import { erasePerson } from '../../src/mirror/persons.ts'
import type { MirrorWrites } from '../../src/mirror/rows.ts'
import { at, type Mirror, rowOf, tableOf } from '../helpers/rows.ts'

export const used = [
  'harbours',
  'companies',
  'resources',
  'resource_options',
  'users',
  'rentals',
  'rental_options',
  'rental_payments',
] as const
type Used = (typeof used)[number]

export type Step =
  | { readonly kind: 'read'; readonly reads: readonly Read[] }
  | { readonly kind: 'gone'; readonly stream: Used; readonly id: number; readonly part: number }
  | { readonly kind: 'fill'; readonly id: number; readonly boat: number; readonly company: number | null }
  | { readonly kind: 'merge'; readonly from: number; readonly to: number }
  | { readonly kind: 'erase'; readonly id: number }

type Read = {
  readonly stream: Used
  readonly id: number
  readonly part: number
  readonly text: string | null
  readonly other: number | null
}

const id = fc.integer({ min: 1, max: 3 })
const part = fc.integer({ min: 1, max: 2 })
const other = fc.option(id, { nil: null })
const read = fc.record({
  stream: fc.constantFrom(...used, 'rentals' as const, 'resources' as const),
  ...{ id, part, other },
  text: fc.option(fc.constantFrom('a', 'b', 'ü"\\'), { nil: null }),
})
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      reads: fc.uniqueArray(read, {
        minLength: 1,
        maxLength: 4,
        selector: ({ stream, id, part }) => [stream, id, part].join(),
      }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('gone' as const), stream: fc.constantFrom(...used), id, part }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('fill' as const), id, boat: id, company: other }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('merge' as const), from: id, to: id }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('erase' as const), id }) },
)

const boatOf = (n: number): string => `boat ${n}`

function valuesOf({ stream, id, part, text, other }: Read): Readonly<Record<string, string | number | null>> {
  switch (stream) {
    case 'harbours':
      return { id, name: text }
    case 'companies':
      return { id, company_brand_name: text, address_city_id: other }
    case 'resources':
      return { id: boatOf(id), name: text, company_id: other, min_price: '10.50' }
    case 'resource_options':
      return { resource_id: boatOf(id), id: part, name: text }
    case 'users':
      return { id, first_name: text, language_code: text }
    case 'rentals':
      return {
        id,
        user_id: other,
        message: text,
        status: text,
        departure_datetime: '2026-07-01T10:00:00+02:00',
        total_to_pay: '100.00',
        departure_harbour_id: other,
      }
    case 'rental_options':
      return { rental_id: id, id: part, quantity: other }
    case 'rental_payments':
      return { rental_id: id, id: part, price: other, currency: text === null ? null : JSON.stringify(text) }
    default:
      return stream satisfies never
  }
}

/** Columns that are not there in the catalog would be lost without a word. */
function rowFrom(read: Read) {
  const values = valuesOf(read)
  const names = streamNamed(read.stream).columns.map(({ name }) => name)
  for (const name of Object.keys(values)) if (!names.includes(name)) throw new Error(`${read.stream} has no ${name}.`)
  const { id, other, text } = read
  if (read.stream === 'rentals')
    return rowOf('rentals', values, {
      id,
      message: text,
      ...(other === null ? {} : { user: { id: other, firstName: text } }),
    })
  if (read.stream === 'resources')
    return rowOf('resources', values, { id: boatOf(id), name: text, company: other && { id: other } })
  return rowOf(read.stream, values)
}

const keyOf = (stream: Used, id: number, part: number): string[] => {
  const first = stream.startsWith('resource') ? boatOf(id) : String(id)
  return streamNamed(stream).key.length === 2 ? [first, String(part)] : [first]
}

/** Whether a user is there: nobody else can be erased. */
const isKnown = async ({ all }: Mirror, user: number): Promise<boolean> =>
  (await all('select from mirror.users where id = $1', [user])).length > 0

/** What a step erased: of a user who is gone, what is personal; of one who is erased, all. */
export type Erased = { readonly user: number; readonly columns: readonly string[] } | null

/** Carries out a step, in one transaction. */
export async function carryOut(mirror: Mirror, step: Step, minute: number): Promise<Erased> {
  const write = (writes: MirrorWrites): Promise<unknown> => mirror.write(writes)
  switch (step.kind) {
    case 'read':
      await write({ tables: step.reads.map((each) => tableOf(each.stream, minute, [rowFrom(each)])) })
      return null
    case 'gone': {
      const { stream, id, part } = step
      const person =
        stream === 'users' &&
        (await mirror.all('select from mirror.users where id = $1 and _deleted_at is null', [id])).length > 0
      const keys = [keyOf(stream, id, part)]
      await write({ tombstones: [{ stream: streamNamed(stream), keys, source: 'GET /v3/x', readAt: at(minute) }] })
      return person ? { user: id, columns: personalColumns(streamNamed('users')) } : null
    }
    case 'fill': {
      const values = { resource_id: boatOf(step.boat), company_id: step.company === null ? null : String(step.company) }
      await write({
        filled: [{ stream: streamNamed('rentals'), readAt: at(minute), rows: [{ key: [String(step.id)], values }] }],
      })
      return null
    }
    case 'merge': {
      const boats = await mirror.all<{ id: string; name: string | null }>(
        'select id, name from mirror.resources where company_id = $1',
        [step.from],
      )
      const rows = boats.map(({ id, name }) =>
        rowOf(
          'resources',
          { id, name, company_id: step.to, min_price: '10.50' },
          { id, name, company: { id: step.to } },
        ),
      )
      const stream = streamNamed('companies')
      const gone = { stream, keys: [[String(step.from)]], source: 'GET /v3/x', readAt: at(minute) }
      await write({ tables: [tableOf('resources', minute, rows)], tombstones: step.from === step.to ? [] : [gone] })
      return null
    }
    case 'erase':
      if (!(await isKnown(mirror, step.id))) return null
      await mirror.db.transaction((client) => erasePerson(client, String(step.id), false))
      return {
        user: step.id,
        columns: streamNamed('users')
          .columns.map(({ name }) => name)
          .filter((name) => name !== 'id'),
      }
    default:
      return step satisfies never
  }
}

/** An empty mirror again. */
export const empty = ({ all }: Mirror): Promise<unknown> =>
  all(
    `truncate mirror.change_log, sync.erased, sync.consumer_positions, ${used.map((name) => `mirror.${name}`).join(', ')}`,
  )

/** Rows by their keys, as JSON with sorted members. */
export type Rows = ReadonlyMap<string, Record<string, unknown>>

export const keyText = (key: object): string => JSON.stringify(Object.entries(key).sort(([a], [b]) => (a < b ? -1 : 1)))

/** The rows of a stream that live now, their columns without our own; of a role that sees all, or as `condition` says. */
export async function liveRows({ all }: Pick<Mirror, 'all'>, name: string, condition = 'true'): Promise<Rows> {
  const { key, columns } = streamNamed(name)
  const rows = await all<{ row: Record<string, unknown> }>(
    `select to_jsonb(t) as row from mirror.${name} t where _deleted_at is null and ${condition}`,
  )
  return new Map(
    rows.map(({ row }) => [
      keyText(Object.fromEntries(key.map((column) => [column, row[column]]))),
      Object.fromEntries(columns.map((column) => [column.name, row[column.name]])),
    ]),
  )
}

/** Takes an erased person out of what was seen: the user, and the message of each rental that ever was theirs. */
export function forget(seen: readonly ReadonlyMap<string, Rows>[], { user, columns }: NonNullable<Erased>): void {
  const theirs = new Set<string>()
  for (const rows of seen)
    for (const [key, row] of rows.get('rentals') ?? []) if (Number(row.user_id) === user) theirs.add(key)
  for (const rows of seen) {
    const row = rows.get('users')?.get(keyText({ id: user }))
    for (const column of columns) if (row !== undefined) row[column] = null
    for (const [key, rental] of rows.get('rentals') ?? []) if (theirs.has(key)) rental.message = null
  }
}
