// Commits of one task that end in their order: while one is running the next writes its rows, and waits for it at the
// end.

/** At most two running commits. */
export class CommitsInTurn {
  #last: Promise<void> = Promise.resolve()

  /**
   * Begins a commit, which is given the end of the one before it.
   * @returns when the one before it has ended. @throws what that one threw.
   */
  async begin(commit: (after: Promise<void>) => Promise<void>): Promise<void> {
    const before = this.#last
    this.#last = commit(before)
    // The next caller that waits for it gets its error, maybe after it has failed.
    this.#last.catch(() => undefined)
    await before
  }

  /** Waits for the last one. @throws what it threw. */
  async end(): Promise<void> {
    await this.#last
  }
}
