// Options, payment lines and crew members of a rental: each may be listed, read, added, changed and removed
// (docs/sources.md, 4.4). Options and payments move the rental's totals.

import type { Static } from 'typebox'
import { type Answer, below, type Call, type Handlers, parseBody, recordAnswer, rentalOf } from '../call.ts'
import { badField, conflict } from '../failure.ts'
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

/** What the three kinds have in common: where they stand, and how one is found, listed and removed. */
interface Part<E extends Entity> {
  readonly path: string
  readonly parameter: string
  readonly what: string
  readonly summary: readonly string[]
  readonly of: (rental: Rental) => E[]
}

const optionsPart: Part<RentalOption> = {
  path: '/v3/rentals/{rentalId}/options',
  parameter: 'optionId',
  what: 'Rental option',
  summary: ['id', 'quantity'],
  of: (rental) => rental.options,
}
const paymentsPart: Part<Entity> = {
  path: '/v3/rentals/{rentalId}/payments',
  parameter: 'paymentId',
  what: 'Payment line',
  summary: ['id', 'price'],
  of: (rental) => rental.payments,
}
const crewPart: Part<Entity> = {
  path: '/v3/rentals/{rentalId}/crewMembers',
  parameter: 'crewMemberId',
  what: 'Crew member',
  summary: ['id', 'type'],
  of: (rental) => rental.crew,
}

/** Notes a change below a rental: totals follow even where the modification time does not. */
function rentalPartChanged({ world }: Pick<Call, 'world'>, rental: Rental): void {
  settleTotals(rental)
  world.changedBelow(rental)
}

function partHandlers<E extends Entity>(part: Part<E>): Handlers {
  const { path, parameter, what, summary, of } = part
  const single = `${path}/{${parameter}}`
  return {
    [`GET ${path}`]: (call) => ({ kind: 'list', items: of(rentalOf(call)), compare: byKey, summary, paging: 'below' }),
    [`GET ${single}`]: (call) => recordAnswer(call, below(call, of(rentalOf(call)), parameter, what)),
    [`DELETE ${single}`]: (call) => {
      const rental = rentalOf(call)
      const parts = of(rental)
      parts.splice(parts.indexOf(below(call, parts, parameter, what)), 1)
      rentalPartChanged(call, rental)
      return { kind: 'nothing' }
    },
  }
}

const rentalDays = ({ own }: Rental): number =>
  (wallTime(own.arrivalDatetime) - wallTime(own.departureDatetime)) / DAY_MS

/** Checks one option to add against the rental and the boat; throws 400 or 409. */
function optionToAdd(rental: Rental, body: Static<typeof RentalOptionBody>): Entity {
  const id = String(body.optionId)
  const option = rental.resource.options.find(({ key }) => key === id)
  if (!option) throw badField('optionId', `resource ${rental.resource.key} has no option ${id}`)
  if (rental.options.some(({ optionKey }) => optionKey === id)) throw conflict(`Option ${id} is on the rental already`)
  return option
}

/** Takes one object or an array of them; an array is answered with an array, and is added whole or not at all. */
function addOptions(call: Call): Answer {
  const { world, body } = call
  const rental = rentalOf(call)
  const wishes = (Array.isArray(body) ? body : [body]).map((item: unknown) => parseBody(RentalOptionBody, item))
  const options = wishes.map((wish) => optionToAdd(rental, wish))
  if (new Set(options).size < options.length) throw conflict('The same option is asked for twice')
  const added = options.map((option, index) =>
    createRentalOption(world, rentalDays(rental), option, wishes[index]?.quantity ?? 1),
  )
  rental.options.push(...added)
  rentalPartChanged(call, rental)
  const texts = added.map((option) => world.text(option))
  return Array.isArray(body) ? { kind: 'texts', texts } : { kind: 'record', text: texts.join() }
}

function changeQuantity(call: Call): Answer {
  const rental = rentalOf(call)
  const option = below(call, rental.options, 'optionId', optionsPart.what)
  option.own.quantity = parseBody(RentalOptionQuantityBody, call.body).quantity
  call.world.changed(option)
  rentalPartChanged(call, rental)
  return recordAnswer(call, option)
}

/** Fields and payment method of a payment body; 400 for an unknown method. */
function paymentFields({ world, body }: Call): { own: Entity['own']; method: Entity } {
  const { currency, method, price, reference } = parseBody(RentalPaymentBody, body)
  const found = world.references.rental_payment_methods.records.get(String(method.id))
  if (!found) throw badField('method.id', 'is not a known payment method')
  return { own: { currency, price, reference: reference ?? null }, method: found }
}

function addPayment(call: Call): Answer {
  const rental = rentalOf(call)
  const { own, method } = paymentFields(call)
  const payment = createPayment(call.world, method, own)
  rental.payments.push(payment)
  rentalPartChanged(call, rental)
  return recordAnswer(call, payment)
}

function updatePayment(call: Call): Answer {
  const rental = rentalOf(call)
  const payment = below(call, rental.payments, 'paymentId', paymentsPart.what)
  const { own, method } = paymentFields(call)
  payment.own = own
  payment.links = { method: call.world.text(method) }
  call.world.changed(payment)
  rentalPartChanged(call, rental)
  return recordAnswer(call, payment)
}

function crewFields(body: unknown): Entity['own'] {
  const { firstName, lastName, email, type } = parseBody(RentalCrewMemberBody, body)
  return { firstName, lastName, email: email ?? null, type }
}

function addCrewMember(call: Call): Answer {
  const rental = rentalOf(call)
  const member = createCrewMember(call.world, crewFields(call.body))
  rental.crew.push(member)
  rentalPartChanged(call, rental)
  return recordAnswer(call, member)
}

function updateCrewMember(call: Call): Answer {
  const rental = rentalOf(call)
  const member = below(call, rental.crew, 'crewMemberId', crewPart.what)
  member.own = crewFields(call.body)
  call.world.changed(member)
  rentalPartChanged(call, rental)
  return recordAnswer(call, member)
}

export const rentalPartHandlers: Handlers = {
  ...partHandlers(optionsPart),
  [`POST ${optionsPart.path}`]: addOptions,
  [`PUT ${optionsPart.path}/{optionId}`]: changeQuantity,
  ...partHandlers(paymentsPart),
  [`POST ${paymentsPart.path}`]: addPayment,
  [`PUT ${paymentsPart.path}/{paymentId}`]: updatePayment,
  ...partHandlers(crewPart),
  [`POST ${crewPart.path}`]: addCrewMember,
  [`PUT ${crewPart.path}/{crewMemberId}`]: updateCrewMember,
}
