// `MirrorDatabase` as partners use it: the program of docs/queries.md, and what the compiler must know and refuse.

import { readFileSync } from 'node:fs'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import type { MirrorDatabase } from '../../src/index.ts'
import { createTestDatabase } from '../helpers/database.ts'

/** True when both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <T extends true>(value?: T): T | undefined => value

const parseDate = pg.types.getTypeParser(pg.types.builtins.DATE)
afterAll(() => pg.types.setTypeParser(pg.types.builtins.DATE, parseDate)) // other files share this process

// As docs/queries.md shows it, from here
function openMirror(connectionString: string): Kysely<MirrorDatabase> {
  pg.types.setTypeParser(pg.types.builtins.DATE, (text) => text) // pg would make a day an instant
  return new Kysely<MirrorDatabase>({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString }) }) })
}

const departures = (mirror: Kysely<MirrorDatabase>, until: string) =>
  mirror
    .selectFrom('report.departures as d')
    .innerJoin('mirror.rentals as r', 'r.id', 'd.rental_id')
    .select(['r.id', 'd.departure_date', 'd.departure_harbour_name', 'd.balance', 'r.message'])
    .where('d.departure_date', '<=', until)
    .orderBy('d.departure_datetime')
    .execute()
// to here

it('docs/queries.md shows this program', () => {
  const [, program] = /\/\/ As docs.*\n([\s\S]*)\/\/ to here/.exec(readFileSync(import.meta.filename, 'utf8')) ?? []
  const document = readFileSync(new URL('../../docs/queries.md', import.meta.url), 'utf8')
  expect(document).toContain(program)
})

it('runs on a mirror', async () => {
  await using database = await createTestDatabase()
  const db = new Kysely<MirrorDatabase>({ dialect: new PostgresDialect({ pool: database.pool }) })
  expect(await departures(db, '2030-01-01')).toEqual([])
})

it('knows tables, columns and what pg makes of them', () => {
  type Departure = Awaited<ReturnType<typeof departures>>[number]
  holds<Same<Departure['id'], string>>() // bigint
  holds<Same<Departure['balance'], string | null>>() // numeric
  holds<Same<Departure['departure_date'], string | null>>() // date
  const db = openMirror('postgres://localhost/none')
  const rental = db.selectFrom('mirror.rentals').selectAll()
  type Rental = Awaited<ReturnType<typeof rental.execute>>[number]
  holds<Same<Rental['departure_datetime'], Date | null>>()
  holds<Same<Rental['_payload'], unknown>>() // jsonb
  const run = db.selectFrom('sync.runs').select('status')
  type Run = Awaited<ReturnType<typeof run.execute>>[number]
  holds<Same<Run['status'], 'running' | 'done' | 'partial' | 'held' | 'failed'>>()
  // @ts-expect-error a column has one type
  holds<Same<Run['status'], string>>()
  // @ts-expect-error no such table
  db.selectFrom('mirror.boats')
  // @ts-expect-error no such column
  db.selectFrom('mirror.rentals').select('price_of_fuel')
  // @ts-expect-error not one of its states
  db.selectFrom('sync.runs').select('id').where('status', '=', 'ended')
  // @ts-expect-error Postgres alone gives a run its number
  db.insertInto('sync.runs').values({ stream: 'rentals', trigger: 'cli', id: '1' })
  // @ts-expect-error a run has a stream
  db.insertInto('sync.runs').values({ trigger: 'cli' })
})
