// A new user: after a lost answer the one with this e-mail and name that was not there before.

import { get, type Json, type JsonObject, textOf } from '../../api/wire/json.ts'
import { idsOf, readFirst } from '../reads.ts'
import type { Delivery, Found, Kind } from './kind.ts'
import { finishMaking, preparedCreation, readWritten, theNewOne } from './shared.ts'

/** Users who could be the one described: by e-mail, else by last or first name; null when neither is given. */
async function readAlike({ context, change, signal }: Delivery, body: Readonly<JsonObject>): Promise<Found> {
  const email = textOf(body.email)
  const name = textOf(body.lastName) ?? textOf(body.firstName)
  if (email === undefined && name === undefined) return null
  return await readFirst(context, change.write, email === undefined ? { name: String(name) } : { email }, signal)
}

const sameText = (left: Json | undefined, right: Json | undefined): boolean =>
  (textOf(left)?.trim().toLowerCase() ?? '') === (textOf(right)?.trim().toLowerCase() ?? '')

export const userCreation: Kind = {
  makesRecord: true,
  comparesExisting: 'after-lost-answer',

  async prepare(delivery, given) {
    const prepared = preparedCreation(delivery.change.write, given, {})
    const alike = await readAlike(delivery, prepared.body)
    return alike === null ? prepared : { ...prepared, evidence: { ids: idsOf(alike) } }
  },

  verify: async (delivery, { body, evidence }) => (evidence.ids === undefined ? null : await readAlike(delivery, body)),

  decide(_, sent, found) {
    const why = 'Neither e-mail nor name was given by which the user could be found.'
    if (found === null) return { kind: 'unclear', why, candidates: [] }
    return theNewOne(found, sent, 'users', (record) =>
      (['email', 'firstName', 'lastName'] as const).every((name) => sameText(sent.body[name], get(record, name))),
    )
  },

  finish: async (delivery, sent, effect) => finishMaking(delivery, sent, effect),
  readBack: readWritten,
}
