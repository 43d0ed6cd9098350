// The answers that make up the details of one record: requested with their stored entity tags, and compared by
// whether they are the same. No I/O.

import type { KeptAnswer, KeptAnswers } from '../remembered/detail-states.ts'

/** Where an answer stands and its entity tag, as far as it has them. */
export type Tagged = { readonly name?: string | undefined; readonly tag?: string | undefined }

export class TaggedAnswers {
  readonly #kept: KeptAnswers
  readonly #received: Record<string, KeptAnswer> = {}
  #same = 0
  #others = 0
  #sameRows = 0

  /** @param kept of details that are as these answers made them */
  constructor(kept: KeptAnswers) {
    this.#kept = kept
  }

  get hasKept(): boolean {
    return Object.keys(this.#kept).length > 0
  }

  /** The tag to ask with. */
  readonly tagOf = (name: string): string | undefined => this.#kept[name]?.tag

  /** Notes an answer that is the same, and returns how many rows it once made. */
  noteSame({ name = '' }: Tagged): number {
    const rows = this.#kept[name]?.rows ?? 0
    this.#same += 1
    this.#sameRows += rows
    return rows
  }

  /** Notes an answer that was received whole, and how many rows it makes. */
  noteReceived({ name, tag }: Tagged, rows: number): void {
    this.#others += 1
    if (name !== undefined && tag !== undefined) this.#received[name] = { tag, rows }
  }

  /** `same`: every answer is; `mixed`: some are, and what they say is not at hand; `whole`: all were received. */
  get told(): 'same' | 'mixed' | 'whole' {
    if (this.#same === 0) return 'whole'
    return this.#others === 0 ? 'same' : 'mixed'
  }

  /** Rows that those made which are the same. */
  get sameRows(): number {
    return this.#sameRows
  }

  get hasReceived(): boolean {
    return Object.keys(this.#received).length > 0
  }

  /** The answers to store. */
  get received(): KeptAnswers {
    return this.#received
  }
}
