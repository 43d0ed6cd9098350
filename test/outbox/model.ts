// A model of the outbox: what docs/outbox.md says that changes, the API and the mirror look like after
// each step. Pure; it shares no code with the product. Values are names: a payment is named by the change that made it.

export type Kind = 'pay' | 'reprice' | 'link' | 'note'
export type Status = 'queued' | 'done' | 'failed' | 'conflict' | 'expired' | 'canceled' | 'unknown' | 'blocked'
type Value = string | number

/** What disturbs one write, and how many requests that write takes until its end. */
export const faults = {
  refused: 1,
  lostBefore: 2,
  serverError: 2,
  tooMany: 2,
  lostAfter: 1,
  badGateway: 1,
  errorAfter: 1,
  silent: 1,
} as const
export type Fault = keyof typeof faults

/** After these nobody knows whether the write arrived, so that it is sent again only where a look does not show its effect. */
const leaveOpen: ReadonlySet<Fault> = new Set<Fault>(['lostBefore', 'serverError'])

/** The nth write of a rental during a push is disturbed. */
export type Disturbance = { readonly after: number; readonly fault: Fault }

export type ModelChange = {
  readonly id: number
  readonly kind: Kind
  readonly rental: number
  /** The change whose result this one needs. */
  readonly cause: ModelChange | null
  /** The value it writes: named `cell` of the API. */
  readonly cell: string
  readonly value: Value
  readonly enqueuedAt: number
  status: Status
  base: Value | undefined
  seenAt: number
  keptRemote: boolean
  late: boolean
  /** What it left at the API, for the base of later changes. */
  left: { readonly value: Value; readonly at: number } | null
  hasResult: boolean
  remote: Value | undefined
}

const dead: readonly Status[] = ['failed', 'expired', 'canceled', 'blocked']
const holding: readonly Status[] = ['queued', 'conflict', 'unknown']

export const linkOf = (rental: number): string => `link of ${rental}`
export const noteOf = (rental: number): string => `note of ${rental}`
export const priceOf = (payment: number): string => `price of ${payment}`

/** The changes of one rental that settled, in order, and how many write requests that took. */
export type Pushed = { readonly settled: readonly number[]; readonly requests: number }

export class Model {
  readonly changes: ModelChange[] = []
  readonly truth = new Map<string, Value>()
  readonly mirror = new Map<string, Value>()
  #time = 0

  constructor(rentals: number, start: Value) {
    for (let rental = 0; rental < rentals; rental++)
      for (const cell of [linkOf(rental), noteOf(rental)]) {
        this.truth.set(cell, start)
        this.mirror.set(cell, start)
      }
  }

  /** A change to decide about: mostly one in these states, sometimes any. */
  pick(pick: number, from: readonly Status[]): ModelChange {
    const fitting = this.changes.filter(({ status }) => from.includes(status))
    const among = pick % 4 === 0 || fitting.length === 0 ? this.changes : fitting
    const change = among[pick % among.length]
    if (change === undefined) throw new Error('There is no change to pick.')
    return change
  }

  /** The payments that a change of this kind may refer to. */
  causes(kind: Kind, rental: number): readonly ModelChange[] {
    if (kind === 'link') return []
    return this.changes.filter((change) => change.kind === 'pay' && (kind !== 'reprice' || change.rental === rental))
  }

  enqueue(kind: Kind, rental: number, cause: ModelChange | null, value: Value): ModelChange {
    const id = this.changes.length + 1
    const cells = { pay: priceOf(id), reprice: priceOf(cause?.id ?? 0), link: linkOf(rental), note: noteOf(rental) }
    const change: ModelChange = {
      id,
      kind,
      rental,
      cause,
      cell: cells[kind],
      value: kind === 'note' ? `id of payment ${cause?.id}` : value,
      enqueuedAt: this.#time++,
      status: cause !== null && dead.includes(cause.status) ? 'blocked' : 'queued',
      base: kind === 'reprice' && !cause?.hasResult ? undefined : this.mirror.get(cells[kind]),
      seenAt: 0,
      keptRemote: false,
      late: false,
      left: null,
      hasResult: false,
      remote: undefined,
    }
    this.changes.push(change)
    return change
  }

  /** Lets everything settle that can settle without a decision. @returns for each rental, what came of its changes. */
  push(disturbances: ReadonlyMap<number, Disturbance>): readonly Pushed[] {
    for (const change of this.changes)
      if (change.late && (change.status === 'queued' || change.status === 'blocked')) this.#end(change, 'expired')
    const rentals = Math.max(0, ...this.changes.map((change) => change.rental + 1))
    const seen = Array.from({ length: rentals }, () => ({ settled: [] as number[], writes: 0, requests: 0 }))
    for (let next = this.#ready(); next !== undefined; next = this.#ready()) {
      const here = seen[next.rental]
      if (here === undefined) throw new Error(`There is no rental ${next.rental}.`)
      this.#work(next, () => {
        const disturbance = disturbances.get(next.rental)
        const fault = disturbance?.after === here.writes++ ? disturbance.fault : null
        here.requests += fault === null || (leaveOpen.has(fault) && this.#isThere(next)) ? 1 : faults[fault]
        return fault
      })
      here.settled.push(next.id)
    }
    return seen
  }

  /** The head of some rental that has all it waits for. */
  #ready(): ModelChange | undefined {
    return this.changes.find((change) => {
      const head = this.changes.find((each) => each.rental === change.rental && holding.includes(each.status))
      return head === change && change.status === 'queued' && (change.cause?.status ?? 'done') === 'done'
    })
  }

  #work(change: ModelChange, nextFault: () => Fault | null): void {
    const plan = this.#plan(change)
    if (plan === 'impossible') this.#end(change, 'failed')
    else if (plan === 'nothing to send') this.#done(change, null)
    else if (plan === 'send') this.#send(change, nextFault())
    else {
      change.status = 'conflict'
      change.remote = this.truth.get(change.cell)
    }
  }

  #plan(change: ModelChange): 'impossible' | 'nothing to send' | 'send' | 'conflict' {
    if (change.cause !== null && !change.cause.hasResult) return 'impossible'
    if (change.kind === 'pay') return 'send'
    if (change.keptRemote) return 'nothing to send'
    const remote = this.truth.get(change.cell)
    const base = this.#baseOf(change)
    if (change.value === remote || base === undefined || base === remote) return 'send'
    return base === change.value ? 'nothing to send' : 'conflict'
  }

  #send(change: ModelChange, fault: Fault | null): void {
    if (fault === 'refused') this.#end(change, 'failed')
    else if (fault === 'silent' && change.kind === 'pay') change.status = 'unknown'
    else {
      if (fault !== 'silent') this.truth.set(change.cell, change.value)
      change.hasResult = change.kind === 'pay'
      this.#done(change, this.truth.get(change.cell) ?? null)
    }
  }

  /** The API shows what the change is to write, before it writes it. */
  #isThere({ kind, cell, value }: ModelChange): boolean {
    return kind !== 'pay' && this.truth.get(cell) === value
  }

  /** What the editor saw, then what the same role's earlier changes left since. */
  #baseOf(change: ModelChange): Value | undefined {
    const since = Math.max(change.enqueuedAt, change.seenAt)
    const earlier = this.changes.filter(({ id, cell, left }) => id < change.id && cell === change.cell && left !== null)
    return earlier.reduce((base, { left }) => (left !== null && left.at > since ? left.value : base), change.base)
  }

  #done(change: ModelChange, left: Value | null): void {
    change.status = 'done'
    change.left = left === null ? null : { value: left, at: this.#time++ }
    const isRental = change.kind === 'link' || change.kind === 'note'
    const shown = isRental ? [linkOf(change.rental), noteOf(change.rental)] : [change.cell]
    for (const cell of shown) {
      const value = this.truth.get(cell)
      if (value !== undefined) this.mirror.set(cell, value)
    }
    this.#revive(change)
  }

  /**
   * Whether the contract leaves open which of two changes of a rental goes first: one is revived by a change of the other
   * rental, whenever that is done, and the other need not wait for it. Rentals run in parallel, and what is blocked holds nothing.
   */
  get isOrderOpen(): boolean {
    const revivable = this.changes.filter((change) => this.#mayRevive(change))
    const goesBesides = (one: ModelChange, other: ModelChange): boolean =>
      other !== one &&
      other.rental === one.rental &&
      (revivable.includes(other) || (other.status === 'queued' && other.id > one.id))
    return revivable.some(
      (one) => this.#isRevivedFromElsewhere(one) && this.changes.some((other) => goesBesides(one, other)),
    )
  }

  #mayRevive({ status, cause }: ModelChange): boolean {
    return status === 'blocked' && cause !== null && (cause.status === 'queued' || this.#mayRevive(cause))
  }

  #isRevivedFromElsewhere({ rental, cause }: ModelChange): boolean {
    if (cause === null) return false
    return cause.rental !== rental || (cause.status === 'blocked' && this.#isRevivedFromElsewhere(cause))
  }

  #dependants(change: ModelChange): readonly ModelChange[] {
    return this.changes.filter(({ cause }) => cause === change)
  }

  #end(change: ModelChange, status: 'failed' | 'expired' | 'canceled'): void {
    change.status = status
    this.#block(change)
  }

  #block(cause: ModelChange): void {
    for (const change of this.#dependants(cause)) {
      if (change.status === 'queued') change.status = 'blocked'
      this.#block(change)
    }
  }

  #revive(cause: ModelChange): void {
    for (const change of this.#dependants(cause)) {
      if (change.status === 'blocked' && change.cause !== null && !dead.includes(change.cause.status))
        change.status = 'queued'
      this.#revive(change)
    }
  }

  // What people do. False: it means nothing in this state, and must be refused.

  retry(change: ModelChange): boolean {
    if (!['failed', 'expired', 'canceled', 'conflict'].includes(change.status)) return false
    if (change.cause !== null && dead.includes(change.cause.status)) return false
    change.status = 'queued'
    change.late = false
    return true
  }

  cancel(change: ModelChange): boolean {
    if (!['queued', 'blocked', 'failed', 'expired', 'conflict'].includes(change.status)) return false
    this.#end(change, 'canceled')
    return true
  }

  didNot(change: ModelChange): boolean {
    if (change.status !== 'unknown') return false
    change.status = 'queued'
    return true
  }

  tookEffect(change: ModelChange): boolean {
    const needed = this.#dependants(change).some(({ status }) => status === 'queued' || status === 'blocked')
    if (change.status !== 'unknown' || needed) return false
    change.status = 'done'
    return true
  }

  take(change: ModelChange, side: 'local' | 'remote'): boolean {
    if (change.status !== 'conflict') return false
    change.status = 'queued'
    if (side === 'remote') change.keptRemote = true
    else {
      change.base = change.remote
      change.seenAt = this.#time++
    }
    return true
  }
}
