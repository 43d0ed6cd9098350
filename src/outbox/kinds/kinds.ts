// Which kind of write an operation is; and the simplest kind, removal.

import { streamNamed } from '../../catalog/catalog.ts'
import type { WriteDef } from '../../catalog/types.ts'
import { responseOf } from '../outcome.ts'
import { isAbsent, readRecord, rootOf } from '../reads.ts'
import { assignment, document } from './at-most-one.ts'
import { addition, userCreation } from './creation.ts'
import type { Kind } from './kind.ts'
import { rentalCreation } from './rental-creation.ts'
import { done, notTaken, one, took } from './shared.ts'
import { update } from './update.ts'

const kinds: Readonly<Record<WriteDef['kind'], (write: WriteDef) => Kind>> = {
  update: () => update,
  delete: () => removal,
  remove: () => removal,
  assign: () => assignment,
  create: ({ aggregate }) => (aggregate === 'user' ? userCreation : rentalCreation),
  add: ({ stream }) => (streamNamed(stream).reads.kind === 'document' ? document : addition),
}

export const kindOf = (write: WriteDef): Kind => kinds[write.kind](write)

export const removal: Kind = {
  prepare: async (_, { params }) => ({
    kind: 'prepared',
    params,
    body: {},
    applied: {},
    evidence: {},
    warnings: [],
  }),

  verify: async (delivery, { params }) => one(await readRecord(delivery, params)),

  decide: (_write, _sent, found) => (found?.length === 0 ? took(null) : notTaken),

  finish: async ({ context, change }, { params, warnings }, { response }) => {
    const { write } = change
    const settled = done(change, params)
    const stream = streamNamed(write.stream)
    const keys = [settled.recordKey ?? []]
    return {
      ...settled,
      response,
      warnings,
      mirror: { tombstones: [{ stream, keys, source: write.endpoint, readAt: context.clock.now() }] },
      // Nothing is left to be read again of an aggregate whose root is gone.
      rootId: rootOf(write).stream === stream ? null : settled.rootId,
    }
  },

  refused: async (delivery, sent, error) =>
    isAbsent(error) ? await removal.finish(delivery, sent, { response: responseOf(error), seen: null }) : null,
}
