// The pages of sweeps, and the deletions that wait for a person.

import { sql } from 'kysely'
import { now, on, type Queryable } from '../database/sql.ts'
import type { KeyPortions } from './sweep-ranges.ts'

/** Stores the keys of pages that follow one another, in the pages' own transaction. */
export async function saveSweepPages(
  db: Queryable,
  pass: { readonly runId: string; readonly pass: number; readonly first: number },
  pages: readonly (readonly string[])[],
): Promise<void> {
  await db.query(
    `insert into sync.sweep_pages (run_id, pass, page, keys)
     select $1, $2, $3 + place - 1, array(select jsonb_array_elements_text(keys))
     from jsonb_array_elements($4::jsonb) with ordinality as given(keys, place)
     on conflict (run_id, pass, page) do update set keys = excluded.keys`,
    [pass.runId, pass.pass, pass.first, JSON.stringify(pages)],
  )
}

/** How many records of a stream were tombstoned within 24 hours; an index takes no time that changes while it is read. */
export async function deletedLately(db: Queryable, stream: string): Promise<number> {
  const { rows } = await db.query<{ deleted: number }>(
    `select count(*)::int as deleted from mirror.change_log
     where stream = $1 and operation = 'delete' and changed_at > statement_timestamp() - interval '24 hours'`,
    [stream],
  )
  return rows[0]?.deleted ?? 0
}

/** Holds deletions back until a person decides; keys come in portions, and the plan is what that person reads. */
export async function holdDeletions(db: Queryable, runId: string, keys: KeyPortions, plan: unknown): Promise<void> {
  for await (const portion of keys)
    await on(db)
      .insertInto('sync.held')
      .columns(['run_id', 'key'])
      .expression(
        on(db).selectNoFrom((eb) => [eb.val(runId).as('run_id'), sql<string>`unnest(${portion}::text[])`.as('key')]),
      )
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  await on(db)
    .updateTable('sync.runs')
    .set({ plan: JSON.stringify(plan) })
    .where('id', '=', runId)
    .execute()
}

/** The held keys of a run that nobody has released. */
export async function heldKeys(db: Queryable, runId: string): Promise<readonly string[]> {
  const rows = await on(db)
    .selectFrom('sync.held')
    .select('key')
    .where('run_id', '=', runId)
    .where('released_at', 'is', null)
    .orderBy('key')
    .execute()
  return rows.map((row) => row.key)
}

/** Takes back what a run holds: its list was wrong. */
export async function takeBackHeld(db: Queryable, runId: string): Promise<void> {
  await on(db).deleteFrom('sync.held').where('run_id', '=', runId).execute()
  await on(db).updateTable('sync.runs').set({ held: '0', plan: null }).where('id', '=', runId).execute()
}

/** Marks held keys as released. */
export async function markReleased(db: Queryable, runId: string): Promise<void> {
  await on(db)
    .updateTable('sync.held')
    .set({ released_at: now })
    .where('run_id', '=', runId)
    .where('released_at', 'is', null)
    .execute()
}

export type HeldRun = {
  readonly id: number
  readonly stream: string
  readonly held: number
  readonly startedAt: Date
  readonly plan: unknown
}

/** Of the newest complete run and the newest hot run of each stream those that still hold deletions. */
export async function heldRuns(db: Queryable): Promise<readonly HeldRun[]> {
  return await on(db)
    .selectFrom('sync.runs as r')
    .innerJoin('sync.held as h', (join) => join.onRef('h.run_id', '=', 'r.id').on('h.released_at', 'is', null))
    .select((eb) => [eb.cast<number>('r.id', 'float8').as('id'), 'r.stream', 'r.started_at as startedAt', 'r.plan'])
    .select(sql<number>`count(h.key)::int`.as('held'))
    .where('r.status', '=', sql.lit('held')) // as in the predicate of its index
    .where('r.record_key', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('sync.runs as n')
            .select('n.id')
            .whereRef('n.stream', '=', 'r.stream')
            .whereRef('n.id', '>', 'r.id')
            .whereRef('n.hot', '=', 'r.hot')
            .where('n.status', '<>', 'running')
            .where('n.record_key', 'is', null),
        ),
      ),
    )
    .groupBy(['r.id', 'r.stream', 'r.started_at', 'r.plan'])
    .orderBy('r.id')
    .execute()
}
