// No entry of the feed is skipped, whatever becomes of the servers: 1,000 runs of a model, and the function itself asked what
// the readers of some of these runs asked.

import { join } from 'node:path'
import pg from 'pg'
import { expect, inject, it } from 'vitest'
import { migrate } from '../../src/schema/migrate.ts'
import { isQuick } from '../helpers/extent.ts'
import { openOwnPostgres } from '../helpers/postgres-server.ts'
import { type Cursor, type Entry, runFeed, type Situation, standing } from './feed-model.ts'

const runs = Array.from({ length: 1_000 }, (_, index) => index + 1)

it('skips nothing in 1,000 runs', () => {
  const wrong = runs.flatMap((seed) => {
    const { violation, story } = runFeed(seed)
    return violation === null ? [] : [`run ${seed}: ${violation}\n${story.join('\n')}`]
  })
  expect(wrong).toEqual([])
})

const wouldSkip = (seed: number): boolean => runFeed(seed, { marks: false }).violation?.startsWith('skipped') === true

it('would be found to skip, had cursors no mark', () => {
  expect(runs.find(wouldSkip)).toBe(30)
})

const rowOf = `(e ->> 'seq')::bigint, (e ->> 'xid')::xid8, timestamptz '2026-01-01' + make_interval(secs => (e -> 'key' ->> 'id')::int), e -> 'key'`

/**
 * Puts what a reader found into a database, with the transaction ids that come next there, and asks for the same.
 * @returns the ids of what is given
 */
async function asked(
  [writer, reader]: readonly [pg.Client, pg.Client],
  { view, cursor, limit }: Situation,
  named: Entry | undefined,
): Promise<readonly number[]> {
  await writer.query('begin')
  const { rows } = await writer.query<{ epoch: string; xid: string }>(
    'select mirror.feed_epoch() as epoch, pg_current_xact_id()::text as xid',
  )
  const [{ epoch = '', xid: own = '' } = {}] = rows
  const shift = Number(own) + 1 - view.xmin
  const placeOf = (at: Pick<Entry, 'epoch' | 'xid' | 'seq'>) =>
    at.epoch === view.epoch
      ? { epoch, xid: String(at.xid === 0 ? 0 : at.xid + shift), seq: at.seq }
      : { epoch: String(at.epoch), xid: String(at.xid), seq: at.seq }
  const jsonOf = (entries: readonly Entry[]): string =>
    JSON.stringify(entries.map((entry) => ({ ...placeOf(entry), key: { id: entry.id } })))
  await writer.query('delete from mirror.change_log')
  await writer.query(
    `insert into mirror.change_log (epoch, seq, xid, changed_at, key, stream, operation, diff) overriding system value
     select (e ->> 'epoch')::bigint, ${rowOf}, 'x', 'insert', '{}' from jsonb_array_elements($1::jsonb) e`,
    [jsonOf(view.entries)],
  )
  await writer.query('commit')
  await reader.query('begin isolation level repeatable read')
  await reader.query('select pg_current_snapshot()')
  for (let xid = view.xmin; xid < view.nextXid; xid++) await writer.query('select pg_current_xact_id()')
  const marks = await reader.query<{ mark: string }>(
    `select mirror.cursor_mark(${rowOf}) as mark from jsonb_array_elements($1::jsonb) e`,
    [jsonOf(named === undefined ? [] : [named])],
  )
  const textOf = (at: Cursor): string => {
    const place = placeOf(at)
    return ['1', place.epoch, place.xid, place.seq, ...marks.rows.map(({ mark }) => mark)].join('.')
  }
  const given = await reader.query<{ id: number }>(
    `select (l.key ->> 'id')::int as id from mirror.positions_after($1, $2) with ordinality p
     join mirror.change_log l on l.seq = p.seq and l.changed_at = p.changed_at order by p.ordinality`,
    [cursor === null ? null : textOf(cursor), limit],
  )
  await reader.query('rollback')
  return given.rows.map(({ id }) => id)
}

// Not with `npm test`: change-feed.test.ts and feed-property.test.ts ask Postgres.
it.skipIf(isQuick)('gives in Postgres what it gives in the model, to fresh and to old snapshots', async () => {
  // Of nobody else: each transaction id is ours.
  const server = await openOwnPostgres(join(inject('runFolder'), 'feed-model'), { autovacuum: 'off' })
  const clients = [new pg.Client(server.url), new pg.Client(server.url)] as const
  const met = new Set<string>()
  try {
    await migrate(server.url)
    for (const client of clients) await client.connect()
    const waits = (seed: number): boolean =>
      runFeed(seed).situations.some(
        ({ view, cursor }) => !view.isStandby && cursor !== null && standing(view, cursor) === 'wait',
      )
    for (const seed of [...runs.filter(wouldSkip).slice(0, 4), ...runs.filter(waits).slice(0, 4)]) {
      const { situations } = runFeed(seed)
      const entries = new Map(situations.flatMap(({ given }) => given.map(([entry]) => [entry.id, entry] as const)))
      for (const [index, situation] of situations.entries()) {
        const { view, cursor, given } = situation
        if (view.isStandby) continue
        const named = entries.get(cursor?.mark ?? 0)
        const found = await asked(clients, situation, named)
        expect(found, `run ${seed}, read ${index}: ${JSON.stringify(situation)}`).toEqual(given.map(([{ id }]) => id))
        met.add(cursor === null ? 'start' : standing(view, cursor))
      }
    }
  } finally {
    for (const client of clients) await client.end()
    await server.close()
  }
  expect([...met].sort()).toEqual(['continue', 'repeat', 'start', 'wait'])
})
