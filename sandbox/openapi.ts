// The OpenAPI document of the sandbox, made from the operations and the record schemas.

import type { TObject, TSchema } from 'typebox'
import { type Operation, operations } from './operations.ts'

type Json = Record<string, unknown>

/** Copies a schema, putting references where it embeds a titled one; those are collected into `components`. */
function withReferences(schema: unknown, components: Map<string, Json>, isRoot: boolean): unknown {
  if (Array.isArray(schema)) return schema.map((item) => withReferences(item, components, false))
  if (typeof schema !== 'object' || schema === null) return schema
  const { title } = schema as Json
  if (!isRoot && typeof title === 'string') {
    addComponent(title, schema as TSchema, components)
    return { $ref: `#/components/schemas/${title}` }
  }
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, withReferences(value, components, false)]),
  )
}

function addComponent(title: string, schema: TSchema, components: Map<string, Json>): void {
  if (components.has(title)) return
  components.set(title, {})
  components.set(title, withReferences(schema, components, true) as Json)
}

const errorSchema = {
  type: 'object',
  properties: {
    code: { type: 'string' },
    message: { type: 'string' },
    errors: {
      type: 'array',
      items: { type: 'object', properties: { field: { type: 'string' }, message: { type: 'string' } } },
    },
  },
}

const titleOf = (schema: TObject): string => String((schema as { title?: string }).title)
const referenceTo = (schema: TObject): Json => ({ $ref: `#/components/schemas/${titleOf(schema)}` })
const json = (schema: unknown): Json => ({ content: { 'application/json': { schema } } })

function parametersOf({ path, query = [], shape }: Operation): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const paging = shape === 'paginated' ? ['page', 'perPage'] : []
  const inQuery = [...query, ...paging].map((name) => ({
    name: name.replace('!', ''),
    in: 'query',
    required: name.endsWith('!'),
    schema: { type: 'string' },
  }))
  return [...inPath, ...inQuery]
}

function describe(operation: Operation): Json {
  const { response, shape, method, body } = operation
  const success =
    response === null
      ? { 204: { description: 'Deleted' } }
      : {
          200: {
            description: operation.operation,
            ...json(shape === 'one' ? referenceTo(response) : { type: 'array', items: referenceTo(response) }),
          },
        }
  const statuses = method === 'GET' || method === 'DELETE' ? [400, 401, 404] : [400, 401, 404, 409]
  const refusals = Object.fromEntries(
    statuses.map((status) => [status, { description: 'Refused', ...json({ $ref: '#/components/schemas/Error' }) }]),
  )
  return {
    summary: operation.operation,
    parameters: parametersOf(operation),
    ...(body && {
      requestBody: { required: true, ...json(referenceTo(body)) },
    }),
    responses: { ...success, ...refusals },
  }
}

/** OpenAPI 3.1 document of all operations, with bare arrays and page numbers as in the default settings. */
export function openApiDocument(): Json {
  const components = new Map<string, Json>([['Error', errorSchema]])
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    for (const schema of [operation.response, operation.body])
      if (schema) addComponent(titleOf(schema), schema, components)
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: describe(operation) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Boat rental API (sandbox)', version: 'v3' },
    paths,
    components: { schemas: Object.fromEntries(components) },
  }
}
