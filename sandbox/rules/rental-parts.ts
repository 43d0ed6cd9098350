// Options, payment lines and crew members of a rental: each may be listed, read, added, changed and removed
// (docs/sources.md, 4.4). Options and payments move the rental's totals.

import type { Static } from 'typebox'
import { badField, below, type Call, conflict, type Handlers, parseBody, recordAnswer, rentalOf } from '../call.ts'
import {
  RentalCrewMemberBody,
  RentalOptionBody,
  RentalOptionQuantityBody,
  RentalPaymentBody,
} from '../records/bodies.ts'
import { byKey } from '../world/collection.ts'
import { DAY_MS, wallTime } from '../world/dates.ts'
import type { Entity, Rental, RentalOption } from '../world/entity.ts'
import { createCrewMember, createPayment, createRentalOption } from '../world/generate-rentals.ts'
import { settleTotals } from '../world/prices.ts'

/** Notes a change below a rental: totals follow even where the modification time does not. */
function rentalPartChanged({ world }: Pick<Call, 'world'>, rental: Rental): void {
  settleTotals(rental)
  world.changedBelow(rental)
}

const rentalDays = ({ own }: Rental): number =>
  (wallTime(own.arrivalDatetime) - wallTime(own.departureDatetime)) / DAY_MS

/** Checks one option to add against the rental and the boat; throws 400 or 409. */
function optionToAdd(rental: Rental, body: Static<typeof RentalOptionBody>): Entity {
  const id = String(body.optionId)
  const option = rental.resource.options.find(({ key }) => key === id)
  if (!option) throw badField('optionId', `resource ${rental.resource.key} has no option ${id}`)
  if (rental.options.some(({ optionKey }) => optionKey === id)) throw conflict(`The rental already has option ${id}`)
  return option
}

/** Takes one object or an array of them, which is added whole or not at all. */
function newOptions({ world, body }: Call, rental: Rental): RentalOption[] {
  const wishes = (Array.isArray(body) ? body : [body]).map((item: unknown) => parseBody(RentalOptionBody, item))
  const options = wishes.map((wish) => optionToAdd(rental, wish))
  if (new Set(options).size < options.length) throw conflict('The same option is requested twice')
  return options.map((option, index) =>
    createRentalOption(world, rentalDays(rental), option, wishes[index]?.quantity ?? 1),
  )
}

/** Fields and payment method of a payment body; 400 for an unknown method. */
function paymentFields({ world, body }: Call): { own: Entity['own']; method: Entity } {
  const { currency, method, price, reference } = parseBody(RentalPaymentBody, body)
  const found = world.references.rental_payment_methods.records.get(String(method.id))
  if (!found) throw badField('method.id', 'is not a known payment method')
  return { own: { currency, price, reference: reference ?? null }, method: found }
}

function crewFields(body: unknown): Entity['own'] {
  const { firstName, lastName, email, type } = parseBody(RentalCrewMemberBody, body)
  return { firstName, lastName, email: email ?? null, type }
}

/** One kind of part: where it is, and what else its operations need. */
interface Part<E extends Entity> {
  readonly path: string
  readonly parameter: string
  readonly what: string
  readonly summary: readonly string[]
  readonly of: (rental: Rental) => E[]
  /** Makes what a body asks for. */
  readonly make: (call: Call, rental: Rental) => E[]
  /** Lays a body over a part. */
  readonly edit: (call: Call, part: E) => void
}

function partHandlers<E extends Entity>({ path, parameter, what, summary, of, make, edit }: Part<E>): Handlers {
  const single = `${path}/{${parameter}}`
  return {
    [`GET ${path}`]: (call) => ({ kind: 'list', items: of(rentalOf(call)), compare: byKey, summary, paging: 'below' }),
    [`POST ${path}`]: (call) => {
      const rental = rentalOf(call)
      const added = make(call, rental)
      of(rental).push(...added)
      rentalPartChanged(call, rental)
      const texts = added.map((part) => call.world.text(part))
      return Array.isArray(call.body) ? { kind: 'texts', texts } : { kind: 'record', text: texts.join() }
    },
    [`GET ${single}`]: (call) => recordAnswer(call, below(call, of(rentalOf(call)), parameter, what)),
    [`PUT ${single}`]: (call) => {
      const rental = rentalOf(call)
      const part = below(call, of(rental), parameter, what)
      edit(call, part)
      call.world.changed(part)
      rentalPartChanged(call, rental)
      return recordAnswer(call, part)
    },
    [`DELETE ${single}`]: (call) => {
      const rental = rentalOf(call)
      const parts = of(rental)
      parts.splice(parts.indexOf(below(call, parts, parameter, what)), 1)
      rentalPartChanged(call, rental)
      return { kind: 'nothing' }
    },
  }
}

export const rentalPartHandlers: Handlers = {
  ...partHandlers<RentalOption>({
    path: '/v3/rentals/{rentalId}/options',
    parameter: 'optionId',
    what: 'Rental option',
    summary: ['id', 'quantity'],
    of: (rental) => rental.options,
    make: newOptions,
    edit: ({ body }, option) => {
      option.own.quantity = parseBody(RentalOptionQuantityBody, body).quantity
    },
  }),
  ...partHandlers<Entity>({
    path: '/v3/rentals/{rentalId}/payments',
    parameter: 'paymentId',
    what: 'Payment line',
    summary: ['id', 'price'],
    of: (rental) => rental.payments,
    make: (call) => {
      const { own, method } = paymentFields(call)
      return [createPayment(call.world, method, own)]
    },
    edit: (call, payment) => {
      const { own, method } = paymentFields(call)
      payment.own = own
      payment.links = { method: call.world.text(method) }
    },
  }),
  ...partHandlers<Entity>({
    path: '/v3/rentals/{rentalId}/crewMembers',
    parameter: 'crewMemberId',
    what: 'Crew member',
    summary: ['id', 'type'],
    of: (rental) => rental.crew,
    make: ({ world, body }) => [createCrewMember(world, crewFields(body))],
    edit: ({ body }, member) => {
      member.own = crewFields(body)
    },
  }),
}
