// What the reader of one record's details answers.

import type { TableWrite } from '../../../mirror/rows.ts'
import type { Outcome } from '../single.ts'

export type DetailRead = {
  readonly outcome: Outcome<{ readonly startedAt: Date }>
  /** Also what was received before a further read failed: it is kept, and replaces nothing that it cannot vouch for. */
  readonly writes: readonly TableWrite[]
}
