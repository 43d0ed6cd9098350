// Pages of a list requested before the page ahead of them has answered: their cursors, how many at a time, and what
// happens to those that are never used.

import type { ListCall } from '../types.ts'
import { styles } from './styles.ts'

/** The most pages of one list in flight at once, fewer where they are large: waiting pages take memory. */
const mostPages = 4
const mostBytes = 4_000_000

/** How long pages that are no longer wanted may still take, in milliseconds. */
const graceMs = 1_000

/** What is known about a list after one of its pages. */
type Progress = {
  /** Pages of this call so far. */
  readonly pages: number
  /** Records still to come; null: unknown. */
  readonly left: number | null
  /** Records of the page, and of the longest one so far: of a list whose pages are equally long a shorter one is the last. */
  readonly length: number
  readonly longest: number
  /** Size of the largest page so far. */
  readonly bytes: number
}

/**
 * The cursors of the pages to have in flight after a page, from the next one on. Pure.
 * @returns none where only answers name the next page
 */
export function cursorsAhead(
  call: Pick<ListCall, 'paging' | 'pageBase' | 'maxPages'>,
  next: string,
  { pages, left, length, longest, bytes }: Progress,
): readonly string[] {
  const { count: counted } = styles[call.paging.style]
  if (counted === null) return []
  // A list of unknown length may be as long again as it was so far.
  const guessed = length < longest ? 1 : pages
  const expected = left === null ? guessed : Math.ceil(left / Math.max(1, longest))
  const mayBeRead = (call.maxPages ?? Number.POSITIVE_INFINITY) - pages
  const count = Math.min(mostPages, expected, mayBeRead, Math.floor(mostBytes / Math.max(1, bytes)))
  const cursors: string[] = []
  for (let cursor = next; cursors.length < count; cursor = counted.after(call, cursor, longest)) cursors.push(cursor)
  return cursors
}

/** Pages in flight, by cursor. */
export class PagesAhead<T> {
  readonly #ask: (cursor: string, signal: AbortSignal) => Promise<T>
  readonly #underWay = new Map<string, Promise<T>>()
  readonly #unwanted = new AbortController()
  /** One for all pages of the list: each that is made of others is remembered by them. */
  readonly #signal: AbortSignal
  #guessedWrong = false

  /** @param signal of the whole list */
  constructor(ask: (cursor: string, signal: AbortSignal) => Promise<T>, signal: AbortSignal | undefined) {
    this.#ask = ask
    this.#signal = AbortSignal.any([this.#unwanted.signal, ...(signal === undefined ? [] : [signal])])
  }

  /**
   * Requests those that are not in flight yet, from the next page on. After one wrong guess it requests nothing more.
   */
  begin(cursors: readonly string[]): void {
    const [next] = cursors
    if (next === undefined) return
    if (this.#underWay.size > 0 && !this.#underWay.has(next)) this.#guessedWrong = true
    if (this.#guessedWrong) return
    for (const cursor of cursors) {
      if (this.#underWay.has(cursor)) continue
      const page = this.#ask(cursor, this.#signal)
      // The caller that takes the page gets its error; the error of an unused page means nothing.
      page.catch(() => undefined)
      this.#underWay.set(cursor, page)
    }
  }

  /** The page at a cursor, if it is in flight. */
  take(cursor: string): Promise<T> | undefined {
    const page = this.#underWay.get(cursor)
    this.#underWay.delete(cursor)
    return page
  }

  /**
   * Waits until no page is in flight. A slow page that is no longer wanted is cancelled, which costs its connection.
   */
  async end(): Promise<void> {
    if (this.#underWay.size === 0) return
    const timer = setTimeout(() => this.#unwanted.abort(), graceMs)
    await Promise.allSettled(this.#underWay.values())
    clearTimeout(timer)
  }
}
