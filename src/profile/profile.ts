// The profile of the API: what is not documented, was found out and is relied on. It is kept in sync.pinned, with what
// contradicted it. A task takes it once, at its beginning, and adds what the answers show.

import { isDeepStrictEqual } from 'node:util'
import type { ListShape } from '../api/paging/envelope.ts'
import { type Clock, systemClock } from '../clock.ts'
import { on, type Queryable } from '../database/sql.ts'
import { ApiError } from '../errors.ts'
import { stringifyJson } from '../json/plain.ts'

/** One thing that the profile may know. `check` shows `probe` and `contradict`. */
export type Entry<Value> = {
  /** Its key; one that ends in `:` or `.` is continued by the name of a stream, or what else it is known of. */
  readonly name: string
  /** What finds it out. */
  readonly probe: string
  /** How long a value is trusted, in milliseconds; then it is found out anew. */
  readonly trustMs: (value: Value) => number
  /** What follows where a later answer contradicts it. */
  readonly contradict: string
}

/** An entry that is trusted until it is contradicted, and then probed by the next sync, unless it says otherwise. */
const entry = <Value>(of: Pick<Entry<Value>, 'name' | 'probe'> & Partial<Entry<Value>>): Entry<Value> => ({
  trustMs: () => Number.POSITIVE_INFINITY,
  contradict: 'The next sync probes it again.',
  ...of,
})

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const weekMs = 7 * dayMs

/** Whether the list filters and orders as hot runs ask. */
export type WindowsHonoured = { readonly honoured: true } | { readonly honoured: false; readonly reason: string }

/** So many days of prices at once: are they answered whole? */
export type PricesAtOnce = { readonly days: number; readonly whole: boolean }

/** `isWhole`: the list fitted on the page that showed its shape, so that it may show less of it than a longer list. */
export type FoundShape = ListShape & { readonly isWhole: boolean }

export const entries = {
  /** Whether pages (or records) are counted from 0 or from 1. */
  pageBase: entry<number>({
    name: 'page_base',
    probe: 'a sync reads pages 0 and 1 of a list',
    contradict: 'The next sync probes it again. If it keeps changing, set API_PAGE_BASE.',
  }),
  /** Where an answer has records, total and next page. */
  shape: entry<FoundShape>({
    name: 'shape:',
    probe: 'the first page of each sweep shows it',
  }),
  windows: entry<WindowsHonoured>({
    name: 'windows:',
    probe: 'a worker tries it after its first complete sweep',
    trustMs: ({ honoured }) => (honoured ? dayMs : hourMs),
  }),
  /** Whether both days of a window are part of it. */
  bounds: entry<'included'>({
    name: 'bounds:',
    probe: 'each hot run compares the days of its answers with those it asked for',
  }),
  /** Whether records of a list lack members that their singles have. */
  summary: entry<{ readonly summary: boolean; readonly missing: readonly string[] }>({
    name: 'summary:',
    probe: 'a sync compares three records of a list with their singles',
    trustMs: () => dayMs,
  }),
  /** Whether a list honours the filter by which it answers the links of its records: `<stream>.<parameter>`. */
  filter: entry<boolean>({
    name: 'filter:',
    probe: 'a sync tries it if more <stream> lack a link than there are <parent>',
    trustMs: (isHonoured) => (isHonoured ? Number.POSITIVE_INFINITY : weekMs),
    contradict: "Nothing is lost: each record's own read decides, and the filter is compared again before it is used.",
  }),
  /** Why the API refuses a parameter without which a list can be read: `<stream>.<parameter>`. */
  refused: entry<string>({
    name: 'refused:',
    probe: 'a list that is refused is requested again without its order and filters',
    trustMs: () => weekMs,
  }),
  pricesAtOnce: entry<PricesAtOnce>({
    name: 'prices_at_once',
    probe: 'a sync of resource_pricetable tries it',
    contradict:
      'Nothing is lost: the next sync of resource_pricetable compares both again; until then each month is one request.',
  }),
  /** Whether a batch of availability has the order in which its resources were requested. */
  availabilityOrder: entry<'request'>({
    name: 'availability_order',
    probe: 'a sync compares a batch with single requests, element by element',
    contradict: 'Nothing is lost: boats are requested one by one until the order of a batch is proven again.',
  }),
  /** What 404 means for a list below a record that exists. */
  notFound: entry<string>({
    name: 'not_found:',
    probe: 'a sync finds that the list was never answered as empty',
    contradict: 'Nothing is lost: a list that answers 404 is a failed read until a sync finds out again what it means.',
  }),
}

/** A row of sync.pinned. */
export type DetectedSetting = {
  readonly key: string
  readonly value: unknown
  readonly probedAt: Date
  readonly contradictedAt: Date | null
  readonly contradiction: string | null
}

/**
 * Whether a later answer contradicts the setting. It may have been probed again since. Which came later shows whatever the clock
 * did: each time is stored as later than the other, by the millisecond that a Date holds. Pure.
 */
export const isContradicted = ({ contradictedAt, probedAt }: DetectedSetting): boolean =>
  contradictedAt !== null && contradictedAt >= probedAt

/** Everything that was ever found out, contradicted or not, by key. @param key only this one */
export async function listDetected(db: Queryable, key?: string): Promise<readonly DetectedSetting[]> {
  const all = on(db)
    .selectFrom('sync.pinned')
    .select(['key', 'value', 'probed_at as probedAt', 'contradicted_at as contradictedAt', 'contradiction'])
  return await (key === undefined ? all.orderBy('key') : all.where('key', '=', key)).execute()
}

/** Reads the profile. @param clock the database's, for a reader that asks whether a value is trusted */
export const readProfile = async (db: Queryable, clock: Pick<Clock, 'now'> = systemClock): Promise<Profile> =>
  new Profile(db, clock, await listDetected(db))

/** Reads what is relied on of one entry. */
export async function readEntry<Value>(db: Queryable, entry: Entry<Value>, of = ''): Promise<Value | undefined> {
  return new Profile(db, systemClock, await listDetected(db, entry.name + of)).value(entry, of)
}

export class Profile {
  readonly #db: Queryable
  readonly #clock: Pick<Clock, 'now'>
  readonly #known: Map<string, Pick<DetectedSetting, 'value' | 'probedAt'>>

  constructor(db: Queryable, clock: Pick<Clock, 'now'>, detected: readonly DetectedSetting[]) {
    this.#db = db
    this.#clock = clock
    this.#known = new Map(detected.flatMap((each) => (isContradicted(each) ? [] : [[each.key, each]])))
  }

  /** The value that is relied on; undefined: it was never found out, or was contradicted since. */
  value<Value>({ name }: Entry<Value>, of = ''): Value | undefined {
    return this.#known.get(name + of)?.value as Value | undefined
  }

  /** All values of an entry, by what they are known of. */
  values<Value>({ name }: Entry<Value>): ReadonlyMap<string, Value> {
    const own = [...this.#known].filter(([key]) => key.startsWith(name))
    return new Map(own.map(([key, { value }]) => [key.slice(name.length), value as Value]))
  }

  /** Whether there is a value that need not be found out anew yet. */
  isTrusted<Value>({ name, trustMs }: Entry<Value>, of = ''): boolean {
    const known = this.#known.get(name + of)
    return known !== undefined && +this.#clock.now() - +known.probedAt < trustMs(known.value as Value)
  }

  /** Stores a value that was found out, unless the same is trusted already. */
  async found<Value>(entry: Entry<Value>, of: string, value: Value): Promise<void> {
    if (this.isTrusted(entry, of) && isDeepStrictEqual(this.value(entry, of), value)) return
    const [key, json] = [entry.name + of, stringifyJson(value)]
    await this.#db.query(
      `insert into sync.pinned (key, value) values ($1, $2)
       on conflict (key) do update set value = excluded.value,
         probed_at = greatest(clock_timestamp(), pinned.contradicted_at + interval '1 millisecond')`,
      [key, json],
    )
    this.#known.set(key, { value, probedAt: this.#clock.now() })
  }

  /** Stores why a value no longer holds: what rests on it is found out anew, and nothing else. */
  async contradict(entry: Entry<never>, of: string, contradiction: string): Promise<void> {
    const key = entry.name + of
    if (!this.#known.delete(key)) return
    await this.#db.query(
      'update sync.pinned set contradicted_at = greatest(clock_timestamp(), probed_at), contradiction = $2 where key = $1',
      [key, contradiction],
    )
  }

  /** Names of the parameters that the list of a stream refuses. */
  refused(stream: string): ReadonlySet<string> {
    const all = [...this.values(entries.refused).keys()].filter((of) => this.isTrusted(entries.refused, of))
    const prefix = `${stream}.`
    return new Set(all.flatMap((of) => (of.startsWith(prefix) ? of.slice(prefix.length) : [])))
  }

  /** Stores that the list of a stream refuses these parameters. */
  async noteRefused(stream: string, names: Iterable<string>, reason: string): Promise<void> {
    for (const name of names) await this.found(entries.refused, `${stream}.${name}`, reason)
  }

  /**
   * The shape of a list; null: it was not found out yet. What a list of one page does not show is taken from a longer list whose
   * records stand at the same place.
   */
  shapeOf(stream: string): ListShape | null {
    const own = this.value(entries.shape, stream)
    if (own === undefined || !own.isWhole) return own ?? null
    const longer = [...this.values(entries.shape).values()].find(
      ({ isWhole, items }) => !isWhole && isDeepStrictEqual(items, own.items),
    )
    return {
      items: own.items,
      total: own.total ?? longer?.total ?? null,
      next: own.next?.kind ? own.next : (longer?.next ?? own.next),
    }
  }
}

/**
 * Whether a refusal may be about the parameters of a request; some APIs refuse them with 200 and an error in the
 * body.
 */
export const mayConcernParameters = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 400 || error.status === 422 || error.code === 'API_ERROR_BODY')

/** The query without these parameters. */
export const withoutParameters = (
  query: Readonly<Record<string, string>>,
  names: ReadonlySet<string>,
): Readonly<Record<string, string>> => Object.fromEntries(Object.entries(query).filter(([name]) => !names.has(name)))
