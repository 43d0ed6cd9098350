// The parameters of a read. Those of its path are keys of the mirror; of its query, those that it can answer, each once. Everything
// else is refused by name, because an answer that ignores a parameter looks like one that honours it.

import { parentOf } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { fieldProblem, Refusal } from '../problem.ts'
import type { Caller } from '../types.ts'

export type RawQuery = Readonly<Record<string, string | readonly string[] | undefined>>

/** Ends a request that asks what the mirror cannot answer. */
export const refuse = (parameter: string, message: string): Refusal =>
  new Refusal(fieldProblem(400, parameter, message))

const datePattern = /^\d{4}-\d{2}-\d{2}$/

/** Is it a day of the calendar, as YYYY-MM-DD? */
const isDate = (text: string): boolean =>
  datePattern.test(text) &&
  Number.isFinite(Date.parse(`${text}T00:00:00Z`)) &&
  new Date(`${text}T00:00:00Z`).toISOString().startsWith(text)

/** Parameters of the API that change an answer in a way that the mirror never read: false says nothing, true is refused. */
const switches: Readonly<Record<string, string>> = {
  test: 'The mirror holds no test resources.',
  withMandatoryOptions: 'The mirror holds prices without mandatory options.',
}

export class Query {
  readonly #raw: RawQuery
  readonly #left: Set<string>

  /** @param ignored parameters that are not the read's: the credential's */
  constructor(raw: RawQuery, ignored: readonly string[] = []) {
    this.#raw = raw
    this.#left = new Set(Object.keys(raw).filter((name) => !ignored.includes(name)))
  }

  has(name: string): boolean {
    return this.#left.has(name)
  }

  /** The value of a parameter; undefined: it is not there, or empty, which the API takes for the same. */
  take(name: string): string | undefined {
    this.#left.delete(name)
    const value = this.#raw[name]
    if (value === undefined || value === '') return undefined
    if (typeof value !== 'string') throw refuse(name, 'must be given once')
    if (value.includes('\0')) throw refuse(name, 'must not hold a NUL')
    return value
  }

  required(name: string): string {
    const value = this.take(name)
    if (value === undefined) throw refuse(name, 'is required')
    return value
  }

  date(name: string): string | undefined {
    const value = this.take(name)
    if (value !== undefined && !isDate(value)) throw refuse(name, 'must be a date, YYYY-MM-DD')
    return value
  }

  requiredDate(name: string): string {
    const value = this.date(name)
    if (value === undefined) throw refuse(name, 'is required')
    return value
  }

  whole(name: string, { least, most }: { readonly least: number; readonly most: number }): number | undefined {
    const value = this.take(name)
    if (value === undefined) return undefined
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= least && number <= most)) throw refuse(name, `must be a whole number from ${least} to ${most}`)
    return number
  }

  choice(name: string, values: readonly string[]): string | undefined {
    const value = this.take(name)
    if (value !== undefined && !values.includes(value)) throw refuse(name, `must be one of ${values.join(', ')} here`)
    return value
  }

  /** Switches of the API that may be there as long as they change nothing. */
  off({ switches: names = [] }: Pick<StreamDef, 'switches'>): void {
    for (const name of names) {
      const value = this.take(name)
      if (value !== undefined && value !== 'false') throw refuse(name, switches[name] ?? 'must be false here')
    }
  }

  /** To be called when all known parameters were taken. */
  end(): void {
    const [first] = this.#left
    if (first !== undefined) throw refuse(first, 'the mirror cannot answer this parameter')
  }
}

type Params = Readonly<Record<string, string>>

/** A parameter as a value of a key column: whole numbers without leading zeros. @throws Refusal 400 */
function keyValue(stream: StreamDef, column: string, { name, value }: { name: string; value: string }): string {
  if (columnType(stream, column) === 'bigint') {
    if (!/^-?\d{1,18}$/.test(value)) throw refuse(name, 'must be a whole number')
    return String(BigInt(value))
  }
  if (value.includes('\0') || !value.isWellFormed()) throw refuse(name, 'must be a text that can be stored')
  return value
}

/** The key of the record that a child's path names above it. */
export function parentKeyOf(stream: StreamDef, params: Params): readonly string[] {
  const parent = parentOf(stream)
  return (stream.parentParams ?? []).map((name, index) =>
    parent === undefined ? '' : keyValue(parent, parent.key[index] ?? '', { name, value: params[name] ?? '' }),
  )
}

/** The key of the record that a single read names. */
export function recordKeyOf(stream: StreamDef, param: string, params: Params): readonly string[] {
  const own = keyValue(stream, stream.key.at(-1) ?? '', { name: param, value: params[param] ?? '' })
  return [...parentKeyOf(stream, params), own]
}

export type ReadRequest = {
  readonly caller: Caller
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  /** Query the API itself first: `?fresh=1` of a read that answers one record, or `Cache-Control: no-cache`. */
  readonly fresh: boolean
  /** Where the API can't be asked, no stored record does: `Cache-Control: stale-if-error=0`. */
  readonly noStale: boolean
  /** The query as it came, without what carries a credential. */
  readonly search: string
}

export type Served = {
  /** JSON text, or its bytes in UTF-8. */
  readonly body: string | Buffer
  /** Everything older than this upstream is in it. */
  readonly asOf: Date
  /** Without quotes. */
  readonly tag: string
  readonly headers?: Readonly<Record<string, string>>
}

export type Handler = (request: ReadRequest) => Promise<Served>
