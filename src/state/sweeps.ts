// What a sweep saw, and what it therefore missed.

import { sql } from 'kysely'
import type { StreamDef } from '../catalog/types.ts'
import { isStub, keySql, now, on, type Queryable } from '../database/sql.ts'
import { isContentKeySql } from './quarantine.ts'
import type { Task } from './tasks.ts'
import { inWindowSql, type Window, windowParameters } from './windows.ts'

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

/** How many records one pass answered, and how many different ones: by their keys, or by content where they have none. */
export async function passFacts(
  db: Queryable,
  runId: string,
  pass: number,
): Promise<{ answered: number; distinct: number; keyless: number; keylessDistinct: number }> {
  const { rows } = await db.query<{ keyless: boolean; answered: number; distinct: number }>(
    `select ${isContentKeySql('k')} as keyless, count(*)::int as answered, count(distinct k)::int as distinct
     from sync.sweep_pages p, unnest(p.keys) k where p.run_id = $1 and p.pass = $2 group by 1`,
    [runId, pass],
  )
  const of = (keyless: boolean) => rows.find((row) => row.keyless === keyless) ?? { answered: 0, distinct: 0 }
  return {
    answered: of(false).answered,
    distinct: of(false).distinct,
    keyless: of(true).answered,
    keylessDistinct: of(true).distinct,
  }
}

type SweepResult = {
  /** Live rows of the table, stubs left out, that existed when the sweep began. */
  readonly live: number
  /** Those of them that it should have seen. */
  readonly expected: number
  /** Records with a key. */
  readonly seen: number
  readonly deletedLately: number
  /** Keys of live rows that the sweep did not see and nobody wrote since it began. */
  readonly missing: readonly string[]
}

/**
 * Compares what a finished sweep saw with the live rows. The difference of two sets is one sort or one hash whatever
 * Postgres believes of their sizes; a join of them may compare each with each.
 */
export async function sweepResult(
  db: Queryable,
  stream: StreamDef,
  run: Pick<Task, 'runId' | 'runStartedAt'>,
  window?: Window,
): Promise<SweepResult> {
  const { rows } = await db.query<Omit<SweepResult, 'missing'> & { missing: string[] | null }>(
    `with seen as materialized (select distinct k from sync.sweep_pages p, unnest(p.keys) k
            where p.run_id = $1 and not ${isContentKeySql('k')}),
          live as materialized (
            select ${keySql(stream, 'm')} as k, ${window === undefined ? 'true' : inWindowSql(window, 'm', 4)} as expected
            from mirror.${stream.name} m where m._deleted_at is null and not ${isStub('m')} and m._read_at < $2)
     select (select count(*)::int from live) as live, (select count(*)::int from live where expected) as expected,
       (select count(*)::int from seen) as seen, ${deletedLately('$3')} as "deletedLately",
       (select array_agg(k order by k) from (select k from live where expected except select k from seen) missed) as missing`,
    [run.runId, run.runStartedAt, stream.name, ...(window === undefined ? [] : windowParameters(window))],
  )
  const [row] = rows
  if (row === undefined) throw new Error('Counts are a row.')
  return { ...row, missing: row.missing ?? [] }
}

/** How many records of a stream (a parameter) were tombstoned within 24 hours. */
const deletedLately = (stream: string): string => `(select count(*)::int from mirror.change_log c
  where c.stream = ${stream} and c.operation = 'delete' and c.changed_at > clock_timestamp() - interval '24 hours')`

/** Live rows of a stream (stubs left out), and how many were tombstoned within 24 hours. */
export async function deletionFacts(
  db: Queryable,
  stream: StreamDef,
): Promise<{ readonly live: number; readonly deletedLately: number }> {
  const { rows } = await db.query<{ live: number; deleted_lately: number }>(
    `select (select count(*)::int from mirror.${stream.name} m where _deleted_at is null and not ${isStub('m')}) as live,
       ${deletedLately('$1')} as deleted_lately`,
    [stream.name],
  )
  return { live: rows[0]?.live ?? 0, deletedLately: rows[0]?.deleted_lately ?? 0 }
}

/** Holds deletions back until a person decides; the plan is what that person reads. */
export async function holdDeletions(
  db: Queryable,
  runId: string,
  keys: readonly string[],
  plan: unknown,
): Promise<void> {
  await on(db)
    .insertInto('sync.held')
    .columns(['run_id', 'key'])
    .expression(
      on(db).selectNoFrom((eb) => [eb.val(runId).as('run_id'), sql<string>`unnest(${keys}::text[])`.as('key')]),
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
    .selectFrom((q) =>
      q
        .selectFrom('sync.runs')
        .selectAll()
        .distinctOn(['stream', 'hot'])
        .where('status', '<>', 'running')
        .orderBy('stream')
        .orderBy('hot')
        .orderBy('id', 'desc')
        .as('r'),
    )
    .innerJoin('sync.held as h', (join) => join.onRef('h.run_id', '=', 'r.id').on('h.released_at', 'is', null))
    .select((eb) => [eb.cast<number>('r.id', 'float8').as('id'), 'r.stream', 'r.started_at as startedAt', 'r.plan'])
    .select(sql<number>`count(h.key)::int`.as('held'))
    .where('r.status', '=', 'held')
    .groupBy(['r.id', 'r.stream', 'r.started_at', 'r.plan'])
    .orderBy('r.id')
    .execute()
}
