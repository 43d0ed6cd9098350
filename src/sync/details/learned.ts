// What a plan hands on when some of its reads repeat others: to its details, and to the plan of what is over. Pure.

import type { DueKey } from '../../state/due/due.ts'
import type { Task } from '../../state/runs/tasks.ts'

/** What a plan does next, and what it leaves to a later one. */
export type Learned = {
  /** Whose details are to be read now. */
  readonly due: readonly DueKey[]
  /** A share of what is coming told no more than what it repeats: of the rest of that such reads are left out from now on. */
  readonly isProvisional?: true
  /** What is over is planned, and learned from, once nothing of what is coming waits. */
  readonly hasRest?: true
}

/** Is this the plan of what is over, after that of what is coming? */
export const isRestPlan = ({ task }: { readonly task: Pick<Task, 'payload'> }): boolean =>
  (task.payload as { readonly rest?: boolean } | null)?.rest === true

/** Were the details of a task planned before what is over was learned from? */
export const isProvisional = (payload: unknown): boolean =>
  (payload as { readonly isProvisional?: boolean } | null)?.isProvisional === true
