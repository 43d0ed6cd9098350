// How the details of a run are spread over workers.

import { beforeAll, expect, it } from 'vitest'
import { messageOf } from '../../src/errors.ts'
import { runTask } from '../../src/sync/run-task.ts'
import { startRun } from '../../src/sync/runs/runs.ts'
import { addTasks, claimTask, hasOpenTasks, takeWakeable } from '../../src/sync/runs/tasks.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

const mirror = opened(() =>
  openTestMirror({ size: 120 }, { API_PAGE_BASE: '1', API_CONCURRENCY: '2', READ_ECONOMY: 'off' }),
)
beforeAll(async () => {
  await mirror.sync({ streams: ['rentals'] })
  await mirror.stopWorker()
})

/** A run without a plan; the one before it has ended, and no task waits. */
async function rentalsRun(): Promise<string> {
  const { pool } = mirror.app.database
  await mirror.all(
    `delete from sync.tasks; update sync.runs set status = 'done', finished_at = now() where status = 'running'`,
  )
  return await startRun(pool, { stream: 'rentals', hot: false, trigger: 'test', full: true, requestIds: [] })
}

/** Carries out a task as a worker does. Returns how it ended, and whether the next work must be checked. */
async function carryOut(id: string): Promise<{ readonly outcome: string; readonly told: boolean }> {
  const told: true[] = []
  const context = { ...mirror.app.syncContext, onTasks: () => void told.push(true) }
  const outcome = await runTask(context, id, 'test', new AbortController().signal).catch(messageOf)
  return { outcome, told: told.length > 0 }
}

/** Both requests in flight hang until what was read before them is committed, and what waits is checked. */
function hang(): void {
  mirror.sandbox.clearFaults()
  mirror.sandbox.fault({ op: 'GET /v3/rentals/{rentalId}', after: 30, times: 2, respond: { delayMs: 4_000 } })
}

async function hundredKeys(): Promise<readonly string[]> {
  const rows = await mirror.all<{ key: string }>('select id::text as key from mirror.rentals order by id limit 100')
  return rows.map(({ key }) => key)
}

it('details that take long are shared as soon as no task waits: each record is read once', async () => {
  const { pool } = mirror.app.database
  const keys = await hundredKeys()
  hang()
  const before = mirror.sandbox.requests().length
  const run = await rentalsRun()
  const [first] = await addTasks(pool, run, 'rentals', [{ kind: 'details', priority: 10, payload: { keys } }])
  expect(await carryOut(String(first))).toEqual({ outcome: 'done', told: true })

  const waiting = await pool.query<{ id: string; keys: string[] }>(
    `select id, payload -> 'keys' as keys from sync.tasks where run_id = $1 and status = 'waiting' order by id`,
    [run],
  )
  const left = waiting.rows.flatMap((task) => task.keys)
  expect(waiting.rows.length).toBeGreaterThan(1)
  expect(left).toEqual(keys.slice(-left.length))
  for (const [index, { id }] of waiting.rows.entries())
    expect(await carryOut(id)).toEqual({ outcome: 'done', told: index === waiting.rows.length - 1 })
  expect(await hasOpenTasks(pool, run)).toBe(false)

  const asked = mirror.sandbox.requests().slice(before)
  const singles = asked.flatMap(({ path }) => /rentals\/(\d+)$/.exec(path)?.[1] ?? [])
  expect(singles.sort()).toEqual([...keys].sort())
})

it('details keep their task while another one waits', async () => {
  const { pool } = mirror.app.database
  const keys = await hundredKeys()
  hang()
  const run = await rentalsRun()
  const [first, second] = await addTasks(pool, run, 'rentals', [
    { kind: 'details', priority: 10, payload: { keys } },
    { kind: 'details', priority: 10, payload: { keys: [] } },
  ])
  expect(await carryOut(String(first))).toEqual({ outcome: 'done', told: false })
  expect(await carryOut(String(second))).toEqual({ outcome: 'done', told: true })
})

it('tasks are woken by urgency and in the order in which they were planned, and are not woken again at once', async () => {
  const { pool } = mirror.app.database
  const run = await rentalsRun()
  const planned = Array.from({ length: 60 }, (_, index) => ({
    kind: 'details' as const,
    priority: 210 - (index % 3) * 100,
  }))
  const ids = await addTasks(pool, run, 'rentals', planned)
  await claimTask(pool, String(ids[2]), 'another')
  const ofPriority = (priority: number): string[] => ids.filter((_, index) => planned[index]?.priority === priority)
  const woken = await takeWakeable(pool, 100)
  expect(woken.map(({ id }) => id)).toEqual([...ofPriority(10).slice(1), ...ofPriority(110), ...ofPriority(210)])
  expect(await takeWakeable(pool, 100)).toEqual([])
})
