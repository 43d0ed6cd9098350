// Users: address book with full replacement on PUT, and the two documents of a user (docs/sources.md, 4.1).

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
  userOf,
} from '../call.ts'
import { languages } from '../data/people.ts'
import { UserBody, UserIdentityBody, UserLicenseBody } from '../records/bodies.ts'
import { createEntity, type Entity, type Link, type User } from '../world/entity.ts'
import type { World } from '../world/world.ts'

type Body = Static<typeof UserBody>

const emailInUse = (world: World, email: string, except?: User): boolean => {
  const wanted = email.toLowerCase()
  for (const user of world.users.values()) {
    if (user !== except && typeof user.own.email === 'string' && user.own.email.toLowerCase() === wanted) return true
  }
  return false
}

/** Refuses bodies for reasons beyond types; `except` is the user that is being replaced. */
function checkUser({ world, rules }: Call, body: Body, except?: User): void {
  const isOrganization = body.organizationType === 'SOCIETY' || body.organizationType === 'ASSOCIATION'
  for (const field of ['organizationName', 'organizationVatNumber'] as const) {
    if (isOrganization && !body[field]) throw badField(field, `is needed for a ${body.organizationType}`)
  }
  if (rules.uniqueEmails && body.email && emailInUse(world, body.email, except)) {
    throw conflict(`A user with the email ${body.email} already exists`)
  }
}

/** A country of the reference list by the code in a body; 400 if there is none. */
function countryLink(world: World, field: string, country: { code: string } | null | undefined): Entity | null {
  if (!country) return null
  const found = world.references.countries.records.get(country.code)
  if (!found) throw badField(`${field}.code`, 'is not a known country')
  return found
}

/** All writable fields of a user; fields missing from the body are null. */
function writableFields(world: World, body: Body): { own: Entity['own']; links: Record<string, Link> } {
  const name = languages.find(([code]) => code === body.language?.code)?.[1] ?? body.language?.name ?? null
  return {
    own: {
      civility: body.civility ?? null,
      firstName: body.firstName ?? null,
      lastName: body.lastName ?? null,
      birthDate: body.birthDate ?? null,
      email: body.email ?? null,
      landlinePhone: body.landlinePhone ?? null,
      mobilePhone: body.mobilePhone ?? null,
      addressStreet1: body.addressStreet1 ?? null,
      addressStreet2: body.addressStreet2 ?? null,
      addressPostalCode: body.addressPostalCode ?? null,
      addressCity: body.addressCity ?? null,
      addressState: body.addressState ?? null,
      language: body.language ? { code: body.language.code, name } : null,
      organizationType: body.organizationType ?? 'INDIVIDUAL',
      organizationName: body.organizationName ?? null,
      organizationVatNumber: body.organizationVatNumber ?? null,
    },
    links: {
      addressCountry: countryLink(world, 'addressCountry', body.addressCountry),
      nationality: countryLink(world, 'nationality', body.nationality),
    },
  }
}

function createUser(call: Call): Answer {
  const { world } = call
  const body = parseBody(UserBody, call.body)
  for (const field of ['email', 'firstName', 'lastName'] as const) {
    if (!body[field]) throw badField(field, 'is required')
  }
  checkUser(call, body)
  const { own, links } = writableFields(world, body)
  const now = new Date(world.clock.now()).toISOString()
  const head = { creationDatetime: now, lastModificationDatetime: now, deactivated: false }
  const user: User = {
    ...createEntity('users', world.nextId('users'), { ...head, ...own }, links),
    identity: null,
    license: null,
  }
  world.users.add(user)
  return recordAnswer(call, user)
}

function updateUser(call: Call): Answer {
  const user = userOf(call)
  const body = parseBody(UserBody, call.body)
  checkUser(call, body, user)
  const { own, links } = writableFields(call.world, body)
  call.world.changeUser(user, () => {
    Object.assign(user.own, own)
    Object.assign(user.links, links)
    user.raw = null
  })
  return recordAnswer(call, user)
}

interface Document {
  readonly slot: 'identity' | 'license'
  readonly table: 'user_identities' | 'user_licenses'
  readonly fields: (call: Call) => Entity['own']
}

function licenseFields({ world, body }: Call): Entity['own'] {
  const { country, number, type, year } = parseBody(UserLicenseBody, body)
  const kind = type ? world.references.user_license_types.records.get(String(type.id)) : undefined
  if (type && !kind) throw badField('type.id', 'is not a known license type')
  const place = countryLink(world, 'country', country)
  return {
    country: place && { code: place.key, name: place.own.name },
    number,
    type: kind ? { id: Number(kind.key), name: kind.own.name } : null,
    year: year ?? null,
  }
}

function identityFields({ body }: Call): Entity['own'] {
  const { number, type } = parseBody(UserIdentityBody, body)
  return { number, type }
}

/** The four operations of a document: at most one a user, 409 for a second, PUT replaces. */
function documentHandlers({ slot, table, fields }: Document): Handlers {
  const path = `/v3/users/{userId}/${slot}`
  const existing = (user: User): Entity => {
    const document = user[slot]
    if (!document) throw notFound(`The ${slot} document of user ${user.key}`)
    return document
  }
  return {
    [`GET ${path}`]: (call) => recordAnswer(call, existing(userOf(call))),
    [`POST ${path}`]: (call) => {
      const user = userOf(call)
      const own = fields(call)
      if (user[slot]) throw conflict(`The ${slot} document of user ${user.key} already exists`)
      const document = createEntity(table, user.key, own)
      user[slot] = document
      call.world.changedBelow(user)
      return recordAnswer(call, document)
    },
    [`PUT ${path}`]: (call) => {
      const user = userOf(call)
      const document = existing(user)
      document.own = fields(call)
      call.world.changed(document)
      call.world.changedBelow(user)
      return recordAnswer(call, document)
    },
    [`DELETE ${path}`]: (call) => {
      const user = userOf(call)
      existing(user)
      user[slot] = null
      call.world.changedBelow(user)
      return { kind: 'nothing' }
    },
  }
}

export const userHandlers: Handlers = {
  'POST /v3/users': createUser,
  'GET /v3/users/{userId}': (call) => recordAnswer(call, userOf(call)),
  'PUT /v3/users/{userId}': updateUser,
  'DELETE /v3/users/{userId}': (call) => {
    call.world.removeUser(userOf(call))
    return { kind: 'nothing' }
  },
  ...documentHandlers({ slot: 'identity', table: 'user_identities', fields: identityFields }),
  ...documentHandlers({ slot: 'license', table: 'user_licenses', fields: licenseFields }),
}
