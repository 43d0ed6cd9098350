// Adds to a collection: options, payments and crew members of a rental. After a lost answer it is the one new id with this
// content.

import { goneOrAwaited } from '../own-writes.ts'
import { idsOf, readCollection } from '../reads.ts'
import type { Kind } from './kind.ts'
import { finishMaking, holdsContent, preparedCreation, readWritten, theNewOne } from './shared.ts'

export const addition: Kind = {
  makesRecord: true,
  comparesExisting: 'after-lost-answer',

  async prepare(delivery, given) {
    const { context, change, signal } = delivery
    const present = await readCollection(context, change.write, given.params, signal)
    return present === null
      ? await goneOrAwaited(delivery)
      : preparedCreation(change.write, given, { ids: idsOf(present) })
  },

  verify: ({ context, change, signal }, { params }) => readCollection(context, change.write, params, signal),

  decide: (write, sent, found) =>
    found === null
      ? { kind: 'gone' }
      : theNewOne(found, sent, 'new records', (record) => holdsContent(write, sent.body, record)),

  finish: async (delivery, sent, effect) => finishMaking(delivery, sent, effect),
  readBack: readWritten,
}
