// What a repeatable step is: SQL made from the catalog that may run any number of times, after the numbered migrations.

import pg from 'pg'

export type RepeatableStep = {
  readonly name: string
  /** One or more statements; one only when it takes values. */
  readonly sql: string
  readonly values?: readonly string[]
}

/** A text as a SQL literal. */
export const literal = (text: string): string => pg.escapeLiteral(text)

/** A name as a SQL identifier. */
export const identifier = (name: string): string => pg.escapeIdentifier(name)
