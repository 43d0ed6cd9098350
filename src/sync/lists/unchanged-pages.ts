// Pages of a list that need not be received again: the API says that they have the entity tag they had, and all rows they
// stand for are still as they left them.

import type { KeptPage, Page } from '../../api/client.ts'
import type { TaskRun } from '../context.ts'
import { comparesAged } from '../economy.ts'
import { hashOf, projectionVersion } from '../records/project.ts'
import type { KnownRecord } from '../remembered/known-records.ts'
import { keptNames, keptPage, type ListPage } from '../remembered/list-pages.ts'
import type { Checkpoint } from './progress.ts'

/** One hash for the hashes of a page's records. */
const hashOfPage = (hashes: readonly (string | null)[]): string => hashOf(hashes.join(' '))

/** What to store of a page. Headers, too, may show where the last one ends: it is received again each time. */
export function pageToKeep({ name, tag, next, items, unchanged }: Page, keys: readonly string[]): ListPage | null {
  if (name === undefined || tag === undefined || next === null || unchanged !== undefined) return null
  return { name, tag, keys, hash: hashOfPage(keys.map((_, index) => items.hash(index))), next }
}

/** The row is the record's own, made by this version and not to be compared anew: while its hash is the same, so is the row. */
const isProjected = (state: KnownRecord | undefined): state is KnownRecord =>
  state?.alive === true && !state.stub && !state.aged && state.projection === projectionVersion

/**
 * Finds what is kept of a page, for `ListCall.kept`. Each page is received whole once in a DETAIL_MAX_AGE all the same, so
 * that an API with wrong tags is found out; and in a full sync, a check, and further passes through a list that moved.
 */
export async function keptPages(
  run: TaskRun<'list'>,
  at: Checkpoint,
): Promise<(name: string) => Promise<KeptPage | null>> {
  const { context, stream, task, writer } = run
  const { pool } = context.database
  const isTrusted = !task.fullRead && at.pass === 1
  const aged = comparesAged(await writer.economy(run), stream)
  const names = isTrusted ? await keptNames(pool, stream.name, context.settings.detailMaxAgeMs) : new Set()
  return async (name) => {
    const page = names.has(name) ? await keptPage(pool, stream.name, name) : null
    if (page === null) return null
    const known = await writer.knownRecords(run, page.keys, aged)
    const records = page.keys.map((key) => known.get(key))
    return records.every(isProjected) && hashOfPage(records.map(({ listHash }) => listHash)) === page.hash ? page : null
  }
}
