// JSON Schemas of records and of write bodies, from the catalog. A member may be absent or null: the API's papers mark most as
// optional, and `serve` omits personal members. Members that the catalog does not know are allowed. Pure.

import type { Json, JsonObject } from '../../api/wire/json.ts'
import { childrenOf, streams } from '../../catalog/catalog.ts'
import type { BodyField, Column, ColumnType, StreamDef, WriteDef } from '../../catalog/types.ts'
import { actionOf, type PrivacySettings } from '../../privacy/rules.ts'

export type Schema = JsonObject

const pascal = (name: string): string => name.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

const singular = (name: string): string => name.replace(/ies$/, 'y').replace(/s$/, '')

/** `rental_crew_members` → `RentalCrewMembers`. */
export const pluralName = ({ name }: StreamDef): string => pascal(name)

/** `rental_crew_members` → `RentalCrewMember`: the name of its schema. */
export const recordName = ({ name }: StreamDef): string => pascal(singular(name))

export const schemaReference = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })

export const recordReference = (stream: StreamDef): Schema => schemaReference(recordName(stream))

/** The types that the API documents. A currency is a text in some records and an object in others. */
const columnSchemas: Readonly<Record<ColumnType, Schema>> = {
  text: { type: ['string', 'null'] },
  bigint: { type: ['integer', 'null'] },
  numeric: { type: ['number', 'null'] },
  boolean: { type: ['boolean', 'null'] },
  date: { type: ['string', 'null'], format: 'date' },
  timestamptz: { type: ['string', 'null'], format: 'date-time' },
  timestamp: { type: ['string', 'null'] },
  jsonb: {},
}

function columnSchema({ type, comment, currency, lenient }: Column): Schema {
  const described = { description: comment }
  if (currency === true) return { type: ['string', 'object', 'null'], ...described }
  // Nobody publishes its type: the mirror keeps whatever stands there.
  if (lenient === true) return described
  return { ...columnSchemas[type], ...described }
}

const listOf = (stream: StreamDef): Schema => ({ type: ['array', 'null'], items: recordReference(stream) })

/** What is known to stand at a top-level member: another record, a list of them, or a value or object of its own. */
function memberSchema(stream: StreamDef, member: string): Schema {
  const children = childrenOf(stream.name)
  const inside = children.find(({ reads }) => reads.kind === 'inside' && reads.path === member)
  if (inside !== undefined) return listOf(inside)
  return placeSchema(stream, member, children)
}

function placeSchema(stream: StreamDef, path: string, children: readonly StreamDef[]): Schema {
  const embed = stream.embeds?.find((each) => each.path === path)
  const embedded = streams.find(({ name }) => name === embed?.stream)
  if (embedded !== undefined) return { anyOf: [recordReference(embedded), { type: 'null' }] }
  const column = stream.columns.find((each) => each.path === path)
  const names = membersBelow(stream, path)
  if (names.length === 0 && column !== undefined) return columnSchema(column)
  if (names.length === 0) {
    // A collection that also stands inside the record: a resource's durations.
    const child = children.find(({ reads }) => reads.kind === 'collection' && reads.list.endsWith(`/${path}`))
    return child === undefined ? {} : listOf(child)
  }
  const properties = Object.fromEntries(names.map((name) => [name, placeSchema(stream, `${path}.${name}`, [])]))
  // A column of the whole says that its contents are not published: they need not be an object.
  return { type: column === undefined ? ['object', 'null'] : ['object', 'string', 'null'], properties }
}

/** The members that the catalog knows below a path of a record; '' is the record itself. */
function membersBelow({ columns, embeds = [], alsoKnown = [] }: StreamDef, path: string): readonly string[] {
  const paths = [...columns.flatMap((column) => column.path ?? []), ...embeds.map((embed) => embed.path), ...alsoKnown]
  const below =
    path === '' ? paths : paths.flatMap((each) => (each.startsWith(`${path}.`) ? each.slice(path.length + 1) : []))
  return [...new Set(below.map((each) => each.split('.')[0] ?? each))]
}

/** Top-level members of which the mirror holds no value that could be served. */
function hiddenMembers(stream: StreamDef, privacy: PrivacySettings): ReadonlySet<string> {
  const hidden = stream.columns.filter((column) => actionOf(privacy, stream, column) !== 'keep')
  return new Set(hidden.map(({ path }) => path?.split('.')[0] ?? ''))
}

/** The schema of a stream's records, without members that PERSONAL_DATA hashes or drops. */
export function recordSchema(stream: StreamDef, privacy: PrivacySettings): Schema {
  const hidden = hiddenMembers(stream, privacy)
  const inside = childrenOf(stream.name).flatMap(({ reads }) => (reads.kind === 'inside' ? [reads.path] : []))
  const members = [...new Set([...membersBelow(stream, ''), ...inside])].filter((member) => !hidden.has(member))
  const properties = Object.fromEntries(members.map((member) => [member, memberSchema(stream, member)]))
  return { type: 'object', description: stream.comment, properties }
}

const fieldTypes: Readonly<Record<BodyField['type'], Schema>> = {
  string: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  email: { type: 'string', format: 'email' },
  uri: { type: 'string', format: 'uri' },
  object: { type: 'object' },
}

function fieldSchema({ type, required, values, members, sendAs, comment }: BodyField): Schema {
  const { type: own = 'string', ...rest } = fieldTypes[type]
  const types: Json[] = [
    own,
    ...(sendAs === undefined || sendAs === own ? [] : [sendAs]),
    ...(required ? [] : ['null']),
  ]
  return {
    type: types.length === 1 ? own : types,
    ...rest,
    ...(values !== undefined && { enum: required ? [...values] : [...values, null] }),
    ...(members !== undefined && objectOf(members)),
    description: comment,
  }
}

function objectOf(fields: readonly BodyField[]): Schema {
  const required = fields.filter((field) => field.required).map(({ name }) => name)
  const properties = Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)]))
  return { properties, ...(required.length > 0 && { required }) }
}

/** The schema of a write's body; null: it has none. */
export const bodySchema = ({ body }: WriteDef): Schema | null =>
  body.length === 0 ? null : { type: 'object', ...objectOf(body) }
