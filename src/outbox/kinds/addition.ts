// Adds to a collection: options, payments and crew members of a rental. After a lost answer it is the one new id with this
// content; that nothing was added is proven where every new one is certainly another.

import { idsOf, readCollection } from '../reads.ts'
import type { Kind } from './kind.ts'
import { byIdentity, inFull, ownAmong, theNewOne } from './new-record.ts'
import { finishMaking, goneOrAwaited, preparedCreation, readWritten } from './shared.ts'

export const addition: Kind = {
  makesRecord: true,
  comparesExisting: true,

  async prepare(delivery, given) {
    const { context, change, signal } = delivery
    const present = await readCollection(context, change.write, given.params, signal)
    return present === null
      ? await goneOrAwaited(delivery)
      : preparedCreation(change.write, given, { ids: idsOf(present) })
  },

  async verify(delivery, sent) {
    const { context, change, signal } = delivery
    const found = await readCollection(context, change.write, sent.params, signal)
    return found && (await ownAmong(delivery, sent, await inFull(delivery, sent, found)))
  },

  decide: (write, sent, found, timeZone) =>
    found === null
      ? { kind: 'gone' }
      : theNewOne(found, sent, { ...byIdentity(write, sent, timeZone), what: 'new records', showsAll: true }),

  finish: async (delivery, sent, effect) => finishMaking(delivery, sent, effect),
  readBack: readWritten,
}
