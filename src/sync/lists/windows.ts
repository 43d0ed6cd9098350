// The passes of a sweep: the whole list, or, in a hot run, the parts of it that are most likely to have changed.
// Whether the API honours their filter and order is determined from each of their answers, and stored.

import type { Page } from '../../api/client.ts'
import { isObject } from '../../api/wire/json.ts'
import { windowsOf } from '../../catalog/catalog.ts'
import { keyText } from '../../catalog/keys.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { addDays, dateIn } from '../../clock.ts'
import { dayOf, instantOf } from '../../date-time.ts'
import { ApiError } from '../../errors.ts'
import { counted } from '../../format.ts'
import { entries, type Profile, readProfile, withoutParameters } from '../../profile/profile.ts'
import type { TaskRun } from '../context.ts'
import { areMoreNewer, countInWindow, isPageKnown, type Window } from '../due/windows.ts'
import { keyOf } from '../records/project.ts'

/** One pass through a list, or through a part of it. */
export type Pass = {
  readonly query: Readonly<Record<string, string>>
  readonly part?: 'newest' | 'soon'
  /** The window of the part `soon`. */
  readonly window?: Window
  readonly profile: Profile
}

/** Days before today that belong to the hot window. */
const daysBack = 7
/** So many records may have gone upstream since the mirror knew them. */
const mayBeGone = 20
/** A clock that is put back makes later records look earlier, in milliseconds. */
const toleranceMs = 3_600_000

/** The answer shows that the API does not do what the query asks. */
class NotHonoured extends Error {}

/** The hot window of a run: the same for its sweep and for what follows from that; undefined where the run is complete. */
export function windowOf({ task, stream, context: { settings } }: TaskRun): Window | undefined {
  const soon = windowsOf(stream)?.soon
  if (!task.hot || soon === undefined) return undefined
  const { timeZone, hotWindowMs } = settings
  const begin = task.runStartedAt
  const to = dateIn(timeZone, new Date(begin.getTime() + hotWindowMs))
  return { column: soon.column, from: addDays(dateIn(timeZone, begin), -daysBack), to, timeZone }
}

/** The days that are asked for: whether they are included, and in which zone, nobody says, so a day more on both sides. */
const askedDays = ({ from, to }: Window): { readonly from: string; readonly to: string } => ({
  from: addDays(from, -1),
  to: addDays(to, 1),
})

/**
 * The passes of a sweep. One that differs only by parameters that the API refuses is dropped. The windows are evaluated
 * by their own answers.
 */
export function passesOf(run: TaskRun<'list'>, profile: Profile): readonly Pass[] {
  const { query, extraPasses = [], windows } = run.reads
  const refused = profile.refused(run.stream.name)
  const window = windowOf(run)
  if (window === undefined || windows === undefined)
    return [{}, ...extraPasses.filter((variant) => !Object.keys(variant).some((name) => refused.has(name)))].map(
      (variant) => ({ query: withoutParameters({ ...query, ...variant }, refused), profile }),
    )
  const { newest, soon } = windows
  const { from, to } = askedDays(window)
  return [
    { part: 'newest', query: newest.query, profile },
    { part: 'soon', query: { ...query, [soon.from]: from, [soon.to]: to }, window, profile },
  ]
}

/**
 * The pages of a pass, of which the profile learns. The newest records end with a page of which everything was known before.
 * @param showsShape the first page shows the shape of the list
 * @throws NotHonoured
 */
export async function* pagesOf(
  run: TaskRun<'list'>,
  pass: Pass,
  pages: AsyncGenerator<Page>,
  showsShape: boolean,
): AsyncGenerator<Page> {
  const { context, stream } = run
  const { part, window, profile } = pass
  let earliest = Number.POSITIVE_INFINITY
  const days = new Set<string>()
  for await (const page of pages) {
    if (showsShape && page.shape !== undefined)
      await profile.found(entries.shape, stream.name, { ...page.shape, isWhole: page.next === null })
    // A page that need not be received again was judged when it was.
    const isJudged = page.unchanged !== undefined
    if (window !== undefined && !isJudged) for (const day of daysInWindow(stream, page, window)) days.add(day)
    if (part === 'newest' && !isJudged) earliest = await assertNewestFirst(run, pass, page, earliest)
    yield page
    if (part === 'newest' && (await isPageKnown(context.database.pool, stream, keysOf(run, page)))) return
  }
  if (window === undefined || !run.writer.takesStubs) return
  const seen = judgeBounds(days, askedDays(window))
  if (seen === 'included') await profile.found(entries.bounds, stream.name, seen)
  if (seen === 'contradicted')
    await profile.contradict(
      entries.bounds,
      stream.name,
      'The list returned a record of a day outside the requested days.',
    )
}

/**
 * Judges the answer for a window, by the days as the records write them: both bounds are included where records of both days
 * were answered, and none of a day outside. Pure.
 * @param asked the days of the query
 */
export function judgeBounds(
  days: Iterable<string>,
  asked: { readonly from: string; readonly to: string },
): 'included' | 'contradicted' | 'unproven' {
  const seen = { first: false, last: false }
  for (const day of days) {
    if (day < asked.from || day > asked.to) return 'contradicted'
    if (day === asked.from) seen.first = true
    if (day === asked.to) seen.last = true
  }
  return seen.first && seen.last ? 'included' : 'unproven'
}

const keysOf = ({ stream, context }: TaskRun<'list'>, { items }: Page): readonly string[] =>
  Array.from({ length: items.length }, (_, index) =>
    keyOf(stream, items.value(index), context.settings.timeZone),
  ).flatMap((key) => (key === null ? [] : keyText(key)))

/**
 * What a column of the records of a page says, read as a day or an instant.
 * @throws NotHonoured where the list does not show it, or in no form that is known
 */
function readColumn<T>(
  stream: StreamDef,
  { items }: Page,
  name: string,
  read: (text: string) => T | null,
): readonly T[] {
  const path = stream.columns.find((column) => column.name === name)?.path ?? name
  const values: T[] = []
  for (let index = 0; index < items.length; index++) {
    const record = items.value(index)
    const value = isObject(record) ? record[path] : undefined
    const known = typeof value === 'string' ? read(value) : null
    if (known !== null) values.push(known)
  }
  if (items.length > 0 && values.length === 0) throw new NotHonoured(`The list does not show ${path}.`)
  return values
}

/** The days of a page's records. @throws NotHonoured where one lies outside of the window */
function daysInWindow(stream: StreamDef, page: Page, window: Window): readonly string[] {
  // The requested days and one more: the text is the day at the harbour.
  const [from, to] = [addDays(window.from, -2), addDays(window.to, 2)]
  const days = readColumn(stream, page, window.column, dayOf)
  const outside = days.find((day) => day < from || day > to)
  if (outside !== undefined)
    throw new NotHonoured(`Requested ${from} to ${to}, but the list returned a record of ${outside}.`)
  return days
}

/** Returns the earliest time of this page. */
async function assertNewestFirst(
  { context, stream, reads }: TaskRun<'list'>,
  { profile }: Pass,
  page: Page,
  earlier: number,
): Promise<number> {
  const column = reads.windows?.newest.column ?? ''
  const { timeZone } = context.settings
  const times = readColumn(stream, page, column, (text) => instantOf(text, timeZone))
  let earliest = earlier
  for (const time of times) {
    if (time > earliest + toleranceMs) throw new NotHonoured('The list is not ordered from newest to oldest.')
    earliest = Math.min(earliest, time)
  }
  const isHonoured = profile.value(entries.windows, stream.name)?.honoured === true
  if (page.index > 0 || (isHonoured && profile.isTrusted(entries.windows, stream.name))) return earliest
  const newer = { column, than: new Date(times[0] ?? 0), count: mayBeGone }
  if (await areMoreNewer(context.database.pool, stream, newer))
    throw new NotHonoured(`The mirror has more than ${mayBeGone} records that are newer than the first one listed.`)
  return earliest
}

/** Why an error says that the API does not know these windows; null: it is another error. */
export function refusalOfWindow({ part }: Pass, error: unknown): string | null {
  if (part === undefined) return null
  if (error instanceof NotHonoured) return error.message
  return error instanceof ApiError && error.code === 'API_REJECTED' ? error.message : null
}

/** Stores whether windows are honoured. @param reason why not; null: they are */
export async function noteWindows({ context, stream }: TaskRun, reason: string | null): Promise<void> {
  const profile = await readProfile(context.database.pool, context.clock)
  const isHonoured = reason === null
  await profile.found(entries.windows, stream.name, isHonoured ? { honoured: true } : { honoured: false, reason })
  if (!isHonoured)
    context.log.warn(
      { event: 'windows_not_honoured', stream: stream.name, reason },
      `${stream.name}: the API does not filter or order the list as requested. The whole list is read, and filters are tried again in an hour. ${reason}`,
    )
}

/**
 * Evaluates the single reads of records that were missing from a window.
 * @param there those that answered
 * @returns why the window is not reliable; null: none of them lies in it
 */
export async function judgeLeftOut(run: TaskRun, there: readonly string[]): Promise<string | null> {
  const window = windowOf(run)
  if (window === undefined) return null
  const inside = await countInWindow(run.context.database.pool, run.stream, { window, keys: there })
  const reason = inside === 0 ? null : `The API omitted ${counted(inside, 'record')} from the requested window.`
  await noteWindows(run, reason)
  return reason
}
