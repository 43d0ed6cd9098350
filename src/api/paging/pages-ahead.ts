// Pages of a list that are asked for before the page ahead of them has answered: where they stand, how many at a time, and
// what becomes of those that nobody takes.

import type { ListCall } from '../types.ts'
import { styles } from './styles.ts'

/** So many pages of one list are under way at once, and fewer where they are large: pages that wait take memory. */
const mostPages = 4
const mostBytes = 4_000_000

/** So long pages that nobody took may still take, in milliseconds. */
const graceMs = 1_000

/** What is known of a list after one of its pages. */
type Progress = {
  /** Pages of this call so far. */
  readonly pages: number
  /** Records that are still to come; null: nobody knows. */
  readonly left: number | null
  /** Records of the page, and of the longest one so far: of a list whose pages are equally long a shorter one is the last. */
  readonly length: number
  readonly longest: number
  /** Size of the largest page so far. */
  readonly bytes: number
}

/**
 * The cursors of the pages to be under way after a page, from the next one on. Pure.
 * @returns none where only answers lead on
 */
export function cursorsAhead(
  call: Pick<ListCall, 'paging' | 'pageBase' | 'maxPages'>,
  next: string,
  { pages, left, length, longest, bytes }: Progress,
): readonly string[] {
  const { after } = styles[call.paging.style]
  if (after === undefined) return []
  // A list of unknown length may be as long again as it was so far.
  const guessed = length < longest ? 1 : pages
  const expected = left === null ? guessed : Math.ceil(left / Math.max(1, longest))
  const mayBeRead = (call.maxPages ?? Number.POSITIVE_INFINITY) - pages
  const count = Math.min(mostPages, expected, mayBeRead, Math.floor(mostBytes / Math.max(1, bytes)))
  const cursors: string[] = []
  for (let cursor = next; cursors.length < count; cursor = after(call, cursor, longest)) cursors.push(cursor)
  return cursors
}

/** Pages under way, by their cursors. */
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

  /** Asks for those that are not under way yet, from the next page on. Was that guessed wrong once, nothing is asked for any more. */
  begin(cursors: readonly string[]): void {
    const [next] = cursors
    if (next === undefined) return
    if (this.#underWay.size > 0 && !this.#underWay.has(next)) this.#guessedWrong = true
    if (this.#guessedWrong) return
    for (const cursor of cursors) {
      if (this.#underWay.has(cursor)) continue
      const page = this.#ask(cursor, this.#signal)
      // Whoever takes the page gets its error; of one that nobody takes it means nothing.
      page.catch(() => undefined)
      this.#underWay.set(cursor, page)
    }
  }

  /** The page at a cursor, if it is under way. */
  take(cursor: string): Promise<T> | undefined {
    const page = this.#underWay.get(cursor)
    this.#underWay.delete(cursor)
    return page
  }

  /** Waits until none is under way. What takes long although nobody wants it is called off, which costs its connection. */
  async end(): Promise<void> {
    if (this.#underWay.size === 0) return
    const timer = setTimeout(() => this.#unwanted.abort(), graceMs)
    await Promise.allSettled(this.#underWay.values())
    clearTimeout(timer)
  }
}
