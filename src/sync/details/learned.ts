// What a plan passes on when some of its reads are redundant: to its details, and to the plan of past records. Pure.

import type { DueKey } from '../due/due.ts'
import type { Task } from '../runs/tasks.ts'

/** What a plan does next, and what it leaves to a later one. */
export type Learned = {
  /** The records whose details to read now. */
  readonly due: readonly DueKey[]
  /**
   * A share of the coming records showed no more than what it repeats: for the rest of them, these reads are skipped
   * from now on.
   */
  readonly isProvisional?: true
  /** Past records are planned, and learned from, once no coming record waits. */
  readonly hasRest?: true
}

/** Whether this is the plan of past records, after that of coming ones. */
export const isRestPlan = ({ task }: { readonly task: Pick<Task, 'payload'> }): boolean =>
  (task.payload as { readonly rest?: boolean } | null)?.rest === true

/** Whether the details of a task were planned before past records were learned from. */
export const isProvisional = (payload: unknown): boolean =>
  (payload as { readonly isProvisional?: boolean } | null)?.isProvisional === true
