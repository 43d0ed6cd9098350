// Links to another stream's records that a list answers by a filter (rentals by their boat): one request for each of those
// instead of one for each record. Whether the list honours the filter is found out by reads of single records; each
// record's own read says the rest, and has the last word.

import { convertValue } from '../../api/wire/convert.ts'
import { streamNamed, streams } from '../../catalog/catalog.ts'
import { columnType } from '../../catalog/columns.ts'
import { keyText } from '../../catalog/keys.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { identifier, isStub, keySql, type Queryable } from '../../database/sql.ts'
import { entries, type Profile, readProfile, withoutParameters } from '../../profile/profile.ts'
import { mapConcurrently } from '../batches.ts'
import { answerFound, changeSet, type Found } from '../change-set.ts'
import { listReading, type TaskRun } from '../context.ts'
import { resolvePaging } from '../lists/paging.ts'
import { keyOf, valueAt } from '../records/project.ts'
import { parentValues } from './readers/children.ts'
import { failedRead, readOutcome } from './single.ts'

/** Records of a task that are read singly before its answers count, while the filter is unknown and afterwards. */
const compared = { unknown: 3, known: 1 }

/** The stream whose links this stream's reads fill, if its list can be filtered by them. */
export const linkedStream = ({ name }: StreamDef): StreamDef | undefined =>
  streams.find(({ filledBy }) => filledBy?.stream === name && filledBy.filter !== undefined)

/** What the profile calls the filter of a stream. */
export const filterName = ({ name, filledBy }: StreamDef): string => `${name}.${filledBy?.filter?.param}`

/** Fills empty links that lead to the records of this task. */
export async function runLinks(run: TaskRun): Promise<void> {
  const { context, stream, task, writer } = run
  const { pool } = context.database
  const target = linkedStream(stream)
  if (target === undefined) throw new Error(`${stream.name} fills no links.`)
  const { asked } = task.payload as { readonly asked: readonly string[] }
  const filter = filterName(target)
  const profile = await readProfile(pool, context.clock)
  const known = profile.value(entries.filter, filter)
  const answers = new Answers(run, target, profile)
  if (known !== false || !profile.isTrusted(entries.filter, filter)) {
    const isHonoured = await answers.judge(await linkedValues(pool, target, asked), known ? 'known' : 'unknown')
    if (known && isHonoured === false) {
      const reason = `The API returned ${target.name} that do not match the filter.`
      await profile.contradict(entries.filter, filter, reason)
    }
    if (isHonoured !== null) await profile.found(entries.filter, filter, isHonoured)
    if (isHonoured === true) answers.fill()
  }
  await writer.commit(run, changeSet(answers.found))
  await writer.end(run)
}

/**
 * Keys of the records that a list may be asked by, where its records whose own link was never read are more: then asking
 * so is cheaper than reading each of them.
 */
export async function linkKeys(db: Queryable, target: StreamDef): Promise<readonly string[]> {
  const { name, filledBy } = target
  if (filledBy?.filter === undefined) return []
  const by = streamNamed(filledBy.filter.stream)
  const open = `select from mirror.${identifier(name)} m
    left join lateral (select key from sync.records d where d.stream = '${filledBy.stream}' and d.key = ${keySql(target, 'm')}
      and d.detail_read_at is not null offset 0) d on true
    where m.${identifier(filledBy.columns[0]?.column ?? '')} is null and m._deleted_at is null and not ${isStub('m')} and d.key is null`
  const { rowCount } = await db.query(`${open} limit 1`)
  if (rowCount === 0) return []
  const { rows } = await db.query<{ key: string }>(
    `with asked as materialized (
       select ${keySql(by, 't')} as key from mirror.${by.name} t where t._deleted_at is null and not ${isStub('t')})
     select key from asked where (select count(*) from asked) < (
       select count(*) from (${open} limit (select count(*) + 1 from asked)) open)
     order by key`,
  )
  return rows.map(({ key }) => key)
}

/** A record that others belong to, and what fills their columns. */
type Linked = { readonly key: string; readonly values: Readonly<Record<string, string | null>> }

/** The values to fill in from the records that these belong to, as far as those exist. */
export async function linkedValues(
  db: Queryable,
  { filledBy }: StreamDef,
  keys: readonly string[],
): Promise<readonly Linked[]> {
  if (filledBy?.filter === undefined) return []
  const by = streamNamed(filledBy.filter.stream)
  const values = filledBy.columns.map(({ column, from }) => `'${column}', t.${from}::text`)
  const { rows } = await db.query<Linked>(
    `select ${keySql(by, 't')} as key, json_build_object(${values.join(', ')}) as values
     from mirror.${by.name} t where t.${by.key[0]} = any($1) and t._deleted_at is null and not ${isStub('t')}`,
    [keys],
  )
  return rows
}

/** What the list answers by its filter. */
class Answers {
  readonly found: Found[] = []
  readonly #run: TaskRun
  readonly #target: StreamDef
  readonly #profile: Profile
  /** Whose each answered record is said to be. */
  readonly #linkOf = new Map<string, Linked>()
  /** False: the filter is refused, or not honoured; null: not everything was answered. */
  #verdict: boolean | null = true

  constructor(run: TaskRun, target: StreamDef, profile: Profile) {
    this.#run = run
    this.#target = target
    this.#profile = profile
  }

  /** Asks for the records of each of these, and compares some with their own reads. Null: nothing can be said. */
  async judge(links: readonly Linked[], state: keyof typeof compared): Promise<boolean | null> {
    const asked = mapConcurrently(links, this.#run.context.settings.api.concurrency, (link) => this.#ask(link))
    for await (const _ of asked) if (this.#verdict !== true) break
    if (this.#verdict !== true) return this.#verdict
    const sample = [...new Map([...this.#linkOf].map(([key, { key: link }]) => [link, key]))].slice(0, compared[state])
    const own = await Promise.all(sample.map(async ([link, key]) => [link, await this.#ownLink(key)] as const))
    if (own.some(([link, told]) => told !== undefined && told !== link)) return false
    return own.filter(([, told]) => told !== undefined).length < compared[state] ? null : true
  }

  /** Adds what was answered to what was found. */
  fill(): void {
    const rows = [...this.#linkOf].map(([key, { values }]) => ({ key: [key], values }))
    this.found.push({
      filled: [{ stream: this.#target, readAt: this.#run.context.clock.now(), onlyEmpty: true, rows }],
    })
  }

  async #ask(link: Linked): Promise<void> {
    const { context, signal } = this.#run
    const reading = listReading(this.#run, this.#target)
    const always = withoutParameters(reading.reads.query ?? {}, this.#profile.refused(this.#target.name))
    const query = { ...always, [this.#target.filledBy?.filter?.param ?? '']: link.key }
    try {
      const { paging, pageBase } = await resolvePaging(reading, query, this.#profile)
      const call = {
        endpoint: reading.reads.list,
        query,
        paging,
        pageBase,
        priority: 'detail',
        mayBeRefused: true,
        signal,
      } as const
      for await (const page of context.api.list(call)) {
        this.found.push(answerFound(page))
        for (let index = 0; index < page.items.length; index++) {
          const key = keyOf(this.#target, page.items.head(index), context.settings.timeZone)
          if (key === null) continue
          // A record belongs to one: who is answered for two was not asked for.
          const other = this.#linkOf.get(keyText(key))
          if (other !== undefined && other !== link) this.#verdict = false
          this.#linkOf.set(keyText(key), link)
        }
        // Where a short page was not the last, the rest is linked by its own reads.
        if (this.#verdict !== true || page.items.length < paging.pageSize) return
      }
    } catch (error) {
      const { outcome, found } = failedRead(error)
      this.found.push(found)
      this.#verdict = outcome.kind === 'failed' && outcome.retry ? null : false
    }
  }

  /** Where a record's own read says that it belongs; undefined where it does not say. */
  async #ownLink(key: string): Promise<string | undefined> {
    const { stream, reads } = this.#run
    const [column] = this.#target.filledBy?.columns ?? []
    if (reads.kind !== 'document' || column === undefined) return undefined
    const { params } = parentValues(stream, key)
    const { outcome, found } = await readOutcome(this.#run, { endpoint: reads.endpoint, params })
    this.found.push(found)
    if (outcome.kind !== 'there') return undefined
    const told = valueAt(outcome.value.body, column.path)
    const converted = convertValue(columnType(this.#target, column.column), told, 'UTC')
    return converted.ok ? (converted.text ?? undefined) : undefined
  }
}
