// The shapes of lists as syncs found them out, remembered for a while.

import type { ListShape } from '../../api/paging/envelope.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { PagingSettings } from '../../config.ts'
import type { Queryable } from '../../database/sql.ts'
import { readShapes, shapeAmong } from '../../sync/lists/shape.ts'
import { shapeSet } from './paging.ts'

/** How long they are remembered, in milliseconds: an API seldom changes them. */
const shapesMs = 30_000

/** Finds the shape of a list; the settings say what was not found out. A list that is not known is looked up each time. */
export function createShapes(db: Queryable): (stream: StreamDef, paging: PagingSettings) => Promise<ListShape> {
  let known: { readonly shapes: Awaited<ReturnType<typeof readShapes>>; readonly at: number } | null = null
  return async ({ name }, paging) => {
    if (known === null || performance.now() - known.at > shapesMs || !known.shapes.has(name))
      known = { shapes: await readShapes(db), at: performance.now() }
    const [found, set] = [shapeAmong(known.shapes, name), shapeSet(paging)]
    return found === null ? set : { ...found, total: found.total ?? set.total, next: found.next ?? set.next }
  }
}
