// Records of a list that are in quarantine stand in it as they were received. So one record that cannot be mirrored does not keep
// the others from being served, and is never skipped silently.

import { convertValue } from '../../api/wire/convert.ts'
import { type Json, parseJson, stringifyJson } from '../../api/wire/json.ts'
import { companyStreamOf } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { identifier, literal } from '../../database/sql.ts'
import { personRedaction } from '../../sync/details/embeds.ts'
import { keyOf, valueAt } from '../../sync/records/project.ts'
import type { ServeContext } from '../context.ts'
import { notKnown, type Refusal } from '../problem.ts'
import type { Caller } from '../types.ts'
import type { ListQuery } from './list-query.ts'
import { isErasedPerson, named } from './states.ts'

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

/** A list with more of them is not answered: each adds to the statement. */
const mostShown = 100

type Asked = { readonly stream: StreamDef; readonly caller: Caller; readonly asked: ListQuery }

/** The condition that the last complete sweep of stream `s` showed the entry `q`, or that a read after it did. */
export const isShown = 'q.last_seen_at >= s.as_of'

/** @throws Refusal 503 */
const refuse = ({ name }: StreamDef, why: string): Refusal =>
  notKnown(`Records of ${name} cannot be mirrored, and ${why}: boat-mirror quarantine list`)

/**
 * The rows of a list with its quarantined records in them, as they were received.
 * @throws Refusal 503 where a record may not be shown, or its place in the list is not known
 */
export async function unmirroredSource({ sync }: ServeContext, list: Asked): Promise<ListSource> {
  const { stream, caller } = list
  const { pool } = sync.database
  // Only a row says to which company a record belongs.
  if (caller.companies !== null && companyStreamOf(stream) !== undefined)
    throw refuse(stream, 'they may belong to the companies of this token')
  // A payload that jsonb refuses is stored as a JSON string of its text.
  const { rows } = await pool.query<{ key: string; payload: string }>(
    `select q.key, case jsonb_typeof(q.payload) when 'string' then q.payload #>> '{}' else q.payload::text end as payload
     from sync.quarantine q join sync.streams s on s.stream = q.stream where q.stream = $1 and ${isShown} order by q.key limit $2`,
    [stream.name, mostShown + 1],
  )
  if (rows.length > mostShown) throw refuse(stream, `there are more than ${mostShown}`)
  const records = rows.map(({ key, payload }) => ({ key, record: parseJson(payload).value }))
  for (const { key, record } of records) {
    if (keyOf(stream, record, sync.settings.timeZone)?.join() !== key) throw refuse(stream, 'one has no id')
    if (await isErasedPerson(pool, stream, [key])) throw refuse(stream, 'one is about a person who was erased')
  }
  const redact = await personRedaction(pool, stream, records)
  return sourceOf(
    list,
    records.map(({ key, record }) => placed(list, key, redact(record), sync.settings.timeZone)),
  )
}

/** A record with the values that decide whether and where it stands in a list. */
type Placed = {
  readonly key: string
  readonly values: readonly (string | null)[]
  readonly day: string | null
  readonly text: string
}

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
  return { key, values, day: typeof day === 'string' ? day : null, text: stringifyJson(record) }
}

/** The rows of the table without those of the records, and the records. */
function sourceOf({ stream, asked }: Asked, records: readonly Placed[]): ListSource {
  const columns = columnsOf(stream, asked)
  const [key = ''] = stream.key
  return {
    text: 'coalesce(t._text, t._payload::text)',
    from: (parameter) => {
      const own = columns.map((name) => `m.${identifier(name)}`).join(', ')
      const given = parameter(JSON.stringify(records.map((each) => each.key)))
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
