// `check` of the totals that an API reports: whether a list ends on the page that follows from its total. A wrong total keeps every run
// from being complete.

import { ignored } from '../api/paging/envelope.ts'
import { keysOfPage } from '../api/paging/page-memory.ts'
import { pastEndStatuses } from '../api/paging/page-source.ts'
import { styles } from '../api/paging/styles.ts'
import { ApiError, BoatMirrorError } from '../errors.ts'
import type { ProbeApi } from '../sync/preflight.ts'
import type { CheckedStream } from './check-list.ts'
import { type Finding, warn } from './findings.ts'

/** A list whose pages can be requested by number. */
type Counted = { readonly stream: string; readonly total: number; readonly seen: NonNullable<CheckedStream['seen']> }

/** The page on which a list must end by its total, and what was found. */
type Ending = {
  readonly total: number
  /** Records of a full page. */
  readonly size: number
  /** Records of the page that must be the last. */
  readonly last: number
  /** Records after that page. */
  readonly beyond: number
}

/** Checks the total of the longest list, on two pages. @returns nothing if it is right, or cannot be checked */
export async function checkTotals(
  probe: ProbeApi,
  lists: readonly CheckedStream[],
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  // Equal totals may all be a limit. Then the list that grows most counts, which is the last in the catalog.
  const longest = lists
    .flatMap(countedOf)
    .reverse()
    .sort((a, b) => b.total - a.total)[0]
  if (longest === undefined) return []
  const { stream, total } = longest
  try {
    const problem = wrongTotal(await endingOf(probe, longest))
    if (problem === null) return []
    const remedy = `If a second check reports the same, the total is wrong and no run of ${stream} can be complete. Set API_TOTAL_PATH=${ignored}, or lists.${stream}.totalPath: ${ignored} in the configuration file.`
    return [warn(`total ${stream}`, `the API reports a total of ${total}, but ${problem}`, remedy)]
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof BoatMirrorError) return [] // a problem of the list itself has been reported already
    throw error
  }
}

function countedOf({ stream, seen }: CheckedStream): readonly Counted[] {
  const first = seen?.pages[0]
  if (!seen || !first || first.total === null || first.items.length === 0) return []
  return styles[seen.call.paging.style].count === null ? [] : [{ stream, total: first.total, seen }]
}

async function endingOf(probe: ProbeApi, { total, seen }: Counted): Promise<Ending> {
  const { call, base, pages } = seen
  const size = pages[0]?.items.length ?? 0
  const lastIndex = Math.max(0, Math.ceil(total / size) - 1)
  const keysAt = async (index: number): Promise<readonly string[]> => {
    const known = pages[index]
    if (known !== undefined) return keysOfPage(known.items)
    const from = String(styles[call.paging.style].count?.number(base, index * size, size))
    let keys: readonly string[] = []
    try {
      await probe.attempt(async (api, attempt) => {
        const at = { ...call, pageBase: base, from, maxPages: 1, signal: attempt }
        for await (const page of api.list(at)) keys = keysOfPage(page.items)
      })
      return keys
    } catch (error) {
      if (error instanceof ApiError && pastEndStatuses.has(error.status)) return []
      throw error
    }
  }
  const last = await keysAt(lastIndex)
  // After the end, some lists repeat their last page, or their first.
  const known = new Set([...last, ...(await keysAt(0))])
  const beyond = (await keysAt(lastIndex + 1)).filter((key) => !known.has(key))
  return { total, size, last: last.length, beyond: beyond.length }
}

/** Why a total is wrong; null: it is not. Pure. */
export function wrongTotal({ total, size, last, beyond }: Ending): string | null {
  const expected = total - Math.max(0, Math.ceil(total / size) - 1) * size
  if (beyond > 0) return `more records follow the page that should be the last`
  if (last === 0) return 'the page that should be the last is empty'
  return last === expected ? null : `the page that should be the last has ${last} records instead of ${expected}`
}
