// What a repeatable step is: SQL made from the catalog that may run any number of times, after the numbered migrations.

import { identifier } from './sql.ts'

export type RepeatableStep = {
  readonly name: string
  /** Replaced before `sql` runs. */
  readonly views?: readonly ViewDef[]
  /** One or more statements; one only when it takes values. */
  readonly sql: string
  readonly values?: readonly string[]
}

/** A view on which others may build. */
export type ViewDef = {
  readonly schema: string
  readonly name: string
  readonly comment: string
  /** Column → its SQL and its meaning. A view that is there already keeps the order it has; new columns go last. */
  readonly columns: Readonly<Record<string, readonly [sql: string, comment?: string]>>
  /** Everything from `from` on. */
  readonly source: string
  /** The text before `select`. */
  readonly with?: string
  readonly securityBarrier?: boolean
  /** Our functions that return its rows, as `drop function` names them: a step creates them again. */
  readonly functions?: readonly string[]
}

/** The select of a view, its columns in this order. */
export function selectOf(view: Pick<ViewDef, 'columns' | 'source'>, order = Object.keys(view.columns)): string {
  const list = order.map((name) => `${view.columns[name]?.[0]} as ${identifier(name)}`)
  return `select ${list.join(',\n  ')}\n${view.source}`
}
