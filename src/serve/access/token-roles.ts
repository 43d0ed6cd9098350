// The database role of each access token: created with it, dropped with it. Roles belong to the cluster, and may have
// to be created by another role.

import { identifier, type Queryable } from '../../database/sql.ts'
import { sqlStateOf } from '../../database/sql-states.ts'

/** What the role of a token may do. */
type TokenRole = {
  readonly role: string
  readonly personal: boolean
  readonly write: boolean
}

/** The groups that the role of a token is a member of. */
const groupsOf = ({ personal, write }: TokenRole): readonly string[] => [
  'boat_mirror_serve',
  ...(personal ? ['boat_mirror_partner'] : []),
  ...(write ? ['boat_mirror_enqueue'] : []),
]

/** The role may not do it; or a group is missing, which only another role may create. */
const refusals: readonly string[] = ['42501', '42704']

/** An obstacle to dropping a role: rights granted to it. */
const stillUsed = '2BP01'

/** From here on a membership says whether it passes on rights: `serve` becomes the role and must not inherit from it. */
const separateRights = 160_000

/**
 * The statements that create the role of a token.
 * @param servers roles that `serve` connects as
 */
export async function creationOf(
  db: Queryable,
  token: TokenRole,
  servers: readonly string[],
): Promise<readonly string[]> {
  const groups = groupsOf(token)
  const { rows } = await db.query<{ version: number; missing: string[] }>(
    `select current_setting('server_version_num')::int as version,
       array(select name from unnest($1::text[]) name where to_regrole(quote_ident(name)) is null) as missing`,
    [[...groups, token.role]],
  )
  const { version = 0, missing = [] } = rows[0] ?? {}
  const how = version >= separateRights ? ' with inherit false, set true' : ''
  const role = identifier(token.role)
  return [
    ...missing.map((name) => `create role ${identifier(name)} nologin`),
    ...groups.map((group) => `grant ${group} to ${role}`),
    ...servers.map((server) => `grant ${role} to ${identifier(server)}${how}`),
  ]
}

/** The statement that drops the role of a token. */
export const removalOf = (role: string): string => `drop role if exists ${identifier(role)}`

/**
 * Runs statements about a role in the caller's transaction, all or none.
 * @returns why none was run, in the words of Postgres; null: all were.
 */
export async function tryStatements(db: Queryable, statements: readonly string[]): Promise<string | null> {
  await db.query('savepoint role')
  try {
    for (const statement of statements) await db.query(statement)
    return null
  } catch (error) {
    const state = sqlStateOf(error) ?? ''
    if (!(error instanceof Error) || (!refusals.includes(state) && state !== stillUsed)) throw error
    await db.query('rollback to savepoint role')
    return error.message
  }
}
