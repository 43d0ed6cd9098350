// The state of the imitation API: all records, their orders, and what every change to them entails (caches,
// modification times, expiry). It knows neither HTTP nor the rules of single operations.

import { deserialize, serialize } from 'node:v8'
import { type ReferenceTable, references, referenceTables } from '../records/references.ts'
import type { SandboxClock } from './clock.ts'
import { byKey, Collection, compareKeys, Order, type Ordered, type Records } from './collection.ts'
import { dateOf, type Span } from './dates.ts'
import { type Entity, type Rental, type Resource, render, type Table, type User } from './entity.ts'
import { createRandom } from './random.ts'
import { type CalendarSource, StreamedRecords } from './streamed.ts'

/** A rental still pending this long after its creation is gone (docs/sources.md, guides/RentalWorkflow). */
const PENDING_MS = 15 * 60_000

const isDeactivated = (user: User): boolean => user.own.deactivated === true
const creation = (rental: Pick<Entity, 'own'>): string => String(rental.own.creationDatetime)

/** Records whose text is part of the kept texts of others. */
const isEmbedded = (table: Table): boolean => table in references || table === 'companies' || table === 'versions'

/** Oldest creation first, ids breaking ties. */
export const byCreation = (a: Entity, b: Entity): number =>
  creation(a) < creation(b) ? -1 : creation(a) > creation(b) ? 1 : compareKeys(a.key, b.key)

export class World {
  readonly seed: number
  readonly clock: SandboxClock
  /** Whether a change below a record moves the record's `lastModificationDatetime`. */
  readonly touchParents: boolean
  /** For this many records of a table, the single shows more than lists. */
  readonly richSingles = new Map<Table, number>()

  readonly activeUsers = new Order<User>(byKey, (user) => !isDeactivated(user))
  readonly deactivatedUsers = new Order<User>(byKey, isDeactivated)
  readonly users = new Collection<User>([this.activeUsers, this.deactivatedUsers])
  readonly listedResources = new Order<Resource>(byKey, (resource) => !resource.isTest)
  readonly resourcesById = new Order<Resource>(byKey)
  readonly resources = new Collection<Resource>([this.listedResources, this.resourcesById])
  readonly companiesById = new Order<Entity>(byKey)
  readonly companies = new Collection<Entity>([this.companiesById])
  readonly versions = new Collection<Entity>([])
  readonly references = Object.fromEntries(
    referenceTables.map((table) => {
      const order = new Order<Entity>(byKey)
      return [table, { order, records: new Collection<Entity>([order]) }]
    }),
  ) as Readonly<Record<ReferenceTable, { order: Order<Entity>; records: Collection<Entity> }>>

  readonly #heldById = new Order<Rental>(byKey)
  readonly #heldByCreation = new Order<Rental>(byCreation)
  #rentals: Records<Rental> = new Collection<Rental>([this.#heldById, this.#heldByCreation])
  #streamed: { readonly records: StreamedRecords<Rental>; readonly source: CalendarSource<Rental> } | null = null
  readonly #rentalsOfBoat = new Map<string, Set<Rental>>()
  readonly #pending = new Set<Rental>()
  readonly #lastIds = new Map<Table, number>()
  #epoch = 0

  constructor(seed: number, clock: SandboxClock, touchParents: boolean) {
    this.seed = seed
    this.clock = clock
    this.touchParents = touchParents
  }

  /** Today's date, UTC, by the sandbox clock. */
  get today(): string {
    return dateOf(this.clock.now())
  }

  /** JSON text of a record as it is now. */
  text(entity: Entity): string {
    return render(entity, this.#epoch)
  }

  /** JSON text of a record as its single shows it. */
  whole(entity: Entity): string {
    const text = this.text(entity)
    const oneIn = this.richSingles.get(entity.table)
    const isRich =
      oneIn !== undefined && createRandom(this.seed, `rich/${entity.table}/${entity.key}`).chance(1 / oneIn)
    return isRich ? `${text.slice(0, -1)},"remark":"Only the single shows this."}` : text
  }

  /** Looks a reference record up by its code or its `name`; throws when the data are inconsistent. */
  reference(table: ReferenceTable, name: string): Entity {
    const found = this.#findReference(table, name)
    if (!found) throw new Error(`The sandbox's data has no ${table} called ${name}`)
    return found
  }

  /** Whether this world has a reference record of this code or `name`. */
  knows(table: ReferenceTable, name: string): boolean {
    return this.#findReference(table, name) !== undefined
  }

  #findReference(table: ReferenceTable, name: string): Entity | undefined {
    const { records } = this.references[table]
    return records.get(name) ?? [...records.values()].find(({ own }) => own.name === name)
  }

  /** All records and counters, for `restore`. Only of a world that holds its rentals. */
  save(): Uint8Array {
    const { versions, companies, resources, users, rentals } = this
    const all = [versions, companies, resources, users, rentals].map((records) => [...records.values()])
    const references = referenceTables.map((table) => [...this.references[table].records.values()])
    return serialize({ all, references, lastIds: this.#lastIds, epoch: this.#epoch })
  }

  /** Fills an empty world with what another one was. */
  restore(saved: Uint8Array): void {
    const { all, references, lastIds, epoch } = deserialize(saved)
    for (const [place, table] of referenceTables.entries()) this.references[table].records.load(references[place])
    const [versions, companies, resources, users, rentals] = all
    this.versions.load(versions)
    this.companies.load(companies)
    this.resources.load(resources)
    this.users.load(users)
    this.loadRentals(rentals)
    for (const [table, id] of lastIds) this.#lastIds.set(table, id)
    this.#epoch = epoch
  }

  /** A fresh id of a table, counting up from `first`. */
  nextId(table: Table, first = 1): string {
    const id = Math.max(this.#lastIds.get(table) ?? 0, first - 1) + 1
    this.#lastIds.set(table, id)
    return String(id)
  }

  /** Keeps fresh ids above one that was chosen elsewhere. */
  reserveId(table: Table, id: string): void {
    const number = Number(id)
    if (Number.isSafeInteger(number) && number > (this.#lastIds.get(table) ?? 0)) this.#lastIds.set(table, number)
  }

  get rentals(): Records<Rental> {
    return this.#rentals
  }

  get rentalsById(): Ordered<Rental> {
    return this.#streamed?.records.orders[0] ?? this.#heldById
  }

  get rentalsByCreation(): Ordered<Rental> {
    return this.#streamed?.records.orders[1] ?? this.#heldByCreation
  }

  /** The source of rentals that are made on demand; null: all are stored. */
  get rentalSource(): CalendarSource<Rental> | null {
    return this.#streamed?.source ?? null
  }

  /** From now on rentals are made on demand; changes take precedence over them. */
  streamRentals(source: CalendarSource<Rental>): void {
    const records = new StreamedRecords(source, [byKey, byCreation])
    this.#streamed = { records, source }
    this.#rentals = records
  }

  /** Rentals of the same boat, whichever harbour it is offered in: all that may reach into a time, and perhaps others. */
  *rentalsOfBoat(boatId: string, time: Span): Iterable<Rental> {
    yield* this.#rentalsOfBoat.get(boatId) ?? []
    if (this.#streamed !== null) yield* this.#streamed.records.made(this.#streamed.source.ofBoat(boatId, time))
  }

  addRental(rental: Rental): void {
    this.rentals.add(rental)
    this.#index(rental)
  }

  loadRentals(rentals: readonly Rental[]): void {
    this.rentals.load(rentals)
    for (const rental of rentals) this.#index(rental)
  }

  removeRental(rental: Rental): void {
    this.rentals.remove(rental)
    this.#rentalsOfBoat.get(rental.resource.boatId)?.delete(rental)
    this.#pending.delete(rental)
  }

  /** Removes a user; rentals lose their customer, for the person is gone. Those that are not held look for theirs when they are made. */
  removeUser(user: User): void {
    this.users.remove(user)
    for (const rental of this.rentals.values()) {
      if (rental.links.user === user) this.changeRental(rental, () => (rental.links.user = null))
    }
  }

  /** Edits a rental, keeps its place in the lists and moves its modification time. */
  changeRental(rental: Rental, edit: () => void): void {
    this.rentals.change(rental, () => {
      edit()
      this.#stamp(rental)
    })
    this.#index(rental)
  }

  changeUser(user: User, edit: () => void): void {
    this.users.change(user, () => {
      edit()
      this.#stamp(user)
    })
  }

  /** Notes that a record changed in place: its text is stale, and so are the texts that embed it. */
  changed(entity: Entity): void {
    entity.cache = null
    this.#stamp(entity)
    if (isEmbedded(entity.table)) this.#epoch++
  }

  /** Notes that something below a record changed. */
  changedBelow(parent: Entity): void {
    if (parent.table === 'rentals') this.rentals.keep(parent as Rental)
    if (this.touchParents) this.#stamp(parent)
  }

  /** Drops the rentals whose 15 minutes have passed. */
  expire(): void {
    if (this.#pending.size === 0) return
    const limit = this.clock.now() - PENDING_MS
    for (const rental of [...this.#pending]) {
      if (Date.parse(creation(rental)) <= limit) this.removeRental(rental)
    }
  }

  #index(rental: Rental): void {
    const { boatId } = rental.resource
    const rentals = this.#rentalsOfBoat.get(boatId) ?? new Set()
    this.#rentalsOfBoat.set(boatId, rentals.add(rental))
    this.#watchExpiry(rental)
  }

  #watchExpiry(rental: Rental): void {
    if (rental.own.status === 'PENDING') this.#pending.add(rental)
    else this.#pending.delete(rental)
  }

  /** Moves `lastModificationDatetime` to now, and always forward, where the record has one. */
  #stamp(entity: Entity): void {
    entity.cache = null
    const before = entity.own.lastModificationDatetime
    if (typeof before !== 'string') return
    const last = Date.parse(before)
    const now = this.clock.now()
    entity.own.lastModificationDatetime = new Date(Number.isNaN(last) ? now : Math.max(now, last + 1)).toISOString()
  }
}
