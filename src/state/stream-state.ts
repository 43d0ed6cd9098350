// When streams are due: sync.streams holds the schedule's truth, BullMQ's schedulers only wake us.

import { type Selectable, sql } from 'kysely'
import { descendantsOf, streamNamed } from '../catalog/catalog.ts'
import type { MirrorDatabase } from '../database/schema.generated.ts'
import { inMs, on, type Queryable } from '../database/sql.ts'

type StreamState = Readonly<Selectable<MirrorDatabase['sync.streams']>>

/** All streams with what is known of them. */
export async function listStreams(db: Queryable): Promise<readonly StreamState[]> {
  return await on(db).selectFrom('sync.streams').selectAll().orderBy('stream').execute()
}

/** Stores effective intervals and targets, in seconds; a stream without an interval is on no schedule. Due times already set stay. */
export async function saveIntervals(
  db: Queryable,
  streams: readonly { readonly stream: string; readonly intervalS: number | null; readonly targetS: number | null }[],
): Promise<void> {
  await db.query(
    `update sync.streams s set interval_s = t.interval_s, target_s = t.target_s,
       next_due_at = case when t.interval_s is null then null
         else least(s.next_due_at, clock_timestamp() + t.interval_s * interval '1 s') end
     from jsonb_to_recordset($1::jsonb) as t(stream text, interval_s numeric, target_s numeric)
     where s.stream = t.stream and (s.interval_s is distinct from t.interval_s or s.target_s is distinct from t.target_s)`,
    [
      JSON.stringify(
        streams.map(({ stream, intervalS, targetS }) => ({ stream, interval_s: intervalS, target_s: targetS })),
      ),
    ],
  )
}

/**
 * Takes a stream's turn if it is due (at most `earlyS` seconds early) and sets the next one; turns missed meanwhile count as one.
 * Two callers never both get it.
 */
export async function takeTurn(db: Queryable, stream: string, earlyS: number): Promise<boolean> {
  const { numUpdatedRows } = await on(db)
    .updateTable('sync.streams')
    .set({ next_due_at: sql`greatest(next_due_at, clock_timestamp()) + interval_s * interval '1 s'` })
    .where('stream', '=', stream)
    .where('interval_s', 'is not', null)
    .where((eb) => eb.or([eb('next_due_at', 'is', null), eb('next_due_at', '<=', inMs(earlyS * 1_000))]))
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Streams whose turn came more than `lateS` seconds ago: their wake-up was lost. */
export async function overdueStreams(db: Queryable, lateS: number): Promise<readonly string[]> {
  const rows = await on(db)
    .selectFrom('sync.streams')
    .select('stream')
    .where('interval_s', 'is not', null)
    .where('next_due_at', '<', inMs(-lateS * 1_000))
    .orderBy('next_due_at')
    .execute()
  return rows.map((row) => row.stream)
}

/** Nothing below the parent is due: the stream is as fresh as its parent. */
export async function inheritFreshness(db: Queryable, stream: string, parent: string): Promise<void> {
  await on(db)
    .updateTable('sync.streams as s')
    .from('sync.streams as p')
    .set({ as_of: sql`greatest(s.as_of, p.as_of)` })
    .where('s.stream', '=', stream)
    .where('p.stream', '=', parent)
    .execute()
}

/** Average requests of a stream's last ten runs within a week: what a turn costs. */
export async function turnCosts(db: Queryable): Promise<ReadonlyMap<string, number>> {
  const rows = await on(db)
    .selectFrom((q) =>
      q
        .selectFrom('sync.runs')
        .select(['stream', 'requests'])
        .select(sql<string>`row_number() over (partition by stream order by id desc)`.as('recent'))
        .where('status', 'in', ['done', 'partial', 'held'])
        .where('trigger', '=', 'schedule')
        .where('started_at', '>', sql<Date>`now() - interval '7 days'`)
        .as('r'),
    )
    .select('stream')
    .select(sql<number>`avg(requests)::float8`.as('cost'))
    .where('recent', '<=', '10')
    .groupBy('stream')
    .execute()
  return new Map(rows.map((row) => [row.stream, row.cost]))
}

/** The tables a run of this stream may have added rows to or taken rows from. */
export function affectedBy(name: string): readonly string[] {
  const stream = streamNamed(name)
  const embeds = (stream.embeds ?? []).flatMap((embed) => affectedBy(embed.stream))
  return [...new Set([name, ...descendantsOf(name).map((child) => child.name), ...embeds])]
}

/** Counts live rows into sync.streams. */
export async function countRows(db: Queryable, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const table = sql.table(`mirror.${streamNamed(name).name}`)
    await on(db)
      .updateTable('sync.streams')
      .set({ rows: sql`(select count(*) from ${table} where _deleted_at is null)` })
      .where('stream', '=', name)
      .execute()
  }
}
