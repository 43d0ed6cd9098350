// Callers of every isolation level beside two workers, step by step in a random order, on a real Postgres: creations, changes
// by id and by reference, claims, heartbeats, settlements. A step that has to wait stays open while others go on.

import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import type { Change } from '../../src/outbox/change.ts'
import { claimChanges, renewLeases, tidy } from '../../src/outbox/claim.ts'
import { saveOutboxLimit } from '../../src/outbox/inspect.ts'
import type { Outcome } from '../../src/outbox/outcome.ts'
import { runsOf } from '../helpers/extent.ts'
import { doneWith, rental, settle, sharedOutbox, user } from './open-outbox.ts'

const outbox = sharedOutbox()
/** Two callers, two workers. */
const clients: pg.Client[] = []

const limit = 6

beforeAll(async () => {
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: outbox.database.url, statement_timeout: 30_000 })
    await client.connect()
    await client.query(`set deadlock_timeout = '20ms'`)
    return client
  }
  for (let i = 0; i < 4; i++) clients.push(await connect())
})
afterAll(() => Promise.all(clients.map((client) => client.end())))

/** What a call may end with: repeat the transaction (also after a deadlock), the limit, a change that its snapshot lacks. */
const refusals = ['40001', '40P01', '53400', '22023']

type Step = { readonly actor: number; readonly what: number; readonly pick: number }

/** One run: what each actor is at, and what was sent in which order. */
class Run {
  readonly #pending = new Map<number, Promise<void>>()
  /** Open transactions of callers, by their level. */
  readonly #open = new Map<number, string>()
  readonly #inFlight: Change[] = []
  readonly sent: string[] = []
  readonly #creations: number[] = []
  readonly #made: number[] = []
  /** When the deadline of a record was lifted. */
  readonly lifted: Record<string, Date> = {}
  failure: unknown

  readonly #isLimited: boolean

  constructor(isLimited: boolean) {
    this.#isLimited = isLimited
  }

  async take({ actor, what, pick }: Step): Promise<void> {
    if (this.#pending.has(actor)) return
    const going = (actor < 2 ? this.#caller(actor, what, pick) : this.#worker(actor, what, pick))
      .catch((error: unknown) => {
        this.failure ??= error
      })
      .finally(() => this.#pending.delete(actor))
    this.#pending.set(actor, going)
    await this.quiet()
    if (this.failure !== undefined) throw this.failure
    await this.#check()
  }

  /** Waits until each step has ended or waits for a lock. */
  async quiet(): Promise<void> {
    while (this.#pending.size > 0) {
      const ids = [...this.#pending.keys()].map(
        (actor) => (clients[actor] as unknown as { processID: number }).processID,
      )
      await Promise.race([...this.#pending.values(), new Promise((resolve) => setTimeout(resolve, 1))])
      if (this.#pending.size === 0) return
      const { rows } = await outbox.database.pool.query(
        `select count(*)::int as waiting from pg_stat_activity where pid = any($1) and wait_event_type = 'Lock'`,
        [ids],
      )
      if (rows[0].waiting === ids.length && ids.length === this.#pending.size) return
    }
  }

  /** Ends what is open, and lets the workers finish. */
  async finish(): Promise<void> {
    for (let round = 0; this.#open.size + this.#pending.size > 0; round++) {
      // Postgres takes its time to find a deadlock, or a commit to reach its disk.
      await new Promise((resolve) => setTimeout(resolve, 1))
      await this.take({ actor: round % 2, what: 9, pick: 0 })
      await this.take({ actor: 2 + (round % 2), what: 2, pick: 0 })
    }
    do {
      // A step that still waits for a lock takes no other one: a loop without a pause would never let it end.
      await new Promise((resolve) => setTimeout(resolve, 1))
      for (const what of [0, 3, 3]) await this.take({ actor: 2, what, pick: this.sent.length })
    } while (this.#inFlight.length + this.#pending.size > 0)
  }

  async #caller(actor: number, what: number, pick: number): Promise<void> {
    const client = clients[actor] as pg.Client
    const level = this.#open.get(actor)
    if (level === undefined) {
      if (what === 9) return
      const chosen = ['read committed', 'repeatable read', 'serializable'][pick % 3] as string
      await client.query(`begin isolation level ${chosen}; select from outbox.queue`)
      this.#open.set(actor, chosen)
      return
    }
    try {
      if (what >= 7) await this.#end(actor, what === 8 && pick % 3 === 0 ? 'rollback' : 'commit')
      else await this.#enqueue(client, what, pick)
    } catch (error) {
      expect(refusals).toContain((error as pg.DatabaseError).code)
      await this.#end(actor, 'rollback')
    }
  }

  async #end(actor: number, how: string): Promise<void> {
    const mine = this.#queued.get(actor) ?? []
    await (clients[actor] as pg.Client).query(how)
    if (how === 'commit') this.#creations.push(...mine)
    this.#queued.delete(actor)
    this.#open.delete(actor)
  }

  /** Creations of open transactions. */
  readonly #queued = new Map<number, number[]>()

  async #enqueue(client: pg.Client, what: number, pick: number): Promise<void> {
    const actor = clients.indexOf(client)
    const of = <T>(list: readonly T[]): T | undefined => list[pick % Math.max(1, list.length)]
    const mine = this.#queued.get(actor) ?? []
    if (what === 0) {
      const id = await outbox.queue('rental.create', {}, rental, {}, client)
      this.#queued.set(actor, [...mine, id])
      return
    }
    const creation = of([...this.#creations, ...mine])
    const made = of(this.#made)
    await client.query('savepoint s')
    try {
      if (what === 1) {
        const person = await outbox.queue('user.create', {}, user, {}, client)
        const rentalId = creation === undefined ? 1 : { change: creation }
        await outbox.queue('rental_user.assign', { rentalId }, { userId: { change: person } }, {}, client)
      } else if (what <= 5 && creation !== undefined)
        await outbox.queue('rental.update', { rentalId: { change: creation } }, { orderLink: 'a' }, {}, client)
      else if (made !== undefined)
        await outbox.queue('rental.update', { rentalId: made }, { orderLink: 'b' }, {}, client)
    } catch (error) {
      if (pick % 2 === 0) throw error
      await client.query('rollback to savepoint s') // and goes on with the snapshot that it has
    }
  }

  async #worker(actor: number, what: number, pick: number): Promise<void> {
    const client = clients[actor] as pg.Client
    if (what <= 1) {
      await tidy(client as unknown as pg.Pool)
      const wanted = { leaseMs: 600_000, most: 2, servedLast: '' }
      const claimed = await claimChanges(client as unknown as pg.Pool, 'worker', wanted)
      await client.query(`update outbox.queue set sent_at = clock_timestamp() where id = any($1)`, [
        claimed.map(({ id }) => id),
      ])
      this.#inFlight.push(...claimed)
      this.sent.push(...claimed.map(({ id }) => id))
    } else if (what === 2) await renewLeases(client as unknown as pg.Pool, 'worker', 600_000)
    else {
      const [change] = this.#inFlight.splice(pick % Math.max(1, this.#inFlight.length), 1)
      if (change !== undefined) await this.#settle(client, change, pick)
    }
  }

  async #settle(client: pg.Client, change: Change, pick: number): Promise<void> {
    const makes = change.operation.endsWith('.create')
    const id = makes ? 1_000 + Number(change.id) : Number(change.aggregate.split(':')[1])
    const status = change.write.aggregate === 'user' ? null : makes ? 'PENDING' : pick % 3 === 0 ? 'VALIDATED' : null
    const done = doneWith(change, id, status)
    const outcome: Outcome = pick % 10 === 9 ? { kind: 'failed', error: 'no', response: null } : done
    const transaction: Database['transaction'] = async (work) => {
      await client.query('begin')
      const result = await work(client as pg.PoolClient)
      await client.query('commit')
      return result
    }
    for (;;)
      try {
        await settle({ transaction }, change, outcome)
        break
      } catch (error) {
        await client.query('rollback')
        if ((error as pg.DatabaseError).code !== '40P01') throw error // as a transaction of the program is repeated
      }
    if (outcome !== done) return
    if (makes && change.write.aggregate === 'rental') this.#made.push(id)
    const { rows } = await outbox.database.pool.query('select clock_timestamp() as at')
    if (status === 'VALIDATED') this.lifted[change.aggregate] ??= rows[0].at
  }

  /** What holds at every moment. */
  async #check(): Promise<void> {
    const { rows } = await outbox.database.pool.query(`select
      (select jsonb_agg(s) from (select coalesce(c.aggregate, q.aggregate) as record, array_agg(q.id) as ids from outbox.queue q
         left join outbox.queue c on q.aggregate = 'change:' || c.id where q.status = 'sending' group by 1 having count(*) > 1) s) as beside,
      (select count(*)::int from outbox.queue q where q.settled_at is null) as open`)
    expect(rows[0].beside).toBeNull()
    if (this.#isLimited) expect(rows[0].open).toBeLessThanOrEqual(limit)
  }
}

it('never send two changes of one record at once, nor in another order than that of their ids', async () => {
  const step = fc.record({ actor: fc.nat(3), what: fc.nat(9), pick: fc.nat(29) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 40, size: 'max' }),
      fc.constantFrom(false, false, true),
      async (steps, isLimited) => {
        await outbox.empty()
        await saveOutboxLimit(outbox.database.pool, isLimited ? limit : null)
        const run = new Run(isLimited)
        try {
          for (const what of [0, 0, 0, 7]) await run.take({ actor: 0, what, pick: 0 })
          for (const each of steps) await run.take(each)
          await run.finish()
        } finally {
          for (const client of clients) await client.query('rollback').catch(() => undefined)
        }
        const { rows } = await outbox.database.pool.query<{ id: string; aggregate: string; wrong: string | null }>(
          `select q.id, q.aggregate, case
             when q.status <> 'blocked' and exists (select from outbox.dependencies d join outbox.queue c on c.id = d.depends_on
               where d.change_id = q.id and c.status = 'failed' and c.settled_at < q.enqueued_at) then 'waits for a dead one'
             when q.deadline is not null and q.enqueued_at > ($1::jsonb ->> q.aggregate)::timestamptz then 'has a lifted deadline'
             when q.status = 'queued' and q.aggregate like 'change:%' and exists (select from outbox.queue c
               where c.aggregate <> q.aggregate and q.aggregate = 'change:' || c.id) then 'was left behind' end as wrong
           from outbox.queue q`,
          [JSON.stringify(run.lifted)],
        )
        expect(rows.filter(({ wrong }) => wrong !== null)).toEqual([])
        const of = new Map(rows.map((row) => [row.id, row]))
        const last = new Map<string, number>()
        for (const id of run.sent) {
          const record = of.get(id)?.aggregate as string
          expect(Number(id), `${record}: ${run.sent}`).toBeGreaterThan(last.get(record) ?? 0)
          last.set(record, Number(id))
        }
      },
    ),
    { numRuns: runsOf(60), endOnFailure: true }, // shrinking would take many times as long,
  )
})
