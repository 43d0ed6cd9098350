// Whatever commits delete below records, one after the other or at once: no more goes within 24 hours than may.

import fc from 'fast-check'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { Row, Scope, TableWrite } from '../../src/mirror/rows.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { startRun } from '../../src/state/runs.ts'
import { addTasks, claimTask } from '../../src/state/tasks.ts'
import { changeSet } from '../../src/sync/change-set.ts'
import { committing } from '../../src/sync/commit.ts'
import { type TaskRun, taskRun } from '../../src/sync/context.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const [rentals, payments, slots, resources] = ['rentals', 'rental_payments', 'resource_slots', 'resources'].map(
  streamNamed,
)
if (!rentals || !payments || !slots || !resources) throw new Error('The catalog lacks a stream.')
const [rentalCount, each] = [60, 5]
/** A tenth of 300 rows. */
const mayGo = 30

let mirror: TestMirror
beforeAll(async () => {
  mirror = await openTestMirror({ size: 5 })
  await mirror.stopWorker()
})
afterAll(() => mirror?.[Symbol.asyncDispose]())

const now = (): Date => mirror.app.syncContext.clock.now()

function rowOf(stream: typeof payments & {}, values: Readonly<Record<string, string>>): Row {
  const key = stream.key.map((name) => values[name] ?? '')
  return { key, values: stream.columns.map(({ name }) => values[name] ?? null), payload: JSON.stringify(values) }
}

const write = (stream: typeof payments & {}, rows: readonly Row[], replace: readonly Scope[] = []): TableWrite => ({
  ...{ stream, mode: 'record', source: 'GET /v3/test', readAt: now(), rows, replace },
})

const paymentsOf = (rental: number, kept: number): readonly Row[] =>
  Array.from({ length: kept }, (_, index) =>
    rowOf(payments, { rental_id: String(rental), id: String(1_000 * rental + index) }),
  )

/** Everything is there again, and nothing went lately. */
async function everything(): Promise<void> {
  const all = Array.from({ length: rentalCount }, (_, index) => index + 1)
  await mirror.app.database.transaction(async (client) => {
    await applyWrites(client, {
      tables: [
        write(resources as never, [rowOf(resources as never, { id: 'boat' })]),
        write(
          slots as never,
          Array.from({ length: 50 }, (_, n) =>
            rowOf(slots as never, { resource_id: 'boat', id: `s${n}`, date: '2030-01-01' }),
          ),
        ),
        write(
          rentals as never,
          all.map((id) => rowOf(rentals as never, { id: String(id) })),
        ),
        write(
          payments as never,
          all.flatMap((id) => paymentsOf(id, each)),
        ),
      ],
    })
    await client.query('delete from mirror.change_log')
    await client.query('delete from sync.held')
    await client.query(`update sync.runs set status = 'done'`)
  })
}

async function runOf(stream: string): Promise<TaskRun> {
  const { pool } = mirror.app.database
  const id = await startRun(pool, { stream, hot: false, trigger: 'test', full: false, requestIds: [] })
  const [taskId = ''] = await addTasks(pool, id, stream, [{ kind: 'details', priority: 1, payload: { keys: [] } }])
  const task = await claimTask(pool, taskId, 'test')
  if (task === null) throw new Error('The task is not ours.')
  const context = { ...mirror.app.syncContext, onTasks: () => {} }
  return taskRun(context, task, committing, new AbortController().signal)
}

/** Rows that went although the rental above them is there. */
async function lost(): Promise<number> {
  const { rows } = await mirror.app.database.pool.query<{ lost: number }>(
    `select count(*)::int as lost from mirror.rental_payments t join mirror.rentals p on p.id = t.rental_id
     where t._deleted_at is not null and p._deleted_at is null`,
  )
  return rows[0]?.lost ?? 0
}

const scopeOf = (rental: number): Scope => ({ columns: ['rental_id'], values: [String(rental)] })

/** One commit: answers of some rentals, which bring so many of their payments; or rentals that are gone. */
const commit = fc.oneof(
  fc.record({
    kind: fc.constant('answers' as const),
    rentals: fc.uniqueArray(fc.integer({ min: 1, max: rentalCount }), { minLength: 1, maxLength: 12 }),
    kept: fc.integer({ min: 0, max: each }),
  }),
  fc.record({
    kind: fc.constant('gone' as const),
    rentals: fc.uniqueArray(fc.integer({ min: 1, max: rentalCount }), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant('slots' as const) }),
)

it('no more than may goes without a release, and what is no loss always goes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(commit, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 8 }),
      async (turns) => {
        await everything()
        const [own, others] = [await runOf('rental_payments'), await runOf('resource_slots')]
        const gone = new Set<number>()
        let soldOut = false
        for (const commits of turns) {
          const atOnce = commits.map(async (one) => {
            if (one.kind === 'slots') {
              const all = { columns: ['resource_id'], values: ['boat'] }
              await committing.commit(others, changeSet([{ tables: [write(slots as never, [], [all])] }]))
              soldOut = true
            } else if (one.kind === 'gone') {
              const keys = one.rentals.map((id) => [String(id)])
              const tombstones = [{ stream: rentals as never, keys, source: 'GET /v3/test', readAt: now() }]
              await committing.commit(own, changeSet([{ tombstones }]))
              for (const id of one.rentals) gone.add(id)
            } else {
              const tables = one.rentals.map((id) => write(payments as never, paymentsOf(id, one.kept), [scopeOf(id)]))
              await committing.commit(own, changeSet([{ tables }]))
            }
          })
          await Promise.all(atOnce)
          expect(await lost()).toBeLessThanOrEqual(mayGo)
        }
        const { pool } = mirror.app.database
        const { rows } = await pool.query<{ slots: number; below: number; held: number }>(
          `select (select count(*) from mirror.resource_slots where _deleted_at is null and resource_id = 'boat')::int as slots,
           (select count(*) from mirror.rental_payments where _deleted_at is null and rental_id = any($1))::int as below,
           (select held from sync.runs where id = $2)::int as held`,
          [[...gone], own.task.runId],
        )
        expect(rows[0]).toMatchObject({ slots: soldOut ? 0 : 50, below: 0 })

        // What a person releases goes, however many there are.
        const all = Array.from({ length: rentalCount }, (_, index) => index + 1).filter((id) => !gone.has(id))
        const { rows: kept } = await pool.query<{ key: string }>('select key from sync.held where run_id = $1', [
          own.task.runId,
        ])
        const released = new Set(kept.map(({ key }) => key))
        const held = all.filter((id) => [...released].some((key) => (JSON.parse(key) as string[])[0] === String(id)))
        const empty = held.map((id) => write(payments as never, [], [scopeOf(id)]))
        const whole = new Set(held.flatMap((id) => paymentsOf(id, each).map(({ key }) => JSON.stringify(key))))
        await committing.commit({ ...own, released: whole }, changeSet([{ tables: empty }]))
        const { rows: left } = await pool.query(
          'select 1 from mirror.rental_payments where _deleted_at is null and rental_id = any($1)',
          [held],
        )
        expect(left).toEqual([])
      },
    ),
    { numRuns: 12 },
  )
})
