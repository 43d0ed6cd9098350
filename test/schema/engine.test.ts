// Engines that name themselves Postgres and answer otherwise: a Postgres whose answers to what is tried are altered on their way.

import pg from 'pg'
import { afterEach, describe, expect, inject, it, vi } from 'vitest'
import { migrate } from '../../src/schema/migrate.ts'
import { probeEngine } from '../../src/schema/suitable.ts'
import { createTestDatabase, createTestPool } from '../helpers/database.ts'
import { findPgBouncer, startPgBouncer } from '../helpers/pgbouncer.ts'

afterEach(() => vi.restoreAllMocks())

/** Lets each statement ask for something else, as an engine would understand it. @returns all statements */
function altered(from: string | RegExp, to: string): string[] {
  const asked: string[] = []
  const query = pg.Client.prototype.query as (...given: unknown[]) => unknown
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...given: unknown[]) {
    const [first, ...rest] = given
    const alter = (text: string): string => {
      asked.push(text)
      return text.replace(from, to)
    }
    if (typeof first === 'string') return query.call(this, alter(first), ...rest)
    if (typeof first === 'object' && first !== null && 'text' in first)
      (first as { text: string }).text = alter(String(first.text))
    return query.call(this, first, ...rest)
  } as never)
  return asked
}

describe('an engine', () => {
  it.each([
    ['version()', `'CockroachDB CCL v25.1.0 (x86_64)'`, /it names itself CockroachDB/],
    ['version()', `'PostgreSQL 15.12-YB-2025.1.0.0-b0 on x86_64'`, /it names itself PostgreSQL 15\.12-YB/],
    [
      'not pg_try_advisory_xact_lock($1::bigint)',
      '$1::bigint is null',
      /an advisory lock does not keep other sessions out/,
    ],
    ['pg_snapshot_xmin(pg_current_snapshot()) <=', `'9000000000000'::xid8 <=`, /does not hold the horizon/],
    ['not pg_visible_in_snapshot($2::xid8, pg_current_snapshot())', 'false', /does not hold the horizon/],
    ['pg_current_xact_id() > $2::xid8', `'1'::xid8 > $2::xid8`, /transaction ids have no order/],
    ['pg_current_xact_id()::text as id', 'no_such_function() as id', /no_such_function/],
    ['create temporary table boat_mirror_engine', 'create temporary tables boat_mirror_engine', /syntax error/],
    ['notify boat_mirror_engine', 'select 1', /a notification does not arrive/],
  ])('that reads %s as %s is refused by name within ten seconds', async (from, to, message) => {
    await using database = await createTestDatabase({ migrated: false })
    altered(from, to)
    const began = performance.now()
    await expect(migrate(database.url)).rejects.toMatchObject({
      code: 'DATABASE_UNSUITABLE',
      message: expect.stringMatching(message),
      remedy: expect.stringMatching(/^Use Postgres/),
    })
    expect(performance.now() - began).toBeLessThan(10_000)
    vi.restoreAllMocks()
    const { rows } = await database.pool.query(`select to_regnamespace('sync') as made`)
    expect(rows).toEqual([{ made: null }])
  })

  it.each(['08P01', '40001', '40P01', '42501', '53200', '53300', '55P03', '57014', '57P01', '57P03'])(
    'that fails with %s is Postgres: the failure is reported as it is',
    async (state) => {
      await using database = await createTestDatabase({ migrated: false })
      await database.pool.query(`create function public.fails() returns text language plpgsql
        as $$ begin raise exception using errcode = '${state}'; end $$`)
      altered('pg_current_xact_id()::text as id', 'public.fails() as id')
      await expect(probeEngine(database.pool)).rejects.toMatchObject({ code: state })
    },
  )

  it('that works is tried once, and again when its version changes', async () => {
    await using database = await createTestDatabase()
    const asked = altered('', '')
    const times = async (): Promise<number> => {
      asked.length = 0
      expect(await probeEngine(database.pool)).toBeNull()
      return asked.filter((text) => text.includes('pg_try_advisory_xact_lock')).length
    }
    expect([await times(), await times()]).toEqual([2, 0])
    await database.pool.query(`update sync.pinned set value = '["PostgreSQL 13"]' where key = 'engine'`)
    expect([await times(), await times()]).toEqual([2, 0])
  })

  it('is not judged where no second session is to be had, and that is said', async () => {
    await using database = await createTestDatabase()
    const pool = createTestPool(database.url, 1)
    try {
      expect(await probeEngine(pool)).toMatch(/was not tried, because a second session failed/)
      const { rows } = await database.pool.query(`select key from sync.pinned where key = 'engine'`)
      expect(rows).toEqual([])
    } finally {
      await pool.end()
    }
  })
})

const pooler = findPgBouncer()

describe.runIf(pooler)('an engine behind a transaction pooler', () => {
  it.each([
    ['that works is used', '', '', null],
    ['whose notifications do not arrive is used', 'notify boat_mirror_engine', 'select 1', null],
    [
      'whose locks lock nothing is refused',
      'not pg_try_advisory_xact_lock($1::bigint)',
      '$1::bigint is null',
      /keep other/,
    ],
    ['whose ids have no order is refused', 'pg_current_xact_id() > $2::xid8', `'1'::xid8 > $2::xid8`, /have no order/],
  ])('%s', async (_, from, to, message) => {
    await using database = await createTestDatabase({ migrated: false })
    await database.pool.query('revoke create on schema public from public') // as it is from Postgres 15 on
    const settings = { pool_mode: 'transaction', default_pool_size: '3' } as const
    await using bouncer = await startPgBouncer(pooler ?? '', inject('runFolder'), inject('adminUrl'), settings)
    altered(from, to)
    const migrated = migrate(bouncer.through(database.url))
    if (message === null) await expect(migrated).resolves.not.toEqual({ applied: [] })
    else
      await expect(migrated).rejects.toMatchObject({
        code: 'DATABASE_UNSUITABLE',
        message: expect.stringMatching(message),
      })
  })
})
