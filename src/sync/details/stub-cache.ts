// Stubs that one task has written or compared already: hundreds of pages embed the same harbours and users.

import { hashOf } from '../records/project.ts'

/**
 * A little more than the different users of a few thousand rentals; the stub not seen for longest is compared again.
 */
const mostSeen = 20_000

type Look = { readonly hash: string; readonly readAt: Date }

/**
 * The latest content of each stub. A task starts with none, so that each run compares each stub with the mirror once.
 */
export class StubCache {
  readonly #looks = new Map<string, Look>()

  /** Whether the record was not seen before. */
  isNew(id: string): boolean {
    return !this.#looks.has(id)
  }

  /** Whether the latest content is the same. If not, and this one is no older, it becomes the latest. */
  saysNothingNew(id: string, payload: string, readAt: Date): boolean {
    const hash = hashOf(payload)
    const before = this.#looks.get(id)
    if (before?.hash === hash) return true
    if (before === undefined || before.readAt <= readAt) this.#remember(id, { hash, readAt })
    return false
  }

  #remember(id: string, look: Look): void {
    this.#looks.delete(id) // what is set again stands last
    this.#looks.set(id, look)
    if (this.#looks.size > mostSeen) for (const oldest of this.#looks.keys()) return void this.#looks.delete(oldest)
  }
}
