// Who has just written reads what the API shows: the mirror may be older than that.

import type { StreamDef } from '../../catalog/types.ts'
import type { ServeContext } from '../context.ts'
import type { Caller } from '../types.ts'
import { unsettledFor } from '../writes/pending.ts'

/** Whether changes of this caller may show in a record, or below it, that are not settled. Who may not write has none. */
export const isUnsettled = async (
  { sync }: ServeContext,
  caller: Caller,
  stream: StreamDef,
  key: readonly string[],
): Promise<boolean> => caller.write && (await unsettledFor(sync.database.pool, caller, stream.name, key))
