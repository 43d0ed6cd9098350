// Writes of what there is at most one of: the user of a rental, and a user's identity or licence.

import { get } from '../../api/wire/json.ts'
import { embeddedPerson, streamNamed } from '../../catalog/catalog.ts'
import { leftBehind } from '../outcome.ts'
import { readRecord, readRoot } from '../reads.ts'
import { readValue, sameValue } from '../values.ts'
import type { Kind } from './kind.ts'
import {
  answered,
  asSent,
  done,
  mirrored,
  notShown,
  notTaken,
  one,
  preparedCreation,
  readBack,
  rentalStatus,
  unverified,
} from './shared.ts'

export const assignment: Kind = {
  comparesExisting: true,

  prepare: async ({ change }, given) => preparedCreation(change.write, given, {}),

  verify: async (delivery, { params }) => one(await readRoot(delivery, params)),

  decide(write, { body }, found, timeZone) {
    const [seen] = found ?? []
    if (seen === undefined) return { kind: 'gone' }
    if (write.body.some((field) => readValue(field, seen.record) !== null)) return asSent(write, body, seen, timeZone)
    const person = embeddedPerson(streamNamed(write.stream))
    if ((get(seen.record, person?.path ?? '') ?? null) === null) return notTaken
    return { kind: 'unclear', why: 'the rental has a user without an id.', candidates: [seen.record] }
  },

  async finish(delivery, sent, { seen, response }) {
    const { context, change } = delivery
    const { write } = change
    const { params, body, warnings } = sent
    const read = seen ?? (await readBack(readRoot(delivery, params), delivery))
    const isAnswered = response !== null || change.evidence.answered
    const again =
      isAnswered &&
      read !== undefined &&
      notShown(delivery, assignment.decide(write, sent, one(read), context.settings.timeZone))
    if (again) return again
    const rental = read ?? null
    const ignored = write.body.filter((field) => !sameValue(field, body[field.name], readValue(field, rental?.record)))
    const names = ignored.map(({ name }) => name).join(', ')
    const warning = rental === null ? [unverified] : names === '' ? [] : [`Not accepted by the API: ${names}.`]
    const row = mirrored(context, write.stream, rental, params)
    return {
      ...done(change, params),
      response,
      mirror: row.writes,
      warnings: [...warnings, ...warning, ...row.warnings],
      // Later reads of the rental that do not show the user yet are known by it.
      leftBehind: ignored.length > 0 || rental === null ? null : { user: { id: body.userId ?? null } },
      rentalStatus: rentalStatus(write, rental?.record),
    }
  },

  readBack: readRoot,
}

export const document: Kind = {
  comparesExisting: true,

  prepare: async ({ change }, given) => preparedCreation(change.write, given, {}),

  verify: async (delivery, { params }) => one(await readRecord(delivery, params)),

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

  readBack: readRecord,
}
