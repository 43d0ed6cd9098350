// Customers with believable names and addresses, some deactivated, some with documents.

import { firstNames, languages, lastNames, residences, streets } from '../data/people.ts'
import { addDays, DAY_MS, dayStart } from './dates.ts'
import { createEntity, type Entity, type User } from './entity.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

const ascii = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/[^A-Za-z]/g, '')
    .toLowerCase()

/** A first and a last name with the civility that goes with them. */
export function makeName(random: Random): { civility: string; firstName: string; lastName: string } {
  const [civility, names] = random.pick([firstNames[0], firstNames[0], firstNames[1], firstNames[1], firstNames[2]])
  return { civility, firstName: random.pick<string>(names), lastName: random.pick(lastNames) }
}

/** A user; `complete` ones are active and have both documents. */
export function makeUser(world: World, random: Random, complete = false): User {
  const key = world.nextId('users', 5001)
  const { civility, firstName, lastName } = makeName(random)
  const [city, postalCode, state, countryCode] = random.pick(residences)
  const [language, languageName] = random.pick(languages)
  const country = world.references.countries.records.get(countryCode) ?? null
  const organization = random.chance(0.1) ? random.pick(['SOCIETY', 'ASSOCIATION']) : 'INDIVIDUAL'
  const created = dayStart(world.today) - random.int(2, 900) * DAY_MS - random.int(0, DAY_MS)
  const user: User = {
    ...createEntity(
      'users',
      key,
      {
        creationDatetime: new Date(created).toISOString(),
        lastModificationDatetime: new Date(created + random.int(0, DAY_MS)).toISOString(),
        deactivated: !complete && random.chance(0.08),
        civility,
        firstName,
        lastName,
        birthDate: addDays('1950-01-01', random.int(0, 20_000)),
        email: `${ascii(firstName)}.${ascii(lastName)}.${key}@example.com`,
        landlinePhone: random.chance(0.4) ? `+33 4 ${random.int(10_000_000, 99_999_999)}` : null,
        mobilePhone: `+33 6 ${random.int(10_000_000, 99_999_999)}`,
        addressStreet1: `${random.int(1, 200)} ${random.pick(streets)}`,
        addressStreet2: random.chance(0.15) ? 'Appartement 12' : null,
        addressPostalCode: postalCode,
        addressCity: city,
        addressState: state,
        language: { code: language, name: languageName },
        organizationType: organization,
        organizationName: organization === 'INDIVIDUAL' ? null : `${lastName} & Co`,
        organizationVatNumber: organization === 'INDIVIDUAL' ? null : `FR${random.int(10_000_000_000, 99_999_999_999)}`,
      },
      { addressCountry: country, nationality: country },
    ),
    identity: null,
    license: null,
  }
  if (complete || random.chance(0.55)) user.identity = makeIdentity(user, random)
  if (complete || random.chance(0.4)) user.license = makeLicense(world, user, random)
  return user
}

/** An identity document of a user. */
export const makeIdentity = (user: User, random: Random): Entity =>
  createEntity('user_identities', user.key, {
    number: `${random.int(10, 99)}AB${random.int(10_000, 99_999)}`,
    type: random.pick(['CARD_ID', 'PASSEPORT', 'CAR_LICENSE']),
  })

/** A boating license of a user, with country and kind as they are when it is added. */
export function makeLicense(world: World, user: User, random: Random): Entity {
  const type = random.pick([...world.references.user_license_types.records.values()])
  const country = random.pick([...world.references.countries.records.values()])
  return createEntity('user_licenses', user.key, {
    country: { code: country.key, name: country.own.name },
    number: `L${random.int(100_000, 999_999)}`,
    type: { id: Number(type.key), name: type.own.name },
    year: random.int(1985, 2024),
  })
}

/** Fills the address book; the first user has everything a user can have. */
export function generateUsers(world: World, random: Random, count: number): void {
  world.users.load(Array.from({ length: count }, (_, index) => makeUser(world, random, index === 0)))
}
