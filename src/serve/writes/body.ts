// From the body of a request to the fields of a change. Members that can't be written are ignored, as the API ignores them,
// so that a record may be sent back as it was read. Pure.

import { isObject, type Json, type JsonObject, LosslessNumber, textOf } from '../../api/wire/json.ts'
import type { BodyField, WriteDef } from '../../catalog/types.ts'
import { canonicalDecimal } from '../../decimal.ts'
import { referredChange } from '../../outbox/change.ts'
import { isHashed, personalFields } from '../../outbox/personal.ts'
import { writeShape } from '../../outbox/values.ts'
import type { Privacy } from '../../privacy/privacy.ts'
import { fieldProblem, problem, Refusal } from '../problem.ts'

/** Changes that one request may bring. */
const mostInArray = 100

/** A value in the type in which `outbox.enqueue` takes the field. One without that form stays, and is refused there. */
function taken(field: BodyField, value: Json): Json {
  if (referredChange(value) !== null) return value
  const shape = writeShape(field, value)
  const text = textOf(shape)
  if (text === undefined || typeof shape === 'boolean') return shape
  if (field.type === 'string' && typeof shape !== 'string') return text
  if (field.type !== 'number' && field.type !== 'integer') return shape
  const decimal = canonicalDecimal(text)
  return decimal === undefined ? shape : new LosslessNumber(decimal)
}

/** Null says nothing: the value is one that cannot be cleared, or one that the mirror does not show. */
const isNothing = (field: BodyField, isHidden: boolean): boolean =>
  field.required !== true && (field.clearable === false || isHidden)

/**
 * The fields of one change. Absent members stay as they are.
 * @throws Refusal 422 for a value that is a hash of the mirror, 400 for a body that is no object
 */
export function fieldsOf(write: WriteDef, body: Json | undefined, privacy: Privacy | undefined): JsonObject {
  if (write.body.length === 0) return {}
  if (!isObject(body)) throw new Refusal(problem(400, 'The body must be a JSON object.'))
  const hidden = personalFields(privacy, write)
  return Object.fromEntries(
    write.body.flatMap((field): [string, Json][] => {
      const value = Object.hasOwn(body, field.name) ? body[field.name] : undefined
      if (value === undefined) return []
      if (isHashed(value))
        throw new Refusal(
          fieldProblem(
            422,
            field.name,
            'holds a hash of the mirror, not a value. Send the value, or leave the field out.',
          ),
        )
      // An object that the mirror shows without its personal members may be empty.
      const isBare = isObject(value) && referredChange(value) === null && writeShape(field, value) === null
      if ((value === null || isBare) && isNothing(field, hidden.has(field.name))) return []
      return [[field.name, isBare ? value : taken(field, value)]]
    }),
  )
}

/** What a request asks for: the fields of each change, and whether it came as an array. */
export type Asked = { readonly changes: readonly JsonObject[]; readonly isArray: boolean }

/**
 * The same of a whole body. Options of a rental may come as an array (docs/sources.md, 4.4): one change each.
 * @throws Refusal as {@link fieldsOf}; 400 for an array where none is taken
 */
export function askedBy(write: WriteDef, body: Json | undefined, privacy: Privacy | undefined): Asked {
  if (!Array.isArray(body)) return { changes: [fieldsOf(write, body, privacy)], isArray: false }
  if (write.operation !== 'rental_option.add')
    throw new Refusal(problem(400, 'The body is an array. It must be a JSON object.'))
  if (body.length === 0 || body.length > mostInArray)
    throw new Refusal(problem(400, `The array has ${body.length} elements. It must have 1 to ${mostInArray}.`))
  return { changes: body.map((each) => fieldsOf(write, each, privacy)), isArray: true }
}

/**
 * The path parameters as numbers.
 * @throws Refusal 400 for one that is none
 */
export function targetOf(write: WriteDef, params: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(
    Object.keys(write.target).map((name) => {
      const text = params[name] ?? ''
      if (!/^-?\d{1,18}$/.test(text)) throw new Refusal(fieldProblem(400, name, 'must be a whole number.'))
      return [name, new LosslessNumber(String(BigInt(text)))]
    }),
  )
}
