// What the reader of one record's details answers.

import type { TableWrite } from '../../mirror/rows.ts'
import type { Outcome } from '../single.ts'

export type DetailRead = {
  readonly outcome: Outcome<{ readonly startedAt: Date }>
  readonly writes: readonly TableWrite[]
}
