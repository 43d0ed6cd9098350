// Several reads of one rental may be under way at once: of its list, of itself and of its payments, while it is taken for gone
// and comes back. In whatever order they are committed, the next reads leave the mirror as the API shows it.

import { EventEmitter, once } from 'node:events'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { keyText } from '../../src/catalog/keys.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { committing } from '../../src/sync/commit.ts'
import { type SyncContext, taskRun } from '../../src/sync/context.ts'
import { readAlone } from '../../src/sync/read-alone.ts'
import { carryOut } from '../../src/sync/run-task.ts'
import { startRun } from '../../src/sync/runs/runs.ts'
import { addTasks, claimTask, type NewTask } from '../../src/sync/runs/tasks.ts'
import { runsOf } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

let mirror: TestMirror
let [rental, payment] = ['', '']
beforeAll(async () => {
  mirror = await openTestMirror({ size: 5 }, { API_PAGE_BASE: '1', READ_ECONOMY: 'off' })
  await mirror.sync({ streams: ['rentals', 'rental_payments'] })
  await mirror.stopWorker()
  const [first] = await rows<{ rental: string; payment: string }>(
    'select rental_id::text as rental, min(id)::text as payment from mirror.rental_payments group by 1 order by count(*) desc limit 1',
  )
  rental = first?.rental ?? ''
  payment = first?.payment ?? ''
})
afterAll(() => mirror?.[Symbol.asyncDispose]())

async function rows<T extends object>(sql: string, values: readonly unknown[] = []): Promise<readonly T[]> {
  return await mirror.all<T>(sql, [...values])
}

const context = (): SyncContext => ({ ...mirror.app.syncContext, onTasks: () => {} })

type What = 'list' | 'single' | 'payments'

/** A read whose answer has come and is not committed yet. */
type UnderWay = { readonly what: What; readonly write: () => Promise<void> }

async function begin(what: What, full: boolean): Promise<UnderWay> {
  const { pool } = mirror.app.database
  const stream = what === 'payments' ? 'rental_payments' : 'rentals'
  const alone = what === 'list' ? {} : { recordKey: rental }
  const run = await startRun(pool, { stream, hot: false, trigger: 'test', full, requestIds: [], ...alone })
  const todo: NewTask =
    what === 'list' ? { kind: 'sweep', priority: 1 } : { kind: 'details', priority: 1, payload: { keys: [rental] } }
  const [id = ''] = await addTasks(pool, run, stream, [todo])
  const task = await claimTask(pool, id, 'test')
  if (task === null) throw new Error('The task is not ours.')
  const [answered, mayCommit] = [new EventEmitter(), new EventEmitter()]
  const isAnswered = once(answered, 'answer')
  const isReleased = once(mayCommit, 'release')
  const writer: typeof committing = {
    ...committing,
    commit: async (...given) => {
      answered.emit('answer')
      await isReleased
      await committing.commit(...given)
    },
  }
  const ended = carryOut(taskRun(context(), task, writer, new AbortController().signal))
  await Promise.race([isAnswered, ended])
  return {
    what,
    write: async () => {
      mayCommit.emit('release')
      await ended
      await mirror.all(`update sync.runs set status = 'done' where id = $1`, [run])
    },
  }
}

const read = async (what: What, full = false): Promise<void> => (await begin(what, full)).write()

/** The payment alone, as `serve` asks for one that is wanted fresh. */
async function readPayment(): Promise<void> {
  const endpoint = 'GET /v3/rentals/{rentalId}/payments/{paymentId}'
  const params = { rentalId: rental, paymentId: payment }
  const asked = { stream: streamNamed('rental_payments'), endpoint, params, key: keyText([rental, payment]) } as const
  const { kind } = await readAlone(context(), asked, new AbortController().signal)
  expect(kind).toBe('there')
}

/** Only the mirror takes the rental for gone: as after a 404 that was a mistake. */
async function takeForGone(): Promise<void> {
  const { database, clock } = mirror.app.syncContext
  const gone = { stream: streamNamed('rentals'), keys: [[rental]], source: 'a mistake', readAt: clock.now() }
  await database.transaction((client) => applyWrites(client, { tombstones: [gone] }))
}

function change(what: 'rental' | 'payment', value: string): void {
  if (what === 'rental')
    mirror.sandbox.mutate([{ record: 'rentals', op: 'update', id: rental, set: { message: value } }])
  else
    mirror.sandbox.mutate([
      { record: 'rental_payments', op: 'update', parent: rental, id: payment, set: { reference: value } },
    ])
}

const step = fc.oneof(
  fc.record({
    do: fc.constant('change' as const),
    what: fc.constantFrom('rental' as const, 'payment' as const),
    value: fc.constantFrom('one', 'two'),
  }),
  fc.record({
    do: fc.constant('read' as const),
    what: fc.constantFrom<What>('list', 'single', 'payments'),
    full: fc.boolean(),
  }),
  fc.record({ do: fc.constant('write' as const), which: fc.nat(9) }),
  fc.record({ do: fc.constant('alone' as const) }),
  fc.record({ do: fc.constant('gone' as const) }),
)

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** Payments are answered, then their rental is gone and back, and then they are committed. */
const cameBack: Step[] = [
  { do: 'read', what: 'payments', full: true },
  { do: 'gone' },
  { do: 'read', what: 'single', full: false },
  { do: 'write', which: 1 },
]

/** A later answer is committed before an earlier one, and then the API answers as it did at first. */
const overtaken: Step[] = [
  { do: 'read', what: 'payments', full: true },
  { do: 'change', what: 'payment', value: 'two' },
  { do: 'read', what: 'payments', full: true },
  { do: 'write', which: 1 },
  { do: 'write', which: 0 },
  { do: 'change', what: 'payment', value: 'one' },
]

/** One payment is read alone while it is different for a moment. */
const different: Step[] = [
  { do: 'change', what: 'payment', value: 'two' },
  { do: 'alone' },
  { do: 'change', what: 'payment', value: 'one' },
]

/** Times are compared by the millisecond. */
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 3))

it('reads of one rental may be committed in any order: what is read next is in the mirror', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
      await rows(`update sync.runs set status = 'done' where status = 'running'`)
      const shown = { rental: 'one', payment: 'one' }
      for (const what of ['rental', 'payment'] as const) change(what, 'one')
      for (const what of ['list', 'single', 'payments'] as const) await read(what, true)
      const open: UnderWay[] = []
      for (const each of steps) {
        await pause()
        if (each.do === 'change') {
          change(each.what, each.value)
          shown[each.what] = each.value
        } else if (each.do === 'gone') await takeForGone()
        else if (each.do === 'alone') await readPayment()
        else if (each.do === 'write') await open.splice(each.which % Math.max(1, open.length), 1)[0]?.write()
        // Two sweeps of a list are never under way at once.
        else if (each.what !== 'list' || open.every(({ what }) => what !== 'list'))
          open.push(await begin(each.what, each.full))
      }
      for (const each of open) await each.write()
      await pause()
      for (const what of ['list', 'single', 'payments'] as const) await read(what)
      const found = await rows(
        `select r.message as rental, p.reference as payment from mirror.rentals r join mirror.rental_payments p on p.rental_id = r.id
         where r.id = $1 and p.id = $2 and r._deleted_at is null and p._deleted_at is null`,
        [rental, payment],
      )
      expect(found).toEqual([shown])
    }),
    { numRuns: runsOf(20), examples: [[cameBack], [overtaken], [different]] },
  )
})
