// The heartbeats of workers: what they do, and when they count as silent and are deleted.

import { beforeEach, expect, it } from 'vitest'
import { listWorkers, noteWorker, startWorkerPresence } from '../../src/database/presence.ts'
import { createLogger } from '../../src/log.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'

const database = opened(createTestDatabase)
beforeEach(() => database.pool.query('delete from sync.workers'))

it('a worker is on the list while it lives', async () => {
  const presence = startWorkerPresence({ db: database.pool, version: '1.2.3', log: createLogger('silent') })
  await expect
    .poll(() => listWorkers(database.pool))
    .toMatchObject([{ pid: process.pid, version: '1.2.3', doing: null, isSilent: false }])
  await presence.stop()
  expect(await listWorkers(database.pool)).toEqual([])
})

it('what it has in work is told, and a dead one is silent, then gone', async () => {
  const { pool } = database
  const worker = (pid: number) => ({ id: `h:${pid}:x`, host: 'h', pid, version: '1' })
  await pool.query(`with r as (insert into sync.runs (stream, trigger) values ('rentals', 'test') returning id)
    insert into sync.tasks (run_id, stream, kind, status, owner, lease_until)
    select id, 'rentals', kind, 'running', owner, now() from r, (values ('details', 'h:7'), ('details', 'h:7'), ('sweep', 'h:7'), ('plan', 'h:71')) t (kind, owner)`)
  for (const pid of [5, 6, 7]) await noteWorker(pool, worker(pid))
  await pool.query(
    `update sync.workers set seen_at = now() - case pid when 5 then interval '11 min' else interval '1 min' end where pid < 7`,
  )
  await noteWorker(pool, worker(7))
  expect(await listWorkers(pool)).toMatchObject([
    { pid: 6, isSilent: true, doing: null },
    { pid: 7, isSilent: false, doing: 'rentals: details, rentals: sweep' },
  ])
})
