// Which kind of write an operation is.

import { streamNamed } from '../../catalog/catalog.ts'
import type { WriteDef } from '../../catalog/types.ts'
import { addition } from './addition.ts'
import { assignment } from './assignment.ts'
import { document } from './document.ts'
import type { Kind } from './kind.ts'
import { removal } from './removal.ts'
import { rentalCreation } from './rental-creation.ts'
import { update } from './update.ts'
import { userCreation } from './user-creation.ts'

const kinds: Readonly<Record<WriteDef['kind'], (write: WriteDef) => Kind>> = {
  update: () => update,
  delete: () => removal,
  remove: () => removal,
  assign: () => assignment,
  create: ({ aggregate }) => (aggregate === 'user' ? userCreation : rentalCreation),
  add: ({ stream }) => (streamNamed(stream).reads.kind === 'document' ? document : addition),
}

/** The kind of a write operation. */
export const kindOf = (write: WriteDef): Kind => kinds[write.kind](write)
