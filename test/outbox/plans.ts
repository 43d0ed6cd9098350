// One change for each operation, on records of their own.

import type { Sandbox, TruthRow } from '../../sandbox/index.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { BodyField, WriteDef } from '../../src/catalog/types.ts'
import { writes } from '../../src/catalog/writes.ts'

export type Fields = Readonly<Record<string, unknown>>
type Ids = Readonly<Record<string, number>>

export type Planned = {
  readonly operation: string
  readonly target: Ids
  readonly body: Fields
  /** The request that must reach the API, and its endpoint in the catalog. */
  readonly method: string
  readonly path: string
  readonly endpoint: string
  /** Fields its body must hold. */
  readonly sent: Fields
  /** Where the effect shows: a table of truth and mirror, and part of its key. */
  readonly stream: string
  readonly key: Ids
  /** Fields of the record that show the effect; null: it must be gone. */
  readonly effect: Fields | null
}

type Wish = Pick<Planned, 'operation' | 'target' | 'key' | 'effect'> & {
  readonly body?: Fields
  readonly sent?: Fields
}

/** Fills in what the catalog says about the operation. */
function planned({ operation, target, body = {}, sent = body, key, effect }: Wish): Planned {
  const write = writes.find((each) => each.operation === operation)
  if (write === undefined) throw new Error(`There is no operation ${operation}.`)
  const [method = '', template = ''] = write.endpoint.split(' ')
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => String(target[name]))
  return { operation, target, body, sent, key, effect, method, path, endpoint: write.endpoint, stream: write.stream }
}

const tables = [...writes.map(({ stream }) => stream), 'rental_resources', 'resource_options']

/** A value that a field of a body takes. */
function sampleOf({ type, values, members = [] }: BodyField, mark: string): unknown {
  if (values !== undefined) return values[0]
  if (type === 'object') return bodyOf(members, mark)
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return 7
  if (type === 'date') return '2026-05-01'
  return type === 'string' ? mark : type === 'email' ? `${mark}@example.com` : `https://example.com/${mark}`
}

const bodyOf = (fields: readonly BodyField[], mark: string): Fields =>
  Object.fromEntries(fields.map((field) => [field.name, sampleOf(field, mark)]))

/** Slots that are free now, one for each boat, which resources may share, so that bookings don't stand in each other's way. */
export function freeSlots(sandbox: Sandbox): readonly { readonly resourceId: string; readonly slotId: string }[] {
  const slots = sandbox.truth({ only: ['resource_slots'], days: 1, durations: 1 }).resource_slots ?? []
  const byBoat = new Map(
    slots.map(({ key }) => {
      const resourceId = String(key.resource_id)
      return [resourceId.split('-')[0], { resourceId, slotId: String(key.id) }]
    }),
  )
  return [...byBoat.values()]
}

/** Hands out records of a sandbox, each rental and user once. */
export class Planner {
  readonly #truth: Readonly<Record<string, readonly TruthRow[]>>
  readonly #slots: { readonly resourceId: string; readonly slotId: string }[]
  readonly #used = new Set<string>()
  #count = 0

  constructor(sandbox: Sandbox) {
    this.#truth = sandbox.truth({ only: tables })
    this.#slots = [...freeSlots(sandbox)]
  }

  #rows(table: string): readonly TruthRow[] {
    return this.#truth[table] ?? []
  }

  /** The next row whose rental or user is not used yet. */
  #take(table: string, owner: 'rental' | 'user', fits: (row: TruthRow) => boolean = () => true): TruthRow {
    const idOf = ({ key }: TruthRow): string => `${owner} ${key[`${owner}_id`] ?? key.id}`
    const found = this.#rows(table).find((row) => !this.#used.has(idOf(row)) && fits(row))
    if (found === undefined) throw new Error(`The sandbox has no ${table} left.`)
    this.#used.add(idOf(found))
    return found
  }

  /** A confirmed rental of its own. */
  rental(fits: (row: TruthRow) => boolean = () => true): number {
    return Number(this.#take('rentals', 'rental', (row) => row.record.status === 'VALIDATED' && fits(row)).key.id)
  }

  user(fits: (row: TruthRow) => boolean = () => true): number {
    return Number(this.#take('users', 'user', (row) => row.record.deactivated !== true && fits(row)).key.id)
  }

  slot(): { readonly resourceId: string; readonly slotId: string } {
    const slot = this.#slots.shift()
    if (slot === undefined) throw new Error('The sandbox has no free slot left.')
    return slot
  }

  /** A rental, and an option of its resource that it does not have. */
  freeOption(): { readonly rentalId: number; readonly optionId: number } {
    const optionsOf = (rentalId: number): number[] => {
      const resource = this.#rows('rental_resources').find((row) => row.key.rental_id === rentalId)?.record.resource
      const has = this.#rows('rental_options')
        .filter((row) => row.key.rental_id === rentalId)
        .map((row) => (row.record.option as { id: number }).id)
      return this.#rows('resource_options')
        .filter((row) => row.key.resource_id === (resource as { id?: string } | undefined)?.id)
        .map((row) => Number(row.key.id))
        .filter((id) => !has.includes(id))
    }
    const rentalId = this.rental((row) => optionsOf(Number(row.key.id)).length > 0)
    return { rentalId, optionId: Number(optionsOf(rentalId)[0]) }
  }

  #part(table: string, param: string): { readonly target: Ids; readonly key: Ids } {
    const key = this.#take(table, 'rental').key as Ids
    return { target: { rentalId: Number(key.rental_id), [param]: Number(key.id) }, key }
  }

  /** One change for each operation. */
  plan(): readonly Planned[] {
    const mark = `r${this.#count++}`
    const wishes = [
      ...this.#rentalPlans(mark),
      ...this.#partPlans(mark),
      ...this.#userPlans(mark),
      ...this.#documentPlans(mark),
    ]
    const others = writes.filter((write) => !wishes.some(({ operation }) => operation === write.operation))
    return [...wishes, ...others.map((write) => this.#plainPlan(write, mark))].map(planned)
  }

  /** An operation that needs no record in a state of its own: any record, and for each field a value of its type. */
  #plainPlan({ operation, kind, stream, aggregate, target, body }: WriteDef, mark: string): Wish {
    const { parent = stream, parentKey = [] } = streamNamed(stream)
    const adds = kind === 'add'
    const { key: found } = this.#take(adds ? parent : stream, aggregate)
    const ids = Object.values(found).map(Number)
    const numbered = (names: readonly string[]): Ids =>
      Object.fromEntries(names.map((name, at) => [name, ids[at] ?? 0]))
    const removes = kind === 'delete' || kind === 'remove'
    const shown = body.filter(({ readPath }) => readPath === undefined)
    return {
      operation,
      target: numbered(Object.keys(target)),
      body: bodyOf(body, mark),
      key: adds ? numbered(parentKey) : (found as Ids),
      effect: removes ? null : bodyOf(shown, mark),
    }
  }

  #rentalPlans(mark: string): readonly Wish[] {
    const [updated, deleted] = [this.rental(), this.rental()]
    const assigned = Number(this.#take('rentals', 'rental', (row) => !row.record.user).key.id)
    const userId = this.user()
    const link = `https://example.com/${mark}`
    return [
      {
        operation: 'rental.create',
        target: {},
        body: { ...this.slot(), referenceId: mark },
        key: {},
        effect: { referenceId: mark, status: 'PENDING' },
      },
      {
        operation: 'rental.update',
        target: { rentalId: updated },
        body: { contractLink: link },
        key: { id: updated },
        effect: { contractLink: link },
      },
      { operation: 'rental.delete', target: { rentalId: deleted }, key: { id: deleted }, effect: null },
      {
        operation: 'rental_user.assign',
        target: { rentalId: assigned },
        body: { userId },
        key: { id: assigned },
        effect: { user: { id: userId } },
      },
    ]
  }

  #partPlans(mark: string): readonly Wish[] {
    const { rentalId, optionId } = this.freeOption()
    const [paid, manned] = [this.rental(), this.rental()]
    const line = { currency: 'EUR', method: { id: 1 }, price: 12.5, reference: mark }
    const member = { firstName: 'Ann', lastName: mark, email: `${mark}.crew@example.com`, type: 'ADULT' }
    return [
      {
        operation: 'rental_option.add',
        target: { rentalId },
        body: { optionId, quantity: 1, commissionPrice: 5.5 },
        sent: { optionId, quantity: 1, commissionPrice: '5.5' },
        key: { rental_id: rentalId },
        effect: { option: { id: optionId } },
      },
      {
        operation: 'rental_option.update',
        ...this.#part('rental_options', 'optionId'),
        body: { quantity: 7 },
        effect: { quantity: 7 },
      },
      { operation: 'rental_option.remove', ...this.#part('rental_options', 'optionId'), effect: null },
      {
        operation: 'rental_payment.add',
        target: { rentalId: paid },
        body: line,
        key: { rental_id: paid },
        effect: { price: 12.5, reference: mark },
      },
      {
        operation: 'rental_payment.update',
        ...this.#part('rental_payments', 'paymentId'),
        body: { reference: mark },
        effect: { reference: mark },
      },
      { operation: 'rental_payment.remove', ...this.#part('rental_payments', 'paymentId'), effect: null },
      {
        operation: 'rental_crew_member.add',
        target: { rentalId: manned },
        body: member,
        key: { rental_id: manned },
        effect: { lastName: mark, email: member.email },
      },
      {
        operation: 'rental_crew_member.update',
        ...this.#part('rental_crew_members', 'crewMemberId'),
        body: { firstName: mark },
        effect: { firstName: mark },
      },
      { operation: 'rental_crew_member.remove', ...this.#part('rental_crew_members', 'crewMemberId'), effect: null },
    ]
  }

  #userPlans(mark: string): readonly Wish[] {
    const [edited, removed] = [this.user(), this.user()]
    const person = newPerson(mark)
    return [
      { operation: 'user.create', target: {}, body: person, key: {}, effect: { email: person.email, lastName: mark } },
      {
        operation: 'user.update',
        target: { userId: edited },
        body: { addressStreet2: mark },
        key: { id: edited },
        effect: { addressStreet2: mark },
      },
      { operation: 'user.delete', target: { userId: removed }, key: { id: removed }, effect: null },
    ]
  }

  #documentPlans(mark: string): readonly Wish[] {
    const has = (table: string, { key }: TruthRow): boolean =>
      this.#rows(table).some((row) => row.key.user_id === key.id)
    const owner = (table: string, present: boolean): Ids => ({
      userId: this.user((row) => has(table, row) === present),
    })
    const onUser = (operation: string, target: Ids, effect: Fields | null, body: Fields = {}): Wish => ({
      operation,
      target,
      body,
      key: { user_id: Number(target.userId) },
      effect,
    })
    const license = { country: { code: 'FR' }, number: mark, type: { id: 1 }, year: 2010 }
    return [
      onUser(
        'user_identity.add',
        owner('user_identities', false),
        { number: mark },
        { number: mark, type: 'PASSEPORT' },
      ),
      onUser('user_identity.update', owner('user_identities', true), { number: mark }, { number: mark }),
      onUser('user_identity.remove', owner('user_identities', true), null),
      onUser('user_license.add', owner('user_licenses', false), { number: mark, year: 2010 }, license),
      onUser('user_license.update', owner('user_licenses', true), { year: 1999 }, { year: 1999 }),
      onUser('user_license.remove', owner('user_licenses', true), null),
    ]
  }
}

/** A user with every field the API needs. */
export const newPerson = (name: string) => ({
  civility: 'MS',
  firstName: 'Ann',
  lastName: name,
  email: `${name}@example.com`,
  birthDate: '1990-05-01',
  landlinePhone: '+33 1',
  mobilePhone: '+33 6',
  addressStreet1: '1 quai',
  addressPostalCode: '06000',
  addressCity: 'Nice',
  addressState: 'PACA',
  addressCountry: { code: 'FR' },
  nationality: { code: 'FR' },
  language: { code: 'fr' },
  organizationType: 'INDIVIDUAL',
})

/** A payment line with this reference. */
export const newPayment = (reference: string) => ({ currency: 'EUR', method: { id: 1 }, price: 10, reference })
