// A user for a rental: the rental shows the user, none, or another one, who can't be replaced.

import { notShown } from '../own-writes.ts'
import { readRoot } from '../reads.ts'
import { readValue, sameValue } from '../values.ts'
import type { Kind } from './kind.ts'
import {
  asSent,
  done,
  mirrored,
  notTaken,
  one,
  preparedCreation,
  readBack,
  rentalStatus,
  unverified,
} from './shared.ts'

export const assignment: Kind = {
  comparesExisting: 'always',

  prepare: async ({ change }, given) => preparedCreation(change.write, given, {}),

  verify: async ({ context, change, signal }, { params }) => one(await readRoot(context, change.write, params, signal)),

  decide(write, { body }, found) {
    const [seen] = found ?? []
    if (seen === undefined) return { kind: 'gone' }
    const attached = write.body.some((field) => readValue(field, seen.record) !== null)
    return attached ? asSent(write, body, seen) : notTaken
  },

  async finish(delivery, sent, { seen, response }) {
    const { context, change, signal } = delivery
    const { write } = change
    const { params, body, warnings } = sent
    const read = seen ?? (await readBack(readRoot(context, write, params, signal), delivery))
    const isAnswered = response !== null || change.evidence.answered
    const again = isAnswered && read !== undefined && notShown(delivery, assignment.decide(write, sent, one(read)))
    if (again) return again
    const rental = read ?? null
    const ignored = write.body.filter((field) => !sameValue(field, body[field.name], readValue(field, rental?.record)))
    const names = ignored.map(({ name }) => name).join(', ')
    const warning = rental === null ? [unverified] : names === '' ? [] : [`Not taken by the API: ${names}.`]
    const row = mirrored(context, write.stream, rental, params)
    return {
      ...done(change, params),
      response,
      mirror: row.writes,
      warnings: [...warnings, ...warning, ...row.warnings],
      rentalStatus: rentalStatus(write, rental?.record),
    }
  },

  readBack: ({ context, change, signal }, params) => readRoot(context, change.write, params, signal),
}
