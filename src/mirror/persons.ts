// The data of one person: exported as it is, erased except for the key, and read again after an erasure is undone.

import { streamNamed, streams } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import { identifier, keySql, literal, type Queryable } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'
import { redactLog } from './feed.ts'
import { redactPersons } from './redact.ts'

const users = streamNamed('users')
const crew = streamNamed('rental_crew_members')

/** The streams whose rows are the person's own, by the user's id: the first column of their keys. */
const ownStreams = streams.filter((stream) => stream.person === true || stream.document === true)

/** A crew member of one of the user's rentals: the API does not say which user it is. */
export type CrewMember = { readonly rentalId: string; readonly id: string }

/** The crew of the rentals of a user that have not been erased. */
export async function crewOf(db: Queryable, userId: string): Promise<readonly CrewMember[]> {
  const { rows } = await db.query<CrewMember>(
    `select c.rental_id::text as "rentalId", c.id::text from mirror.rental_crew_members c join mirror.rentals r on r.id = c.rental_id
     where r.user_id = $1 and not exists (select from sync.erased e where e.stream = $2 and e.key = ${keySql(crew, 'c')})
     order by c.rental_id, c.id`,
    [userId, crew.name],
  )
  return rows
}

/** Ids of changes that could still write to or about the user. */
async function unsettledChanges(db: Queryable, userId: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id::text from outbox.queue where status in ('queued', 'sending', 'conflict', 'unknown', 'blocked')
       and (aggregate = 'user:' || $1 or operation = 'rental_user.assign' and body ->> 'userId' = $1) order by id`,
    [userId],
  )
  return rows.map(({ id }) => id)
}

/**
 * From here to the end of the transaction no other transaction writes records; those that have read some read them
 * again.
 */
const nextGeneration = (db: Queryable): Promise<unknown> =>
  db.query('update sync.privacy set generation = generation + 1')

/** Keeps only the keys of rows, and logs this for the feed, without values. */
async function keepKeys(db: Queryable, stream: StreamDef, condition: string, id: string): Promise<void> {
  const others = stream.columns.map(({ name }) => name).filter((name) => !stream.key.includes(name))
  const personal = stream.columns.filter((column) => column.personal === true).map(({ name }) => name)
  const idMember = stream.key.includes('id') ? `jsonb_build_object('id', id)` : `'{}'::jsonb`
  const key = stream.key.map((name) => `${literal(name)}, ${identifier(name)}`).join(', ')
  const { rows } = await db.query<{ key: string }>(
    `select jsonb_build_object(${key})::text as key from mirror.${identifier(stream.name)} where ${condition}`,
    [id],
  )
  const keys = rows.map((row) => row.key)
  await db.query(redactLog, [stream.name, keys, [...others, '_payload']])
  const diff = Object.fromEntries(personal.map((name) => [name, [null, null]]))
  await db.query(
    `with kept as (
       update mirror.${identifier(stream.name)} set ${others.map((name) => `${identifier(name)} = null`).join(', ')},
         _payload = ${idMember}, _changed_at = clock_timestamp()
       where ${condition} and (_payload <> ${idMember} or num_nonnulls(${others.map(identifier).join(', ')}) > 0)
       returning jsonb_build_object(${key}) as key, _deleted_at is null as alive)
     insert into mirror.change_log (epoch, stream, key, operation, diff)
     select (select mirror.feed_epoch()), $2, key, 'update', $3::jsonb from kept where alive`,
    [id, stream.name, JSON.stringify(diff)],
  )
}

/**
 * Erases a user: from now on every path to a row keeps only the key. `withCrew`: the crew of the user's rentals, too. In the
 * caller's transaction.
 * @throws BoatMirrorError NOT_FOUND for a user that was never mirrored, USAGE while changes of the user are not settled
 */
export async function erasePerson(
  db: Queryable,
  userId: string,
  withCrew: boolean,
): Promise<{ readonly crew: number }> {
  await nextGeneration(db)
  const known = await db.query('select from mirror.users where id = $1', [userId])
  if (known.rowCount === 0) throw new BoatMirrorError('NOT_FOUND', `There is no user ${userId}.`)
  const open = await unsettledChanges(db, userId)
  if (open.length > 0)
    throw new BoatMirrorError('USAGE', `Changes of user ${userId} are not settled: ${open.slice(0, 20).join(', ')}.`, {
      remedy: 'Wait until they are sent, or cancel them: boat-mirror changes cancel ID.',
    })
  await db.query('insert into sync.erased (stream, key) values ($1, $2) on conflict do nothing', [users.name, userId])
  const members = withCrew ? await crewOf(db, userId) : []
  for (const { rentalId, id } of members) await eraseCrewMember(db, rentalId, id)
  await redactPersons(db, [userId])
  for (const stream of ownStreams) await keepKeys(db, stream, `${identifier(stream.key[0] ?? '')} = $1::bigint`, userId)
  await db.query('select outbox.erase_person($1)', [userId])
  return { crew: members.length }
}

async function eraseCrewMember(db: Queryable, rentalId: string, id: string): Promise<void> {
  const key = JSON.stringify([rentalId, id])
  await db.query(
    `insert into sync.erased (stream, key)
     select $1, ${keySql(crew, 'c')} from mirror.rental_crew_members c where c.rental_id = $2 and c.id = $3 on conflict do nothing`,
    [crew.name, rentalId, id],
  )
  await keepKeys(db, crew, `rental_id = ${literal(rentalId)}::bigint and id = $1::bigint`, id)
  await db.query(
    `delete from sync.quarantine q using mirror.rental_crew_members c
     where q.stream = $1 and c.rental_id = $2 and c.id = $3 and q.key = ${keySql(crew, 'c')}`,
    [crew.name, rentalId, id],
  )
  await db.query(
    `update outbox.queue q set body = null, base = '{}', left_behind = null, proof = null, conflict = null,
       request = q.request - 'body', response = q.response - 'body'
     where q.operation like 'rental_crew_member.%' and q.aggregate = 'rental:' || $1 and q.record_key = $2
       and q.status in ('done', 'failed', 'expired', 'canceled')`,
    [rentalId, key],
  )
}

/** Takes back that a user is erased, and the crew of the user's rentals: the next sync reads them again. @returns false: was not */
export async function unerasePerson(db: Queryable, userId: string): Promise<boolean> {
  await nextGeneration(db)
  const gone = await db.query('delete from sync.erased where stream = $1 and key = $2', [users.name, userId])
  if (gone.rowCount === 0) return false
  await db.query(
    `delete from sync.erased e using mirror.rental_crew_members c join mirror.rentals r on r.id = c.rental_id
     where e.stream = $1 and r.user_id = $2 and e.key = ${keySql(crew, 'c')}`,
    [crew.name, userId],
  )
  const mine = `(stream = any($1) and key = $2 or key in (select id::text from mirror.rentals where user_id = $2::bigint)
    and stream in ('rentals', ${literal(crew.name)}))`
  const own = [ownStreams.map(({ name }) => name), userId]
  await db.query(
    `update sync.records set list_hash = null, detail_hash = null, detail_read_at = null where ${mine}`,
    own,
  )
  await db.query(`delete from sync.detail_tags where ${mine}`, own)
  // Pages that come as unchanged would not be looked into.
  await db.query(`delete from sync.list_pages where stream in ('users', 'rentals', ${literal(crew.name)})`)
  return true
}

/** All that is held about a user, as JSON values. */
export type PersonExport = {
  readonly userId: string
  readonly erased: boolean
  /** Rows of the mirror, by table. */
  readonly mirror: Readonly<Record<string, readonly unknown[]>>
  readonly changeLog: readonly unknown[]
  readonly quarantine: readonly unknown[]
  readonly changes: readonly unknown[]
}

/**
 * Collects what is held about a user: rows, change log, quarantine, and changes of the outbox.
 * @throws BoatMirrorError NOT_FOUND when nothing is
 */
export async function exportPerson(db: Queryable, userId: string): Promise<PersonExport> {
  const values = async (sql: string, parameters: readonly unknown[]): Promise<readonly unknown[]> =>
    (await db.query<{ value: unknown }>(sql, [...parameters])).rows.map(({ value }) => value)
  const mirror: Record<string, readonly unknown[]> = {}
  for (const { name, key } of ownStreams)
    mirror[name] = await values(
      `select to_jsonb(t) as value from mirror.${identifier(name)} t where ${identifier(key[0] ?? '')} = $1`,
      [userId],
    )
  mirror.rentals = await values('select to_jsonb(t) as value from mirror.rentals t where user_id = $1 order by id', [
    userId,
  ])
  const mine = [ownStreams.map(({ name }) => name), userId]
  const changeLog = await values(
    `select to_jsonb(c) as value from mirror.change_log c
     where stream = any($1) and key ->> 'id' = $2 or stream = any($1) and key ->> 'user_id' = $2
       or stream = 'rentals' and (diff -> 'user_id' -> 0 = to_jsonb($2::bigint) or diff -> 'user_id' -> 1 = to_jsonb($2::bigint)
         or key in (select jsonb_build_object('id', id) from mirror.rentals where user_id = $2::bigint))
     order by seq`,
    mine,
  )
  const quarantine = await values(
    `select to_jsonb(q) as value from sync.quarantine q where stream = any($1) and key = $2
       or stream = 'rentals' and (payload #>> '{user,id}' = $2 or payload ->> 'user' = $2) order by id`,
    mine,
  )
  const changes = await values(
    `select to_jsonb(q) as value from outbox.queue q
     where aggregate = 'user:' || $1 or operation = 'rental_user.assign' and body ->> 'userId' = $1 order by id`,
    [userId],
  )
  const { rowCount } = await db.query('select from sync.erased where stream = $1 and key = $2', [users.name, userId])
  const found = { userId, erased: rowCount === 1, mirror, changeLog, quarantine, changes }
  if ([...Object.values(mirror), changeLog, quarantine, changes].every((rows) => rows.length === 0))
    throw new BoatMirrorError('NOT_FOUND', `Boat Mirror has no data about user ${userId}.`)
  return found
}
