// The access tokens of `serve`: `sync.access_tokens`. Only hashes are stored. The token's role decides what it may
// see of the database, and `company_access.of_role`, which reads this table, of which companies. It is created with the token and
// dropped with it; roles belong to the cluster, and may have to be created by another role.

import { identifier, type Queryable } from '../../database/sql.ts'
import { sqlStateOf } from '../../database/sql-states.ts'
import { type Connecting, readTogether } from '../../database/together.ts'
import { changingRestrictions } from './company-access.ts'
import { hashOf, newSecret, tokenText } from './secrets.ts'

/** The input for a new token. */
export type TokenRequest = {
  readonly name: string
  /** Companies it may see; null: all. */
  readonly companies: readonly string[] | null
  readonly personal: boolean
  readonly write: boolean
  /** How long it is valid, in milliseconds; null: until it is revoked. */
  readonly validMs: number | null
  /** The role that `serve` connects as, where it is not the present one. */
  readonly server: string | null
}

/** A token as it is listed. */
export type ListedToken = {
  readonly id: string
  readonly name: string
  readonly role: string
  readonly companies: readonly string[] | null
  readonly personal: boolean
  readonly write: boolean
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  /** `no role`: its role does not exist, or the present one may not become it. */
  readonly state: 'active' | 'expired' | 'revoked' | 'no role'
}

/** A task left for an administrator. */
export type RoleTask = { readonly reason: string; readonly sql: readonly string[] }

/** A token as a request is checked against it. */
export type KnownToken = Pick<ListedToken, 'id' | 'name' | 'role' | 'companies' | 'personal' | 'write'> & {
  readonly hash: Buffer
  readonly state: 'active' | 'expired' | 'no role'
  /** The identity of the database's history, which a restored or copied database does not share. */
  readonly history: string
}

/**
 * For a row `t`: the present state of the token. The right to become its role is a different privilege from Postgres
 * 16 on.
 */
const state = `case when t.revoked_at is not null then 'revoked'
    when t.expires_at <= clock_timestamp() then 'expired'
    when coalesce(pg_has_role(r.oid,
      case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end), false) then 'active'
    else 'no role' end`

const granted = `t.id::text as id, t.name, coalesce(p.name, t.role) as role, t.companies::text[] as companies, t.personal, t.write,
  ${state} as state`

/**
 * The tokens `t` of a table, with the partner `p` of each and its role `r`: by number and name, so that none of another cluster
 * counts before it was noticed, or by its name alone where the role was made again, or made at last.
 */
const withRoles = (table: string): string => `${table} t left join sync.partners p on p.partner = t.role
  left join pg_roles r on r.rolname = coalesce(p.name, t.role)
    and (r.oid = p.role or not exists (select from pg_roles a where a.oid = p.role))`
const tokens = withRoles('sync.access_tokens')

/** Roles of this database begin with it: they belong to the cluster, and a copied database has the same id. */
const rolePrefix = `(select 'boat_mirror_token_' || i.id || '_' || d.oid || '_' from outbox.installation i, pg_database d
    where d.datname = current_database())`

/**
 * Creates a token and its role, in the caller's transaction. A used name is a unique violation.
 * @returns the token, which cannot be read again; `task`: its role must still be created
 */
export async function createToken(
  db: Queryable,
  { name, companies, personal, write, validMs, server }: TokenRequest,
): Promise<{ readonly id: string; readonly token: string; readonly role: string; readonly task: RoleTask | null }> {
  const secret = newSecret()
  const { rows } = await changingRestrictions(db, () =>
    db.query<{ id: string; role: string; me: string }>(
      `with new as (select nextval(pg_get_serial_sequence('sync.access_tokens', 'id')) as id)
       insert into sync.access_tokens (id, name, hash, role, companies, personal, write, expires_at) overriding system value
       select id, $1, $2, ${rolePrefix} || id, $3, $4, $5, clock_timestamp() + $6 * interval '1 ms' from new
       returning id::text as id, role, current_user::text as me`,
      [name, hashOf(secret), companies, personal, write, validMs],
    ),
  )
  const { id = '', role = '', me = '' } = rows[0] ?? {}
  const servers = server === null || server === me ? [me] : [me, server]
  const sql = await creationOf(db, { role, personal, write }, servers)
  await db.query('insert into sync.partners (partner, name) values ($1, $1)', [role])
  const reason = await tryStatements(db, sql)
  await db.query('select company_access.notice_roles()')
  return { id, token: tokenText(id, secret), role, task: reason === null ? null : { reason, sql } }
}

type Revoked = Pick<ListedToken, 'id' | 'name'> & { readonly canceled: number; readonly task: RoleTask | null }

/**
 * Revokes a token by its name or number, cancels what it has queued and was not sent, and drops its role, in the caller's
 * transaction.
 * @returns null: the token does not exist. `canceled`: how many. `task`: the role must still be dropped
 */
export async function revokeToken(db: Queryable, which: string): Promise<Revoked | null> {
  await db.query('select company_access.notice_roles()')
  const { rows } = await db.query<{ id: string; name: string; role: string; present: string | null; own: boolean }>(
    `with revoked as (update sync.access_tokens t set revoked_at = clock_timestamp()
       where t.revoked_at is null and (t.name = $1 or t.id::text = $1) returning t.*)
     select t.id::text as id, t.name, t.role, r.rolname as present, starts_with(t.role, ${rolePrefix})
       or starts_with(r.rolname, ${rolePrefix}) as own
     from ${withRoles('revoked')}`,
    [which],
  )
  const [token] = rows
  if (token === undefined) return null
  const { id, name, role, present, own } = token
  // Some at a time, so that each statement ends in time.
  const cancel = 'select outbox.cancel_unsent($1, 500, $2) as count'
  let [canceled, more] = [0, 1]
  for (; more > 0; canceled += more)
    more = (await db.query<{ count: number }>(cancel, [role, `${id} (${name})`])).rows[0]?.count ?? 0
  const sql = present === null ? [] : [removalOf(present)]
  // In a copy of the database the role still serves the original.
  const reason =
    own || present === null
      ? await changingRestrictions(db, () => tryStatements(db, sql))
      : 'it was created in another database, which may still use it'
  return { id, name, canceled, task: reason === null ? null : { reason, sql } }
}

/** All tokens, the newest first. */
export async function listTokens(db: Queryable): Promise<readonly ListedToken[]> {
  const { rows } = await db.query<ListedToken>(
    `select ${granted}, t.created_at as "createdAt", t.expires_at as "expiresAt", t.revoked_at as "revokedAt"
     from ${tokens} order by t.id desc`,
  )
  return rows
}

/** The SQL that creates the role of a token again, as after a restore into another cluster. */
export async function missingRole(db: Queryable, token: ListedToken): Promise<readonly string[]> {
  const { rows } = await db.query<{ me: string }>('select current_user::text as me')
  return await creationOf(db, token, [rows[0]?.me ?? ''])
}

const historySql = '(select mirror.feed_epoch())::text as history'

/** Tokens by number, without those that are revoked. One look by the key. */
export async function findTokens(pool: Connecting, ids: readonly string[]): Promise<ReadonlyMap<string, KnownToken>> {
  const text = `select ${granted}, t.hash, ${historySql} from ${tokens} where t.id = any($1::bigint[]) and t.revoked_at is null`
  const [found] = await readTogether(pool, [{ name: 'serve:tokens', text, values: [`{${ids.join(',')}}`] }])
  return new Map((found?.rows ?? []).map((token: KnownToken) => [token.id, token]))
}

/** The history of the database, as `history` of a {@link KnownToken}. */
export async function findHistory(pool: Connecting): Promise<string> {
  const [found] = await readTogether(pool, [{ name: 'serve:history', text: `select ${historySql}`, values: [] }])
  return found?.rows[0]?.history
}

/** Does a role belong to a token? */
export async function isTokenRole(db: Queryable, role: string): Promise<boolean> {
  const { rowCount } = await db.query(`select from ${tokens} where p.name = $1`, [role])
  return rowCount !== 0
}

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
async function creationOf(db: Queryable, token: TokenRole, servers: readonly string[]): Promise<readonly string[]> {
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
const removalOf = (role: string): string => `drop role if exists ${identifier(role)}`

/**
 * Runs statements about a role in the caller's transaction, all or none.
 * @returns why none was run, in the words of Postgres; null: all were.
 */
async function tryStatements(db: Queryable, statements: readonly string[]): Promise<string | null> {
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
