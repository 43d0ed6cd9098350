// An account in which others book while our answers are lost: how many of our creations still end as done.

import { createRandom, type Random } from '../../sandbox/world/random.ts'
import type { Rewriting } from './rewriting-api.ts'
import { type RewritingRig, slotAt } from './rewriting-rig.ts'

const foreignAMinute = 10
const boats = 20
const rentals = 60
const days = 30

const lastNames = [
  'Martin',
  'Bernard',
  'Le Goff',
  'Dubois',
  'Moreau',
  'Garnier',
  'Kowalski',
  'Rossi',
  'Nguyen',
  'Smith',
]
const firstNames = ['Ann', 'Yann', 'Zoé', 'Paul', 'Inès', 'Luc']
const rewriting: Rewriting = {
  emails: 'lower case',
  texts: 'trimmed',
  prices: 'rounded',
  references: 'cut',
  currency: 'capitals',
  dateTimes: 'short offset',
}

type Creation = { readonly operation: string; readonly place: string; readonly target: object; readonly body: object }

const slotOf = (boat: number, day: number, hour: number) =>
  slotAt(`${boat}-1`, new Date(Date.UTC(2026, 6, 1 + day, hour)).toISOString())

function slotIn(random: Random) {
  return slotOf(random.int(1, boats), random.int(0, days - 1), random.pick([7, 12]))
}

/** Anything that a person or a program creates, of `from` who does it. */
function creationOf(rentalIds: readonly number[], from: string, random: Random): Creation {
  const [firstName, lastName] = [random.pick(firstNames), random.pick(lastNames)]
  const email = `${firstName}.${lastName.replace(' ', '')}.${from}@Example.com`
  const born = random.chance(0.5) ? { birthDate: `${random.int(1950, 2005)}-0${random.int(1, 9)}-15` } : {}
  const rentalId = random.pick(rentalIds)
  const below = (operation: string, collection: string, body: object): Creation => ({
    operation,
    place: `rentals/${rentalId}/${collection}`,
    target: { rentalId },
    body,
  })
  return random.pick<() => Creation>([
    () => ({ operation: 'user.create', place: 'users', target: {}, body: { firstName, lastName, email, ...born } }),
    () => ({ operation: 'rental.create', place: 'rentals', target: {}, body: slotIn(random) }),
    () =>
      below('rental_payment.add', 'payments', {
        currency: 'eur',
        method: { id: random.int(1, 3) },
        price: random.int(1_000, 99_999) / 1_000,
        reference: `payment of ${from} of this summer`,
      }),
    () => below('rental_option.add', 'options', { optionId: random.int(1, 6), quantity: random.int(1, 4) }),
    () => below('rental_crew_member.add', 'crewMembers', { firstName, lastName, type: 'ADULT' }),
  ])()
}

/**
 * Our creations, all of which lose their answer, half of them before they took effect.
 * @returns how many there were and are done, how many others made, and whether two of ours are done with one record
 */
export async function runBusyAccount(rig: RewritingRig, seed: number, size: number) {
  const random = createRandom(seed, 'busy')
  const { api } = rig
  await rig.clear()
  Object.assign(api, { rewriting, exactFilters: true, exclusive: false, lag: 0 })
  const rentalIds = Array.from({ length: rentals }, () => api.insert('rentals', slotIn(random)))
  api.lag = 1
  const all = Array.from({ length: boats }, (_, boat) =>
    Array.from({ length: days }, (__, day) => [slotOf(boat + 1, day, 7), slotOf(boat + 1, day, 12)]),
  )
  await rig.mirrorSlots(all.flat(2))

  const seen = new Set<string>()
  api.disturb = (place, body) => {
    const name = `${place} ${JSON.stringify(body)}`
    if (seen.has(name)) return null
    seen.add(name)
    return random.pick(['lost before', 'lost after'] as const)
  }
  for (let own = 0; own < size; own++) {
    const { operation, target, body } = creationOf(rentalIds, `own${seed}x${own}`, random)
    await rig.queue(operation, target, body)
  }
  let others = 0
  await rig.push(() => {
    for (let foreign = 0; foreign < foreignAMinute; foreign++) {
      const { place, body } = creationOf(rentalIds, `other${seed}x${others++}`, random)
      api.insert(place, { ...body })
    }
    return true
  })
  const ended = await rig.ended()
  const done = ended.filter(({ status }) => status === 'done')
  const twice = new Set(done.map(({ operation, made }) => `${operation} ${made}`)).size < done.length
  return { changes: ended.length, done: done.length, others, twice }
}
