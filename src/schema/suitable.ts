// Can the program work in this database at all? What an administrator chose otherwise is refused by name, before anything
// is written.

import type { Queryable } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'

type Facts = {
  readonly name: string
  readonly role: string
  readonly encoding: string
  readonly standby: boolean
  readonly read_only: boolean
  readonly temporary: boolean
}

const factsQuery = `select current_database() as name, current_user as role,
  pg_encoding_to_char(encoding) as encoding, pg_is_in_recovery() as standby,
  current_setting('transaction_read_only') = 'on' as read_only,
  has_database_privilege(oid, 'temporary') as temporary
  from pg_database where datname = current_database()`

const refused = (message: string, remedy: string): BoatMirrorError =>
  new BoatMirrorError('DATABASE_UNSUITABLE', message, { remedy })

function assertWritable({ name, role, encoding, standby, read_only: readOnly }: Facts): void {
  if (encoding !== 'UTF8')
    throw refused(
      `Database ${name} has the encoding ${encoding}, which cannot hold every text of the API.`,
      `Create one with: create database NAME encoding 'UTF8' template template0, and name it in DATABASE_URL.`,
    )
  if (standby)
    throw refused(
      `The server of database ${name} is a standby, which takes no writes.`,
      'Set DATABASE_URL to the primary.',
    )
  if (readOnly)
    throw refused(
      `Transactions of role ${role} in database ${name} are read-only (default_transaction_read_only).`,
      'Set it to off by alter database, alter role or in postgresql.conf, or use another role.',
    )
}

/**
 * Checks that the database can be written to, and can hold every text. `sync` also needs temporary tables, through
 * which batches are loaded.
 * @throws BoatMirrorError DATABASE_UNSUITABLE, DATABASE_PRIVILEGE.
 */
export async function assertSuitable(db: Queryable, purpose: 'migrate' | 'sync'): Promise<void> {
  const { rows } = await db.query<Facts>(factsQuery)
  for (const facts of rows) {
    assertWritable(facts)
    if (purpose === 'migrate' || facts.temporary) continue
    throw new BoatMirrorError(
      'DATABASE_PRIVILEGE',
      `Role ${facts.role} may not make temporary tables in database ${facts.name}.`,
      { remedy: `Run: grant temporary on database ${facts.name} to ${facts.role}` },
    )
  }
}

/** The schemas that the baseline makes. */
export const ourSchemas = ['sync', 'mirror', 'mirror_log', 'mirror_views', 'live', 'report', 'outbox', 'company_access']

const takenQuery = `select n.nspname as schema, pg_get_userbyid(n.nspowner) as owner, min(c.relname) as example
  from pg_namespace n join pg_class c on c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
  where n.nspname = any ($1) group by 1, 2 order by 1`

/**
 * Schemas of our names may be there before the first migrate, but nothing in them.
 * @throws BoatMirrorError DATABASE_UNSUITABLE
 */
export async function assertNamesFree(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ schema: string; owner: string; example: string }>(takenQuery, [ourSchemas])
  if (rows.length === 0) return
  const taken = rows.map(({ schema, owner, example }) => `${schema} (of ${owner}, with ${example})`).join(', ')
  throw refused(
    `The database already has schemas with the names that Boat Mirror needs: ${taken}.`,
    'Rename them (alter schema … rename to …), or give Boat Mirror its own database.',
  )
}
