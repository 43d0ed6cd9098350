// Remembers the last requests and counts all of them, for tests and for people who want to see what a client does.

/** Requests kept; older ones are dropped. */
const LIMIT = 20_000

export interface LoggedRequest {
  /** Real time of arrival. */
  readonly time: string
  readonly method: string
  readonly path: string
  /** `GET /v3/rentals/{rentalId}`; null where no operation matched. */
  readonly template: string | null
  readonly query: Readonly<Record<string, string | undefined>>
  readonly body: unknown
  /** Null as long as, or when, nothing was answered. */
  status: number | null
  /** What a fault rule did to it. */
  fault: string | null
}

export class RequestLog {
  #entries: LoggedRequest[] = []
  #inFlight = 0
  #maxInFlight = 0
  #total = 0
  #templates = new Map<string, number>()

  /** Notes the start of a request. */
  begin(entry: LoggedRequest): void {
    this.#entries.push(entry)
    if (this.#entries.length > 2 * LIMIT) this.#entries = this.#entries.slice(-LIMIT)
    this.#total++
    this.#inFlight++
    this.#maxInFlight = Math.max(this.#maxInFlight, this.#inFlight)
    const name = entry.template ?? `${entry.method} (unknown)`
    this.#templates.set(name, (this.#templates.get(name) ?? 0) + 1)
  }

  /** Notes that a request's answer was sent or its connection closed. */
  end(): void {
    this.#inFlight--
  }

  /** The last requests, oldest first. */
  requests(): readonly LoggedRequest[] {
    return this.#entries.slice(-LIMIT)
  }

  stats() {
    return {
      inFlight: this.#inFlight,
      maxInFlight: this.#maxInFlight,
      total: this.#total,
      templates: Object.fromEntries([...this.#templates].sort(([a], [b]) => (a < b ? -1 : 1))),
    }
  }

  /** Forgets requests and counts; what is in flight stays counted. */
  reset(): void {
    this.#entries = []
    this.#maxInFlight = this.#inFlight
    this.#total = 0
    this.#templates.clear()
  }
}

export type Stats = Readonly<ReturnType<RequestLog['stats']>>
