// The OpenAPI document: valid, complete, true of what the API answers, and of use to a generator of clients.

import { Validator } from '@seriousme/openapi-schema-validator'
import fc from 'fast-check'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { operations } from '../../sandbox/operations.ts'
import type { ListShape } from '../../src/api/paging/envelope.ts'
import { isObject, type Json, type JsonObject, stringifyJson } from '../../src/api/wire/json.ts'
import { readEndpoints } from '../../src/catalog/catalog.ts'
import type { ReadEndpoint } from '../../src/catalog/types.ts'
import { type AuthSetting, readConfig } from '../../src/config.ts'
import { keepsAll, type PrivacySettings, personalColumns } from '../../src/privacy/rules.ts'
import type { ServeContext } from '../../src/serve/context.ts'
import { type Described, openApiDocument, registerOpenapi } from '../../src/serve/openapi/document.ts'
import type { Caller } from '../../src/serve/types.ts'
import { opened } from '../helpers/opened.ts'
import { drawnAnswer } from './drawn-reads.ts'
import { createOpenApiCheck, partAt } from './openapi-check.ts'
import { buildClient } from './openapi-client.ts'

const { api } = readConfig({}, '/nonexistent')
const nobody: Caller = { token: null, role: null, companies: null, personal: false, write: false, tagKey: '' }
const usual: Described = { api, privacy: keepsAll, isOpenToLocal: true }
const drops: PrivacySettings = { mode: 'drop', columns: {}, hasher: null }

/** The document as a program receives it. */
const documentOf = (wishes: Partial<Described> = {}): JsonObject =>
  JSON.parse(stringifyJson(openApiDocument({ ...usual, ...wishes })))

/** `GET /v3/rentals` → its operation. */
const allOperations = (document: JsonObject): ReadonlyMap<string, JsonObject> =>
  new Map(
    Object.entries(partAt(document, 'paths')).flatMap(([path, item]) =>
      Object.entries(partAt(item)).map(
        ([method, operation]) => [`${method.toUpperCase()} ${path}`, partAt(operation)] as const,
      ),
    ),
  )

const document = documentOf()

describe('the document', () => {
  const auths: readonly AuthSetting[] = [
    { kind: 'bearer' },
    { kind: 'basic' },
    { kind: 'none' },
    { kind: 'header', name: 'X-Api-Key' },
    { kind: 'query', name: 'key' },
  ]
  for (const auth of auths)
    for (const isOpenToLocal of [true, false])
      it(`is valid OpenAPI 3.1 where the API is called with ${auth.kind}, ${isOpenToLocal ? '' : 'not '}open to loopback`, async () => {
        const made = documentOf({ api: { ...api, auth }, isOpenToLocal })
        expect(await new Validator().validate(made)).toEqual({ valid: true })
        const schemes = partAt(made, 'components', 'securitySchemes')
        expect(Object.values(schemes)).toContainEqual({ type: 'http', scheme: 'bearer' })
        if ('name' in auth) expect(schemes.apiKey).toEqual({ type: 'apiKey', in: auth.kind, name: auth.name })
        const mayRead = allOperations(made).get('GET /v3/rentals')?.security
        expect(Array.isArray(mayRead) && mayRead.some((way) => stringifyJson(way) === '{}')).toBe(isOpenToLocal)
      })

  it('has all 56 reads and 22 writes of the API, the address of a change, calendars and reports', () => {
    const all = operations.map(({ method, path }) => `${method} ${path}`)
    const own = ['GET /changes/{changeId}', 'GET /calendars/{resourceId}.ics', 'GET /reports/{report}.csv']
    expect(all).toHaveLength(78)
    expect([...allOperations(document).keys()].sort()).toEqual([...all, ...own].sort())
  })

  it('gives every operation a name that stays', () => {
    const names = [...allOperations(document).values()].map(({ operationId }) => operationId)
    expect(new Set(names).size).toBe(names.length)
    expect(names.sort()).toEqual(stableNames.trim().split(/\s+/).sort())
  })

  it('names the body of each write that has one, with the fields that the API takes', () => {
    const all = allOperations(document)
    for (const { method, path, writable } of operations) {
      const body = all.get(`${method} ${path}`)?.requestBody
      expect(body === undefined, path).toBe(writable === undefined)
      if (writable === undefined) continue
      const schema = partAt(body, 'content', 'application/json', 'schema')
      const [one] = Array.isArray(schema.oneOf) ? schema.oneOf : [schema]
      expect(Object.keys(partAt(one, 'properties')).sort(), path).toEqual([...writable].sort())
    }
  })

  it('shows the paging that the API was found to use', () => {
    const paging = {
      ...api.paging,
      style: 'offset',
      pageParam: 'skip',
      sizeParam: 'take',
      itemsPath: 'data.items',
    } as const
    const list = allOperations(documentOf({ api: { ...api, paging } })).get('GET /v3/users')
    expect(list?.parameters).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'skip', in: 'query' }),
        expect.objectContaining({ name: 'take', in: 'query' }),
      ]),
    )
    const answer = ['responses', '200', 'content', 'application/json', 'schema']
    expect(partAt(list, ...answer, 'properties', 'data', 'properties', 'items').type).toBe('array')
    // What was found out of a list counts before what is set for all of them.
    const shapes = new Map([
      ['users', { items: [] }],
      ['rentals', { items: ['results'] }],
    ])
    const found = allOperations(documentOf({ api: { ...api, paging }, shapes }))
    expect(partAt(found.get('GET /v3/users'), ...answer).type).toBe('array')
    expect(partAt(found.get('GET /v3/rentals'), ...answer, 'properties', 'results').type).toBe('array')
  })

  it('leaves out every member that PERSONAL_DATA drops', async () => {
    const schemas = (made: JsonObject) => partAt(made, 'components', 'schemas')
    const members = (made: JsonObject, name: string) => Object.keys(partAt(schemas(made), name, 'properties'))
    const dropped = documentOf({ privacy: drops })
    expect(await new Validator().validate(dropped)).toEqual({ valid: true })
    expect(members(dropped, 'User').sort()).toEqual(
      ['id', 'creationDatetime', 'lastModificationDatetime', 'deactivated', 'language', 'organizationType'].sort(),
    )
    const names: Readonly<Record<string, string>> = {
      ...{ users: 'User', user_identities: 'UserIdentity', user_licenses: 'UserLicense' },
      ...{ rentals: 'Rental', rental_crew_members: 'RentalCrewMember' },
    }
    for (const { stream, column } of personalColumns.values()) {
      const member = column.path?.split('.')[0] ?? ''
      const name = names[stream.name] ?? ''
      expect(members(document, name)).toContain(member)
      expect(members(dropped, name)).not.toContain(member)
    }
  })
})

describe('an answer of the API', () => {
  let answerOf: (endpoint: ReadEndpoint, draw: number) => Promise<unknown>
  const sandbox = opened(() => createSandbox({ size: 40, now: new Date('2026-06-10T08:00:00Z') }))
  beforeAll(async () => {
    const served = { url: sandbox.url, today: '2026-06-10' }
    answerOf = async (endpoint, draw) => (await drawnAnswer(served, endpoint, draw)).body
  })
  afterAll(() => sandbox.close())

  const check = createOpenApiCheck(document)

  /** Members of records that are typed: those of unpublished shapes may be anything. */
  const typedMembers = (value: Json, schema: JsonObject): readonly string[] =>
    isObject(value)
      ? Object.entries(partAt(schema, 'properties')).flatMap(([name, member]) =>
          isObject(member) && member.type !== undefined && name in value ? [name] : [],
        )
      : []

  /** The schema of the record that an answer is, or is a list of. */
  function recordOf(endpoint: ReadEndpoint): JsonObject {
    const operation = partAt(allOperations(document).get(endpoint))
    const schema = partAt(operation, 'responses', '200', 'content', 'application/json', 'schema')
    const { $ref } = isObject(schema.items) ? schema.items : schema
    return typeof $ref === 'string' ? partAt(document, ...$ref.slice(2).split('/')) : schema
  }

  for (const endpoint of readEndpoints)
    it(`to ${endpoint} is as its schema says, and with another type in one member it is not`, async () => {
      const faultsOf = (body: unknown) =>
        check.faultsOf(endpoint, { status: 200, contentType: 'application/json', body })
      const isBare = endpoint.endsWith('/{resourceId}/availabilities') // its shape is not published
      await fc.assert(
        fc.asyncProperty(fc.nat(), async (draw) => {
          const answer = JSON.parse(JSON.stringify(await answerOf(endpoint, draw)))
          expect(faultsOf(answer)).toEqual([])
          const record = Array.isArray(answer) ? answer[draw % answer.length] : answer
          const typed = isBare ? [] : typedMembers(record, recordOf(endpoint))
          const name = typed[draw % Math.max(1, typed.length)]
          if (name === undefined) return
          record[name] = [['of another type']]
          expect(faultsOf(answer), name).not.toEqual([])
        }),
        { numRuns: 5 },
      )
    })
})

describe('a client made by swagger-typescript-api', () => {
  it('compiles with everything strict, and lists all rentals', async () => {
    await using client = await buildClient(document)
    const sandbox = await createSandbox({ size: 25, auth: 'bearer', token: 'secret' })
    try {
      const ids = await client.listRentals(sandbox.url, 'secret')
      const all = await fetch(`${sandbox.url}/v3/rentals?order=creationDateAsc&perPage=100`, {
        headers: { authorization: 'Bearer secret' },
      })
      const records = (await all.json()) as readonly { id: number }[]
      expect(records).toHaveLength(25)
      expect(ids).toEqual(records.map(({ id }) => id))
    } finally {
    }
  })
})

describe('/openapi.json', () => {
  it('is the document, with a tag under which it is answered 304', async () => {
    const app = Fastify()
    const shapes = new Map<string, ListShape & { isWhole: boolean }>()
    const context = { settings: { api }, sync: {}, host: '127.0.0.1', callerOf: async () => nobody }
    registerOpenapi(app, context as unknown as ServeContext, async () => shapes)
    const answer = await app.inject('/openapi.json')
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.json()).toEqual(document)
    const again = await app.inject({ url: '/openapi.json', headers: { 'if-none-match': String(answer.headers.etag) } })
    expect([again.statusCode, again.body]).toEqual([304, ''])
    shapes.set('users', { items: ['data'], total: null, next: null, isWhole: true })
    const later = await app.inject({ url: '/openapi.json', headers: { 'if-none-match': String(answer.headers.etag) } })
    expect(later.json()).toEqual(documentOf({ shapes }))
    expect(later.headers.etag).not.toBe(answer.headers.etag)
    await app.close()
  })
})

// A generator makes names of functions of them: one that changes breaks programs.
const stableNames = `
  listCountries getCountry listAdministrativeAreaLevel1 getAdministrativeAreaLevel1 listAdministrativeAreaLevel2
  getAdministrativeAreaLevel2 listNavigationAreas getNavigationArea listCities getCity listHarbours getHarbour
  listCharacteristics getCharacteristic listEquipments getEquipment listCompanyLegalForms getCompanyLegalForm
  listRentalPaymentMethods getRentalPaymentMethod listTypes getType listSubtypes getSubtype listUserLicenseTypes
  getUserLicenseType listCompanies getCompany listResources getResource listResourceDurations
  listResourceOptions getResourceOption getResourcePricetable listResourcePricings getResourceAvailabilityYear
  listResourceUnavailabilities listResourceAvailability getResourceAvailability listResourceSlots
  listResourceSlotOptions listResourceSlotTides listUsers createUser getUser updateUser deleteUser
  getUserIdentity addUserIdentity updateUserIdentity removeUserIdentity getUserLicense addUserLicense
  updateUserLicense removeUserLicense listRentals createRental getRental updateRental deleteRental getRentalUser
  assignRentalUser getRentalResource listRentalOptions addRentalOption getRentalOption updateRentalOption
  removeRentalOption listRentalPayments addRentalPayment getRentalPayment updateRentalPayment
  removeRentalPayment listRentalCrewMembers addRentalCrewMember getRentalCrewMember updateRentalCrewMember
  removeRentalCrewMember getChange getCalendar getReport
`
