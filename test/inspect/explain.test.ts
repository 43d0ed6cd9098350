// What is known of one record, after syncs of a sandbox in which things happen to it.

import { beforeAll, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { type Explanation, explainRecord, type RecordFacts, whenNext, whyDeleted } from '../../src/inspect/explain.ts'
import { dueSettings } from '../../src/sync/plan.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

const rentals = { streams: ['rentals', 'rental_options', 'rental_payments', 'rental_crew_members', 'rental_resources'] }
let ids: readonly string[]

const explain = (stream: string, ...key: readonly string[]): Promise<Explanation> =>
  explainRecord(mirror.app.database.pool, streamNamed(stream), key, dueSettings(mirror.app.syncContext))
const nth = (index: number): string => ids[index] ?? ''

const mirror = opened(() => openTestMirror({ size: 20 }))
beforeAll(async () => {
  await mirror.sync(rentals)
  const { rows } = await mirror.app.database.pool.query<{ id: string }>(
    `select r.id from mirror.rentals r where exists (select from mirror.rental_payments p where p.rental_id = r.id) order by r.id`,
  )
  ids = rows.map(({ id }) => id)
  expect(ids.length).toBeGreaterThan(3)
  mirror.sandbox.mutate([
    { record: 'rentals', op: 'delete', id: nth(0) },
    { record: 'rentals', op: 'update', id: nth(1), set: { message: 'later', departureDatetime: 'soon' } },
    { record: 'rentals', op: 'update', id: nth(2), set: { referenceId: 'R-new' } },
  ])
  await mirror.app.database.pool.query(
    `select outbox.enqueue('rental.update', jsonb_build_object('rentalId', $1::bigint), '{"referenceId": "R-mine"}')`,
    [nth(3)],
  )
  await mirror.sync(rentals)
})

describe('a record', () => {
  it('that is there: values, source, time of the reads, and the run that found it', async () => {
    const explanation = await explain('rentals', nth(2))
    expect(explanation).toMatchObject({ state: 'alive', quarantine: null, changes: [], parent: null, heldBy: null })
    expect(explanation.row?.values).toMatchObject({ id: nth(2), reference_id: 'R-new' })
    expect(explanation.row?.source).toMatch(/^GET \/v3\/rentals/)
    expect(explanation.next?.readAt).toBeInstanceOf(Date)
    expect(explanation.why).toEqual([`Run ${explanation.lastSweep?.id} found it in the list.`])
  })

  it('that a hot run did not list: the complete run before it is the evidence', async () => {
    const { pool } = mirror.app.database
    const { lastSweep } = await explain('rentals', nth(2))
    const { rows } = await pool.query<{ id: string }>(
      `insert into sync.runs (stream, trigger, hot, status, phase, swept_at, finished_at)
       values ('rentals', 'schedule', true, 'done', 'finished', clock_timestamp(), clock_timestamp()) returning id`,
    )
    const [hot] = rows
    await pool.query(`insert into sync.sweep_pages (run_id, pass, page, keys) values ($1, 1, 0, '{}')`, [hot?.id])
    expect((await explain('rentals', nth(2))).why).toEqual([`Run ${lastSweep?.id} found it in the list.`])

    // What an earlier run held, a later complete one has settled.
    await pool.query(`insert into sync.held (run_id, key) values ($1, $2)`, [lastSweep?.id, nth(2)])
    expect(await explain('rentals', nth(2))).toMatchObject({ heldBy: null })
    await pool.query('delete from sync.held where run_id = $1', [lastSweep?.id])
    await pool.query('delete from sync.runs where id = $1', [hot?.id])
  })

  it('says why and when its details are read next', async () => {
    const { pool } = mirror.app.database
    const [stream, id] = ['rental_payments', nth(2)] as const
    const next = async (): Promise<unknown> => {
      const { rows } = await pool.query<{ id: string }>('select id from mirror.rental_payments where rental_id = $1', [
        id,
      ])
      const { next: told } = await explain(stream, id, rows[0]?.id ?? '')
      return told === null ? null : whenNext(told, (time) => (time === null ? 'never' : 'then'))
    }
    const set = (columns: string) =>
      pool.query(`update sync.records set ${columns} where stream = $1 and key = $2`, [stream, id])
    expect(await next()).toMatch(/^From then, or as soon as a change is seen/)
    await set(`detail_read_at = now() - interval '2 days'`)
    expect(await next()).toMatch(
      /^At the next run, because a change was seen after its details were read \(changed\)\./,
    )
    await pool.query(`update sync.records set changed_at = now() - interval '3 days' where key = $1`, [id])
    expect(await next()).toMatch(/^At the next run, because its details were read longer ago/)
    await set('detail_read_at = null')
    expect(await next()).toMatch(/^At the next run, because its details have never been read/)
    await set('detail_read_at = now(), partly = true')
    await pool.query(`update sync.reads set state = 'needed'`)
    expect(await next()).toMatch(/^At the next run, because reads that were skipped as redundant/)
    await set('partly = false')
    expect((await explain('rentals', nth(0))).next, 'deleted').toBeNull()
    expect((await explain('resource_availability_years', 'none', '2026')).next, 'unknown').toBeNull()
  })

  it('shows what lies below it and when that was read', async () => {
    const { below } = await explain('rentals', nth(2))
    expect(below.map(({ stream }) => stream)).toEqual([
      'rental_resources',
      'rental_options',
      'rental_payments',
      'rental_crew_members',
    ])
    const payments = below.find(({ stream }) => stream === 'rental_payments')
    // Whether each payment had its own read again follows from what was learned about that read by then.
    const { rows } = await mirror.app.database.pool.query<{ source: string }>(
      'select distinct _source as source from mirror.rental_payments where rental_id = $1 order by 1',
      [nth(2)],
    )
    expect(payments).toMatchObject({ deleted: 0, sources: rows.map(({ source }) => source) })
    expect(payments?.live).toBeGreaterThan(0)
    expect(payments?.detailReadAt).toBeInstanceOf(Date)
  })

  it('shows its history, newest first, with old and new values', async () => {
    const { history } = await explain('rentals', nth(2))
    expect(history.total).toBe(history.entries.length)
    expect(history.entries.at(-1)).toMatchObject({ operation: 'insert' })
    const renamed = history.entries.find(({ diff }) => diff.includes('R-new'))
    expect(JSON.parse(renamed?.diff ?? '{}').reference_id[1]).toBe('R-new')
  })

  it('that is gone: which run found out, and what went with it', async () => {
    const gone = await explain('rentals', nth(0))
    expect(gone.state).toBe('deleted')
    expect(gone.why[0]).toMatch(/^During run \d+ it was missing .* answered 404 or 410\.$/)
    expect(gone.below.every(({ live }) => live === 0)).toBe(true)
    const { rows } = await mirror.app.database.pool.query<{ id: string }>(
      'select id from mirror.rental_payments where rental_id = $1 limit 1',
      [nth(0)],
    )
    const payment = await explain('rental_payments', nth(0), rows[0]?.id ?? '')
    expect(payment.state).toBe('deleted')
    expect(payment.why).toEqual([`It was deleted with its parent record: rentals ${nth(0)} is deleted.`])
  })

  it('whose last version could not be mirrored: the entry of the quarantine, and the last good values', async () => {
    const bad = await explain('rentals', nth(1))
    expect(bad.state).toBe('alive')
    expect(bad.row?.values.message).not.toBe('later')
    expect(bad.quarantine?.reason).toMatch(/departureDatetime/)
  })

  it('that is about to change: its changes in the outbox', async () => {
    const { changes } = await explain('rentals', nth(3))
    expect(changes).toMatchObject([{ operation: 'rental.update', status: 'queued', settledAt: null }])
    expect(JSON.parse(changes[0]?.body ?? '{}')).toEqual({ referenceId: 'R-mine' })
  })

  it('known only from inside another one', async () => {
    const { rows } = await mirror.app.database.pool.query<{ id: string }>(`select id from mirror.users limit 1`)
    const user = await explain('users', rows[0]?.id ?? '')
    expect(user.row?.source).toContain('#')
    expect(user.state).toBe('stub')
    expect(user.why[0]).toContain('not considered for deletion')
  })

  it('that was never seen', async () => {
    expect(await explain('rentals', '1')).toMatchObject({
      state: 'absent',
      row: null,
      why: ['Nothing that was read from the API contained it.'],
    })
    expect((await explain('rental_options', '1', '2')).why).toEqual([
      'Its parent record, rentals 1, is not in the mirror either.',
    ])
  })

  it('with a key of the wrong type is refused by Postgres as data', async () => {
    await expect(explain('rentals', 'abc')).rejects.toMatchObject({ code: '22P02' })
  })
})

describe('every stream', () => {
  it('can be explained by the key of any of its rows', async () => {
    const pool = mirror.app.database.pool
    for (const name of ['rental_resources', 'rental_options', 'rental_crew_members', 'harbours', 'resources']) {
      const stream = streamNamed(name)
      const { rows } = await pool.query(`select ${stream.key.join(', ')} from mirror.${name} limit 1`)
      const key = stream.key.map((column) => String(rows[0]?.[column]))
      expect((await explainRecord(pool, stream, key, dueSettings(mirror.app.syncContext))).row, name).not.toBeNull()
    }
  })
})

describe('why a record is not deleted', () => {
  const row = {
    values: {},
    payload: '{}',
    source: 'GET /v3/rentals',
    readAt: new Date('2026-07-14T12:00:00Z'),
    isAhead: false,
    changedAt: new Date('2026-07-14T12:00:00Z'),
    deletedAt: null,
  }
  const facts: RecordFacts = {
    stream: 'rentals',
    key: { id: '1' },
    row,
    below: [],
    history: { total: 0, entries: [] },
    quarantine: null,
    changes: [],
    parent: null,
    deletingRun: null,
    lastSweep: null,
    heldBy: null,
  }
  const sweep = { id: '7', startedAt: new Date('2026-07-14T11:00:00Z'), status: 'done', seen: false } as const
  const cases = [
    { name: 'a person has to decide', more: { heldBy: '9' }, says: /boat-mirror runs release 9/ },
    { name: 'it was read after the sweep began', more: { lastSweep: sweep }, says: /read after that run started/ },
    {
      name: 'its endpoint still answered',
      more: { lastSweep: { ...sweep, startedAt: new Date('2026-07-14T13:00:00Z') } },
      says: /its own endpoint did not answer 404 or 410/,
    },
    { name: 'no sweep of late says anything', more: {}, says: /No complete sweep/ },
  ]
  for (const { name, more, says } of cases)
    it(name, () => expect(whyDeleted(streamNamed('rentals'), 'alive', { ...facts, ...more })[0]).toMatch(says))

  it('a change of one’s own deleted it outside any run', () => {
    const deleted = { ...row, deletedAt: new Date() }
    const change = { id: '3', operation: 'rental.delete', status: 'done', body: null, error: null }
    const when = { enqueuedAt: new Date(), settledAt: new Date() }
    expect(
      whyDeleted(streamNamed('rentals'), 'deleted', { ...facts, row: deleted, changes: [{ ...change, ...when }] }),
    ).toEqual(['Change 3 (rental.delete) deleted it.'])
  })
})
