// Writes of what there is at most one of: the user of a rental, and a user's identity or licence.

import { get } from '../../api/wire/json.ts'
import { embeddedPerson, streamNamed } from '../../catalog/catalog.ts'
import { readRecord, readRoot } from '../reads.ts'
import { about, namesOf, readValue, sameValue } from '../values.ts'
import type { Kind } from './kind.ts'
import {
  answered,
  asSent,
  doneWith,
  notTaken,
  one,
  preparedCreation,
  readAfter,
  unclear,
  unverified,
} from './shared.ts'

export const assignment: Kind = {
  prepare: async ({ change }, given) => preparedCreation(change.write, given, {}),

  verify: async (delivery, { params }) => one(await readRoot(delivery, params)),

  decide(write, { body }, found, timeZone) {
    const [seen] = found ?? []
    if (seen === undefined) return { kind: 'gone' }
    if (write.body.some((field) => readValue(field, seen.record) !== null)) return asSent(write, body, seen, timeZone)
    const person = embeddedPerson(streamNamed(write.stream))
    if ((get(seen.record, person?.path ?? '') ?? null) === null) return notTaken
    return unclear('the rental has a user without an id.', [seen])
  },

  async finish(delivery, sent, effect) {
    const { write } = delivery.change
    const { body } = sent
    const rental = (await readAfter(assignment, delivery, sent, effect)) ?? null
    if (rental !== null && 'kind' in rental) return rental
    const ignored = write.body.filter((field) => !sameValue(field, body[field.name], readValue(field, rental?.record)))
    const warning = rental === null ? [unverified] : about('Not accepted by the API', namesOf(ignored))
    return {
      ...doneWith(delivery, { ...sent, warnings: [...sent.warnings, ...warning] }, { ...effect, seen: rental }),
      // Later reads of the rental that do not show the user yet are known by it.
      leftBehind: ignored.length > 0 || rental === null ? null : { user: { id: body.userId ?? null } },
    }
  },

  readBack: readRoot,
}

export const document: Kind = {
  prepare: async ({ change }, given) => preparedCreation(change.write, given, {}),

  verify: async (delivery, { params }) => one(await readRecord(delivery, params)),

  decide(write, { body }, found, timeZone) {
    const [seen] = found ?? []
    return seen === undefined ? notTaken : asSent(write, body, seen, timeZone)
  },

  finish: async (delivery, sent, effect) =>
    doneWith(delivery, sent, { ...effect, seen: effect.seen ?? answered(delivery, effect) }),

  readBack: readRecord,
}
