// Changes the world from outside, as the company's people or other clients would: records are inserted, updated and
// deleted, with or without a trace in the modification times.

import type { Entity, Rental, Table, User } from '../world/entity.ts'
import { settleTotals } from '../world/prices.ts'
import type { Random } from '../world/random.ts'
import type { World } from '../world/world.ts'
import { makeFor } from './inserts.ts'
import { linkTarget, type Place, placeOf } from './locate.ts'

export interface Change {
  /** Table name, such as `rentals` or `rental_payments`. */
  readonly record: string
  readonly op: 'insert' | 'update' | 'delete'
  /** The record's id; on insert optional, for one chosen by the caller. */
  readonly id?: string | number
  /** Id of the rental, resource or user above; on insert of a rental its resource, of a resource its company. */
  readonly parent?: string | number
  /** Fields to set; a linked record by `{id}` or `{code}`, any other value as it is. */
  readonly set?: Readonly<Record<string, unknown>>
  /** Fields to omit from now on. */
  readonly unset?: readonly string[]
  /** false: no modification time moves. Default: as the sandbox was started. */
  readonly touch?: boolean
}

export interface AppliedChange {
  readonly record: string
  readonly op: Change['op']
  readonly id: string
  readonly parent?: string
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** The stored record that a value such as `{id: 12}` names for a linked field. */
function linkFor(world: World, entity: Entity, field: string, value: unknown): Entity | undefined {
  const current = entity.links[field] ?? null
  const linked = typeof current === 'object' ? current?.table : undefined
  const table: Table | undefined = linked ?? (field === 'user' ? 'users' : undefined)
  const key = isObject(value) ? (value.id ?? value.code) : undefined
  return table && (typeof key === 'string' || typeof key === 'number')
    ? linkTarget(world, table, String(key))
    : undefined
}

function edit(world: World, entity: Entity, { set = {}, unset = [] }: Change): void {
  entity.raw = null
  for (const [field, value] of Object.entries(set)) {
    const link = linkFor(world, entity, field, value)
    if (link) entity.links[field] = link
    else {
      delete entity.links[field]
      entity.own[field] = value
    }
  }
  for (const field of unset) {
    delete entity.links[field]
    delete entity.own[field]
  }
}

const totalFields = ['totalToPay', 'totalPaid', 'paymentProgress']

/** Runs a change of a record and puts its modification time back where no trace is wanted. */
function quietly(entity: Entity | undefined, touch: boolean, change: () => void): void {
  const before = entity?.own.lastModificationDatetime
  change()
  if (!entity || touch || before === undefined) return
  entity.own.lastModificationDatetime = before
  entity.cache = null
}

function update(world: World, place: Place, entity: Entity, change: Change): void {
  const apply = (): void => {
    edit(world, entity, change)
    const prices = Object.keys(change.set ?? {})
    if (
      place.kind === 'rentals' &&
      prices.includes('rentalPrice') &&
      !prices.some((name) => totalFields.includes(name))
    ) {
      settleTotals(entity as Rental)
    }
  }
  const explicit = change.set?.lastModificationDatetime
  quietly(entity, change.touch ?? true, () => {
    if (place.kind === 'rentals') world.changeRental(entity as Rental, apply)
    else if (place.kind === 'users') world.changeUser(entity as User, apply)
    else {
      apply()
      world.changed(entity)
    }
  })
  if (explicit !== undefined) {
    entity.own.lastModificationDatetime = explicit
    entity.cache = null
  }
}

function insert(world: World, random: Random, place: Place, change: Change): Entity {
  const parent = change.parent === undefined ? undefined : String(change.parent)
  const made = makeFor(world, random, place, parent)
  const entity = change.id === undefined ? made : { ...made, key: String(change.id) }
  if (place.find(entity.key)) throw new RangeError(`${change.record} ${entity.key} already exists`)
  world.reserveId(entity.table, entity.key)
  edit(world, entity, change)
  place.add(entity)
  return entity
}

/** Applies one change. RangeError, saying what is wrong, if it can not be. */
export function applyChange(world: World, random: Random, change: Change): AppliedChange {
  const parent = change.parent === undefined ? undefined : String(change.parent)
  const id = change.id === undefined ? undefined : String(change.id)
  const place = placeOf(world, change.record, parent)
  const { above } = place
  let entity = place.find(id)
  if (change.op !== 'insert' && !entity) throw new RangeError(`There is no record ${id ?? ''} in ${change.record}`)
  quietly(above, change.touch ?? true, () => {
    if (change.op === 'insert') entity = insert(world, random, place, change)
    else if (entity && change.op === 'update') update(world, place, entity, change)
    else if (entity) place.remove(entity)
    if (place.kind === 'rentalPart') settleTotals(place.above)
    if (above) world.changedBelow(above)
  })
  return { record: change.record, op: change.op, id: entity?.key ?? '', ...(parent !== undefined && { parent }) }
}

/** Applies changes in order; the first that can not be applied ends it with a RangeError. `random` furnishes inserts. */
export function applyChanges(world: World, random: Random, changes: readonly Change[]): AppliedChange[] {
  world.expire()
  return changes.map((change) => applyChange(world, random, change))
}

/** Replaces a record's JSON text by one that is served verbatim; a record that does not exist is inserted first. */
export function overrideText(world: World, random: Random, change: Omit<Change, 'op' | 'set'>, text: string): void {
  world.expire()
  const place = placeOf(world, change.record, change.parent === undefined ? undefined : String(change.parent))
  const id = change.id === undefined ? undefined : String(change.id)
  if (!place.find(id)) applyChange(world, random, { ...change, op: 'insert' })
  const entity = place.find(id)
  if (!entity) throw new RangeError(`${change.record} needs an id`)
  applyChange(world, random, { ...change, op: 'update' })
  entity.raw = text
  entity.cache = null
}
