// Whether requests and answers are as an OpenAPI document says.

import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { isObject, type Json, type JsonObject } from '../../src/api/wire/json.ts'

export type Answered = { readonly status: number; readonly contentType: string | null; readonly body: unknown }

export type OpenApiCheck = {
  /** What of an answer to `GET /v3/rentals` the document does not describe. */
  faultsOf(operation: string, answer: Answered): readonly string[]
  /** The same of the body of a request. */
  faultsOfBody(operation: string, body: unknown): readonly string[]
}

/** A part of a document, by its names. @throws TypeError where there is none */
export function partAt(value: Json | undefined, ...path: readonly string[]): JsonObject {
  const found = path.reduce<Json | undefined>((inner, name) => (isObject(inner) ? inner[name] : undefined), value)
  if (!isObject(found)) throw new TypeError(`There is nothing at ${path.join(' ')}.`)
  return found
}

const inPointer = (names: readonly string[]): string =>
  names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** Checks against a document, each schema compiled once. */
export function createOpenApiCheck(document: JsonObject): OpenApiCheck {
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'served')
  const faults = (place: readonly string[], value: unknown): readonly string[] => {
    const check = ajv.getSchema(`served#${inPointer(place)}`)
    if (check === undefined) throw new TypeError(`There is no schema at ${place.join(' ')}.`)
    check(value)
    return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
  const placeOf = (operation: string): readonly string[] => {
    const [method = '', path = ''] = operation.split(' ')
    return ['paths', path, method.toLowerCase()]
  }
  return {
    faultsOf: (operation, { status, contentType, body }) => {
      const responses = partAt(document, ...placeOf(operation), 'responses')
      const response = responses[String(status)]
      if (!isObject(response)) return [`${operation} is not said to answer ${status}`]
      const place =
        typeof response.$ref === 'string'
          ? response.$ref.slice(2).split('/')
          : [...placeOf(operation), 'responses', String(status)]
      const { content } = partAt(document, ...place)
      const type = contentType?.split(';')[0] ?? null
      if (!isObject(content)) return type === null ? [] : [`${operation} is not said to answer ${status} with a body`]
      if (type === null || content[type] === undefined)
        return [`${operation} is not said to answer ${status} with ${type}`]
      return faults([...place, 'content', type, 'schema'], body)
    },
    faultsOfBody: (operation, body) =>
      faults([...placeOf(operation), 'requestBody', 'content', 'application/json', 'schema'], body),
  }
}
