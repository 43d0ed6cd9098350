// Whether an answer is about the requested record: a cache that mixes up its answers may return another one. And
// whether it is the same record that another read has brought.

import { type Json, parseJson, stringifyJson, textOf } from '../../api/wire/json.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { Found } from '../change-set.ts'
import type { Reading } from '../context.ts'
import { canonical, valueAt } from '../records/project.ts'
import { listedPayload } from '../remembered/payloads.ts'

/** Are these one record, whole, whatever the order of its members and of the elements of its arrays? Null: it was changed between the two reads. Pure. */
export function isSame({ modified }: StreamDef, first: Json, second: Json): boolean | null {
  const sameText = (a: Json, b: Json): boolean => stringifyJson(a) === stringifyJson(b)
  if (sameText(first, second) || canonical(first, true) === canonical(second, true)) return true
  const moved = modified !== undefined && !sameText(valueAt(first, modified) ?? null, valueAt(second, modified) ?? null)
  return moved ? null : false
}

/**
 * Whether this answer of a single, whose bytes differ, equals what the list showed. Null: the record changed in
 * between, or it is unknown.
 */
export async function isAsListed(reading: Reading<'list'>, key: string, record: Json): Promise<boolean | null> {
  const { context, stream } = reading
  const row = await listedPayload(context.database.pool, stream, key)
  if (row === null) return null
  const same = isSame(stream, parseJson(row.payload).value, record)
  return same === true ? row.listed : same
}

/** The count of a read that was compared, if it was. */
export const comparedRead = (endpoint: string, same: boolean | null, sampled = false): Found =>
  same === null ? {} : { reads: [{ endpoint, compared: 1, differed: same ? 0 : 1, sampled }] }

/** Members in which a record may name the one above it: `rentalId`, and the id of `rental`. */
const membersOf = (param: string): readonly string[] => [param, `${param.replace(/Id$/, '')}.id`]

/**
 * How records of `stream` show that they belong to another record than the requested one. Undefined: none does; most
 * do not name their record.
 * @param params the path parameters of the request
 */
export function otherParentIn(
  { parentParams = [] }: StreamDef,
  records: readonly Json[],
  params: Readonly<Record<string, string>>,
): string | undefined {
  for (const param of parentParams) {
    const asked = params[param]
    if (asked === undefined) continue
    for (const member of membersOf(param))
      for (const record of records) {
        const named = textOf(valueAt(record, member))
        if (named !== undefined && named !== '' && named !== asked)
          return `${member} is ${named}, but ${asked} was requested`
      }
  }
  return undefined
}
