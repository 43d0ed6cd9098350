// What a view of schema `report` is, as data.

import type { ViewDef } from '../database/repeatable-step.ts'

export type ReportView = Omit<ViewDef, 'schema' | 'columns'> & {
  readonly columns: Readonly<Record<string, readonly [sql: string, comment: string]>>
  /** The order in which a person wants to read it. */
  readonly orderBy: string
}
