// How `privacy apply` rewrites a table, batch after batch in the order of its key, and which tables of schema sync it rewrites:
// records in quarantine, samples, hashes of records, and texts that quote a row.

import { createHash } from 'node:crypto'
import { isObject, type Json, parseJson, stringifyJson } from '../api/wire/json.ts'
import { findStream, holdsPerson } from '../catalog/catalog.ts'
import { contentKey, isContentKey } from '../catalog/keys.ts'
import type { ColumnType } from '../catalog/types.ts'
import { identifier, type Queryable } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'
import type { Privacy } from './privacy.ts'
import { throughText } from './protect.ts'
import type { Applying } from './stored.ts'

/** `next`: the position after which the table continues; null: it is done. */
type Step = { readonly next: string | null; readonly changed: number }

export type Rewrite = {
  /** With its schema: `mirror.users`. */
  readonly table: string
  /** Changes the next rows of the table. */
  step(db: Queryable, options: StepOptions): Promise<Step>
}

export type StepOptions = {
  /** The place after which they begin; null: the first ones. */
  readonly after: string | null
  /** False: it only counts what would change. */
  readonly writes: boolean
  /** So many rows at most. */
  readonly most: number
}

/** Columns as texts, by name. */
export type Texts = Readonly<Record<string, string | null>>

type TypedColumn = { readonly name: string; readonly type: ColumnType }

type RowsOptions = {
  readonly table: string
  readonly key: readonly TypedColumn[]
  /** What `change` sees and sets. */
  readonly columns: readonly TypedColumn[]
  /** Texts that it only sees. */
  readonly sees?: readonly string[]
  /** The new row; null: unchanged. Values besides key and columns are for `also`. */
  readonly change: (row: Texts) => Texts | null
  /** The names of these additional values. */
  readonly besides?: readonly string[]
  /** Further assignments of the update. */
  readonly set?: string
  /** Puts the update of the rows `t` by the given ones `g` into a statement that does more. */
  readonly also?: (update: string) => string
}

/** Rewrites rows by a function. The rows of a batch are locked while it decides about them. */
export function rowsRewrite(options: RowsOptions): Rewrite {
  const { table, key, columns, change, sees = [], besides = [], set, also } = options
  const own = key.map(({ name }) => `t.${identifier(name)}`).join(', ')
  const names = [...key, ...columns].map(({ name }) => name)
  const texts = [...names, ...sees].map((name) => `t.${identifier(name)}::text as ${identifier(name)}`).join(', ')
  const after = key.map(({ type }, index) => `$${index + 1}::${type}`).join(', ')
  const select = (isFirst: boolean, writes: boolean): string =>
    `select ${texts} from ${table} t ${isFirst ? '' : `where (${own}) > (${after})`} order by ${own} limit $${isFirst ? 1 : key.length + 1}
     ${writes ? 'for no key update' : ''}`
  const given = [...names, ...besides]
  const assignments = columns.map(({ name, type }) => `${identifier(name)} = g.${identifier(name)}::${type}`)
  const update = `update ${table} t set ${[...assignments, ...(set === undefined ? [] : [set])].join(', ')}
    from json_to_recordset($1::json) as g (${given.map((name) => `${identifier(name)} text`).join(', ')})
    where ${key.map(({ name, type }) => `t.${identifier(name)} = g.${identifier(name)}::${type}`).join(' and ')}`
  const statement = also?.(update) ?? update
  return {
    table,
    step: async (db, { after: place, writes, most }) => {
      const from = place === null ? [] : (JSON.parse(place) as string[])
      const { rows } = await db.query<Texts>(select(place === null, writes), [...from, most])
      const changed = rows.map(change).filter((row) => row !== null)
      if (writes && changed.length > 0) await db.query(statement, [JSON.stringify(changed)])
      const last = rows.length < most ? undefined : rows.at(-1)
      return {
        next: last === undefined ? null : JSON.stringify(key.map(({ name }) => last[name])),
        changed: changed.length,
      }
    },
  }
}

/** Deletes all rows of a table, some at a time. */
export const emptied = (table: string): Rewrite => ({
  table,
  step: async (db, { writes, most }) => {
    if (!writes) {
      const { rows } = await db.query<{ count: number }>(`select count(*)::int as count from ${table}`)
      return { next: null, changed: rows[0]?.count ?? 0 }
    }
    const some = `select ctid from ${table} limit $1`
    const { rowCount } = await db.query(`delete from ${table} where ctid = any(array(${some}))`, [most])
    return { next: rowCount === most ? '' : null, changed: rowCount ?? 0 }
  },
})

/** The error of a refused write may have quoted the row. The second wording is that of earlier versions. */
const partnerWords = / (does not belong to Boat Mirror|is not of this program)/
const isOfPartner = (text: string | null | undefined): boolean => partnerWords.test(text ?? '')
const withheld = 'A trigger or constraint that does not belong to Boat Mirror refused a write.'

/** A regular expression, here and in Postgres: a reason ends with it and the value that it quotes. */
export const quote = '(?:,? got |: "|").*'

/** A reason without the value that it quotes. */
export const withoutQuote = (reason: string): string =>
  isOfPartner(reason) ? withheld : reason.replace(new RegExp(quote, 's'), '')

const withoutRow = (text: string | null | undefined): string | null => (isOfPartner(text) ? withheld : (text ?? null))

/** A record of a stream that may be one of an earlier version. */
export function protectNamed(privacy: Privacy, name: string, record: Json): Json {
  const stream = findStream(name)
  if (stream !== undefined) return privacy.protect(stream, record)
  const protection = privacy.protectionFor(null, {})
  return protection === null ? record : throughText(record, protection.text)
}

/** A payload that jsonb could not hold was stored as a text of JSON; any other text is the record itself. */
function protectStored(privacy: Privacy, stream: string, payload: Json): Json {
  if (typeof payload === 'string')
    try {
      const inside = parseJson(payload).value
      if (isObject(inside) || Array.isArray(inside)) return stringifyJson(protectNamed(privacy, stream, inside))
    } catch (error) {
      if (!(error instanceof BoatMirrorError)) throw error // not JSON
    }
  return protectNamed(privacy, stream, payload)
}

/** The records in quarantine. */
export const quarantineRewrite = (privacy: Privacy): Rewrite =>
  rowsRewrite({
    table: 'sync.quarantine',
    key: [{ name: 'id', type: 'bigint' }],
    sees: ['stream'],
    columns: [
      { name: 'key', type: 'text' },
      { name: 'payload', type: 'jsonb' },
      { name: 'reason', type: 'text' },
    ],
    change: (row) => {
      const { id, stream, key, payload, reason } = row as Record<string, string>
      const before = parseJson(payload ?? 'null').value
      const kept = stringifyJson(protectStored(privacy, stream ?? '', before))
      if (kept === stringifyJson(before)) return null
      // A hash of the former content would confirm a guess.
      const isKey = !isContentKey(key ?? '')
      const own = isKey ? key : contentKey(createHash('md5').update(`${id} ${kept}`).digest('base64url'))
      return { ...row, payload: kept, reason: withoutQuote(reason ?? ''), key: own ?? '' }
    },
  })

/** In records about persons, samples are names of types; in others they come again with the next sync. */
const samples: Rewrite = rowsRewrite({
  table: 'sync.unknown_fields',
  key: [
    { name: 'stream', type: 'text' },
    { name: 'path', type: 'text' },
  ],
  columns: [{ name: 'sample', type: 'jsonb' }],
  change: (row) => {
    const stream = findStream(row.stream ?? '')
    return row.sample === null || (stream !== undefined && holdsPerson(stream)) ? null : { ...row, sample: null }
  },
})

/** Hashes of records, as processes with the new settings make them. Of those that they cannot know nothing is kept. */
const records = ({ settings: { hasher } }: Privacy, { recordHashes }: Applying): Rewrite =>
  rowsRewrite({
    table: 'sync.records',
    key: [
      { name: 'stream', type: 'text' },
      { name: 'key', type: 'text' },
    ],
    columns: [
      { name: 'list_hash', type: 'text' },
      { name: 'detail_hash', type: 'text' },
    ],
    change: (row) => {
      const { list_hash: plain, detail_hash: detail } = row
      if ((plain ?? '') === '' && detail === null) return null
      const keyed = recordHashes === 'keyed' && plain ? (hasher?.ofHash(plain) ?? null) : null
      return { ...row, list_hash: keyed, detail_hash: null }
    },
  })

function words(table: string, hasWarnings = false): Rewrite {
  const columns = [
    { name: 'error', type: 'text' } as const,
    ...(hasWarnings ? [{ name: 'warnings', type: 'jsonb' } as const] : []),
  ]
  return rowsRewrite({
    table,
    key: [{ name: 'id', type: 'bigint' }],
    columns,
    change: (row) => {
      const kept: Texts = { ...row, error: withoutRow(row.error) }
      const { warnings = null } = row
      const list = warnings === null ? [] : (parseJson(warnings).value as readonly string[])
      const said = { ...kept, ...(hasWarnings && { warnings: JSON.stringify(list.map(withoutRow)) }) }
      return kept.error === row.error && !list.some(isOfPartner) ? null : said
    },
  })
}

/** Everything in schema sync that may hold a value of a person, or a hash that would confirm a guess. */
export function syncRewrites(privacy: Privacy, applying: Applying): readonly Rewrite[] {
  const values = [
    quarantineRewrite(privacy),
    samples,
    words('sync.runs', true),
    words('sync.tasks'),
    words('sync.requests'),
    emptied('sync.webhook_batch'), // the next batch is made from the rewritten log
  ]
  const hashes = [records(privacy, applying), emptied('sync.list_pages'), emptied('sync.detail_tags')]
  return [...(privacy.isActive ? values : []), ...(applying.recordHashes === 'kept' ? [] : hashes)]
}
