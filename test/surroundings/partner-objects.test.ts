// What partners add to our schemas: it stays. If it stops what we write, an error names its owner and what to do.

import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { migrate } from '../../src/schema/migrate.ts'
import { openCommandLine } from '../cli/program.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

const harbours = async (mirror: TestMirror, full = false) => (await mirror.sync({ streams: ['harbours'], full }))[0]

const one = async (mirror: TestMirror, sql: string): Promise<unknown> =>
  (await mirror.app.database.pool.query(sql)).rows[0]

describe('Objects of a partner among ours', () => {
  it("a table of another role's in report and mirror: the owner, no superuser, migrates", async () => {
    await using database = await createTestDatabase({ migrated: false })
    await (await createTestDatabase())[Symbol.asyncDispose]() // the roles for readers are there
    const role = `owner_${randomBytes(6).toString('hex')}`
    await database.pool.query(`create role ${role} login password 'x' nocreaterole;
      do $$ begin execute format('grant create on database %I to ${role}', current_database()); end $$`)
    const url = new URL(database.url)
    url.username = role
    url.password = 'x'
    try {
      await migrate(url.href)
      await database.pool.query(`create table report.takings (id int); create view mirror.taken as select 1 as id;
        update sync.repeatable set version = 'older'; drop owned by boat_mirror_reader`)
      await migrate(url.href)
      const { rows } = await database.pool.query(
        `select has_table_privilege('boat_mirror_reader', 'report.freshness', 'select') as ours,
                has_table_privilege('boat_mirror_reader', 'report.takings', 'select') as theirs`,
      )
      expect(rows).toEqual([{ ours: true, theirs: false }])
    } finally {
      await database.pool.query(`drop owned by ${role} cascade; drop role ${role}`)
    }
  })

  it('a column that must not be null and has no default: check and the run name it with the remedy', async () => {
    await using mirror = await openTestMirror({ size: 3 })
    const { pool } = mirror.app.database
    await pool.query('alter table mirror.harbours add column "Note" text not null')
    const said =
      /column Note of mirror\.harbours does not belong to Boat Mirror, must not be null .* alter table mirror\."harbours" alter column "Note" drop not null/
    expect(await harbours(mirror)).toMatchObject({ status: 'failed', error: expect.stringMatching(said) })
    expect(await one(mirror, `select max(attempts) as attempts from sync.tasks where stream = 'harbours'`)).toEqual({
      attempts: 1,
    })
    await using cli = await openCommandLine({ DATABASE_URL: mirror.config.databaseUrl ?? '' })
    const checked = await cli.run(['check', '--json'])
    expect(JSON.parse(checked.stdout).findings).toContainEqual(
      expect.objectContaining({ name: 'columns', status: 'fail', detail: expect.stringMatching(said) }),
    )
    expect(checked.code).toBe(1)

    await pool.query(`alter table mirror.harbours alter column "Note" set default ''`)
    for (const run of isFull ? await mirror.sync() : [await harbours(mirror)])
      expect(run).toMatchObject({ error: null })
    expect((await mirror.differences()).filter((line) => isFull || line.startsWith('harbours '))).toEqual([])
  })

  it('a unique index: records that it refuses are in quarantine with its name, the others are mirrored', async () => {
    await using mirror = await openTestMirror({ size: 5 })
    const { pool } = mirror.app.database
    await pool.query('create unique index partner_one on mirror.harbours ((1))')
    const run = await harbours(mirror)
    expect(run?.status).not.toBe('failed')
    expect(JSON.stringify(run)).toMatch(/partner_one on mirror\.harbours does not belong to Boat Mirror/)
    const parts = `select (select count(*)::int from mirror.harbours) as mirrored,
      (select count(*) > 0 and bool_and(reason like '%partner_one on mirror.harbours does not belong to Boat Mirror%')
       from sync.quarantine where stream = 'harbours') as named`
    expect(await one(mirror, parts)).toEqual({ mirrored: 1, named: true })

    await pool.query('drop index mirror.partner_one')
    await harbours(mirror, true)
    expect(await one(mirror, `select count(*)::int as left from sync.quarantine`)).toEqual({ left: 0 })
    expect((await mirror.differences()).filter((line) => line.startsWith('harbours'))).toEqual([])
  })

  it('a trigger that raises: the run says whose it is and is not tried again and again', async () => {
    await using mirror = await openTestMirror({ size: 3 })
    await mirror.app.database.pool.query(`create schema partner;
      create function partner.refuse() returns trigger language plpgsql as $$ begin
        raise exception 'no harbours today'; end $$;
      create trigger refuse before insert on mirror.harbours for each row execute function partner.refuse()`)
    expect(await harbours(mirror)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(
        /no harbours today: raised by partner\.refuse\(\) in a trigger that does not belong to Boat Mirror/,
      ),
    })
    expect(await one(mirror, `select max(attempts) as attempts from sync.tasks where stream = 'harbours'`)).toEqual({
      attempts: 1,
    })
  })
})
