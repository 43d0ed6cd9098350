// sync.records: what is known of each record between reads (hashes, when its details were read), beside the mirror
// because it changes at every read.

import { descendantsOf, streamNamed } from '../catalog/catalog.ts'
import { columnType } from '../catalog/columns.ts'
import { keyText } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import { identifier, now, on, type Queryable, storableReadTime } from '../database/sql.ts'

/**
 * Joins a text array of keys ($1) with the mirror table: `asked(key, k0, k1 …)` and `t`. Of tables that were never analysed
 * Postgres knows nothing, and would read them whole for every page of a first sync; `offset 0` keeps this a lookup by index.
 */
export function askedJoin(stream: StreamDef): string {
  const parts = stream.key.map((_, index) =>
    stream.key.length === 1 ? `a.key as k0` : `a.key::jsonb ->> ${index} as k${index}`,
  )
  const same = stream.key.map((column, index) => {
    return `t.${identifier(column)} = asked.k${index}::${columnType(stream, column)}`
  })
  return `(select a.key, ${parts.join(', ')} from unnest($1::text[]) as a(key)) asked
    left join lateral (select * from mirror.${identifier(stream.name)} t where ${same.join(' and ')} offset 0) t on true`
}

/** What is remembered of the asked keys of a stream ($2), as `r`. */
export const rememberedJoin =
  'left join lateral (select * from sync.records r where r.stream = $2 and r.key = asked.key offset 0) r on true'

/** The state to store for a record; missing or null members keep their value. */
export type RecordState = {
  readonly stream: string
  readonly key: string
  readonly listHash?: string | null
  readonly detailHash?: string | null
  readonly detailReadAt?: Date | null
  readonly projection?: number | null
  /** A change was seen: details older than now are due. */
  readonly changed?: boolean
  /** The record was unknown until now: see `insertNewRecords`. */
  readonly isNew?: boolean
  /** The row is written from, or compared with, the record of its list. */
  readonly listed?: boolean
  /** Whether redundant reads were skipped. */
  readonly partly?: boolean
  /** Details were read and equal those of `detailHash`: to be remembered only where that is what is known still. */
  readonly unchanged?: boolean
}

/** Longer keys do not fit into an index: a record with one is read each time. */
const maxKeyBytes = 2_000
export const isKept = ({ key }: RecordState): boolean => Buffer.byteLength(key) <= maxKeyBytes

/** Several states of one record become one; the later ones win. */
function mergedStates(states: readonly RecordState[]): readonly RecordState[] {
  const byKey = new Map<string, RecordState>()
  for (const state of states) {
    if (!isKept(state)) continue
    const id = `${state.stream} ${state.key}`
    const before = byKey.get(id)
    byKey.set(id, before === undefined ? state : laterState(before, state))
  }
  return [...byKey.values()].sort(compareStates)
}

function laterState(before: RecordState, state: RecordState): RecordState {
  const known = Object.entries(state).filter(([, value]) => value !== null && value !== undefined)
  const changed = state.changed === true || before.changed === true
  return { ...before, ...(Object.fromEntries(known) as RecordState), changed }
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** In key order, so that two transactions meet in the same order. */
export const compareStates = (a: RecordState, b: RecordState): number =>
  compareText(a.stream, b.stream) || compareText(a.key, b.key)

/**
 * Of two reads the later one stands in the rows, whichever is committed first. Details read before a change was seen may
 * be older than the rows: their content is not a reason to skip a later read.
 */
const savedDetailHash = `case when excluded.detail_hash is null or excluded.detail_read_at < r.detail_read_at then r.detail_hash
      when excluded.detail_read_at < r.changed_at then null else excluded.detail_hash end`

const saveStatement = (changed: boolean): string => `insert into sync.records as r
    (stream, key, list_hash, detail_hash, detail_read_at, projection, listed_at, partly, changed_at)
  select g.stream, g.key, g.list_hash, g.detail_hash, ${storableReadTime('g.detail_read_at')}, coalesce(g.projection, 0),
    case when g.listed then moment end, g.partly, moment
  from (select clock_timestamp()) as m(moment),
    unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::int[], $7::boolean[], $8::boolean[])
    with ordinality as g(stream, key, list_hash, detail_hash, detail_read_at, projection, listed, partly, place) order by place
  on conflict (stream, key) do update set
    list_hash = coalesce(excluded.list_hash, r.list_hash),
    detail_hash = ${savedDetailHash},
    detail_read_at = greatest(excluded.detail_read_at, r.detail_read_at),
    projection = case when excluded.projection = 0 then r.projection else excluded.projection end,
    listed_at = coalesce(excluded.listed_at, r.listed_at),
    partly = coalesce(excluded.partly, r.partly)
    ${changed ? ', changed_at = excluded.changed_at' : unlessSame}`

const unlessSame = `where (coalesce(excluded.list_hash, r.list_hash), ${savedDetailHash},
      greatest(excluded.detail_read_at, r.detail_read_at), coalesce(excluded.partly, r.partly))
    is distinct from (r.list_hash, r.detail_hash, r.detail_read_at, r.partly)
    or (excluded.projection <> 0 and excluded.projection <> r.projection) or excluded.listed_at is not null`

/** Parameters: streams, keys, hashes, reading times, whether reads were skipped. */
const renewStatement = `update sync.records r set detail_read_at = greatest(${storableReadTime('k.read_at')}, r.detail_read_at),
    partly = coalesce(k.partly, r.partly)
  from (select r.stream, r.key, g.read_at, g.partly from sync.records r
      join unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::boolean[]) as g(stream, key, hash, read_at, partly)
        on g.stream = r.stream and g.key = r.key and g.hash = r.detail_hash
      order by r.stream, r.key for no key update of r) k
  where r.stream = k.stream and r.key = k.key`

/**
 * Stores states; unchanged rows are not written. Details below a deleted record are not stored, because what was read
 * of them was not written. Call it after writing, in the same transaction.
 * @param wereGone records that were deleted when the writing started (`Written.gone`): another transaction may have
 * restored them since
 */
export async function saveRecords(
  db: Queryable,
  states: readonly RecordState[],
  wereGone: ReadonlyMap<string, ReadonlySet<string>> = new Map(),
): Promise<void> {
  const renewed = mergedStates(states.filter((state) => state.unchanged === true))
  if (renewed.length > 0)
    await db.query(renewStatement, [
      renewed.map((state) => state.stream),
      renewed.map((state) => state.key),
      renewed.map((state) => state.detailHash ?? null),
      renewed.map((state) => state.detailReadAt ?? null),
      renewed.map((state) => state.partly ?? null),
    ])
  const merged = await belowLiving(db, mergedStates(states.filter((state) => state.unchanged !== true)), wereGone)
  for (const changed of [true, false]) {
    const group = merged.filter((state) => (state.changed === true) === changed)
    if (group.length === 0) continue
    await db.query(saveStatement(changed), [
      group.map((state) => state.stream),
      group.map((state) => state.key),
      group.map((state) => state.listHash ?? null),
      group.map((state) => state.detailHash ?? null),
      group.map((state) => state.detailReadAt ?? null),
      group.map((state) => state.projection ?? null),
      group.map((state) => state.listed ?? false),
      group.map((state) => state.partly ?? null),
    ])
  }
}

/** Whose state it is: a record of a list, or the details below a record. */
export type StateKey = { readonly stream: string; readonly key: string }

/** The rows below records are no longer as their details were last read: the next answer is written, whatever it equals. */
export async function doubtDetails(db: Queryable, records: readonly StateKey[]): Promise<void> {
  if (records.length === 0) return
  await on(db)
    .insertInto('sync.records')
    .values(records)
    .onConflict((conflict) => conflict.columns(['stream', 'key']).doUpdateSet({ detail_hash: null, changed_at: now }))
    .execute()
}

/** Details below these records are due, in whatever run asks first. */
export async function makeDue(db: Queryable, names: readonly string[], keys: readonly string[]): Promise<void> {
  if (names.length === 0 || keys.length === 0) return
  await db.query(
    `update sync.records r set detail_read_at = null, changed_at = clock_timestamp() from (
       select stream, key from sync.records where stream = any($1) and key = any($2)
       order by stream, key for no key update) d
     where r.stream = d.stream and r.key = d.key`,
    [names, keys],
  )
}

/** The states but those of details below a record that is gone, or was; they are kept under the key of that record. */
async function belowLiving(
  db: Queryable,
  states: readonly RecordState[],
  wereGone: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<readonly RecordState[]> {
  const living = new Set(states)
  for (const name of new Set(states.map((state) => state.stream))) {
    const { parent } = streamNamed(name)
    if (parent === undefined) continue
    const own = states.filter((state) => state.stream === name)
    const { rows } = await db.query<{ key: string }>(
      `select asked.key from ${askedJoin(streamNamed(parent))} where t._deleted_at is not null`,
      [own.map((state) => state.key)],
    )
    const gone = new Set(rows.map((row) => row.key))
    const were = wereGone.get(parent)
    for (const state of own) if (gone.has(state.key) || were?.has(state.key)) living.delete(state)
  }
  return states.filter((state) => living.has(state))
}

export type RecordKeys = { readonly stream: StreamDef; readonly keys: readonly (readonly string[])[] }

/**
 * Forgets gone records, so that they are read and written anew when they come back. The details below them stay known as
 * unread: an answer may be under way that is older than their tombstones.
 */
export async function forgetRecords(db: Queryable, gone: readonly RecordKeys[]): Promise<void> {
  const own: StateKey[] = []
  const below: StateKey[] = []
  const furtherBelow: StateKey[] = []
  for (const { stream, keys } of gone) {
    const texts = keys.map(keyText)
    if (stream.reads.kind === 'list') own.push(...texts.map((key) => ({ stream: stream.name, key })))
    for (const { name, parent } of descendantsOf(stream.name)) {
      // Details are remembered under the key of the record that they hang below.
      if (parent === stream.name) below.push(...texts.map((key) => ({ stream: name, key })))
      else furtherBelow.push(...keys.map((key) => ({ stream: name, key: `${JSON.stringify(key).slice(0, -1)},` })))
    }
  }
  const toBeRead =
    'update sync.records r set detail_hash = null, detail_read_at = null, changed_at = clock_timestamp() from'
  // The names of streams put `rental_payments` before `rentals`: states are saved, and locked, in this order.
  await changeStates(db, toBeRead, 'r.key = g.key', below)
  await changeStates(db, toBeRead, 'starts_with(r.key, g.key)', furtherBelow)
  await changeStates(db, 'delete from sync.records r using', 'r.key = g.key', own)
}

/** In key order, as they are saved. */
async function changeStates(
  db: Queryable,
  statement: string,
  matches: string,
  keys: readonly StateKey[],
): Promise<void> {
  if (keys.length === 0) return
  await db.query(
    `${statement} (
       select r.stream, r.key from sync.records r
       where exists (select from unnest($1::text[], $2::text[]) as g(stream, key) where g.stream = r.stream and ${matches})
       order by r.stream, r.key for update of r) d
     where r.stream = d.stream and r.key = d.key`,
    [keys.map(({ stream }) => stream), keys.map(({ key }) => key)],
  )
}
