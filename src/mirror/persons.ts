// The data of one person: exported as it is, erased except for the key, and read again after an erasure is undone.

import { personalColumns, streamNamed } from '../catalog/catalog.ts'
import { keyText } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Database } from '../database/database.ts'
import { identifier, keySql, keyTextSql, literal, type Queryable } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'
import { readErased } from '../privacy/stored.ts'
import { quarantineErasure } from './erasures.ts'
import { holdsColumns, redactLog } from './feed.ts'
import { ownStreams, redactPersons } from './redact.ts'

const users = streamNamed('users')
const crew = streamNamed('rental_crew_members')

/** A crew member of one of the user's rentals: the API does not say which user it is. */
type CrewMember = { readonly rentalId: string; readonly id: string; readonly erased: boolean }

export async function crewOf(db: Queryable, userId: string): Promise<readonly CrewMember[]> {
  const { rows } = await db.query<CrewMember>(
    `select c.rental_id::text as "rentalId", c.id::text, e.key is not null as erased
     from mirror.rental_crew_members c join mirror.rentals r on r.id = c.rental_id
       left join sync.erased e on e.stream = $2 and e.key = ${keySql(crew, 'c')}
     where r.user_id = $1 order by c.rental_id, c.id`,
    [userId, crew.name],
  )
  return rows
}

/** Ids of changes that could still write to or about the user; `withCrew`: or about the crew of the user's rentals. */
async function unsettledChanges(db: Queryable, userId: string, withCrew: boolean): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id::text from outbox.queue q where status in ('queued', 'sending', 'conflict', 'unknown', 'blocked')
       and (aggregate = 'user:' || $1 or operation = 'rental_user.assign' and body ->> 'userId' = $1
         or $2 and operation like 'rental_crew_member.%'
           and aggregate in (select 'rental:' || id from mirror.rentals where user_id = $1::bigint))
       and outbox.erased_user(q) is null order by id`,
    [userId, withCrew],
  )
  return rows.map(({ id }) => id)
}

/**
 * From here to the end of the transaction no other transaction writes records; those that have read some read them
 * again.
 */
const nextGeneration = (db: Queryable): Promise<unknown> =>
  db.query('update sync.privacy set generation = generation + 1')

/** Erased persons by the keys of their rows, as sync.erased has them. */
type Persons = { readonly users: readonly string[]; readonly crew: readonly string[] }

/** The keys of a stream's rows as JSON objects. A text that can be no key belongs to no row. */
const keyObjects = ({ key }: StreamDef, texts: readonly string[]): readonly string[] =>
  texts.flatMap((text) => {
    const parts = /^(?:\d{1,18}|\["\d{1,18}","\d{1,18}"\])$/.test(text) ? (text.match(/\d+/g) ?? []) : []
    return parts.length === key.length ? [`{${key.map((name, index) => `"${name}": ${parts[index]}`).join(', ')}}`] : []
  })

const rowsOf = ({ users: userIds, crew: members }: Persons): readonly (readonly [StreamDef, readonly string[]])[] => [
  ...ownStreams.map((stream) => [stream, keyObjects(stream, userIds)] as const),
  [crew, keyObjects(crew, members)],
]

/** What rows (`t`) hold besides their key, and how a key object (`g.key`) finds them. */
function beyondKey({ columns, key }: StreamDef) {
  const others = columns.map(({ name }) => name).filter((name) => !key.includes(name))
  const payload = key.includes('id') ? `jsonb_build_object('id', t.id)` : `'{}'::jsonb`
  return {
    others,
    logged: [...others, '_payload'],
    payload,
    holds: `(t._payload <> ${payload} or num_nonnulls(${others.map((name) => `t.${identifier(name)}`).join(', ')}) > 0)`,
    isOfKey: key.map((name) => `t.${identifier(name)} = (g.key ->> ${literal(name)})::bigint`).join(' and '),
  }
}

/** Keeps only the keys of rows, and logs this for the feed, without values. */
async function keepKeys(db: Queryable, stream: StreamDef, keys: readonly string[]): Promise<void> {
  const { others, logged, payload, holds, isOfKey } = beyondKey(stream)
  await db.query(redactLog, [stream.name, keys, logged])
  await db.query(
    `with kept as (
       update mirror.${identifier(stream.name)} t set ${others.map((name) => `${identifier(name)} = null`).join(', ')},
         _payload = ${payload}, _changed_at = clock_timestamp()
       from unnest($2::jsonb[]) g (key) where ${isOfKey} and ${holds} returning g.key, t._deleted_at is null as alive)
     insert into mirror.change_log (epoch, stream, key, operation, diff)
     select (select mirror.feed_epoch()), $1, key, 'update', $3::jsonb from kept where alive`,
    [
      stream.name,
      keys,
      JSON.stringify(Object.fromEntries(personalColumns(stream).map((name) => [name, [null, null]]))),
    ],
  )
}

/** Which of these persons there is something left of, in their rows or in the log of these. */
async function stillThere(db: Queryable, persons: Persons): Promise<Persons> {
  const found: Record<keyof Persons, Set<string>> = { users: new Set(), crew: new Set() }
  for (const [stream, keys] of rowsOf(persons)) {
    const { logged, holds, isOfKey } = beyondKey(stream)
    const { rows } = await db.query<{ key: string }>(
      `select ${keyTextSql(stream.key.map((name) => `g.key ->> ${literal(name)}`))} as key from unnest($2::jsonb[]) g (key)
       where exists (select from mirror.${identifier(stream.name)} t where ${isOfKey} and ${holds})
         or exists (select from mirror.change_log c where c.stream = $1 and c.key = g.key and ${holdsColumns})`,
      [stream.name, keys, logged],
    )
    for (const { key } of rows) found[stream === crew ? 'crew' : 'users'].add(key)
  }
  return { users: [...found.users], crew: [...found.crew] }
}

/** Erases persons everywhere: rows, log, quarantine, copies in rentals, samples, the message of the webhook, changes. */
async function eraseEverywhere(db: Queryable, persons: Persons): Promise<void> {
  await redactPersons(db, persons.users)
  // A quarantined record of any shape that names a user; a payload may be a text of JSON.
  const named = `(id|user)\\\\*": *\\\\*"?(${persons.users.join('|')})\\M`
  await db.query(quarantineErasure.erase(`t.payload::text ~ $1 and ${quarantineErasure.holds}`), [named])
  for (const [stream, keys] of rowsOf(persons)) await keepKeys(db, stream, keys)
  await db.query('delete from sync.quarantine where stream = $1 and key = any($2)', [crew.name, persons.crew])
  // Another sample comes with the next record.
  await db.query(`update sync.unknown_fields set sample = null where sample #>> '{}' ~ '^[[{]'`)
  await db.query('select outbox.end_erased()')
}

/**
 * Erases everybody in sync.erased of whom something is there: after a restore, and for rows that an operator inserted.
 * @returns how many persons
 */
export async function carryOutErasures(database: Database): Promise<number> {
  const { users: userIds, crew: members } = await readErased(database.pool)
  const persons = { users: [...userIds].filter((id) => /^\d{1,18}$/.test(id)), crew: [...members] }
  const back = await stillThere(database.pool, persons)
  const count = back.users.length + back.crew.length
  if (count > 0)
    await database.transaction(async (client) => {
      await nextGeneration(client)
      await eraseEverywhere(client, back)
    })
  return count
}

/**
 * Erases a user: from now on every path to a row keeps only the key. `withCrew`: the crew of the user's rentals, too. For a
 * user who is erased already, all of it is done again. In the caller's transaction.
 * @returns how many crew members are erased
 * @throws BoatMirrorError NOT_FOUND for a user that was never mirrored, USAGE while changes of the user are not settled
 */
export async function erasePerson(
  db: Queryable,
  userId: string,
  withCrew: boolean,
): Promise<{ readonly crew: number }> {
  await nextGeneration(db)
  const known = await db.query(
    `select from sync.erased where stream = $2 and key = $1 union all select from mirror.users where id = $1::bigint`,
    [userId, users.name],
  )
  if (known.rowCount === 0) throw new BoatMirrorError('NOT_FOUND', `There is no user ${userId}.`)
  const open = await unsettledChanges(db, userId, withCrew)
  if (open.length > 0)
    throw new BoatMirrorError('USAGE', `Changes of user ${userId} are not settled: ${open.slice(0, 20).join(', ')}.`, {
      remedy: 'Wait until they are sent, or cancel them: boat-mirror changes cancel ID.',
    })
  const members = (await crewOf(db, userId)).filter((member) => withCrew || member.erased)
  const persons = { users: [userId], crew: members.map(({ rentalId, id }) => keyText([rentalId, id])) }
  await db.query(
    `insert into sync.erased (stream, key) select $1, $2 union all select $3, unnest($4::text[]) on conflict do nothing`,
    [users.name, userId, crew.name, persons.crew],
  )
  await eraseEverywhere(db, persons)
  return { crew: members.length }
}

/** Takes back that a user is erased, and the crew of the user's rentals: the next sync reads them again. @returns false: was not */
export async function unerasePerson(db: Queryable, userId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `delete from sync.erased e where e.stream = $1 and e.key = $2 or e.stream = $3 and e.key in (select ${keySql(crew, 'c')}
       from mirror.rental_crew_members c join mirror.rentals r on r.id = c.rental_id where r.user_id = $2::bigint)`,
    [users.name, userId, crew.name],
  )
  if (rowCount === 0) return false
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
type PersonExport = {
  readonly userId: string
  readonly erased: boolean
  /** The crew of the user's rentals by their keys: which of them the user is, nobody says. */
  readonly crew: readonly CrewMember[]
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
  const members = await crewOf(db, userId)
  const found = { userId, erased: rowCount === 1, crew: members, mirror, changeLog, quarantine, changes }
  if ([...Object.values(mirror), changeLog, quarantine, changes].every((rows) => rows.length === 0))
    throw new BoatMirrorError('NOT_FOUND', `Boat Mirror has no data about user ${userId}.`)
  return found
}
