// Creations that are found again by their content: what is added to a collection of a rental (options, payments, crew members), and a
// new user.

import { type JsonObject, textOf } from '../../api/wire/json.ts'
import { normalText } from '../likeness.ts'
import { idsOf, type LookUp, type Params, readCollection, readFiltered, readRecord } from '../reads.ts'
import type { Delivery, Kind } from './kind.ts'
import { byIdentity, inFull, ownAmong, theNewOne } from './new-record.ts'
import { finishMaking, goneOrAwaited, preparedCreation, unclear } from './shared.ts'

export const addition: Kind = {
  makesRecord: true,
  async prepare(delivery, given) {
    const present = await readCollection(delivery, given.params)
    return present === null
      ? await goneOrAwaited(delivery)
      : preparedCreation(delivery.change.write, given, { ids: idsOf(present) })
  },

  async verify(delivery, sent) {
    const found = await readCollection(delivery, sent.params)
    return found && (await ownAmong(delivery, sent, await inFull(delivery, sent, found)))
  },

  decide: (write, sent, found, timeZone) =>
    found === null
      ? { kind: 'gone' }
      : theNewOne(found, sent, { ...byIdentity(write, sent, timeZone), what: 'new records', showsAll: true }),

  finish: async (delivery, sent, effect) => finishMaking(delivery, sent, effect),
  readBack: readRecord,
}

/** The spellings in which an API may store a text. */
const spellings = (text: string | undefined, rewritten: (text: string) => string): readonly string[] =>
  [...new Set(text === undefined ? [] : [text, rewritten(text)])].filter((each) => each.trim() !== '')

const tidied = (text: string): string => text.normalize('NFKC').replace(/\s+/gu, ' ').trim()

/** The filters for a user: every spelling of the e-mail, and of the last or first name. */
const filtersFor = (body: Readonly<JsonObject>): readonly Params[] => [
  ...spellings(textOf(body.email), (text) => normalText(text).normalize('NFC')).map((email) => ({ email })),
  ...spellings(textOf(body.lastName) ?? textOf(body.firstName), tidied).map((name) => ({ name })),
]

/** Users like the described one; null if neither e-mail nor name was given. @throws ApiError */
async function readAlike(delivery: Delivery, body: Readonly<JsonObject>): Promise<LookUp | null> {
  const filters = filtersFor(body)
  if (filters.length === 0) return null
  const lookUps = await Promise.all(filters.map((filter) => readFiltered(delivery, filter)))
  const byId = new Map(lookUps.flatMap(({ found }) => found.map((seen) => [idsOf([seen])[0] ?? seen, seen] as const)))
  return { found: [...byId.values()], showsAll: lookUps.every(({ showsAll }) => showsAll) }
}

export const userCreation: Kind = {
  makesRecord: true,
  async prepare(delivery, given) {
    const prepared = preparedCreation(delivery.change.write, given, {})
    const alike = await readAlike(delivery, prepared.body)
    if (alike === null) return prepared
    return { ...prepared, evidence: { ids: idsOf(alike.found), ...(!alike.showsAll && { partial: true }) } }
  },

  async verify(delivery, sent) {
    const alike = sent.evidence.ids === undefined ? null : await readAlike(delivery, sent.body)
    return alike && (await ownAmong(delivery, sent, await inFull(delivery, sent, alike.found)))
  },

  decide(write, sent, found, timeZone) {
    if (found === null) return unclear('The change has neither e-mail nor name, so the user cannot be found.', [])
    const showsAll = sent.evidence.partial !== true
    return theNewOne(found, sent, { ...byIdentity(write, sent, timeZone), what: 'users', showsAll })
  },

  finish: async (delivery, sent, effect) => finishMaking(delivery, sent, effect),
  readBack: readRecord,
}
