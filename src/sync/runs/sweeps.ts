// The pages of sweeps, and the held deletions.

import { on, type Queryable } from '../../database/sql.ts'
import { stringifyJson } from '../../json/plain.ts'
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
    [pass.runId, pass.pass, pass.first, stringifyJson(pages)],
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

/** Adds to what a run holds back, or (`-infinity`) to what it has found missing and its end decides about. */
export async function addHeld(
  db: Queryable,
  runId: string,
  keys: readonly string[],
  releasedAt: '-infinity' | null = null,
): Promise<void> {
  await db.query(
    `insert into sync.held (run_id, key, released_at) select $1, unnest($2::text[]), $3
     on conflict (run_id, key) do update set released_at = excluded.released_at`,
    [runId, keys, releasedAt],
  )
}

/** The readable plan of rows that are held below some records. */
type PlanBelow = {
  readonly reason: string
  /** Records whose answers did not bring rows. */
  readonly parents: number
  readonly rows: number
  readonly sample: readonly unknown[]
}

/**
 * Holds back rows below records, in the order in which a run finds them, so that its plan adds up.
 * @returns whether the run held nothing before
 */
export async function holdBelow(
  db: Queryable,
  runId: string,
  keys: readonly string[],
  { reason, parents, rows, sample }: PlanBelow,
): Promise<boolean> {
  await addHeld(db, runId, keys)
  const { rows: runs } = await db.query<{ first: boolean }>(
    `update sync.runs r set held = r.held + $2, plan = coalesce(r.plan, '{}') || jsonb_build_object(
       'reason', coalesce(r.plan ->> 'reason', $3), 'parents', coalesce((r.plan ->> 'parents')::bigint, 0) + $4,
       'rows', coalesce((r.plan ->> 'rows')::bigint, 0) + $2,
       'sample', (select jsonb_agg(one order by place) from (select one, place
         from jsonb_array_elements(coalesce(r.plan -> 'sample', '[]') || $5::jsonb) with ordinality as given(one, place)
         order by place limit 20) shown))
     where r.id = $1 returning r.held = $2 as first`,
    [runId, rows, reason, parents, stringifyJson(sample)],
  )
  return runs[0]?.first ?? false
}

/** Holds deletions back until an operator decides; keys come in portions, and the plan is what the operator reads. */
export async function holdDeletions(db: Queryable, runId: string, keys: KeyPortions, plan: unknown): Promise<void> {
  for await (const portion of keys) await addHeld(db, runId, portion)
  await addToPlan(db, runId, plan)
}

/** Adds to what the operator reads about held deletions. */
export async function addToPlan(db: Queryable, runId: string, facts: unknown): Promise<void> {
  const sql = `update sync.runs set plan = coalesce(plan, '{}') || $2::jsonb where id = $1`
  await db.query(sql, [runId, stringifyJson(facts)])
}

export async function heldKeys(db: Queryable, runId: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ key: string }>(
    'select key from sync.held where run_id = $1 and released_at is null order by key',
    [runId],
  )
  return rows.map((row) => row.key)
}

/** Some of the held keys of an unreleased run, after a key, and how many there are in total. */
export async function heldKeyPage(
  db: Queryable,
  runId: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<{ readonly count: number; readonly keys: readonly string[] }> {
  const { rows } = await db.query<{ count: number; keys: string[] }>(
    `select count(*)::int as count, array(select key from sync.held where run_id = $1 and released_at is null and key > $2
       order by key limit $3) as keys
     from sync.held where run_id = $1 and released_at is null`,
    [runId, after, limit],
  )
  return rows[0] ?? { count: 0, keys: [] }
}

/** Takes back what a run holds: its list was wrong. */
export async function takeBackHeld(db: Queryable, runId: string): Promise<void> {
  await on(db).deleteFrom('sync.held').where('run_id', '=', runId).execute()
  await on(db).updateTable('sync.runs').set({ held: '0', plan: null }).where('id', '=', runId).execute()
}

export async function markReleased(db: Queryable, runId: string): Promise<void> {
  await db.query('update sync.held set released_at = clock_timestamp() where run_id = $1 and released_at is null', [
    runId,
  ])
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
  const { rows } = await db.query<HeldRun>(
    `select run_id::float8 as id, stream, held, started_at as "startedAt", found as plan from sync.held_plans order by run_id`,
  )
  return rows
}
