// Why something is read, or asked for: each task carries the number of its reason, and the view `sync.reasons` names it.

import type { RepeatableStep } from '../../database/repeatable-step.ts'
import { literal } from '../../database/sql.ts'

/** What each reason means, to follow "because". The number of a reason is its place: a new one goes last. */
export const reasons = {
  new: 'its details have never been read',
  changed: 'a change was seen after its details were read',
  asked: 'a command, a full sync or a refresh asked for it',
  needed: 'reads that were skipped as redundant are needed now',
  aged: 'its details were read longer ago than DETAIL_MAX_AGE allows',
  soon: 'its details are no longer fresh, and it departs soon or is just back',
  always: 'changes to it leave no trace',
  sample: 'a sample shows whether the reads that repeat others are still redundant',
  complete: 'the whole stream is read on its schedule',
  hot: 'what is most likely to have changed is read more often',
  missing: 'a complete list did not show it',
  released: 'you released the deletions that a run held',
} as const

export type Reason = keyof typeof reasons

const names = `array[${Object.keys(reasons).map(literal).join(', ')}]`

/** The number of a reason, and the reason of a number, in SQL. */
export const reasonNumber = (reason: string): string => `array_position(${names}, ${reason})`
export const reasonOf = (number: string): string => `(${names})[${number}]`

export const reasonsView: RepeatableStep = {
  name: 'reasons-view',
  views: [
    {
      schema: 'sync',
      name: 'reasons',
      comment: 'Why something is read: the reasons of sync.tasks.',
      columns: {
        number: ['r.number', 'As in sync.tasks.reason.'],
        reason: ['r.reason', 'Its name.'],
        meaning: ['r.meaning', 'What it means.'],
      },
      source: `from unnest(${names}, array[${Object.values(reasons).map(literal).join(', ')}]) with ordinality as r(reason, meaning, number)`,
    },
  ],
  sql: '',
}
