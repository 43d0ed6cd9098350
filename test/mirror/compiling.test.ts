// Postgres compiles (JIT) what it expects to cost more than jit_above_cost. Of what we ask that takes longer than it ever
// saves, so nothing of ours may look so expensive, to whomever asks it. What one expects that cannot compile shows the same.

import type { PoolClient } from 'pg'
import { beforeAll, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { readStatus } from '../../src/inspect/read-status.ts'
import { opened } from '../helpers/opened.ts'
import { statementsOf } from '../helpers/plans.ts'
import { openMirror } from '../helpers/rows.ts'
import { filling, works } from '../helpers/statements.ts'

/** What jit_above_cost is where nobody has set it. */
const dear = 100_000

let compiles: boolean
const mirror = opened(() => openMirror({ statementTimeoutMs: 0 }))
beforeAll(async () => {
  const able = await mirror.all<{ able: boolean }>('select pg_jit_available() as able')
  compiles = able[0]?.able === true
  for (const statement of filling(200)) await mirror.all(statement)
  // As many entries as the sandbox brings, mostly of calendars and prices; of the first ones a fifth.
  await mirror.all(`insert into mirror.change_log (stream, key, operation, diff, whole)
    select 'rentals', jsonb_build_object('id', id), 'insert', '{}', id % 5 > 0 from generate_series(1, 20000) id`)
  await mirror.all(`select mirror.next_changes('follower', 1)`)
  await mirror.all('analyze')
})

/**
 * The statements of a work, those inside functions too, that Postgres would compile for who has its settings as they come.
 * Whether it compiles is decided with the plan, which a session keeps: one made inside a function without JIT and without
 * sequential scans, each of which it counts as 1e10 before Postgres 18, is not compiled later either.
 */
async function compiledIn(work: (client: PoolClient) => Promise<unknown>): Promise<readonly string[]> {
  const statements = await statementsOf(mirror.db.pool, work, 'set local jit = on')
  expect(statements).not.toEqual([])
  return statements
    .filter(({ cost, mayCompile, compiled }) => (compiles ? compiled : mayCompile && cost % 1e10 > dear))
    .map(({ cost, sql }) => `${Math.round(cost)}: ${sql.slice(0, 200)}`)
}

it('no view of ours', async () => {
  const views = await mirror.all<{ view: string }>(
    `select c.oid::regclass::text as view from pg_class c
     where c.relkind = 'v' and relnamespace::regnamespace::text in ('mirror', 'mirror_views', 'live', 'report', 'sync', 'outbox')`,
  )
  expect(views.map(({ view }) => view)).toContain('mirror.changes')
  const found = await compiledIn(async (db) => {
    for (const { view } of views) await db.query(`select * from ${view}`)
  })
  expect(found).toEqual([])
})

for (const [what, work] of works)
  it(`no statement of: ${what}`, async () => {
    expect(await compiledIn(work)).toEqual([])
  })

it('no statement of the status', async () => {
  const config = readConfig(
    { WEBHOOK_URL: 'http://receiver', WEBHOOK_SECRET: `whsec_${'A'.repeat(44)}` },
    '/nonexistent',
  )
  const found = await compiledIn((pool) => readStatus(config, { database: { pool }, url: mirror.url }, null))
  expect(found).toEqual([])
})

it('no function that partners call, nor what it does inside', async () => {
  const calls = [
    'mirror.changes_since(null, 500)',
    'mirror.changes_since()',
    'mirror.last_cursor()',
    `mirror.next_changes('follower', 500)`,
    `mirror.ack_changes('follower', mirror.last_cursor())`,
    `mirror.reset_consumer('follower', 'now')`,
    `mirror.waiting_since(null)`,
    `mirror.drop_consumer('follower')`,
    `mirror.history('rentals', '{"id": 7}')`,
    `mirror.record_at('rentals', '{"id": 7}', now())`,
    `mirror.as_of('rentals', clock_timestamp())`,
    `report.rentals_as_of(clock_timestamp())`,
    `mirror.refresh('rentals', '{"id": 7}')`,
    `sync.lend_requests(10, 'read', 1, 0, false)`,
    'report.calendar(current_date, current_date + 30)',
    'report.today()',
    'company_access.visible()',
    'company_access.of_rentals(7)',
    `outbox.enqueue('rental.update', '{"rentalId": 7}', '{"orderLink": "https://example.org"}')`,
  ]
  const found = await compiledIn(async (db) => {
    for (const call of calls) await db.query(`select * from ${call}`)
  })
  expect(found).toEqual([])
})
