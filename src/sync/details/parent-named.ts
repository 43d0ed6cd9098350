// Which record an answer below a record belongs to: from a cache that mixes up its answers, some name their record.
// Pure.

import { type Json, textOf } from '../../api/wire/json.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { valueAt } from '../records/project.ts'

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
