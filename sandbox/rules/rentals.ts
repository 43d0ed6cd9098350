// Rentals: creation on a free slot, replacement by PUT, deletion, and the customer who is attached once
// (docs/sources.md, 4.4, guides/RentalWorkflow).

import type { Static } from 'typebox'
import {
  type Answer,
  badField,
  type Call,
  conflict,
  type Handlers,
  notFound,
  parseBody,
  recordAnswer,
  rentalOf,
} from '../call.ts'
import { RentalCreationBody, RentalUpdateBody, RentalUserBody } from '../records/bodies.ts'
import { canHoldSlot, freeBoats, holdsSlot } from '../world/calendar.ts'
import type { Rental } from '../world/entity.ts'
import { createRental, createRentalOption } from '../world/generate-rentals.ts'
import { cents, settleTotals } from '../world/prices.ts'
import { findSlot, isBookableDate, type Slot, slotDays } from '../world/slots.ts'

function slotOf({ world }: Call, resourceId: string, slotId: string): Slot {
  const resource = world.resources.get(resourceId)
  if (!resource) throw badField('resourceId', `there is no resource ${resourceId}`)
  const slot = findSlot(resource, slotId)
  if (!slot) throw badField('slotId', `resource ${resourceId} has no such slot`)
  if (!isBookableDate(world, slot)) throw badField('slotId', 'is in the past or too far ahead')
  if (freeBoats(world, resource, slot.span) === 0) throw conflict(`The slot ${slotId} is taken`)
  return slot
}

/** A missing price returns to its default, any other missing field is cleared. */
function setFields(rental: Rental, body: Static<typeof RentalCreationBody> | Static<typeof RentalUpdateBody>): void {
  const { rentalPrice, discountPrice, commissionPrice, contractLink, orderLink, referenceId } = body
  Object.assign(rental.own, {
    rentalPrice: rentalPrice ?? rental.initialPrice,
    discountPrice: discountPrice ?? 0,
    commissionPrice: commissionPrice ?? null,
    contractLink: contractLink ?? null,
    orderLink: orderLink ?? null,
    referenceId: referenceId === undefined || referenceId === null ? null : String(referenceId),
  })
}

function initiateRental(call: Call): Answer {
  const { world } = call
  const body = parseBody(RentalCreationBody, call.body)
  const slot = slotOf(call, body.resourceId, body.slotId)
  const rental = createRental(world, world.nextId('rentals'), slot, new Date(world.clock.now()).toISOString())
  setFields(rental, body)
  if (body.addMandatoryOptions) {
    for (const option of slot.resource.options) {
      if (option.own.isMandatory === true) rental.options.push(createRentalOption(world, slotDays(slot), option, 1))
    }
  }
  settleTotals(rental)
  world.addRental(rental)
  return recordAnswer(call, rental)
}

/** PUT replaces; a missing status stays. */
function updateRental(call: Call): Answer {
  const { world, rules } = call
  const rental = rentalOf(call)
  const body = parseBody(RentalUpdateBody, call.body)
  const status = body.status ?? rental.own.status
  const revived = !holdsSlot(rental) && !String(status).startsWith('CANCELED')
  if (revived && !canHoldSlot(world, rental)) throw conflict('The slot has been taken in the meantime')
  world.changeRental(rental, () => {
    rental.own.status = status
    rental.raw = null
    if (rules.onlyStatusChanges) return
    setFields(rental, body)
    settleTotals(rental)
  })
  return recordAnswer(call, rental)
}

/** JSON text of the pricing record (docs/sources.md, 2.4): conditions and resource as they were when the rental was made. */
export function rentalResourceText({ key, initialPrice, resourceText }: Rental): string {
  const conditions = {
    id: Number(key) + 1_000_000,
    price: initialPrice,
    fees: cents(initialPrice * 0.05),
    vatRate: 20,
    downPaymentPrice: Math.round(initialPrice * 0.3),
    downPaymentRate: 30,
  }
  return `${JSON.stringify(conditions).slice(0, -1)},"resource":${resourceText}}`
}

function rentalUser(call: Call): Answer {
  const rental = rentalOf(call)
  const { user } = rental.links
  if (!user || typeof user === 'string') throw notFound(`The user of rental ${rental.key}`)
  return recordAnswer(call, user)
}

function assignUser(call: Call): Answer {
  const { world } = call
  const rental = rentalOf(call)
  const { userId } = parseBody(RentalUserBody, call.body)
  if (rental.links.user) throw conflict(`Rental ${rental.key} already has a user`)
  const user = world.users.get(String(userId))
  if (!user) throw badField('userId', `there is no user ${userId}`)
  world.changeRental(rental, () => {
    rental.links.user = user
  })
  return recordAnswer(call, user)
}

export const rentalHandlers: Handlers = {
  'POST /v3/rentals': initiateRental,
  'GET /v3/rentals/{rentalId}': (call) => recordAnswer(call, rentalOf(call)),
  'PUT /v3/rentals/{rentalId}': updateRental,
  'DELETE /v3/rentals/{rentalId}': (call) => {
    call.world.removeRental(rentalOf(call))
    return { kind: 'nothing' }
  },
  'GET /v3/rentals/{rentalId}/resource': (call) => ({ kind: 'record', text: rentalResourceText(rentalOf(call)) }),
  'GET /v3/rentals/{rentalId}/user': rentalUser,
  'POST /v3/rentals/{rentalId}/user': assignUser,
}
