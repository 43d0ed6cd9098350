// The outbox against its model: whatever partners queue, the API does and people decide, in any order, the states, the
// order, the API's truth and the mirror are after each step what the contract says.
// A failure prints `seed`, `path` and `replayPath`: put them into `replay` to see it again.

import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import type { FaultRule } from '../../sandbox/index.ts'
import { canProgress } from '../../src/outbox/claim.ts'
import { runsOf } from '../helpers/extent.ts'
import { type LateFront, openLateFront } from './late-front.ts'
import {
  type Disturbance,
  type Fault,
  faults,
  type Kind,
  linkOf,
  Model,
  type ModelChange,
  noteOf,
  priceOf,
  type Status,
} from './model.ts'
import { sharedRig } from './rig.ts'

const rentals = 2
const runs = runsOf(60)
const commandsPerRun = 25
const replay: { readonly seed?: number; readonly path?: string; readonly replayPath?: string } = {}

/** Shows what was written when time has passed, and not before. */
let front: LateFront
/** By the clock that nobody sets, which moves in steps. */
let passedMs = 0
const stepMs = 60_000
const rig = sharedRig({
  steadyMs: () => passedMs,
  front: async (url) => {
    front = await openLateFront(url, stepMs / 2, () => passedMs)
    return front
  },
})
let rentalIds: readonly number[] = []
beforeAll(() => {
  rentalIds = Array.from({ length: rentals }, () => rig.planner.rental())
})

const responses: Readonly<Record<Fault, FaultRule['respond']>> = {
  refused: { status: 400, body: { message: 'no' } },
  lostBefore: 'reset',
  serverError: { status: 500 },
  tooMany: { status: 429 },
  lostAfter: 'dropAfterEffect',
  badGateway: 'errorAfterEffect',
  errorAfter: 'errorAfterEffect', // as a 500
  silent: { status: 200, body: {} },
}

const idOf = (rental: number): number => rentalIds[rental] ?? 0
const upstream = (rental: number, set: Readonly<Record<string, unknown>>): unknown =>
  rig.sandbox.mutate([{ record: 'rentals', op: 'update', id: idOf(rental), set }])
const all = async <Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> =>
  (await rig.database.pool.query<Row>(sql, values)).rows

let links = 0
const newLink = (): string => `https://example.com/${links++}`

/** An empty outbox, and rentals that API and mirror show alike. */
async function startAfresh(start: string): Promise<ReadonlySet<number>> {
  await rig.database.pool.query('truncate outbox.queue, outbox.dependencies restart identity')
  for (const rental of rentalIds.keys()) {
    upstream(rental, { orderLink: start, referenceId: start })
    await rig.mirror('rentals', { id: idOf(rental) })
  }
  return paymentIds()
}

const paymentsNow = () => rig.rows('rental_payments').filter(({ key }) => rentalIds.includes(Number(key.rental_id)))
const paymentIds = (): ReadonlySet<number> => new Set(paymentsNow().map(({ key }) => Number(key.id)))

type Real = { readonly before: ReadonlySet<number> }

/** What API and mirror show must be what the model says; payments go by the ids that their changes made. */
async function compare(model: Model, { before }: Real): Promise<void> {
  const rows = await all<{ status: string; made: string | null }>(
    `select status, result->>'id' as made from outbox.queue order by id`,
  )
  expect(rows.map(({ status }) => status)).toEqual(model.changes.map(({ status }) => status))

  const made = new Map(model.changes.map((change) => [`id of payment ${change.id}`, rows[change.id - 1]?.made]))
  const named =
    (cells: ReadonlyMap<string, unknown>) =>
    (cell: string): unknown => {
      const value = cells.get(cell)
      return made.get(String(value)) ?? value
    }
  const [truth, mirror] = [named(model.truth), named(model.mirror)]
  const paid = model.changes.filter(({ hasResult }) => hasResult)
  const payments = paymentsNow().filter(({ key }) => !before.has(Number(key.id)))
  expect(payments.map(({ key, record }) => [String(key.id), record.price]).sort()).toEqual(
    paid.map(({ id }) => [rows[id - 1]?.made, truth(priceOf(id))]).sort(),
  )
  const mirrored = await all<{ id: string; price: string }>(
    `select id, price from mirror.rental_payments where id = any($1) and _deleted_at is null`,
    [paid.map(({ id }) => rows[id - 1]?.made)],
  )
  expect(mirrored.map(({ id, price }) => [id, Number(price)]).sort()).toEqual(
    paid.map(({ id }) => [rows[id - 1]?.made, mirror(priceOf(id))]).sort(),
  )
  for (const rental of rentalIds.keys()) {
    expect(rig.truth('rentals', { id: idOf(rental) })).toMatchObject({
      orderLink: truth(linkOf(rental)),
      referenceId: truth(noteOf(rental)),
    })
    expect(await all('select order_link, reference_id from mirror.rentals where id = $1', [idOf(rental)])).toEqual([
      { order_link: mirror(linkOf(rental)), reference_id: mirror(noteOf(rental)) },
    ])
  }
}

type Step = (model: Model, real: Real) => Promise<void>

type Check = (model: Readonly<Model>) => boolean
const hasChange: Check = (model) => model.changes.length > 0

/** A command of fast-check that compares everything once it has run; skipped where `check` says no. */
const command = (name: string, step: Step, check: Check = () => true): fc.AsyncCommand<Model, Real> => ({
  check,
  run: async (model, real) => {
    await step(model, real)
    await compare(model, real)
  },
  toString: () => name,
})

const enqueue = (wish: Kind, rental: number, pick: number) =>
  command(`enqueue ${wish} on ${rental} (${pick})`, async (model) => {
    const causes = model.causes(wish, rental)
    const kind = causes.length === 0 && wish !== 'pay' ? 'link' : wish
    // A payment may stand alone, or carry the id of another one as its reference.
    const cause = (kind === 'pay' && pick % 2 === 0 ? null : causes[pick % causes.length]) ?? null
    const value = kind === 'link' ? newLink() : 100 + model.changes.length
    const change = model.enqueue(kind, rental, cause, value)
    expect(await rig.queue(...asked(change))).toBe(String(change.id))
  })

function asked({ kind, rental, cause, value }: ModelChange): [string, object, object] {
  const target = { rentalId: idOf(rental) }
  const result = { change: cause?.id }
  const payment = { currency: 'EUR', method: { id: 1 }, price: value }
  if (kind === 'pay') return ['rental_payment.add', target, { ...payment, reference: cause === null ? 'own' : result }]
  if (kind === 'reprice') return ['rental_payment.update', { ...target, paymentId: result }, { price: value }]
  return ['rental.update', target, kind === 'link' ? { orderLink: value } : { referenceId: result }]
}

/** Pushes to the end. What would be waited for passes soon: next attempts, and every second time what proves that a write had no effect. */
const push = (disturbances: readonly (readonly [number, Disturbance])[]) =>
  command(
    `push ${JSON.stringify(disturbances)}`,
    async (model) => {
      const byRental = new Map(disturbances)
      front.errors.clear()
      for (const [rental, { after, fault }] of byRental) {
        if (fault === 'errorAfter') front.errors.add(`/v3/rentals/${idOf(rental)}`)
        rig.sandbox.fault({
          op: 'P* /v3/rentals/{rentalId}*',
          match: { rentalId: idOf(rental) },
          after,
          times: 1,
          respond: responses[fault],
        })
      }
      rig.sandbox.resetRequests()
      const [{ now } = { now: new Date(0) }] = await all<{ now: Date }>('select clock_timestamp() as now')
      const pushed = model.push(byRental)
      let looks = 0
      do {
        await rig.runOnce()
        if (looks++ % 2 === 1) passedMs += stepMs
        await rig.database.pool.query(
          `update outbox.queue set next_attempt_at = clock_timestamp() where status in ('queued', 'sending')`,
        )
      } while (await canProgress(rig.database.pool))
      passedMs += stepMs
      rig.sandbox.clearFaults()

      const ended = await all<{ id: string; aggregate: string }>(
        `select id, aggregate from outbox.queue where settled_at >= $1 and status <> 'expired' order by settled_at`,
        [now],
      )
      for (const [rental, { settled, requests }] of pushed.entries()) {
        const here = ended.filter(({ aggregate }) => aggregate === `rental:${idOf(rental)}`)
        expect(here.map(({ id }) => Number(id))).toEqual(settled)
        const path = `/v3/rentals/${idOf(rental)}`
        const sent = rig.writes().filter((request) => request.path === path || request.path.startsWith(`${path}/`))
        expect(sent).toHaveLength(requests)
      }
    },
    (model) => !model.isOrderOpen,
  )

/** A person decides about some change: where that means nothing it is refused, and nothing happens. */
const decide = (pick: number, [what, from, inModel]: Decision) =>
  command(
    `${what} (${pick})`,
    async (model) => {
      const change = model.pick(pick, from)
      const decided = rig.decide(what, String(change.id))
      if (inModel(model, change)) await decided
      else await expect(decided).rejects.toMatchObject({ code: 'USAGE' })
    },
    hasChange,
  )

const expire = (pick: number) =>
  command(
    `time passes expires_at of (${pick})`,
    async (model) => {
      const change = model.pick(pick, ['queued', 'blocked'])
      change.late = true
      await all(`update outbox.queue set expires_at = clock_timestamp() - interval '1 minute' where id = $1`, [
        change.id,
      ])
    },
    hasChange,
  )

const foreign = (rental: number) =>
  command(`others change ${rental} upstream`, async (model) => {
    const value = newLink()
    model.truth.set(linkOf(rental), value)
    upstream(rental, { orderLink: value })
  })

const rental = fc.nat(rentals - 1)
const pick = fc.nat(1_000)
const kind = fc.constantFrom<Kind>('pay', 'pay', 'reprice', 'link', 'link', 'note')
const fault = fc.constantFrom<Fault>(...(Object.keys(faults) as Fault[]), 'refused', 'silent')
const disturbance = fc.record({ after: fc.constantFrom(0, 0, 1), fault })
const enqueues = fc.tuple(kind, rental, pick).map((given) => enqueue(...given))
const disturbed = fc
  .array(disturbance, { minLength: rentals, maxLength: rentals })
  .map((list) => push(list.map((each, index) => [index, each])))

type Decision = readonly [
  what: Parameters<typeof rig.decide>[0],
  from: readonly Status[],
  inModel: (model: Model, change: ModelChange) => boolean,
]
const decisions: readonly Decision[] = [
  ['retry', ['failed', 'expired', 'canceled', 'conflict'], (m, change) => m.retry(change)],
  ['cancel', ['queued', 'blocked', 'failed'], (m, change) => m.cancel(change)],
  ['did_not', ['unknown'], (m, change) => m.didNot(change)],
  ['took_effect', ['unknown'], (m, change) => m.tookEffect(change)],
  ['local', ['conflict'], (m, change) => m.take(change, 'local')],
  ['remote', ['conflict'], (m, change) => m.take(change, 'remote')],
]

const allCommands = [
  ...Array.from({ length: 5 }, () => enqueues),
  disturbed,
  disturbed,
  fc.constant(push([])),
  rental.map(foreign),
  pick.map(expire),
  ...decisions.map((decision) => pick.map((id) => decide(id, decision))),
]

// Found by the property once in some thirty runs: two changes that write the same.
for (const fault of ['lostBefore', 'serverError', 'tooMany'] as const)
  it(`is what the contract says where what is written is there already, and the API does this: ${fault}`, async () => {
    const start = newLink()
    const before = await startAfresh(start)
    const model = new Model(rentals, start)
    const same = [enqueue('note', 0, 0), push([[0, { after: 0, fault }]])]
    for (const step of [enqueue('pay', 0, 0), enqueue('note', 0, 0), push([]), ...same])
      await step.run(model, { before })
    expect(model.changes.map(({ kind, status }) => `${kind} ${status}`)).toEqual(['pay done', 'note done', 'note done'])
  })

it('is what the contract says after any steps of partners, the API and people', { timeout: 600_000 }, async () => {
  const { replayPath, ...again } = replay
  await fc.assert(
    fc.asyncProperty(
      fc.commands(allCommands, { maxCommands: commandsPerRun, size: 'max', ...(replayPath && { replayPath }) }),
      async (commands) => {
        const start = newLink()
        const before = await startAfresh(start)
        await fc.asyncModelRun(() => ({ model: new Model(rentals, start), real: { before } }), commands)
      },
    ),
    { numRuns: runs, ...again },
  )
})
