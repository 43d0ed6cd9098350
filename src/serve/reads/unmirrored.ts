// Records of a list that are in quarantine: the API is asked for each, alone, and it stands in the list as it was answered. So one
// record that cannot be mirrored does not keep the others from being served, and is never skipped silently.

import { convertValue } from '../../api/wire/convert.ts'
import { type Json, stringifyJson } from '../../api/wire/json.ts'
import { companyStreamOf } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import { isContentKey } from '../../catalog/keys.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { identifier, literal } from '../../database/sql.ts'
import { keyOf, valueAt } from '../../sync/records/project.ts'
import type { ServeContext } from '../context.ts'
import type { Refusal } from '../problem.ts'
import type { Caller } from '../types.ts'
import type { ListQuery } from './list-query.ts'
import { isErasedPerson, named, notKnown } from './states.ts'
import type { Through } from './through.ts'

/** Where the rows `t` of a list come from. */
export type ListSource = {
  /** A relation; `parameter` adds a value to the statement. */
  readonly from: (parameter: (value: string) => string) => string
  /** JSON text of a row's record. */
  readonly text: string
}

export const tableOf = ({ name }: StreamDef): ListSource => ({
  from: () => `mirror.${identifier(name)}`,
  text: 't._payload::text',
})

/** More of them are not asked for: then the list is not answered. */
const mostAsked = 20

/** `content`: a hash of the record as it was refused. */
type Entry = { readonly key: string; readonly content: string }

/** What the API answered of a record, null: it does not exist; and of which entry and list that holds. */
type Answered = { readonly record: Json | null; readonly content: string; readonly asOf: number }

type Asked = {
  readonly stream: StreamDef
  readonly caller: Caller
  readonly asked: ListQuery
  /** When the list was complete. An answer that came later is as good for it. */
  readonly asOf: Date
}

export type Unmirrored = {
  /** The rows of the list with these records in them. @throws Refusal 503 where one is not known, or its place is not */
  source(list: Asked): Promise<ListSource>
}

const cannotBe = (count: number | string, { name }: StreamDef): string =>
  `${count} records of ${name} cannot be mirrored: boat-mirror quarantine list`

/** Asks the API for what cannot be mirrored: once after each complete reading of the list, and when the entry's record changes. */
export function createUnmirrored({ sync }: ServeContext, through: Through): Unmirrored {
  const { timeZone } = sync.settings
  const known = new Map<string, ReadonlyMap<string, Answered>>()

  const entriesOf = async ({ name }: StreamDef): Promise<readonly Entry[]> => {
    const { rows } = await sync.database.pool.query<Entry>(
      'select key, md5(payload::text) as content from sync.quarantine where stream = $1 order by key limit $2',
      [name, mostAsked + 1],
    )
    return rows
  }

  /** The API's record; undefined: it can be mirrored by now. */
  const ask = async ({ stream, caller }: Asked, key: string): Promise<Json | null | undefined> => {
    if (stream.reads.kind !== 'list' || isContentKey(key)) throw notKnown(cannotBe('Some', stream))
    const { endpoint, param } = stream.reads.single
    if (await isErasedPerson(sync.database.pool, stream, [key])) throw notKnown(cannotBe('Some', stream))
    const said = await through.record(caller, { stream, endpoint, params: { [param]: key }, key })
    const what = named(stream, [key])
    if (said.kind === 'failed')
      throw notKnown(`${what} cannot be mirrored, and the API could not be asked for it.`, said.retryAfterS)
    if (said.kind === 'gone') return null
    if (said.stored) return undefined
    if (keyOf(stream, said.body, timeZone)?.join() !== key)
      throw notKnown(`${what} cannot be mirrored, and the API answers another record for it.`)
    return said.body
  }

  const answersOf = async (list: Asked): Promise<ReadonlyMap<string, Json | null>> => {
    const { stream, asOf } = list
    const before = known.get(stream.name)
    const holds = ({ key, content }: Entry): boolean => {
      const answer = before?.get(key)
      return answer !== undefined && answer.content === content && answer.asOf === asOf.getTime()
    }
    const entries = await entriesOf(stream)
    if (entries.length > mostAsked) throw notKnown(cannotBe(`More than ${mostAsked}`, stream))
    const toAsk = entries.filter((entry) => !holds(entry))
    const answers = new Map<string, Json | null | undefined>(
      await Promise.all(
        toAsk.map(async ({ key }): Promise<[string, Json | null | undefined]> => [key, await ask(list, key)]),
      ),
    )
    // Asking may have changed the entries.
    const now = new Map<string, Answered>()
    for (const { key, content } of toAsk.length === 0 ? entries : await entriesOf(stream)) {
      const record = answers.has(key) ? answers.get(key) : before?.get(key)?.record
      if (record === undefined) throw notKnown(`${named(stream, [key])} has just changed.`, 1)
      now.set(key, { record, content, asOf: asOf.getTime() })
    }
    known.set(stream.name, now)
    return new Map([...now].map(([key, { record }]) => [key, record]))
  }

  return {
    source: async (list) => {
      const { stream, caller } = list
      // Of which company the record is, only a row says.
      if (caller.companies !== null && companyStreamOf(stream) !== undefined)
        throw notKnown('A record that cannot be mirrored may belong to the companies of this token.')
      const answers = await answersOf(list)
      const records = [...answers].flatMap(([key, record]) =>
        record === null ? [] : [placed(list, key, record, timeZone)],
      )
      return sourceOf(list, [...answers.keys()], records)
    },
  }
}

/** A record with the values that decide whether and where it stands in a list. */
type Placed = { readonly values: readonly (string | null)[]; readonly day: string | null; readonly text: string }

/** Columns that a list needs of each row. */
const columnsOf = (stream: StreamDef, { order, uses }: ListQuery): readonly string[] => [
  ...new Set([...stream.key, ...order, ...uses]),
]

/** @throws Refusal 503 where the value of a column is not known: it was read from elsewhere, or is why the record has no row */
function placed({ stream, asked }: Asked, key: string, record: Json, timeZone: string): Placed {
  const unplaced = (column: string): Refusal =>
    notKnown(`${named(stream, [key])} cannot be mirrored, and its ${column} does not say whether it is on this list.`)
  const values = columnsOf(stream, asked).map((name) => {
    const column = stream.columns.find((each) => each.name === name)
    if (column === undefined || column.path === null) throw unplaced(name)
    const converted = convertValue(column.type, valueAt(record, column.path), timeZone)
    if (!converted.ok || converted.text?.includes('\0')) throw unplaced(name)
    return converted.text
  })
  const day = asked.range === null ? null : (valueAt(record, asked.range.path) ?? null)
  return { values, day: typeof day === 'string' ? day : null, text: stringifyJson(record) }
}

/** The rows of the table without those of these keys, and the records. */
function sourceOf({ stream, asked }: Asked, keys: readonly string[], records: readonly Placed[]): ListSource {
  const columns = columnsOf(stream, asked)
  const [key = ''] = stream.key
  return {
    text: 'coalesce(t._text, t._payload::text)',
    from: (parameter) => {
      const own = columns.map((name) => `m.${identifier(name)}`).join(', ')
      const given = parameter(JSON.stringify(keys))
      const added = records.map(({ values, day, text }) => {
        const cells = columns.map((name, index) => {
          const value = values[index] ?? null
          return `${value === null ? 'null' : parameter(value)}::${columnType(stream, name)}`
        })
        const payload =
          asked.range === null || day === null
            ? `'{}'::jsonb`
            : `jsonb_build_object(${literal(asked.range.path)}, ${parameter(day)}::text)`
        return `union all select ${cells.join(', ')}, null, '', ${payload}, ${parameter(text)}::text`
      })
      return `(select ${own}, m._deleted_at, m._source, m._payload, null::text as _text from mirror.${identifier(stream.name)} m
        where m.${identifier(key)}::text <> all (select jsonb_array_elements_text(${given}::jsonb)) ${added.join('\n')})`
    },
  }
}
