// One stored record: its own fields, its links to other records, and how it becomes JSON text. Records are composed
// as text so that an overridden raw text (decimals of thirty digits, escapes) is served and embedded verbatim.

import { type ReferenceTable, references, referenceTables } from '../records/references.ts'

interface TableKey {
  /** Field that holds the record's own key; null where the record has none. */
  readonly field: 'id' | 'code' | null
  readonly kind: 'integer' | 'string'
}

const integerId: TableKey = { field: 'id', kind: 'integer' }
const code: TableKey = { field: 'code', kind: 'string' }
const noId: TableKey = { field: null, kind: 'integer' }

/** `versions` is only embedded: no endpoint shows it separately. */
const ownTables = {
  versions: integerId,
  companies: integerId,
  resources: { field: 'id', kind: 'string' },
  resource_options: integerId,
  resource_pricings: integerId,
  resource_unavailabilities: noId,
  rentals: integerId,
  rental_options: integerId,
  rental_payments: integerId,
  rental_crew_members: integerId,
  users: integerId,
  user_identities: noId,
  user_licenses: noId,
} satisfies Record<string, TableKey>

/** The kinds of stored records, by the name of the table a mirror keeps them in. */
export type Table = ReferenceTable | keyof typeof ownTables

/** How each kind of stored record is keyed. */
export const tableKeys = {
  ...ownTables,
  ...Object.fromEntries(referenceTables.map((table) => [table, references[table].firstId === null ? code : integerId])),
} as Readonly<Record<Table, TableKey>>

export const isTable = (name: string): name is Table => Object.hasOwn(tableKeys, name)

type Own = Record<string, unknown>

/** Where a linked field's JSON comes from: another record as it is now, a text kept from earlier, or null. */
export type Link = Entity | string | null

export interface Entity {
  readonly table: Table
  /** The key as text, so that ids beyond 2^53 survive; a private number where the record has no id. */
  readonly key: string
  /** Fields other than the key and the links; an undefined one is absent. */
  own: Own
  links: Record<string, Link>
  /** JSON text served instead of the fields. */
  raw: string | null
  cache: { readonly text: string; readonly epoch: number } | null
}

export interface User extends Entity {
  identity: Entity | null
  license: Entity | null
}

export interface Resource extends Entity {
  readonly boatId: string
  /** Number of identical boats. */
  readonly fleet: number
  /** Served only with `test=true`. */
  readonly isTest: boolean
  /** Two departures a day instead of one. */
  readonly twoDepartures: boolean
  /** Notice before departure in days, on weekdays and at weekends. */
  readonly delayDays: readonly [weekday: number, weekend: number]
  readonly winterOffset: number
  readonly currency: string
  readonly hasTides: boolean
  readonly options: Entity[]
  readonly pricings: Entity[]
  readonly unavailabilities: Entity[]
}

export interface RentalOption extends Entity {
  /** Id of the resource option it was made from. */
  readonly optionKey: string
}

export interface Rental extends Entity {
  readonly resource: Resource
  /** The slot's price at creation, which `rentalPrice` falls back to. */
  readonly initialPrice: number
  /** The resource as it was booked, for the pricing record (docs/sources.md, 2.4). */
  readonly resourceText: string
  readonly options: RentalOption[]
  readonly payments: Entity[]
  readonly crew: Entity[]
}

/** A record without anything linked or below. */
export const createEntity = (table: Table, key: string, own: Own, links: Record<string, Link> = {}): Entity => ({
  table,
  key,
  own,
  links,
  raw: null,
  cache: null,
})

/** The JSON literal of a key: a number for integer ids (exact at any size), else a string. */
export function keyLiteral(entity: Entity): string {
  const integer = tableKeys[entity.table].kind === 'integer' && /^-?\d+$/.test(entity.key)
  return integer ? entity.key : JSON.stringify(entity.key)
}

/** Rentals and what lies below them are too many, and too seldom read twice, for their texts to be kept. */
const isKept = (table: Table): boolean => !table.startsWith('rental') || table === 'rental_payment_methods'

/**
 * The JSON text of a record. Texts are kept until the record changes or `epoch` moves: then a record that others
 * embed has changed.
 */
export function render(entity: Entity, epoch: number): string {
  if (entity.raw !== null) return entity.raw
  if (entity.cache?.epoch === epoch) return entity.cache.text
  const parts: string[] = []
  const { field } = tableKeys[entity.table]
  if (field) parts.push(`"${field}":${keyLiteral(entity)}`)
  const own = JSON.stringify(entity.own)
  if (own.length > 2) parts.push(own.slice(1, -1))
  for (const [name, link] of Object.entries(entity.links)) parts.push(`"${name}":${renderLink(link, epoch)}`)
  const text = `{${parts.join(',')}}`
  if (isKept(entity.table)) entity.cache = { text, epoch }
  return text
}

function renderLink(link: Link, epoch: number): string {
  if (link === null) return 'null'
  return typeof link === 'string' ? link : render(link, epoch)
}
