// What partners ask for during a storm: short stories of changes that build on one another, with what must be there
// at the end. All operations occur. Every record carries a mark of its own, so that a doubled effect shows.

import { type Fields, newPerson } from '../../outbox/plans.ts'

/** `{change: n}` in target or body is the result of the story's n-th step. */
export type Step = { readonly operation: string; readonly target: Fields; readonly body: Fields }

/** How many records of a stream must show these fields. */
export type Expectation = { readonly stream: string; readonly shows: Fields; readonly count: 0 | 1 }

export type Story = {
  readonly name: string
  readonly steps: readonly Step[]
  /** When every step is done. */
  readonly leaves: readonly Expectation[]
  /** A rental whose link is set, in this order with the other stories that do so. */
  readonly link?: { readonly rentalId: number; readonly orderLink: string }
}

/** What stories are about: records that nobody else touches. */
export type Cast = {
  readonly rentals: readonly number[]
  /** An option that the rental does not have. */
  readonly options: readonly { readonly rentalId: number; readonly optionId: number }[]
  /** The next free slot, if there is one. */
  slot(): { readonly resourceId: string; readonly slotId: string } | undefined
}

type Random = () => number

const step = (operation: string, target: Fields, body: Fields = {}): Step => ({ operation, target, body })
const result = (change: number): Fields => ({ change })
/** Present once, or gone again when the story takes it away in the end. */
const left = (stream: string, shows: Fields, gone: boolean): Expectation => ({ stream, shows, count: gone ? 0 : 1 })

const payment = (reference: string): Fields => ({ currency: 'EUR', method: { id: 1 }, price: 12.5, reference })
const crew = (lastName: string): Fields => ({
  firstName: 'Ann',
  lastName,
  email: `${lastName}@example.com`,
  type: 'ADULT',
})
const identity = (number: string): Fields => ({ number, type: 'PASSEPORT' })
const license = (number: string): Fields => ({ country: { code: 'FR' }, number, type: { id: 1 }, year: 2010 })

type Teller = (mark: string, cast: Cast, random: Random) => Story | undefined

const pick = <T>(items: readonly T[], random: Random): T | undefined => items[Math.floor(random() * items.length)]

const linkStory: Teller = (mark, { rentals }, random) => {
  const rentalId = pick(rentals, random)
  if (rentalId === undefined) return undefined
  const orderLink = `https://example.com/${mark}`
  return {
    name: 'a link is set',
    steps: [step('rental.update', { rentalId }, { orderLink })],
    leaves: [],
    link: { rentalId, orderLink },
  }
}

const paymentStory: Teller = (mark, { rentals }, random) => {
  const target = { rentalId: pick(rentals, random) }
  const removed = random() < 0.4
  const one = { ...target, paymentId: result(0) }
  return {
    name: 'a payment is added and corrected',
    steps: [
      step('rental_payment.add', target, payment(`${mark}a`)),
      step('rental_payment.update', one, { reference: `${mark}b` }),
      ...(removed ? [step('rental_payment.remove', one)] : []),
    ],
    leaves: [
      left('rental_payments', { reference: `${mark}a` }, true),
      left('rental_payments', { reference: `${mark}b` }, removed),
    ],
  }
}

const crewStory: Teller = (mark, { rentals }, random) => {
  const target = { rentalId: pick(rentals, random) }
  const removed = random() < 0.4
  const one = { ...target, crewMemberId: result(0) }
  return {
    name: 'a crew member is added and corrected',
    steps: [
      step('rental_crew_member.add', target, crew(`${mark}a`)),
      step('rental_crew_member.update', one, { firstName: 'Bea', lastName: `${mark}b` }),
      ...(removed ? [step('rental_crew_member.remove', one)] : []),
    ],
    leaves: [
      left('rental_crew_members', { lastName: `${mark}a` }, true),
      left('rental_crew_members', { lastName: `${mark}b` }, removed),
    ],
  }
}

const optionStory: Teller = (_mark, { options }, random) => {
  const chosen = pick(options, random)
  if (chosen === undefined) return undefined
  const { rentalId, optionId } = chosen
  const one = { rentalId, optionId: result(0) }
  return {
    name: 'an option is added, counted and removed',
    steps: [
      step('rental_option.add', { rentalId }, { optionId, quantity: 1 }),
      step('rental_option.update', one, { quantity: 7 }),
      step('rental_option.remove', one),
    ],
    leaves: [], // the same option comes and goes in many stories
  }
}

const personStory: Teller = (mark, _cast, random) => {
  const one = { userId: result(0) }
  const [withoutIdentity, withoutLicense, deleted] = [random() < 0.3, random() < 0.3, random() < 0.3]
  return {
    name: 'a user comes, with documents',
    steps: [
      step('user.create', {}, newPerson(mark)),
      step('user.update', one, { addressStreet2: `${mark}b` }),
      step('user_identity.add', one, identity(`${mark}c`)),
      step('user_identity.update', one, { number: `${mark}d` }),
      ...(withoutIdentity ? [step('user_identity.remove', one)] : []),
      step('user_license.add', one, license(`${mark}e`)),
      step('user_license.update', one, { year: 1999 }),
      ...(withoutLicense ? [step('user_license.remove', one)] : []),
      ...(deleted ? [step('user.delete', one)] : []),
    ],
    leaves: [
      left('users', { lastName: mark }, deleted),
      left('users', { lastName: mark, addressStreet2: `${mark}b` }, deleted),
      left('user_identities', { number: `${mark}d` }, withoutIdentity || deleted),
      left('user_licenses', { number: `${mark}e`, year: 1999 }, withoutLicense || deleted),
    ],
  }
}

const bookingStory: Teller = (mark, cast, random) => {
  const slot = cast.slot()
  if (slot === undefined) return undefined
  const one = { rentalId: result(1) }
  const deleted = random() < 0.5
  const orderLink = `https://example.com/${mark}`
  return {
    name: 'a booking, confirmed',
    steps: [
      step('user.create', {}, newPerson(mark)),
      step('rental.create', {}, { ...slot, referenceId: mark }),
      step('rental_user.assign', one, { userId: result(0) }),
      step('rental_payment.add', one, payment(`${mark}a`)),
      step('rental_crew_member.add', one, crew(`${mark}b`)),
      step('rental.update', one, { status: 'VALIDATED', orderLink }),
      ...(deleted ? [step('rental.delete', one)] : []),
    ],
    leaves: [
      left('users', { lastName: mark }, false),
      left('rentals', { referenceId: mark }, deleted),
      left('rentals', { referenceId: mark, status: 'VALIDATED', orderLink, user: { lastName: mark } }, deleted),
      left('rental_payments', { reference: `${mark}a` }, deleted),
      left('rental_crew_members', { lastName: `${mark}b` }, deleted),
    ],
  }
}

const tellers: readonly Teller[] = [
  linkStory,
  linkStory,
  linkStory,
  paymentStory,
  crewStory,
  optionStory,
  personStory,
  bookingStory,
]

/** The next story; marks sort in the order of the numbers. */
export function tellStory(number: number, cast: Cast, random: Random): Story {
  const mark = `s${String(number).padStart(6, '0')}`
  for (;;) {
    const story = pick(tellers, random)?.(mark, cast, random)
    if (story !== undefined) return story
  }
}
