// The query of a list: which records, in which order. From the catalog, so that a filter is described nowhere else.

import { windowsOf } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { addDays } from '../../clock.ts'
import { identifier, isStub } from '../../database/sql.ts'
import { type Query, refuse } from './query.ts'

/** Days of a column, both included, as the record writes them. */
export type DayRange = {
  readonly column: string
  /** The member of the record. */
  readonly path: string
  readonly from: string | undefined
  readonly to: string | undefined
  /** The parameters that ask for it. */
  readonly params: readonly string[]
}

export type ListQuery = {
  /** Conditions on rows `t`. */
  readonly where: string
  readonly values: readonly string[]
  /** Columns of the order, the last of them the key, and its direction. */
  readonly order: readonly string[]
  readonly descending: boolean
  /** Columns that the query filters by. */
  readonly uses: readonly string[]
  /** Columns that another stream's read fills, and that the query filters by: an empty one is unknown. */
  readonly filled: readonly string[]
  readonly range: DayRange | null
  /** The only filters are those that apply by default. */
  readonly isWhole: boolean
}

/** Rows of a list: alive, and read themselves. */
export const listed = `t._deleted_at is null and not ${isStub('t')}`

const orders: Readonly<Record<string, { readonly descending: boolean }>> = {
  creationDateAsc: { descending: false },
  creationDateDesc: { descending: true },
}

function orderOf(stream: StreamDef, query: Query): Pick<ListQuery, 'order' | 'descending'> {
  const created = windowsOf(stream)?.newest.column
  const asked = created === undefined ? undefined : query.choice('order', Object.keys(orders))
  const [key = ''] = stream.key
  if (asked === undefined || created === undefined) return { order: [key], descending: false }
  return { order: [created, key], descending: orders[asked]?.descending ?? false }
}

/** The days that a query asks for; of a window of which sync knows nothing, none is known. */
function rangeOf(stream: StreamDef, query: Query): DayRange | null {
  const soon = windowsOf(stream)?.soon
  if (soon === undefined) return null
  const [from, to] = [query.date(soon.from), query.date(soon.to)]
  if (from === undefined && to === undefined) return null
  const path = stream.columns.find(({ name }) => name === soon.column)?.path ?? ''
  const params = [soon.from, soon.to].filter((_, index) => [from, to][index] !== undefined)
  return { column: soon.column, path, from, to, params }
}

/** Parses the parameters of a list. @throws Refusal 400 for queries that the mirror cannot answer */
export function listQuery(stream: StreamDef, query: Query): ListQuery {
  const where = [listed]
  const values: string[] = []
  const add = (condition: (parameter: string) => string, value: string): void => {
    values.push(value)
    where.push(condition(`$${values.length}`))
  }
  const filters = stream.reads.kind === 'list' ? (stream.reads.filters ?? []) : []
  const filled: string[] = []
  const uses: string[] = []
  let isWhole = true
  for (const { param, column, values: allowed, otherwise } of filters) {
    const asked = allowed === undefined ? query.take(param) : query.choice(param, allowed)
    const value = asked ?? otherwise
    if (value === undefined) continue
    if (asked !== undefined && asked !== otherwise) isWhole = false
    const type = columnType(stream, column)
    if (type === 'bigint' && !/^-?\d{1,18}$/.test(value)) throw refuse(param, 'must be a whole number')
    uses.push(column)
    const name = `t.${identifier(column)}`
    // What does not say that it is deactivated is not.
    if (type === 'boolean') where.push(value === 'true' ? name : `${name} is not true`)
    else add((parameter) => `${name} = ${parameter}::${type}`, value)
    if (stream.filledBy?.columns.some((each) => each.column === column)) filled.push(column)
  }
  const range = rangeOf(stream, query)
  if (range !== null) {
    isWhole = false
    uses.push(range.column)
    const name = `t.${identifier(range.column)}`
    const day = `left(t._payload ->> '${range.path}', 10)`
    const { from, to } = range
    // The instant finds them by index: no zone is further away than a day.
    if (from !== undefined) {
      add((parameter) => `${name} >= ${parameter}::date`, addDays(from, -1))
      add((parameter) => `${day} >= ${parameter}`, from)
    }
    if (to !== undefined) {
      add((parameter) => `${name} < ${parameter}::date`, addDays(to, 2))
      add((parameter) => `${day} <= ${parameter}`, to)
    }
  }
  return { where: where.join(' and '), values, ...orderOf(stream, query), uses, filled, range, isWhole }
}

const isText = (stream: StreamDef, column: string): boolean =>
  stream.columns.some(({ name, type }) => name === column && type === 'text')

/** ORDER BY of rows `t`; texts by their bytes, whatever the database's collation is. */
export function orderSql(stream: StreamDef, { order, descending }: Pick<ListQuery, 'order' | 'descending'>): string {
  return order
    .map(
      (column) => `t.${identifier(column)}${isText(stream, column) ? ' collate "C"' : ''}${descending ? ' desc' : ''}`,
    )
    .join(', ')
}
