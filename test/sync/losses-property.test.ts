// Whatever commits delete below records, one after the other or at once: no more goes within 24 hours than may.

import fc from 'fast-check'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import type { StreamDef } from '../../src/catalog/types.ts'
import type { Row, Scope, TableWrite } from '../../src/mirror/rows.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { changeSet } from '../../src/sync/change-set.ts'
import { committing } from '../../src/sync/commit.ts'
import { type TaskRun, taskRun } from '../../src/sync/context.ts'
import { startRun } from '../../src/sync/runs/runs.ts'
import { addTasks, claimTask } from '../../src/sync/runs/tasks.ts'
import { runsOf } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

const rentals = streamNamed('rentals')
const payments = streamNamed('rental_payments')
const slots = streamNamed('resource_slots')
const resources = streamNamed('resources')
const [rentalCount, each] = [60, 5]
/** A tenth of 300 rows. */
const mayGo = 30

const mirror = opened(() => openTestMirror({ size: 5 }))
beforeAll(async () => {
  await mirror.stopWorker()
})

const now = (): Date => mirror.app.syncContext.clock.now()

function rowOf(stream: StreamDef, values: Readonly<Record<string, string>>): Row {
  const key = stream.key.map((name) => values[name] ?? '')
  return { key, values: stream.columns.map(({ name }) => values[name] ?? null), payload: JSON.stringify(values) }
}

const write = (stream: StreamDef, rows: readonly Row[], replace: readonly Scope[] = []): TableWrite => ({
  ...{ stream, mode: 'record', source: 'GET /v3/test', readAt: now(), rows, replace },
})

const paymentsOf = (rental: number, kept: number): readonly Row[] =>
  Array.from({ length: kept }, (_, index) =>
    rowOf(payments, { rental_id: String(rental), id: String(1_000 * rental + index) }),
  )

/** Ends the runs under way. */
const end = (): Promise<unknown> => mirror.app.database.pool.query(`update sync.runs set status = 'done'`)

/** Everything is there again, and nothing went lately. */
async function everything(): Promise<void> {
  await end()
  const all = Array.from({ length: rentalCount }, (_, index) => index + 1)
  await mirror.app.database.transaction(async (client) => {
    await applyWrites(client, {
      tables: [
        write(resources, [rowOf(resources, { id: 'boat' })]),
        write(
          slots,
          Array.from({ length: 50 }, (_, n) => rowOf(slots, { resource_id: 'boat', id: `s${n}`, date: '2030-01-01' })),
        ),
        write(
          rentals,
          all.map((id) => rowOf(rentals, { id: String(id) })),
        ),
        write(
          payments,
          all.flatMap((id) => paymentsOf(id, each)),
        ),
      ],
    })
    await client.query('delete from mirror.change_log')
    await client.query('delete from sync.held')
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
  const rows = await mirror.all<{ lost: number }>(
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
              await committing.commit(others, changeSet([{ tables: [write(slots, [], [all])] }]))
              soldOut = true
            } else if (one.kind === 'gone') {
              const keys = one.rentals.map((id) => [String(id)])
              const tombstones = [{ stream: rentals, keys, source: 'GET /v3/test', readAt: now() }]
              await committing.commit(own, changeSet([{ tombstones }]))
              for (const id of one.rentals) gone.add(id)
            } else {
              const tables = one.rentals.map((id) => write(payments, paymentsOf(id, one.kept), [scopeOf(id)]))
              await committing.commit(own, changeSet([{ tables }]))
            }
          })
          await Promise.all(atOnce)
          expect(await lost()).toBeLessThanOrEqual(mayGo)
        }
        const rows = await mirror.all<{ slots: number; below: number; held: number }>(
          `select (select count(*) from mirror.resource_slots where _deleted_at is null and resource_id = 'boat')::int as slots,
           (select count(*) from mirror.rental_payments where _deleted_at is null and rental_id = any($1))::int as below,
           (select held from sync.runs where id = $2)::int as held`,
          [[...gone], own.task.runId],
        )
        expect(rows[0]).toMatchObject({ slots: soldOut ? 0 : 50, below: 0 })

        // What a person releases goes, however many there are.
        const all = Array.from({ length: rentalCount }, (_, index) => index + 1).filter((id) => !gone.has(id))
        const kept = await mirror.all<{ key: string }>('select key from sync.held where run_id = $1', [own.task.runId])
        const released = new Set(kept.map(({ key }) => key))
        const held = all.filter((id) => [...released].some((key) => (JSON.parse(key) as string[])[0] === String(id)))
        const empty = held.map((id) => write(payments, [], [scopeOf(id)]))
        const whole = new Set(held.flatMap((id) => paymentsOf(id, each).map(({ key }) => JSON.stringify(key))))
        await committing.commit({ ...own, released: whole }, changeSet([{ tables: empty }]))
        const left = await mirror.all(
          'select 1 from mirror.rental_payments where _deleted_at is null and rental_id = any($1)',
          [held],
        )
        expect(left).toEqual([])
      },
    ),
    { numRuns: runsOf(12) },
  )
})

describe('rows without an id of their own', () => {
  const pricings = streamNamed('resource_pricings')
  const unavailabilities = streamNamed('resource_unavailabilities')
  const boats = Array.from({ length: 10 }, (_, index) => `boat ${index}`)

  /** Answers of all boats: so many rows each, of this content. */
  async function answer(stream: StreamDef, count: number, contentOf: (index: number) => unknown): Promise<number> {
    const tables = boats.map((id) => {
      const rows = Array.from({ length: count }, (_, index) => JSON.stringify(contentOf(index))).map((payload) => {
        return { ...rowOf(stream, { resource_id: id, key: payload }), payload }
      })
      return write(stream, rows, [{ columns: ['resource_id'], values: [id] }])
    })
    await committing.commit(await runOf(stream.name), changeSet([{ tables }]))
    await end()
    const rows = await mirror.all<{ count: number }>(
      `select count(*)::int as count from mirror.${stream.name} where _deleted_at is null and resource_id like 'boat %'`,
    )
    return rows[0]?.count ?? 0
  }

  beforeEach(async () => {
    await everything()
    const rows = boats.map((id) => rowOf(resources, { id }))
    await mirror.app.database.transaction((client) => applyWrites(client, { tables: [write(resources, rows)] }))
  })

  it('that changed are no loss, and are one when nothing comes in their place', async () => {
    await answer(pricings, 5, (index) => ({ price: index }))
    expect(await answer(pricings, 5, (index) => ({ price: 100 + index }))).toBe(50)
    expect(await answer(pricings, 0, () => null)).toBe(50)
  })

  it('whose days are over are no loss', async () => {
    await answer(unavailabilities, 5, (index) => ({ from: `2020-01-0${index + 1}`, to: '2020-05-01T10:00:00Z' }))
    expect(await answer(unavailabilities, 0, () => null)).toBe(0)
    await answer(unavailabilities, 5, (index) => ({ from: `2020-01-0${index + 1}`, to: '2099-05-01T10:00:00Z' }))
    expect(await answer(unavailabilities, 0, () => null)).toBe(50)
  })
})
