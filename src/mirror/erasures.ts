// What `privacy apply` erases of schemas mirror and sync: one list of tables as data. A record that may hold a person keeps its
// key, its columns that are not personal and a mark, and it is due. Until it is read again, its mark says that its personal
// values are unknown: `serve` asks the API instead, and a change has no base of them (outbox.mirrored).

import { holdsPerson, parentOf, personalColumns, streamNamed, streams } from '../catalog/catalog.ts'
import { isContentKeySql } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import { identifier, keyTextSql, literal } from '../database/sql.ts'
import type { Erasure } from '../privacy/apply.ts'
import { personalNames } from '../privacy/protect.ts'
import { keyObject } from './diff-sql.ts'
import { logWithout } from './feed.ts'

/** The member of a payload whose personal values were erased, and which was not read again since. */
export const erasedMember = '_erased'

/** SQL: whether the payload of a row was erased and not read again. */
export const isErased = (row: string): string => `${row}._payload ? '${erasedMember}'`

/**
 * The same of a payload's text, as Postgres writes it. Inside a text, the quotes would be escaped. A search from a quote stops at
 * each of them: 2.3 µs for a rental instead of 0.7.
 */
export const lacksErased = (payload: string): boolean =>
  payload.includes(`${erasedMember}": true`) && payload.includes(`"${erasedMember}": true`)

/** A reason of quarantine ends with this and the value that it quotes: a regular expression, here and in Postgres. */
export const quote = '(?:,? got |: "|").*'

/** The error of a refused write may quote the row. The second wording is that of earlier versions. */
const ofPartner = ' (does not belong to Boat Mirror|is not of this program)'
const withheld = 'A trigger or constraint that does not belong to Boat Mirror refused a write.'

/** A reason without the value that it quotes. */
export const withoutQuote = (reason: string): string =>
  new RegExp(ofPartner).test(reason) ? withheld : reason.replace(new RegExp(quote, 's'), '')

const withoutRow = (text: string, otherwise = text): string =>
  `case when ${text} ~ ${literal(ofPartner)} then ${literal(withheld)} else ${otherwise} end`

/** Whether a text may quote a row. The one that replaces it has the same words. */
const quotesRow = (text: string): string => `(${text} ~ ${literal(ofPartner)} and ${text} <> ${literal(withheld)})`

const array = (names: readonly string[]): string => `array[${names.map(literal).join(', ')}]::text[]`

/** Whether a member with a name of a personal field is in JSON, at any depth. In a text, the quotes would be escaped. */
const namesPerson = (json: string): string => `(${json})::text ~ '"(${personalNames.join('|')})": '`

/** Members that are known and called as a personal field is, as Postgres writes paths: the address of a company. */
function knownPaths({ columns, embeds = [], alsoKnown = [] }: StreamDef): readonly string[] {
  const own = [...columns.flatMap(({ path }) => path ?? []), ...alsoKnown, ...embeds.map(({ path }) => path)]
  const inside = embeds.flatMap(({ path, stream }) => knownPaths(streamNamed(stream)).map((each) => `${path}.${each}`))
  const upTo = (path: string): readonly string[] => {
    const steps = path.split('.')
    const place = steps.findIndex((step) => personalNames.includes(step))
    return place < 0 ? [] : [steps.slice(0, place + 1).join('.')]
  }
  return [...new Set([...own, ...inside].flatMap(upTo))]
}

const persons = streams.filter(holdsPerson)

/** What the log shows of these streams that is personal. */
const logged = (stream: StreamDef): readonly string[] => [...personalColumns(stream), '_payload']

const update =
  (table: string, set: string): Erasure['erase'] =>
  (rows) =>
    `update ${table} t set ${set} where ${rows}`

/** SQL that adds what stays of members that hold a code, such as `language.code`: their column stays, and so does their base. */
function codesOf({ columns }: StreamDef): string {
  const codes = new Map<string, string[]>()
  for (const { path, personal } of columns) {
    const [member = '', code, ...deeper] = path?.split('.') ?? []
    if (code === undefined || deeper.length > 0 || personal === true) continue
    const value = `t._payload #> ${literal(`{${member},${code}}`)}`
    const plain = `case when jsonb_typeof(${value}) in ('string', 'number', 'boolean') then ${value} end`
    codes.set(member, [...(codes.get(member) ?? []), `${literal(code)}, ${plain}`])
  }
  const objects = [...codes].map(
    ([member, values]) =>
      `${literal(member)}, nullif(jsonb_strip_nulls(jsonb_build_object(${values.join(', ')})), '{}')`,
  )
  return objects.length === 0 ? '' : ` || jsonb_strip_nulls(jsonb_build_object(${objects.join(', ')}))`
}

/** Rows lose their personal values, and are due; the feed has one entry for each. */
function rowsOf(stream: StreamDef): Erasure {
  const table = `mirror.${stream.name}`
  const lost = personalColumns(stream)
  const known = array(
    stream.columns.flatMap(({ path, personal }) =>
      path === null || path.includes('.') || personal === true ? [] : path,
    ),
  )
  const members = `case jsonb_typeof(t._payload) when 'object' then t._payload else '{}' end`
  const kept = `(select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(${members})
    where key = any(${known}) and jsonb_typeof(value) not in ('object', 'array'))${codesOf(stream)}`
  const cut = knownPaths(stream).map((path) => ` #- ${literal(`{${path.replaceAll('.', ',')}}`)}`)
  const unknown = `case jsonb_typeof(t._payload) when 'object' then t._payload${cut.join('')} else t._payload end`
  const diff = JSON.stringify(Object.fromEntries(logged(stream).map((name) => [name, [null, null]])))
  const owner = parentOf(stream) === undefined ? stream.key : (stream.parentKey ?? [])
  return {
    table,
    holds: `not ${isErased('t')} and ${holdsPerson(stream) ? 'true' : namesPerson(unknown)}`,
    erase: (rows) => `with erased as (
        update ${table} t set ${lost.map((name) => `${identifier(name)} = null, `).join('')}
          _payload = ${kept} || '{"${erasedMember}": true}', _changed_at = clock_timestamp()
        where ${rows} returning ${keyObject(stream.key, 't')} as key, t._deleted_at is null as alive,
          ${keyTextSql(owner.map((name) => `t.${identifier(name)}`))} as owner),
      logged as (insert into mirror.change_log (epoch, stream, key, operation, diff)
        select (select mirror.feed_epoch()), ${literal(stream.name)}, key, 'update', ${literal(diff)}::jsonb from erased where alive),
      due as (update sync.records r set list_hash = null, detail_hash = null, detail_read_at = null, changed_at = clock_timestamp()
        from (select distinct owner from erased) e where r.stream = ${literal(stream.name)} and r.key = e.owner)
      select from erased`,
  }
}

const logNames = `case t.stream ${persons.map((stream) => `when ${literal(stream.name)} then ${array(logged(stream))}`).join(' ')} else '{_payload}' end`
const log = logWithout(logNames)

const texts = (table: string, hasWarnings = false): Erasure => ({
  table,
  holds: `${quotesRow('t.error')}${
    hasWarnings ? ` or exists (select from jsonb_array_elements_text(t.warnings) text where ${quotesRow('text')})` : ''
  }`,
  erase: update(
    table,
    `error = ${withoutRow('error')}${
      hasWarnings
        ? `, warnings = (select coalesce(jsonb_agg(${withoutRow('text')} order by place), '[]')
            from jsonb_array_elements_text(warnings) with ordinality as all_warnings (text, place))`
        : ''
    }`,
  ),
})

const emptied = (table: string): Erasure => ({
  table,
  holds: 'true',
  erase: (rows) => `delete from ${table} t where ${rows}`,
})

/** Quarantined records lose all but their keys; the next read brings them again. */
export const quarantineErasure: Erasure = {
  table: 'sync.quarantine',
  holds: `t.payload <> '{}'`,
  // A hash of the former content would confirm a guess.
  erase: update(
    'sync.quarantine',
    `payload = '{}', reason = ${withoutRow('reason', `regexp_replace(reason, ${literal(quote)}, '')`)},
     key = case when ${isContentKeySql('key')} then '#' || left(md5(id::text), 22) else key end`,
  ),
}

/** The log comes first: what erasing a row adds to it holds no value. */
export const mirrorErasures: readonly Erasure[] = [
  {
    table: 'mirror.change_log',
    holds: `case when t.stream = any(${array(persons.map(({ name }) => name))}) then ${log.holds}
      else ${namesPerson(`t.diff -> '_payload'`)} end`,
    erase: update('mirror.change_log', `diff = ${log.diff}`),
  },
  ...streams.map(rowsOf),
  quarantineErasure,
  {
    table: 'sync.unknown_fields',
    holds: 't.sample is not null',
    erase: update('sync.unknown_fields', 'sample = null'),
  },
  texts('sync.runs', true),
  texts('sync.tasks'),
  texts('sync.requests'),
  // The next batch is made from the log; pages and tags would confirm a guess.
  ...['sync.webhook_batch', 'sync.list_pages', 'sync.detail_tags'].map(emptied),
]
