// Values by which every person of a sandbox can be found again, and what finds them: all rows of a database, as a dump
// would write them.

import type { Pool } from 'pg'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { streams } from '../../src/catalog/catalog.ts'
import { type CommandLine, openCommandLine } from '../cli/program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'

export type People = AsyncDisposable & {
  readonly sandbox: Sandbox
  readonly database: TestDatabase
  readonly command: CommandLine
}

/** Settings by which the program reads a sandbox, and little beside its people. */
export const settingsFor = (sandbox: Pick<Sandbox, 'url'>): Record<string, string> => ({
  API_BASE_URL: sandbox.url,
  API_AUTH: 'none',
  API_RATE_LIMIT: '0',
  SLOT_DAYS: '0',
  PRICE_DAYS: '0',
  CALENDAR_YEARS: '0',
})

/** Opens a sandbox, an empty mirror, and the program with both and these settings. */
export async function openPeople(size: number, env: Readonly<Record<string, string>> = {}): Promise<People> {
  const [sandbox, database] = await Promise.all([createSandbox({ size }), createTestDatabase()])
  const command = await openCommandLine({ ...settingsFor(sandbox), DATABASE_URL: database.url, ...env })
  return {
    ...{ sandbox, database, command },
    [Symbol.asyncDispose]: async () => {
      await command[Symbol.asyncDispose]()
      await sandbox.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** Stands in every value. */
export const marker = 'Zqxmarker'

const peopleTables = ['users', 'user_identities', 'user_licenses', 'rental_crew_members', 'rentals'] as const

/** Values for the personal fields of a record, and for some that nobody knows. */
function markedFields(table: string, key: string): Record<string, unknown> {
  const stream = streams.find(({ name }) => name === table)
  const fields = (stream?.columns ?? []).flatMap(({ personal, path, type }) => {
    if (personal !== true || path === null || path.includes('.') || type !== 'text') return []
    const value = path === 'email' ? `${marker}-${key}@Example.com` : ` ${marker} ${path}  ${key}`
    return [[path, value] as const]
  })
  const unknown =
    table === 'rentals'
      ? { guests: [{ firstName: `${marker} guest ${key}`, contact: { email: `${marker}@guest.example` } }] }
      : { nickname: `${marker} nick ${key}`, relatives: [{ who: `${marker} aunt` }], iban: { text: `${marker}-iban` } }
  return { ...Object.fromEntries(fields), ...unknown }
}

/** Gives every person of the sandbox values with the marker. `round` makes them other ones. @returns how many records have them */
export function markEverybody(sandbox: Sandbox, round = ''): number {
  const truth = sandbox.truth()
  let count = 0
  for (const table of peopleTables)
    for (const { key } of truth[table] ?? []) {
      const { id, rental_id, user_id } = key as Record<string, string | number>
      const parent = rental_id ?? user_id
      const set = markedFields(table, `${parent ?? ''}${id ?? ''}${round}`)
      sandbox.mutate([
        { record: table, op: 'update', set, ...(id !== undefined && { id }), ...(parent !== undefined && { parent }) },
      ])
      count++
    }
  return count
}

/** The tables in which a text stands, with how many rows. */
export async function tablesWith(pool: Pool, text: string): Promise<Readonly<Record<string, number>>> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'm') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`,
  )
  const found: Record<string, number> = {}
  for (const { name } of tables) {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::int as count from ${name} t where position(lower($1) in lower(t::text)) > 0`,
      [text],
    )
    if (rows[0]?.count) found[name] = rows[0].count
  }
  return found
}
