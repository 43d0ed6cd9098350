// The end of a sweep in steps: of more than one range, stopped again and again, it comes to the same as at once.

import { beforeAll, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { committing } from '../../src/sync/commit.ts'
import { listReading, type TaskRun, taskRun } from '../../src/sync/context.ts'
import { endSweep } from '../../src/sync/deletions/missing.ts'
import { endPass } from '../../src/sync/lists/end-pass.ts'
import { type Checkpoint, firstCheckpoint, nextVariant } from '../../src/sync/lists/progress.ts'
import { stepSize } from '../../src/sync/runs/sweep-ranges.ts'
import { addTasks, claimTask, type Task } from '../../src/sync/runs/tasks.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

const size = 2 * stepSize.rows + 5_000

const mirror = opened(() => openTestMirror({ size: 1 }))
beforeAll(async () => {
  await mirror.stopWorker()
  await mirror.all(
    `insert into mirror.rentals (id, _payload, _source, _read_at, _deleted_at)
     select id, '{}', case when id % 9000 = 7 then 'GET /v3/x#rental' else 'GET /v3/rentals' end,
       case when id % 9000 = 8 then now() + interval '1 hour' else now() - interval '1 hour' end,
       case when id % 9000 = 9 then now() end from generate_series(1, ${size}) id`,
  )
})

/** A run whose list answered these records, in an order that has nothing to do with their keys. */
async function sweepOf(answered: string): Promise<string> {
  const { pool } = mirror.app.database
  await mirror.all(`update sync.runs set status = 'done'`)
  const rows = await mirror.all<{ id: string }>(
    `insert into sync.runs (stream, trigger) values ('rentals', 'test') returning id`,
  )
  const run = rows[0]?.id ?? ''
  await mirror.all(
    `insert into sync.sweep_pages (run_id, pass, page, keys)
     select $1, 1, page, array_agg(id::text) from (select id, (row_number() over (order by md5(id::text)) - 1) / 100 as page
       from generate_series(1, ${size}) id where ${answered}) paged group by page`,
    [run],
  )
  const [id = ''] = await addTasks(pool, run, 'rentals', [{ kind: 'sweep', priority: 1 }])
  return id
}

/** The task as another worker takes it over, which is stopped before its third step. */
async function takenOver(id: string): Promise<TaskRun<'list'> & { readonly task: Task }> {
  const { pool } = mirror.app.database
  await mirror.all(`update sync.tasks set status = 'waiting' where id = $1`, [id])
  const task = await claimTask(pool, id, 'test')
  if (task === null) throw new Error('The task could not be claimed.')
  let steps = 0
  const { signal } = new AbortController()
  const throwIfAborted = (): void => {
    if (++steps > 2) throw new Error('stopped')
  }
  const context = { ...mirror.app.syncContext, onTasks: () => {}, onCommit: () => {} }
  const run = taskRun(context, task, committing, Object.assign(signal, { throwIfAborted }))
  return { ...run, ...listReading(run, streamNamed('rentals')) }
}

/** Carries something out from where it was stopped, until it is through. Returns how often it was taken over, and the outcome. */
async function insist<T>(id: string, start: Checkpoint, work: (run: TaskRun<'list'>, at: Checkpoint) => Promise<T>) {
  for (let times = 1; ; times++) {
    const run = await takenOver(id)
    try {
      return { times, outcome: await work(run, (run.task.checkpoint as Checkpoint | null) ?? start) }
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'stopped' || times > 20) throw error
    }
  }
}

const ended = (keys: number): Checkpoint => ({
  ...firstCheckpoint,
  ...{ keys, pages: Math.ceil(keys / 100), ended: true, totals: [keys] },
})

async function leftOver(): Promise<readonly unknown[]> {
  const rows = await mirror.all(
    'select (select count(*)::int from sync.sweep_parts) as parts, (select count(*)::int from sync.sweep_ranges) as ranges',
  )
  return rows
}

async function tasksAfter(id: string, kind: string): Promise<{ keys: string[]; all: number; hold?: boolean }[]> {
  const rows = await mirror.all<{ payload: { keys: string[]; all: number } }>(
    'select payload from sync.tasks where run_id = (select run_id from sync.tasks where id = $1) and kind = $2 order by id',
    [id, kind],
  )
  return rows.map(({ payload }) => payload)
}

it('counts a pass: each key once is complete, one that came twice is not', async () => {
  const id = await sweepOf('true')
  const { times, outcome } = await insist(id, ended(size), endPass)
  expect(times).toBeGreaterThan(1)
  expect(outcome).toEqual(nextVariant(ended(size)))

  await mirror.all(`update sync.tasks set checkpoint = null where id = $1`, [id])
  await mirror.all(
    `update sync.sweep_pages set keys = keys || '17'::text where page = 3 and run_id = (select run_id from sync.tasks where id = $1)`,
    [id],
  )
  const again = await insist(id, { ...ended(size + 1), pass: 1, totals: [] }, endPass)
  expect(again.outcome).toMatchObject({ pass: 2, pages: 0, ended: false, keys: 0, end: null })
})

it('asks for exactly what it missed: no stub, no tombstone, no row that was written since', async () => {
  const id = await sweepOf('id % 9000 not in (6, 7, 8, 9)')
  const { times } = await insist(id, nextVariant(ended(size - 20)), endSweep)
  expect(times).toBeGreaterThan(1)
  const asked = (await tasksAfter(id, 'confirm')).flatMap(({ keys }) => keys)
  expect(new Set(asked)).toEqual(new Set(['6', '9006', '18006', '27006', '36006']))
  expect(asked).toHaveLength(5)
  expect(await tasksAfter(id, 'plan')).toHaveLength(1)
  expect(await leftOver()).toEqual([{ parts: 0, ranges: 0 }])
})

it('holds what is too much, and asks for a sample that is spread over all ranges', async () => {
  const id = await sweepOf('id % 3 <> 0')
  await insist(id, nextVariant(ended(size)), endSweep)
  const rows = await mirror.all<{ held: string; kept: number; missing: number }>(
    `select held, (select count(*)::int from sync.held where run_id = r.id) as kept, (plan ->> 'missing')::int as missing
     from sync.runs r where id = (select run_id from sync.tasks where id = $1)`,
    [id],
  )
  const missing = size / 3 - [9, 9_009, 18_009, 27_009, 36_009].length // these are tombstones
  expect(rows).toEqual([{ held: String(rows[0]?.kept), kept: missing, missing }])
  const [sample] = await tasksAfter(id, 'confirm')
  expect(sample).toMatchObject({ all: missing, hold: true })
  expect(new Set(sample?.keys).size).toBe(50)
  expect(new Set(sample?.keys.map((key) => Math.floor(Number(key) / stepSize.rows)))).toEqual(new Set([0, 1, 2]))
  expect(await leftOver()).toEqual([{ parts: 0, ranges: 0 }])
})
