// The passes of a sweep: the whole list, or, in a hot run, the parts of it that are most likely to have changed.
// Whether the API honours their filter and order is determined from each of their answers, and stored.

import type { Page } from '../../api/client.ts'
import { isObject } from '../../api/wire/json.ts'
import { windowsOf } from '../../catalog/catalog.ts'
import { keyText } from '../../catalog/keys.ts'
import type { StreamDef } from '../../catalog/types.ts'
import { addDays, dateIn } from '../../clock.ts'
import type { Queryable } from '../../database/sql.ts'
import { dayOf, instantOf } from '../../date-time.ts'
import { ApiError } from '../../errors.ts'
import { counted } from '../../format.ts'
import { judgeBounds, noteBounds } from '../../profile/bounds.ts'
import { type Profile, readDetected, saveDetected } from '../../profile/detected-settings.ts'
import { refusedParameters, withoutParameters } from '../../profile/refused-parameters.ts'
import type { TaskRun } from '../context.ts'
import { areMoreNewer, countInWindow, isPageKnown, type Window } from '../due/windows.ts'
import { keyOf } from '../records/project.ts'

/** One pass through a list, or through a part of it. */
export type Pass = {
  readonly query: Readonly<Record<string, string>>
  readonly part?: 'newest' | 'soon'
  /** What is relied on while it runs. */
  readonly profile: Profile
}

export type WindowsHonoured = { readonly honoured: true } | { readonly honoured: false; readonly reason: string }

/** The name of the detected setting. */
export const windowsSetting = (stream: string): string => `windows:${stream}`

/** What was found out about the windows of a stream, and when; null: nothing yet. */
export async function readWindows(
  db: Queryable,
  stream: string,
): Promise<{ readonly value: WindowsHonoured; readonly probedAt: Date } | null> {
  const known = await readDetected(db, windowsSetting(stream))
  return known === null ? null : { value: known.value as WindowsHonoured, probedAt: known.probedAt }
}

/** Days before today that belong to the hot window. */
const daysBack = 7
/** How long it is trusted that windows are honoured before the mirror is asked again, in milliseconds. */
const trustMs = 24 * 3_600_000
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
  const refused = refusedParameters(profile, run.stream.name, run.context.clock)
  const window = windowOf(run)
  if (window === undefined || windows === undefined)
    return [{}, ...extraPasses.filter((variant) => !Object.keys(variant).some((name) => refused.has(name)))].map(
      (variant) => ({ query: withoutParameters({ ...query, ...variant }, refused), profile }),
    )
  const { newest, soon } = windows
  const asked = askedDays(window)
  const days = { [soon.from]: asked.from, [soon.to]: asked.to }
  return [
    { part: 'newest', query: newest.query, profile },
    { part: 'soon', query: { ...query, ...days }, profile },
  ]
}

/** The pages of a pass; the newest records end with a page of which everything was known before. @throws NotHonoured */
export async function* pagesOf(
  run: TaskRun<'list'>,
  { part }: Pass,
  pages: AsyncGenerator<Page>,
): AsyncGenerator<Page> {
  if (part === undefined) return yield* pages
  let earliest = Number.POSITIVE_INFINITY
  const days = new Set<string>()
  for await (const page of pages) {
    // A page that need not be received again was judged when it was.
    const isJudged = page.unchanged !== undefined
    if (part === 'soon' && !isJudged) for (const day of daysInWindow(run, page)) days.add(day)
    if (part === 'newest' && !isJudged) earliest = await assertNewestFirst(run, page, earliest)
    yield page
    if (part === 'newest' && (await isPageKnown(run.context.database.pool, run.stream, keysOf(run, page)))) return
  }
  const window = windowOf(run)
  if (part === 'soon' && window !== undefined && run.writer.takesStubs)
    await noteBounds(run.context.database.pool, run.stream.name, judgeBounds(days, askedDays(window)))
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
function daysInWindow(run: TaskRun<'list'>, page: Page): readonly string[] {
  const window = windowOf(run)
  if (window === undefined) return []
  // The requested days and one more: the text is the day at the harbour.
  const [from, to] = [addDays(window.from, -2), addDays(window.to, 2)]
  const days = readColumn(run.stream, page, window.column, dayOf)
  const outside = days.find((day) => day < from || day > to)
  if (outside !== undefined)
    throw new NotHonoured(`Requested ${from} to ${to}, but the list returned a record of ${outside}.`)
  return days
}

/** Returns the earliest time of this page. */
async function assertNewestFirst(run: TaskRun<'list'>, page: Page, earlier: number): Promise<number> {
  const { context, stream, reads } = run
  const column = reads.windows?.newest.column ?? ''
  const { timeZone } = context.settings
  const times = readColumn(stream, page, column, (text) => instantOf(text, timeZone))
  let earliest = earlier
  for (const time of times) {
    if (time > earliest + toleranceMs) throw new NotHonoured('The list is not ordered from newest to oldest.')
    earliest = Math.min(earliest, time)
  }
  if (page.index > 0 || (await isTrusted(run))) return earliest
  const newer = { column, than: new Date(times[0] ?? 0), count: mayBeGone }
  if (await areMoreNewer(context.database.pool, stream, newer))
    throw new NotHonoured(`The mirror has more than ${mayBeGone} records that are newer than the first one listed.`)
  return earliest
}

async function isTrusted({ context, stream }: TaskRun): Promise<boolean> {
  const known = await readWindows(context.database.pool, stream.name)
  return known?.value.honoured === true && context.clock.now().getTime() - known.probedAt.getTime() < trustMs
}

/** Why an error says that the API does not know these windows; null: it is another error. */
export function refusalOfWindow({ part }: Pass, error: unknown): string | null {
  if (part === undefined) return null
  if (error instanceof NotHonoured) return error.message
  return error instanceof ApiError && error.code === 'API_REJECTED' ? error.message : null
}

/** Remembers that windows are honoured. */
export async function trustWindows(run: TaskRun): Promise<void> {
  const value: WindowsHonoured = { honoured: true }
  if (!(await isTrusted(run))) await saveDetected(run.context.database.pool, windowsSetting(run.stream.name), value)
}

/** Stores that windows are not honoured, and warns. */
export async function doubtWindows({ context, stream }: TaskRun, reason: string): Promise<void> {
  const value: WindowsHonoured = { honoured: false, reason }
  await saveDetected(context.database.pool, windowsSetting(stream.name), value)
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
  if (inside === 0) {
    await trustWindows(run)
    return null
  }
  const reason = `The API omitted ${counted(inside, 'record')} from the requested window.`
  await doubtWindows(run, reason)
  return reason
}
