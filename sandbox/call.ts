// What a handler gets and gives: a call without HTTP; an answer without an envelope, or a refusal.

import type { Static, TObject } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Compare, Sequence } from './world/collection.ts'
import { isDate } from './world/dates.ts'
import type { Entity, Rental, Resource, User } from './world/entity.ts'
import type { World } from './world/world.ts'

/** Choices where the sources say nothing or contradict each other. */
interface RuleOptions {
  /** PUT of a rental changes nothing but the status (docs/sources.md, reference/rental-management/update-rental). */
  readonly onlyStatusChanges: boolean
  /** A second user with an e-mail address in use is refused with 409. */
  readonly uniqueEmails: boolean
}

export interface Call {
  readonly world: World
  readonly rules: RuleOptions
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string | undefined>>
  /** The parsed JSON body; undefined when there was none. */
  readonly body: unknown
}

export type Answer =
  | { readonly kind: 'record'; readonly text: string }
  /** A list whose items have no single read: always whole records, never paged. */
  | { readonly kind: 'texts'; readonly texts: readonly string[] }
  | {
      readonly kind: 'list'
      readonly items: Sequence<Entity>
      readonly compare: Compare<Entity>
      /** Fields that a summary of an item keeps. */
      readonly summary: readonly string[]
      readonly paging: 'paginated' | 'reference' | 'below'
    }
  | { readonly kind: 'nothing' }

export type Handler = (call: Call) => Answer
/** Handlers by `METHOD /v3/path/{template}`. */
export type Handlers = Readonly<Record<string, Handler>>

interface FieldError {
  readonly field: string
  readonly message: string
}

export class Failure extends Error {
  readonly status: number
  readonly code: string
  readonly errors: readonly FieldError[]

  constructor(status: number, code: string, message: string, errors: readonly FieldError[] = []) {
    super(message)
    this.name = 'Failure'
    this.status = status
    this.code = code
    this.errors = errors
  }

  /** JSON text of the body: `{code, message, errors: [{field, message}]}`. */
  get body(): string {
    return JSON.stringify({ code: this.code, message: this.message, errors: this.errors })
  }
}

/** 400 with one wrong field. */
export const badField = (field: string, message: string): Failure =>
  new Failure(400, 'BAD_REQUEST', `${field}: ${message}`, [{ field, message }])

/** 404 for a record that does not exist. */
export const notFound = (what: string): Failure => new Failure(404, 'NOT_FOUND', `${what} does not exist`)

/** 409 for something that exists or is taken already. */
export const conflict = (message: string): Failure => new Failure(409, 'CONFLICT', message)

/** The answer with one stored record. */
export const recordAnswer = ({ world }: Call, entity: Entity): Answer => ({ kind: 'record', text: world.whole(entity) })

const param = ({ params }: Call, name: string): string => params[name] ?? ''

/** The record that an integer of the path names, or 404. */
function byParam<E>(call: Call, records: { get(id: string): E | undefined }, name: string, what: string): E {
  const id = param(call, name)
  if (!/^-?\d+$/.test(id)) throw badField(name, 'must be an integer')
  const found = records.get(id)
  if (!found) throw notFound(`${what} ${id}`)
  return found
}

/** The user of the path, or 404. */
export const userOf = (call: Call): User => byParam(call, call.world.users, 'userId', 'User')

/** The rental of the path, or 404. */
export const rentalOf = (call: Call): Rental => byParam(call, call.world.rentals, 'rentalId', 'Rental')

/** The resource of the path, or 404; a test resource only with `test=true` where the operation has that parameter. */
export function resourceOf(call: Call): Resource {
  return resourceById(call, param(call, 'resourceId'))
}

/** A resource by id, or 404. */
export function resourceById(call: Call, id: string): Resource {
  const resource = call.world.resources.get(id)
  if (!resource || (resource.isTest && call.query.test !== 'true')) throw notFound(`Resource ${id}`)
  return resource
}

/** The record below another that a path parameter names, or 404. */
export const below = <E extends Entity>(call: Call, entities: readonly E[], name: string, what: string): E =>
  byParam(call, { get: (id) => entities.find(({ key }) => key === id) }, name, what)

/** A query parameter that must be there. */
export function requiredQuery({ query }: Call, name: string): string {
  const value = query[name]
  if (!value) throw badField(name, 'is required')
  return value
}

/** A query parameter that is a date if it is there. */
export function dateQuery({ query }: Call, name: string): string | undefined {
  const value = query[name] || undefined
  if (value !== undefined && !isDate(value)) throw badField(name, 'must be a date, YYYY-MM-DD')
  return value
}

/** A query parameter with a fixed set of values. */
export function choiceQuery({ query }: Call, name: string, values: readonly string[]): string | undefined {
  const value = query[name] || undefined
  if (value !== undefined && !values.includes(value)) throw badField(name, `must be one of ${values.join(', ')}`)
  return value
}

const validators = new WeakMap<TObject, ReturnType<typeof Compile>>()

/** The body as the schema's type; 400 naming each wrong field otherwise. Unknown fields pass and should be ignored. */
export function parseBody<Schema extends TObject>(schema: Schema, body: unknown): Static<Schema> {
  const validator = validators.get(schema) ?? Compile(schema)
  validators.set(schema, validator)
  if (validator.Check(body)) return body as Static<Schema>
  const errors = new Map<string, string>()
  for (const { instancePath, message, keyword, params } of validator.Errors(body)) {
    const path = instancePath.slice(1).replaceAll('/', '.')
    const missing =
      keyword === 'required' ? (params as { requiredProperties: readonly string[] }).requiredProperties : []
    if (missing.length === 0) errors.set(path || 'body', message)
    for (const name of missing) errors.set(path ? `${path}.${name}` : name, 'is required')
  }
  const list = [...errors].map(([field, message]) => ({ field, message }))
  throw new Failure(400, 'BAD_REQUEST', `Invalid body: ${list.map((e) => `${e.field} ${e.message}`).join('; ')}`, list)
}
