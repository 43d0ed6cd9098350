// A model of the protocol by which changes are sent, on ground that moves: callers of every isolation level, commits that a
// crash loses, restores, promotions, copies, conditions that turn between claim and sending, effects that show late after an
// error, pushers that are halted or die, clocks that jump. Time is virtual. The verdicts are those of the product (`decide` of
// its kinds, and what its attempts say of absence); states, claims, marks and settlements are modelled. Each fault takes one
// safeguard out of the protocol: what the model then finds shows that it would find its loss.

import { LosslessNumber } from '../../src/api/wire/json.ts'
import { writeNamed } from '../../src/catalog/writes.ts'
import { absenceProvesInMs } from '../../src/outbox/attempts.ts'
import type { Evidence } from '../../src/outbox/change.ts'
import { addition } from '../../src/outbox/kinds/creation.ts'
import type { Sent, Verdict } from '../../src/outbox/kinds/kind.ts'
import { update } from '../../src/outbox/kinds/update.ts'
import { type Status, stateSets } from '../../src/outbox/states.ts'

/** A safeguard that is taken out. */
export const faults = [
  'no fence', // mark and settlement do not ask whose the change is
  'fence counted', // a claim that a crash lost has the number of the next
  'verified early', // what is not there at once is absent
  'an error is an end', // an answer with an error proves that its effect shows
  'expiry at the claim', // expires_at is not asked again
  'mark not durable', // a crash may lose the mark of a request that left
  'history ignored', // a change of another history is sent like any other
  'copy undecided', // a copy sends before it is decided what became of the original
  'old snapshots', // enqueue believes the snapshot of its caller
  'claim not asked', // a halted pusher sends without checking its claim
  'clock believed', // elapsed time is what the database's clock says
  'stale base', // a record that does not show the last write is written over
  'known now', // what another history knew is what is there now
  'two at once', // a change is claimed while another of its record is on its way
] as const
export type Fault = (typeof faults)[number]

const timeLimit = 30
const showDelay = 12
const lease = 20
const fields = ['contractLink', 'orderLink'] as const
type Field = (typeof fields)[number]
const add = writeNamed('rental_payment.add')
const put = writeNamed('rental.update')

type Kind = 'update' | 'add' | 'create'
type Change = {
  readonly id: number
  /** One for each change that a partner queued; copies and earlier states of a database have it in common. */
  readonly uid: number
  readonly kind: Kind
  readonly field: Field
  aggregate: string
  readonly cause: number | null
  readonly expiresAt: number | null
  readonly base: string
  readonly enqueuedAt: number
  status: Status
  dueAt: number
  departed: boolean
  sentAt: number
  evidence: Evidence & { readonly failedAt?: number }
  epoch: number
  fence: number
  leaseUntil: number
  settledAt: number
  result: string | null
}

type State = {
  changes: Change[]
  /** Lines that are known, and the history in which they came to be; values of records. */
  lines: Map<string, number>
  values: Map<string, string>
  installation: { epoch: number; place: number; since: number; undecided: boolean }
}

type Database = {
  state: State
  /** What a crash leaves. */
  durable: State
  /** Which cluster and database it is, and which history of it. */
  readonly place: number
  readonly epoch: number
  alive: boolean
  /** How far its clock is ahead. */
  skew: number
}

type Request = {
  readonly change: Change
  readonly database: Database
  readonly body: Readonly<Record<string, string>>
  readonly expiresAt: number | null
  readonly arrivesAt: number
  readonly showsAt: number
  readonly answersAt: number
  effect: boolean
  answer: 'ok' | 'error' | 'lost' | 'busy' | 'refused'
}

type Task = {
  readonly change: number
  readonly fence: number
  readonly claimedUntil: number
  phase: 'work' | 'mark' | 'leave' | 'wait' | 'settle'
  sent: Sent | null
  markedAt: number
  request: Request | null
  outcome: ((change: Change, state: State) => void) | null
}

type Pusher = {
  readonly database: Database
  task: Task | null
  haltedUntil: number
  /** When it saw an attempt of a change first, by its own steady clock. */
  readonly seen: Map<string, number>
}

type Caller = {
  readonly database: Database
  readonly snapshot: State
  readonly creation: number
  readonly field: Field
}

const copyOf = (state: State): State => ({
  changes: state.changes.map((change) => ({ ...change, evidence: { ...change.evidence } })),
  lines: new Map(state.lines),
  values: new Map(state.values),
  installation: { ...state.installation },
})

const is = (status: Status, set: keyof typeof stateSets): boolean =>
  (stateSets[set] as readonly Status[]).includes(status)

/** Small, seeded and good enough (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296
  }
}

type ApiRecord = {
  readonly effects: {
    readonly by: Database
    readonly showsAt: number
    readonly values: Readonly<Record<string, string>>
  }[]
  readonly lines: { readonly id: string; readonly showsAt: number; readonly reference: string }[]
}

export class Ground {
  readonly #random: () => number
  readonly #fault: Fault | null
  readonly violations: string[] = []
  readonly #databases: Database[] = []
  #pushers: Pusher[] = []
  readonly #requests: Request[] = []
  readonly #records = new Map<string, ApiRecord>()
  #callers: Caller[] = []
  readonly #backups: { readonly from: Database; readonly state: State }[] = []
  /** How often each change took effect. */
  readonly #effects = new Map<number, number>()
  #now = 0
  #uids = 0
  #ids = 0
  #epochs = 1
  #fences = 0

  constructor(seed: number, fault: Fault | null = null) {
    this.#random = randomOf(seed)
    this.#fault = fault
    for (const record of ['rental:1', 'rental:2', 'rentals']) this.#records.set(record, { effects: [], lines: [] })
    const installation = { epoch: 1, place: 1, since: 0, undecided: false }
    const state = { changes: [], lines: new Map(), values: new Map(), installation }
    this.#open({ state, durable: copyOf(state), place: 1, epoch: 1, alive: true, skew: 0 })
  }

  /** So many steps, then everything comes to its end. */
  run(steps: number): readonly string[] {
    for (let step = 0; step < steps; step++) this.#step()
    this.#settle()
    return this.violations
  }

  #open(database: Database): void {
    this.#databases.push(database)
    for (let count = 0; count < 2; count++)
      this.#pushers.push({ database, task: null, haltedUntil: 0, seen: new Map() })
  }

  #chance(share: number): boolean {
    return this.#random() < share
  }
  #upTo(most: number): number {
    return this.#random() * most
  }
  #pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#random() * items.length)]
  }
  #has(fault: Fault): boolean {
    return this.#fault === fault
  }
  #clock(database: Database): number {
    return this.#now + database.skew
  }

  #step(): void {
    const die = this.#random()
    if (die < 0.55) this.#push()
    else if (die < 0.7) this.#pass(this.#upTo(6))
    else if (die < 0.84) this.#enqueue()
    else if (die < 0.87) this.#begin()
    else if (die < 0.9) this.#commit()
    else if (die < 0.93) this.#sync()
    else if (die < 0.945) this.#turn()
    else if (die < 0.96) this.#disturb()
    else if (die < 0.975) this.#backUp()
    else this.#move()
  }

  /** Time passes, and what is on its way arrives. */
  #pass(time: number): void {
    const until = this.#now + time
    for (;;) {
      const next = this.#requests
        .filter(({ effect, arrivesAt }) => effect && arrivesAt <= until)
        .sort((a, b) => a.arrivesAt - b.arrivesAt)[0]
      if (next === undefined) break
      this.#now = Math.max(this.#now, next.arrivesAt)
      next.effect = false
      this.#arrive(next)
    }
    this.#now = until
  }

  #arrive({ change, database, body, showsAt }: Request): void {
    const record = this.#record(change.kind === 'create' ? 'rentals' : recordOf(change, database.state))
    const before = this.#effects.get(change.uid) ?? 0
    this.#effects.set(change.uid, before + 1)
    const shows = Math.max(showsAt, record.effects.at(-1)?.showsAt ?? 0)
    if (change.kind !== 'update') {
      if (before > 0) this.violations.push(`change ${change.uid} took effect ${before + 1} times`)
      record.lines.push({ id: String(++this.#ids), showsAt, reference: String(change.uid) })
      return
    }
    const present = record.effects.at(-1)?.values ?? {}
    const own = body[change.field]
    // Others write in between, lost futures and originals among them. What this database itself wrote last is never written back.
    const isOwn = record.effects.at(-1)?.by === database
    if (isOwn && before > 0 && present[change.field] !== own)
      this.violations.push(`change ${change.uid} took effect again`)
    for (const field of fields)
      if (isOwn && field !== change.field && body[field] !== undefined && body[field] !== present[field])
        this.violations.push(`change ${change.uid} wrote ${field} back to an older value`)
    for (const other of database.state.changes)
      if (
        other.kind === 'update' &&
        other.id > change.id &&
        recordOf(other, database.state) === recordOf(change, database.state)
      )
        if ((this.#effects.get(other.uid) ?? 0) > 0)
          this.violations.push(`change ${change.uid} came after ${other.uid}`)
    record.effects.push({ by: database, showsAt: shows, values: { ...present, ...body } })
  }

  #record(name: string): ApiRecord {
    const known = this.#records.get(name) ?? { effects: [], lines: [] }
    this.#records.set(name, known)
    return known
  }

  /** What a read shows now. */
  #read(name: string): { readonly values: Record<string, string>; readonly lines: ApiRecord['lines'] } {
    const { effects, lines } = this.#record(name)
    const shown = effects.filter(({ showsAt }) => showsAt <= this.#now).at(-1)
    return { values: { ...shown?.values }, lines: lines.filter(({ showsAt }) => showsAt <= this.#now) }
  }

  // Partners

  #live(): Database | undefined {
    return this.#pick(this.#databases.filter(({ alive }) => alive))
  }

  #queue(
    database: Database,
    wish: Pick<Change, 'kind' | 'field' | 'cause'> & { readonly aggregate: string | null },
  ): void {
    const { state } = database
    const id = Math.max(0, ...state.changes.map((change) => change.id)) + 1
    const uid = ++this.#uids
    const change: Change = {
      ...wish,
      ...{ id, uid, aggregate: wish.aggregate ?? `change:${id}` },
      expiresAt: this.#chance(0.15) ? this.#clock(database) + this.#upTo(60) : null,
      base: '',
      enqueuedAt: this.#now,
      ...{ status: 'queued', dueAt: 0, departed: false, sentAt: 0, evidence: {}, epoch: database.epoch },
      ...{ fence: 0, leaseUntil: 0, settledAt: 0, result: null },
    }
    const base = state.values.get(`${change.aggregate}.${wish.field}`) ?? ''
    this.#write(database, (next) => next.changes.push({ ...change, base }), false)
  }

  /** Read committed: under the locks of enqueue everything that is committed is seen. */
  #enqueue(): void {
    const database = this.#live()
    if (database === undefined) return
    const { changes } = database.state
    const field = this.#pick(fields) ?? 'orderLink'
    const kind = this.#chance(0.5) ? 'add' : 'update'
    const creation = this.#pick(changes.filter(({ kind: of, status }) => of === 'create' && !is(status, 'dead')))
    const made = changes.flatMap((each) => (each.kind === 'create' && each.status === 'done' ? [each.aggregate] : []))
    const known = this.#pick(['rental:1', 'rental:2', ...made]) ?? 'rental:1'
    const die = this.#random()
    if (die < 0.1) this.#queue(database, { kind: 'create', field, cause: null, aggregate: null })
    else if (die < 0.4 && creation !== undefined)
      this.#queue(database, { kind, field, cause: creation.id, aggregate: creation.aggregate })
    else this.#queue(database, { kind, field, cause: null, aggregate: known })
  }

  /** A caller in REPEATABLE READ takes its snapshot … */
  #begin(): void {
    const database = this.#live()
    const creation = this.#pick(
      database?.state.changes.filter(({ kind, status }) => kind === 'create' && !is(status, 'dead')) ?? [],
    )
    if (database === undefined || creation === undefined) return
    const field = this.#pick(fields) ?? 'orderLink'
    this.#callers.push({ database, snapshot: copyOf(database.state), creation: creation.id, field })
  }

  /** … and queues a change later: what it refers to must be as its snapshot has it. */
  #commit(): void {
    const caller = this.#callers.shift()
    if (caller === undefined || !caller.database.alive) return
    const [then, now] = [caller.snapshot, caller.database.state].map(({ changes }) =>
      changes.find(({ id }) => id === caller.creation),
    )
    if (then === undefined || now === undefined) return
    const isSame = then.aggregate === now.aggregate && then.status === now.status && then.fence === now.fence
    if (!isSame && !this.#has('old snapshots')) return // 40001: the caller begins again
    this.#queue(caller.database, { kind: 'update', field: caller.field, cause: then.id, aggregate: then.aggregate })
  }

  #sync(): void {
    const database = this.#live()
    if (database === undefined) return
    for (const name of this.#records.keys()) {
      const { values, lines } = this.#read(name)
      this.#write(
        database,
        (state) => {
          for (const [field, value] of Object.entries(values)) state.values.set(`${name}.${field}`, value)
          for (const { id } of lines) if (!state.lines.has(id)) state.lines.set(id, database.epoch)
        },
        false,
      )
    }
  }

  /** An operator cancels a waiting change. */
  #turn(): void {
    const database = this.#live()
    const change = this.#pick(database?.state.changes.filter(({ status }) => is(status, 'waiting')) ?? [])
    if (database === undefined || change === undefined) return
    this.#change(database, change.id, (own, state) => this.#end(own, state, 'canceled'), false)
  }

  // The ground

  #write(database: Database, apply: (state: State) => unknown, isDurable: boolean): void {
    apply(database.state)
    if (isDurable) database.durable = copyOf(database.state)
  }

  #change(database: Database, id: number, apply: (change: Change, state: State) => void, isDurable: boolean): void {
    const change = database.state.changes.find((each) => each.id === id)
    if (change !== undefined) this.#write(database, (state) => apply(change, state), isDurable)
  }

  /** A pusher is halted or dies, a clock jumps, Postgres crashes or writes its log. */
  #disturb(): void {
    const database = this.#live()
    const pusher = this.#pick(this.#pushers)
    if (database === undefined || pusher === undefined) return
    const die = this.#random()
    if (die < 0.3) pusher.haltedUntil = this.#now + this.#upTo(3 * timeLimit)
    else if (die < 0.5) this.#kill(pusher)
    else if (die < 0.6) database.skew += this.#upTo(4 * timeLimit)
    else if (die < 0.75) database.durable = copyOf(database.state)
    else {
      database.state = copyOf(database.durable)
    }
  }

  /** What has left arrives all the same. */
  #kill(pusher: Pusher): void {
    this.#pushers = this.#pushers.map((each) =>
      each === pusher ? { database: pusher.database, task: null, haltedUntil: 0, seen: new Map() } : each,
    )
  }

  #backUp(): void {
    const from = this.#live()
    if (from === undefined) return
    this.#backups.push({ from, state: copyOf(from.state) })
    if (this.#backups.length > 3) this.#backups.shift()
  }

  /** A backup becomes the database, on a new timeline or in another place; or a copy beside it. */
  #move(): void {
    const backup = this.#pick(this.#backups)
    if (backup === undefined || this.#databases.length > 3 || !backup.from.alive) return
    const { from } = backup
    const isCopy = this.#chance(0.5)
    const livesOn = isCopy && this.#chance(0.5)
    const state = copyOf(backup.state)
    const place = isCopy ? from.place + this.#databases.length : from.place
    if (!livesOn) {
      from.alive = false
      this.#pushers = this.#pushers.filter(({ database }) => database !== from)
      this.#callers = this.#callers.filter(({ database }) => database !== from)
    }
    this.#open({ state, durable: copyOf(state), place, epoch: ++this.#epochs, alive: true, skew: from.skew })
    const database = this.#databases.at(-1)
    if (database !== undefined) this.#decisions.push({ database, at: this.#now + this.#upTo(200) })
  }
  #decisions: { readonly database: Database; readonly at: number }[] = []

  /** What became of the original is decided at some time: it lives on where another database of these changes does. */
  #decide(): void {
    const due = this.#decisions.filter(({ at }) => at <= this.#now)
    this.#decisions = this.#decisions.filter(({ at }) => at > this.#now)
    for (const { database } of due) {
      const livesOn = this.#databases.some((other) => other.alive && other !== database)
      this.#write(
        database,
        (state) => {
          this.#notice(database)
          const { installation } = state
          if (!installation.undecided) return
          for (const change of state.changes)
            if (livesOn && change.epoch !== database.epoch && is(change.status, 'unsettled'))
              this.#end(change, state, 'canceled')
          state.installation = { ...installation, undecided: false, since: this.#clock(database) }
        },
        true,
      )
    }
  }

  #notice(database: Database): void {
    const { state, epoch, place } = database
    const known = state.installation
    if (known.epoch === epoch || this.#has('history ignored')) return
    const waits = state.changes.some((change) => change.epoch !== epoch && is(change.status, 'unsettled'))
    const undecided = known.place === place ? known.undecided : waits && !this.#has('copy undecided')
    state.installation = { epoch, place, since: this.#clock(database), undecided }
  }

  // Pushers

  #push(): void {
    this.#decide()
    const pusher = this.#pick(this.#pushers.filter(({ haltedUntil }) => haltedUntil <= this.#now))
    if (pusher === undefined) return
    if (pusher.task === null) this.#claim(pusher)
    else this.#advance(pusher, pusher.task)
  }

  #isTurn(change: Change, state: State): boolean {
    const { installation, changes } = state
    if (installation.undecided && change.epoch !== installation.epoch) return false
    if (change.status === 'sending') return true
    const beside = changes.filter(({ aggregate, id }) => aggregate === change.aggregate && id !== change.id)
    if (beside.some(({ id, status }) => id < change.id && is(status, 'holding')) && !this.#has('two at once'))
      return false
    if (beside.some(({ status }) => status === 'sending') && !this.#has('two at once')) return false
    const cause = changes.find(({ id }) => id === change.cause)
    return cause === undefined || cause.status === 'done'
  }

  #claim(pusher: Pusher): void {
    const { database } = pusher
    const { state } = database
    this.#notice(database)
    const now = this.#clock(database)
    for (const change of state.changes)
      if (is(change.status, 'waiting') && change.expiresAt !== null && change.expiresAt <= now)
        if (change.epoch === database.epoch || this.#has('history ignored')) this.#end(change, state, 'expired')
    const due = state.changes.filter(
      (change) =>
        is(change.status, 'claimable') &&
        change.dueAt <= now &&
        change.leaseUntil <= now &&
        this.#isTurn(change, state),
    )
    const change = this.#pick(due)
    if (change === undefined) return
    const isFormer = change.epoch !== database.epoch && !this.#has('history ignored')
    this.#write(
      database,
      () => {
        change.status = 'sending'
        change.fence = this.#has('fence counted') ? change.fence + 1 : ++this.#fences
        change.leaseUntil = now + lease
        if (!isFormer) return
        const { failedAt: _, ...evidence } = change.evidence
        change.evidence = change.departed || evidence.ambiguous ? evidence : { former: String(change.epoch) }
        change.sentAt = Math.max(change.sentAt, state.installation.since)
        change.departed = true
        change.epoch = database.epoch
      },
      false,
    )
    const claimedUntil = this.#now + lease
    pusher.task = {
      ...{
        change: change.id,
        fence: change.fence,
        claimedUntil,
        phase: 'work',
        sent: null,
        markedAt: 0,
        request: null,
      },
      outcome: null,
    }
  }

  /** The change of a task, if it is its own still. */
  #own({ database }: Pusher, task: Task): Change | null {
    const change = database.state.changes.find(({ id }) => id === task.change)
    if (change === undefined) return null
    return change.fence === task.fence && change.status === 'sending' ? change : null
  }

  #advance(pusher: Pusher, task: Task): void {
    const { database } = pusher
    const change = database.state.changes.find(({ id }) => id === task.change)
    if (change === undefined) {
      pusher.task = null
      return
    }
    if (this.#chance(0.6) && change.leaseUntil > this.#clock(database) && this.#own(pusher, task) !== null)
      change.leaseUntil = this.#clock(database) + lease // the heartbeat
    switch (task.phase) {
      case 'work':
        if (this.#own(pusher, task) === null) pusher.task = null
        else this.#work(pusher, task, change)
        return
      case 'mark':
        this.#mark(pusher, task, change)
        return
      case 'leave':
        this.#leave(pusher, task, change)
        return
      case 'wait':
        if (task.request !== null && (task.request.answersAt <= this.#now || task.markedAt + timeLimit <= this.#now))
          this.#hear(task, change, task.request)
        return
      default: {
        const own = this.#has('no fence') ? change : this.#own(pusher, task)
        const { outcome } = task
        if (own !== null && outcome !== null)
          this.#write(
            database,
            (state) => {
              own.leaseUntil = 0
              outcome(own, state)
            },
            true,
          )
        pusher.task = null
      }
    }
  }

  #work(pusher: Pusher, task: Task, change: Change): void {
    const { database } = pusher
    task.phase = 'settle'
    task.outcome = change.departed ? this.#verify(pusher, change) : null
    if (task.outcome !== null) return
    const prepared = this.#prepare(database, change)
    if (typeof prepared === 'function') task.outcome = prepared
    else {
      task.sent = prepared
      task.phase = 'mark'
    }
  }

  /** The request and its evidence; or the outcome where nothing is sent. */
  #prepare(database: Database, change: Change): Sent | NonNullable<Task['outcome']> {
    const name = recordOf(change, database.state)
    const { values, lines } = this.#read(name)
    if (change.kind !== 'update') {
      const ids = change.evidence.ids ?? lines.map(({ id }) => id)
      return sentOf(bodyOf(change), { ids, ...(change.evidence.ambiguous && { ambiguous: true }) })
    }
    const earlier = database.state.changes.filter(
      (each) =>
        each.kind === 'update' &&
        each.status === 'done' &&
        each.id !== change.id &&
        recordOf(each, database.state) === name,
    )
    const recent = earlier.filter(({ settledAt }) => this.#now - settledAt < showDelay)
    const lastOf = (field: Field, among: readonly Change[]): Change | undefined =>
      among.filter((each) => each.field === field).sort((a, b) => b.settledAt - a.settledAt)[0]
    const isStale = fields.some((field) => {
      const last = lastOf(field, recent)
      return last !== undefined && values[field] !== bodyOf(last)[field]
    })
    if (isStale && !this.#has('stale base')) return this.#later('queued')
    const own = lastOf(
      change.field,
      earlier.filter(({ id, settledAt }) => id < change.id && settledAt > change.enqueuedAt),
    )
    const base = own === undefined ? change.base : bodyOf(own)[change.field]
    const present = values[change.field] ?? ''
    if (present !== base && present !== bodyOf(change)[change.field])
      return (each, state) => this.#end(each, state, 'conflict')
    const body = { ...values, ...bodyOf(change) }
    return sentOf(body, { before: { ...values }, ...(change.evidence.ambiguous && { ambiguous: true }) })
  }

  /** What the API shows of a change that was dispatched; null: it had no effect, and goes again. */
  #verify(pusher: Pusher, change: Change): Task['outcome'] {
    const { database } = pusher
    const { evidence } = change
    const { values, lines } = this.#read(recordOf(change, database.state))
    const now = this.#clock(database)
    const wait = this.#waits(pusher, change, now)
    let verdict: Verdict
    if (change.kind === 'update') {
      const before = evidence.former === undefined ? (evidence.before ?? null) : { [change.field]: change.base }
      const record = { ...values }
      const seen = { record, exact: record, readAt: new Date(now), source: 'GET' }
      verdict = update.decide(put, sentOf(evidence.sent ?? bodyOf(change), { ...evidence, before }), [seen], 'UTC')
    } else {
      const then = ({ id }: { readonly id: string }): boolean => {
        const epoch = database.state.lines.get(id)
        return this.#has('known now') || (epoch !== undefined && epoch <= Number(evidence.former))
      }
      const ids = evidence.former === undefined ? evidence.ids : lines.filter(then).map(({ id }) => id)
      const made = new Set(
        database.state.changes.flatMap(({ result, id }) => (result === null || id === change.id ? [] : [result])),
      )
      const found = lines
        .filter(({ id }) => !made.has(id))
        .map(({ id, reference }) => {
          const record = { ...line(reference), id: new LosslessNumber(id) }
          return { record, exact: record, readAt: new Date(now), source: 'GET' }
        })
      const sent = sentOf(bodyOf(change), { ...evidence, ids: ids ?? [] })
      verdict = addition.decide(add, sent, found, 'UTC')
    }
    switch (verdict.kind) {
      case 'took': {
        const id = verdict.seen === null ? null : String((verdict.seen.record as { id?: unknown }).id ?? '')
        return (each, state) => this.#done(each, state, change.kind === 'update' ? null : id)
      }
      case 'unclear':
        if (verdict.mayClear && wait > 0) return this.#later('sending', wait)
        return (each, state) => this.#end(each, state, 'unknown')
      default:
        if (wait > 0) return this.#later('sending', wait)
        return (each) => {
          each.status = 'queued'
          each.departed = false
          each.dueAt = 0
          each.evidence = evidence.former === undefined ? { ...each.evidence, ambiguous: true } : {}
        }
    }
  }

  /** How long absence proves nothing yet. */
  #waits(pusher: Pusher, change: Change, now: number): number {
    const { failedAt } = change.evidence
    if (this.#has('verified early') || (failedAt !== undefined && this.#has('an error is an end'))) return 0
    const [from, timeLimitMs] = failedAt === undefined ? [change.sentAt, timeLimit] : [failedAt, 0]
    // By the steady clock of this process: that of the database may jump.
    const attempt = `${change.id}/${from}`
    const since = pusher.seen.get(attempt) ?? this.#now
    pusher.seen.set(attempt, since)
    const knownMs = this.#has('clock believed') ? now - from : this.#now - since
    return absenceProvesInMs({ knownMs, timeLimitMs, showDelayMs: showDelay })
  }

  #later(status: 'queued' | 'sending', wait = showDelay): NonNullable<Task['outcome']> {
    const delay = Math.min(wait, 5)
    return (change) => {
      change.status = status
      change.dueAt = this.#now + delay
    }
  }

  #mark(pusher: Pusher, task: Task, change: Change): void {
    const { database } = pusher
    const now = this.#clock(database)
    const isOwn = this.#has('no fence') || (this.#own(pusher, task) !== null && change.leaseUntil > now)
    if (!isOwn || change.epoch !== database.state.installation.epoch) {
      pusher.task = null
      return
    }
    if (change.expiresAt !== null && change.expiresAt <= now && !this.#has('expiry at the claim')) {
      this.#write(database, (state) => this.#end(change, state, 'expired'), true)
      pusher.task = null
      return
    }
    const evidence = task.sent?.evidence ?? {}
    this.#write(
      database,
      () => {
        change.departed = true
        change.sentAt = now
        change.evidence = { ...evidence, ...(change.kind === 'update' && { sent: task.sent?.body ?? {} }) }
      },
      !this.#has('mark not durable'),
    )
    task.markedAt = this.#now
    task.phase = 'leave'
    if (this.#chance(0.03)) pusher.haltedUntil = this.#now + this.#upTo(3 * timeLimit)
  }

  /** The request waits for its place, and leaves only while claim, time limit and expiry allow it. */
  #leave(pusher: Pusher, task: Task, change: Change): void {
    const { database } = pusher
    const isLate = this.#now >= task.markedAt + timeLimit
    const isLost = this.#now >= task.claimedUntil && this.#now >= change.leaseUntil - database.skew
    if ((isLate || isLost || this.#own(pusher, task) === null) && !this.#has('claim not asked')) {
      pusher.task = null
      return
    }
    if (change.expiresAt !== null && change.expiresAt <= this.#clock(database)) {
      if (!this.#has('expiry at the claim')) {
        task.phase = 'settle'
        task.outcome = (each, state) => this.#end(each, state, 'expired')
        return
      }
      this.violations.push(`change ${change.uid} was sent after it had expired`)
    }
    const isRepeat = change.evidence.ambiguous === true && (this.#effects.get(change.uid) ?? 0) > 0
    const until = this.#has('claim not asked') ? this.#now + timeLimit : task.markedAt + timeLimit
    const arrivesAt = this.#now + this.#upTo(until - this.#now)
    const die = this.#random()
    const answer =
      isRepeat && this.#chance(0.5) ? 'refused' : die < 0.45 ? 'ok' : die < 0.7 ? 'error' : die < 0.9 ? 'lost' : 'busy'
    const request: Request = {
      ...{
        change: { ...change },
        database,
        body: (task.sent?.body ?? {}) as Record<string, string>,
        expiresAt: change.expiresAt,
      },
      ...{ arrivesAt, showsAt: arrivesAt + this.#upTo(showDelay), answersAt: arrivesAt + this.#upTo(5), answer },
      effect: answer === 'ok' || ((answer === 'error' || answer === 'lost') && this.#chance(0.6)),
    }
    this.#requests.push(request)
    task.request = request
    task.phase = 'wait'
  }

  /** The answer, or none in time. */
  #hear(task: Task, change: Change, { answer, answersAt }: Request): void {
    task.phase = 'settle'
    const inTime = answersAt <= this.#now && answersAt <= task.markedAt + timeLimit
    const failedAt = this.#clock(task.request?.database ?? ({ skew: 0 } as Database))
    if (!inTime || answer === 'lost') task.outcome = this.#open_({})
    else if (answer === 'ok') {
      const made = this.#record(
        change.kind === 'create' ? 'rentals' : recordOf(change, (task.request as Request).database.state),
      )
      const id = made.lines.filter(({ reference }) => reference === String(change.uid)).at(-1)?.id ?? null
      task.outcome = (each, state) => this.#done(each, state, change.kind === 'update' ? null : id)
    } else if (answer === 'error' || (answer === 'refused' && change.evidence.ambiguous))
      task.outcome = this.#open_({ failedAt })
    else if (answer === 'busy')
      task.outcome = (each) => {
        each.status = 'queued'
        each.departed = false
        each.dueAt = this.#now + 5
      }
    else task.outcome = (each, state) => this.#end(each, state, 'failed')
  }

  /** Its effect must be verified. */
  #open_(known: { readonly failedAt?: number }): NonNullable<Task['outcome']> {
    return (change) => {
      change.dueAt = this.#now
      change.evidence = { ...change.evidence, ambiguous: true, ...known }
    }
  }

  #done(change: Change, state: State, id: string | null): void {
    change.status = 'done'
    change.departed = false
    change.settledAt = this.#now
    change.result = id
    if (id !== null) state.lines.set(id, state.installation.epoch)
    if (change.kind === 'update')
      state.values.set(`${recordOf(change, state)}.${change.field}`, bodyOf(change)[change.field] ?? '')
    if (change.kind !== 'create' || id === null) return
    const [from, to] = [`change:${change.id}`, `rental:made ${id}`]
    for (const each of state.changes) if (each.aggregate === from) each.aggregate = to
  }

  #end(change: Change, state: State, status: Status): void {
    change.status = status
    change.departed = false
    change.settledAt = this.#now
    change.leaseUntil = 0
    if (!is(status, 'dead')) return
    for (const each of state.changes)
      if (each.cause === change.id && each.status === 'queued') this.#end(each, state, 'blocked')
  }

  /** Whether something may still happen without a decision. */
  #isBusy(): boolean {
    if (this.#decisions.length > 0 || this.#pushers.some(({ task }) => task !== null)) return true
    return this.#databases.some(
      ({ alive, state }) =>
        alive && state.changes.some((change) => is(change.status, 'claimable') && this.#isTurn(change, state)),
    )
  }

  /** Nothing disturbs any more: everything ends in a state that a person can act on, and what is done took effect. */
  #settle(): void {
    for (const pusher of this.#pushers) pusher.haltedUntil = 0
    for (let round = 0; round < 4_000 && this.#isBusy(); round++) {
      this.#push()
      if (round % 4 === 0) this.#pass(2)
    }
    this.#pass(10 * timeLimit)
    for (const { state, alive } of this.#databases)
      for (const change of state.changes) {
        const effects = this.#effects.get(change.uid) ?? 0
        if (change.status === 'done' && effects === 0)
          this.violations.push(`change ${change.uid} is done without an effect`)
        const waits = state.changes.some(
          ({ status }) => status === 'conflict' || status === 'unknown' || is(status, 'dead'),
        )
        if (alive && (change.status === 'queued' || change.status === 'sending') && !waits)
          this.violations.push(`change ${change.uid} is ${change.status} for ever`)
      }
  }
}

/** The record that a change is about: that of a creation is known once it is done. */
function recordOf(change: Change, state: State): string {
  if (change.kind === 'create') return 'rentals'
  if (change.cause === null) return change.aggregate
  const cause = state.changes.find(({ id }) => id === change.cause)
  return cause?.result === null || cause === undefined ? change.aggregate : `rental:made ${cause.result}`
}

const line = (reference: string) => ({
  currency: 'EUR',
  method: { id: new LosslessNumber('1') },
  price: new LosslessNumber(reference),
  reference,
})

const bodyOf = ({ kind, field, uid }: Change): Record<string, string> =>
  kind === 'update' ? { [field]: String(uid) } : (line(String(uid)) as unknown as Record<string, string>)

const sentOf = (body: object, evidence: Evidence): Sent => ({
  ...{ params: {}, body: body as Sent['body'], applied: body as Sent['body'], evidence, warnings: [] },
})
