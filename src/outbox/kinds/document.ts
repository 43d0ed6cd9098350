// A user's identity or licence, of which there is at most one: it is absent, as sent, or a different one.

import { leftBehind } from '../outcome.ts'
import type { Kind } from './kind.ts'
import { answered, asSent, done, mirrored, notTaken, one, preparedCreation, readWritten } from './shared.ts'

export const document: Kind = {
  comparesExisting: true,

  prepare: async ({ change }, given) => preparedCreation(change.write, given, {}),

  verify: async (delivery, { params }) => one(await readWritten(delivery, params)),

  decide(write, { body }, found, timeZone) {
    const [seen] = found ?? []
    return seen === undefined ? notTaken : asSent(write, body, seen, timeZone)
  },

  finish: async (delivery, { params, warnings }, effect) => {
    const { context, change } = delivery
    const { write } = change
    const seen = effect.seen ?? answered(delivery, effect)
    const row = mirrored(context, write.stream, seen, params)
    return {
      ...done(change, params),
      response: effect.response,
      mirror: row.writes,
      warnings: [...warnings, ...row.warnings],
      leftBehind: leftBehind(write, null, seen?.record ?? null),
    }
  },

  readBack: readWritten,
}
