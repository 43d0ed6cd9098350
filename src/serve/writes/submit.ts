// From a request to its changes in the outbox. The same request again is the same change, also where two come at once.

import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'
import { type JsonObject, stringifyJson } from '../../api/wire/json.ts'
import type { WriteDef } from '../../catalog/types.ts'
import type { Database } from '../../database/database.ts'
import { durably, identifier, textArray } from '../../database/sql.ts'
import { sqlStateOf } from '../../database/sql-states.ts'
import { BoatMirrorError, messageOf } from '../../errors.ts'
import { refusalOf } from '../../outbox/enqueue.ts'
import { inStates } from '../../outbox/states.ts'
import type { Privacy } from '../../privacy/privacy.ts'
import { fieldProblem, problem, Refusal } from '../problem.ts'
import type { Caller } from '../types.ts'

/** A write as a program asked for it. */
export type Request = {
  readonly caller: TokenCaller
  readonly write: WriteDef
  readonly target: JsonObject
  /** The fields of each change: one, or those of an array. */
  readonly changes: readonly JsonObject[]
  readonly isArray: boolean
  /** Idempotency-Key, null where there is none. */
  readonly key: string | null
  /** If-Match and If-None-Match as they came, null where there is none. */
  readonly match: string | null
  readonly noneMatch: string | null
}

export type TokenCaller = Caller & { readonly token: NonNullable<Caller['token']> }

/** A request without a key is the same as an earlier one for so long after that one settled, in seconds. */
const sameForS = 600

/**
 * Hashes by which two requests differ: of what they ask for and, behind a dot, of If-Match. Personal values are in them: where
 * the installation has a key, they are made with that.
 */
function fingerprintOf({ write, target, changes, isArray, match }: Request, privacy: Privacy | undefined): string {
  const asked = [write.operation, target, isArray ? [...changes] : (changes[0] ?? {}), null]
  return [asked, ...(match === null ? [] : [match])]
    .map((content) => createHash('sha256').update(stringifyJson(content)).digest('base64url'))
    .map((plain) => privacy?.settings.hasher?.ofHash(plain) ?? plain)
    .join('.')
}

type Known = { readonly id: string; readonly fingerprint: string }

const lock = (client: PoolClient, what: readonly string[]): Promise<unknown> =>
  client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    JSON.stringify(['boat-mirror request', ...what]),
  ])

const sameKey = `select change_id as id, fingerprint from outbox.requests
  where token = $1 and idempotency_key = $2 order by place`

/**
 * The changes of the newest request with this content, while one of them is unsettled or was until recently. It is a
 * different request once the record was written again: then a value that was replaced since, or a record that was
 * removed, is requested anew. A creation is the same request as long as its record exists.
 */
const sameContent = `
  with newest as (
    select r.change_id, r.fingerprint, r.place from outbox.requests r where r.token = $1 and r.fingerprint = $2
      and r.received_at = (select max(n.received_at) from outbox.requests n where n.token = $1 and n.fingerprint = $2)
  )
  select n.change_id as id, n.fingerprint from newest n
  where exists (
      select from newest m join outbox.queue q on q.id = m.change_id
      where ${inStates('q.status', 'unsettled')} or q.settled_at > clock_timestamp() - $3 * interval '1 s')
    and not exists (
      select from newest m join outbox.queue q on q.id = m.change_id join outbox.operations o using (operation)
        join outbox.queue l on l.aggregate = q.aggregate and l.id > q.id join outbox.operations lo on lo.operation = l.operation
      where lo.stream = o.stream and not (${inStates('l.status', 'dead')})
        and case when o.kind in ('create', 'add')
          then lo.kind in ('delete', 'remove') and (l.record_key = q.record_key or l.target = q.target)
          else l.target = q.target end)
  order by n.place`

/** The outbox's reason for refusing a change. */
function refusalOfEnqueue({ operation, body }: WriteDef, error: unknown): unknown {
  switch (sqlStateOf(error)) {
    case '42501':
      return new Refusal(problem(403, messageOf(error)))
    case '53400':
      return new Refusal(problem(429, messageOf(error), {}, { 'retry-after': '5' }))
    case '23505':
      return new Refusal(problem(422, 'This Idempotency-Key was used for another request.'))
  }
  const refused = refusalOf(operation, error)
  if (!(refused instanceof BoatMirrorError)) return error
  const [, place] = /^\S+: (?:body|target)\.([\w.]+)/.exec(refused.message) ?? []
  const isField = place !== undefined && body.some(({ name }) => place.split('.')[0] === name)
  return new Refusal(isField ? fieldProblem(400, place, refused.message) : problem(400, refused.message))
}

/** From here on the transaction acts as the caller's role: rights and limits of the outbox are those of the token. */
async function actAs(client: PoolClient, { role }: Caller): Promise<void> {
  if (role === null) return
  try {
    await client.query(`set local role ${identifier(role)}`)
  } catch (error) {
    if (sqlStateOf(error) === undefined) throw error
    throw new Refusal(problem(403, 'The role of this token does not exist, or may not be used any more.'))
  }
}

/** Runs statements of the caller's; afterwards the transaction is the program's own again. */
export async function asCaller<T>(client: PoolClient, caller: Caller, work: () => Promise<T>): Promise<T> {
  await actAs(client, caller)
  const done = await work()
  if (caller.role !== null) await client.query('reset role')
  return done
}

/** @param base of an update: what the program saw; null: nothing, it goes over whatever is there */
async function enqueueAll(client: PoolClient, request: Request, base: JsonObject | null): Promise<readonly string[]> {
  const { caller, write, target, changes, isArray, key } = request
  // A token without a role shares its references with all others.
  const name = key === null || caller.role !== null ? key : `${caller.token.id}/${key}`
  const ids: string[] = []
  try {
    await asCaller(client, caller, async () => {
      for (const [place, body] of changes.entries()) {
        const options = {
          ...(name !== null && { reference: isArray ? `${name}/${place + 1}` : name }),
          ...(write.kind === 'update' && { base }),
        }
        const { rows } = await client.query<{ id: string }>(
          'select outbox.enqueue($1, $2::jsonb, $3::jsonb, $4::jsonb)::text as id',
          [write.operation, stringifyJson(target), stringifyJson(body), stringifyJson(options)],
        )
        ids.push(rows[0]?.id ?? '')
      }
    })
  } catch (error) {
    throw error instanceof Refusal ? error : refusalOfEnqueue(write, error)
  }
  return ids
}

/** Notes which request the changes are of. Those that the role has queued under this reference before are its own. */
async function noteRequest(client: PoolClient, ids: readonly string[], request: Request, note: readonly string[]) {
  await client.query(
    `insert into outbox.requests (change_id, place, token, fingerprint, idempotency_key)
     select id, place - 1, $2, $3, $4 from unnest($1::bigint[]) with ordinality as list (id, place) where ${durably}
     on conflict (change_id) do nothing`,
    [textArray(ids), ...note, request.key],
  )
}

type Submission = { readonly database: Database; readonly privacy?: Privacy | undefined }

/** Until the transaction ends the token is not revoked, so that a revocation finds all that it has queued. @throws Refusal 401 */
async function holdToken(client: PoolClient, token: string): Promise<void> {
  const held = 'select revoked_at from sync.access_tokens where id = $1 for share'
  const { rows } = await client.query<{ revoked_at: Date | null }>(held, [token])
  if (rows[0]?.revoked_at != null) throw new Refusal(problem(401, 'This access token was revoked.'))
}

/**
 * Queues what a request asks for, or finds the changes that it has queued before, whatever has changed since then. `baseOf`
 * checks the preconditions, and returns the base for `enqueueAll`.
 * @returns the ids of the changes, in the order of the request
 * @throws Refusal 400, 401, 403, 412, 422 or 429; BoatMirrorError DATABASE_* where it can't be reached
 */
export async function submit(
  { database, privacy }: Submission,
  request: Request,
  baseOf: (client: PoolClient) => Promise<JsonObject | null>,
): Promise<readonly string[]> {
  const token = request.caller.token.id
  const { key } = request
  const fingerprint = fingerprintOf(request, privacy)
  return await database.transaction(async (client) => {
    // Always in this order: two requests of which one has a key and the other has none wait for each other only once.
    if (key !== null) await lock(client, ['key', token, key])
    await lock(client, ['content', token, fingerprint])
    const { rows: known } =
      key === null
        ? await client.query<Known>(sameContent, [token, fingerprint, sameForS])
        : await client.query<Known>(sameKey, [token, key])
    // Who repeats a request after a lost answer may have read the record again, and has its new tag: that is no other request.
    if (known.some((each) => each.fingerprint.split('.')[0] !== fingerprint.split('.')[0]))
      throw new Refusal(problem(422, 'This Idempotency-Key was used for another request.'))
    if (known.length > 0) return known.map(({ id }) => id)
    await holdToken(client, token)
    const ids = await enqueueAll(client, request, await baseOf(client))
    await noteRequest(client, ids, request, [token, fingerprint])
    return ids
  })
}
