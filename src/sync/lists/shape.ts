// The shape in which the API answers each list: found out by each complete sweep, stored for those who answer in its stead.

import { isDeepStrictEqual } from 'node:util'
import type { Page } from '../../api/client.ts'
import type { ListShape } from '../../api/paging/envelope.ts'
import type { Queryable } from '../../database/sql.ts'
import { readProfile, saveDetected } from '../../profile/detected-settings.ts'
import type { TaskRun } from '../context.ts'

/** `isWhole`: the list fitted on the page that showed its shape, so that it may show less of it than a longer list. */
type FoundShape = ListShape & { readonly isWhole: boolean }

const prefix = 'shape:'

/** The name of the detected setting. */
export const shapeSetting = (stream: string): string => `${prefix}${stream}`

/** The pages of a list, of which the first shows its shape. @param known what was stored of it before */
export async function* notingShape(
  { context, stream }: TaskRun<'list'>,
  pages: AsyncGenerator<Page>,
  known: unknown,
): AsyncGenerator<Page> {
  for await (const page of pages) {
    if (page.shape !== undefined) {
      const found: FoundShape = { ...page.shape, isWhole: page.next === null }
      if (!isDeepStrictEqual(found, known)) await saveDetected(context.database.pool, shapeSetting(stream.name), found)
    }
    yield page
  }
}

/** The shapes that were found out, by stream. */
export async function readShapes(db: Queryable): Promise<ReadonlyMap<string, FoundShape>> {
  const settings = [...(await readProfile(db)).values()]
    .filter(({ key }) => key.startsWith(prefix))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
  return new Map(settings.map(({ key, value }) => [key.slice(prefix.length), value as FoundShape]))
}

/**
 * The shape of a list; null: it was not found out yet. What a list of one page does not show is taken from a longer list whose
 * records stand at the same place.
 */
export function shapeAmong(shapes: ReadonlyMap<string, FoundShape>, stream: string): ListShape | null {
  const own = shapes.get(stream)
  if (own === undefined || !own.isWhole) return own ?? null
  const longer = [...shapes.values()].find(({ isWhole, items }) => !isWhole && isDeepStrictEqual(items, own.items))
  return {
    items: own.items,
    total: own.total ?? longer?.total ?? null,
    next: own.next?.kind ? own.next : (longer?.next ?? own.next),
  }
}
