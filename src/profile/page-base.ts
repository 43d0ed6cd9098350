// Whether lists count from 0 or from 1: as it is set, as it was detected, or probed now.

import { styles } from '../api/paging/styles.ts'
import type { PagingSettings } from '../config.ts'
import type { Queryable } from '../database/sql.ts'
import { pageBaseSetting, readDetected } from './detected-settings.ts'

/** The number of a list's first page. `none`: its pages have no numbers; `assumed`: too few records to detect it. */
export type PageBase = {
  readonly number: number
  readonly how: 'set' | 'none' | 'detected' | 'probed' | 'assumed'
}

/**
 * The number of a list's first page.
 * @param db where it is stored once it was detected; null: nowhere yet
 * @param probe requests pages 0 and 1; its answer is not stored
 */
export async function pageBaseOf(
  { style, pageBase }: PagingSettings,
  db: Queryable | null,
  probe: () => Promise<0 | 1 | null>,
): Promise<PageBase> {
  if (pageBase !== null) return { number: pageBase, how: 'set' }
  const { count } = styles[style]
  if (count === null) return { number: 0, how: 'none' }
  const detected = db === null ? null : await readDetected(db, pageBaseSetting)
  if (typeof detected?.value === 'number') return { number: detected.value, how: 'detected' }
  const probed = await probe()
  return probed === null ? { number: count.usualBase, how: 'assumed' } : { number: probed, how: 'probed' }
}
