// The API's own writes under their own method and path. Each becomes a change of the outbox; the answer waits until it is
// settled, and is what the API answered.
//
//   body.ts      what the request asks for          submit.ts    the change, or the one that this request made before
//   tags.ts      the base that If-Match names       settled.ts   waits
//   records.ts   what was written                   answer.ts    from the settled change to the answer

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { PoolClient } from 'pg'
import type { Json, JsonObject } from '../../api/wire/json.ts'
import { streamNamed } from '../../catalog/catalog.ts'
import type { WriteDef } from '../../catalog/types.ts'
import { writes } from '../../catalog/writes.ts'
import { personalFields } from '../../outbox/personal.ts'
import type { Privacy } from '../../privacy/privacy.ts'
import type { SyncContext } from '../../sync/context.ts'
import { refusedDecision } from '../../sync/refused-decision.ts'
import type { ServeContext } from '../context.ts'
import { type Answer, failureAnswer, problem, Refusal, send } from '../problem.ts'
import { present, recordTag, refusalFor, sealedIn } from '../rights.ts'
import type { Caller } from '../types.ts'
import { addressOf, answerOf, answerOfAll, stateOf } from './answer.ts'
import { askedBy, targetOf } from './body.ts'
import { headerOf, parseBody, prefers } from './http.ts'
import { payloadOf, writtenBy } from './records.ts'
import { readChanges, type SettledWatch, type WaitedChange, watchSettled } from './settled.ts'
import { asCaller, type Request, submit, type TokenCaller } from './submit.ts'
import { baseOf, matchTags, namesTag } from './tags.ts'

export type WriteContext = Pick<ServeContext, 'log' | 'listenUrl' | 'callerOf'> & {
  readonly sync: Pick<SyncContext, 'database'> & { readonly privacy?: Privacy | undefined }
  readonly settings: Pick<ServeContext['settings'], 'serveWaitMs'>
}

/** The largest body, in bytes: that of a change. */
const bodyLimit = 1_000_000

const needsToken = problem(
  401,
  'Writes need an access token: boat-mirror access token create NAME --write.',
  {},
  { 'www-authenticate': 'Bearer realm="boat-mirror"' },
)

/** @throws Refusal 401 or 403 */
async function writerOf(context: WriteContext, request: FastifyRequest): Promise<TokenCaller> {
  const caller = await context.callerOf(request)
  const { token } = caller
  if (token === null) throw new Refusal(needsToken)
  if (!caller.write) throw new Refusal(problem(403, `The token ${token.name} may not write. Create one with --write.`))
  return { ...caller, token }
}

/**
 * Checks the preconditions of a request. @returns the base of an update with If-Match, or null where any version will do
 * @throws Refusal 412 where the record is not the one that was served under the tag
 */
async function baseUnder(context: WriteContext, client: PoolClient, request: Request): Promise<JsonObject | null> {
  const { caller, write, target, changes, match, noneMatch } = request
  if (match === null && noneMatch === null) return null
  if (!['update', 'delete', 'remove'].includes(write.kind))
    throw new Refusal(problem(400, 'If-Match and If-None-Match are for PUT and DELETE of a record.'))
  const stream = streamNamed(write.stream)
  const record = { stream, key: Object.values(target).map(String) }
  const read = (): Promise<Json> => payloadOf(client, stream, record.key)
  const payload = refusalFor(caller, stream) === null ? await asCaller(client, caller, read) : null
  const served = payload === null ? null : present(caller, stream, payload)
  const stale = new Refusal(problem(412, 'The record is not the one that was served under this tag. Read it again.'))
  const now = served === null ? null : recordTag(caller, record, served)
  if (noneMatch !== null && now !== null && namesTag(noneMatch, now)) throw stale
  if (match === null) return null
  const tags = matchTags(match)
  if (served === null || now === null) throw stale
  if (tags === '*' || (write.kind !== 'update' && tags.includes(now))) return null
  const [seen] = (tags.includes(now) ? [now] : tags).flatMap((tag) => sealedIn(caller, record, tag) ?? [])
  if (write.kind !== 'update' || seen === undefined) throw stale
  const hidden = new Set(personalFields(context.sync.privacy, write).keys())
  return baseOf(write, seen, { served, wishes: changes[0] ?? {}, hidden })
}

type WriteRequest = Pick<Request, 'caller' | 'isArray'> & { readonly ids: readonly string[] }

/** Queues what a request asks for. @throws Refusal */
async function accept(
  context: WriteContext,
  write: WriteDef,
  { request, caller }: { readonly request: FastifyRequest; readonly caller: TokenCaller },
): Promise<WriteRequest> {
  const target = targetOf(write, request.params as Readonly<Record<string, string>>)
  const { changes, isArray } = askedBy(write, request.body as Json | undefined, context.sync.privacy)
  const key = headerOf(request, 'idempotency-key')
  if (key !== null && (key.length < 1 || key.length > 400))
    throw new Refusal(problem(400, 'Idempotency-Key must have 1 to 400 characters.'))
  const [match, noneMatch] = [headerOf(request, 'if-match'), headerOf(request, 'if-none-match')]
  const asked = { caller, write, target, changes, isArray, key, match, noneMatch }
  const ids = await submit(context.sync, asked, (client) => baseUnder(context, client, asked))
  return { caller, ids, isArray }
}

/** What a caller may see of a change. */
async function seenBy(context: WriteContext, caller: Caller, change: WaitedChange) {
  const { stream, record } = await writtenBy(context.sync.database.pool, change)
  return {
    record: change.status === 'done' && record !== null ? present(caller, stream, record) : null,
    personal: caller.personal,
  }
}

/**
 * Cancels a change whose conflict is about to be answered with 409: the program decides again. Otherwise the change would
 * hold the record, or be sent later by another decision.
 */
async function withdrawConflict(
  { sync: { database } }: WriteContext,
  caller: Caller,
  change: WaitedChange,
): Promise<WaitedChange> {
  if (change.status !== 'conflict') return change
  try {
    await database.transaction((client) =>
      asCaller(client, caller, () => client.query('select outbox.cancel($1)', [change.id])),
    )
  } catch (error) {
    if (refusedDecision(error) === error) throw error // otherwise it was decided meanwhile
  }
  const [now = change] = await readChanges(database.pool, [change.id])
  return now
}

/** The answer of the changes once they are settled, or when the wait has run out. */
async function answered(
  context: WriteContext,
  watch: SettledWatch,
  asked: WriteRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const { caller, ids, isArray } = asked
  const waited = await watch.wait(ids, context.settings.serveWaitMs, signal)
  if (waited.length < ids.length) return problem(410, 'The changes of this request are not kept any more.')
  const changes = await Promise.all(waited.map((change) => withdrawConflict(context, caller, change)))
  const answers = await Promise.all(
    changes.map(async (change) => answerOf(change, await seenBy(context, caller, change))),
  )
  const [first] = answers
  return isArray || first === undefined ? answerOfAll(changes, answers) : first
}

function accepted(ids: readonly string[]): Answer {
  const all = ids.map((id) => ({ change: id, location: addressOf({ id }) }))
  const [first = { change: '', location: '' }] = all
  return {
    status: 202,
    headers: { location: first.location, 'preference-applied': 'respond-async' },
    contentType: 'application/json',
    body: all.length === 1 ? first : { ...first, changes: all },
  }
}

/**
 * Puts the writes of the catalog, and `GET /changes/ID`, on a server that does not listen yet. Closing the server ends the
 * waits.
 */
export function registerWrites(app: FastifyInstance, context: WriteContext): void {
  void app.register(async (scope) => {
    const watch = watchSettled({ db: context.sync.database.pool, listenUrl: context.listenUrl, log: context.log })
    scope.addHook('preClose', () => watch.close())
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/json', { parseAs: 'buffer', bodyLimit }, parseBody)
    scope.setErrorHandler((thrown, request, reply) =>
      send(reply, failureAnswer(context.log, thrown, request.routeOptions.url)),
    )
    // Before the body is read: the body of a caller that may not write is never parsed.
    const callers = new WeakMap<FastifyRequest, TokenCaller>()
    scope.addHook('onRequest', async (request) => {
      if (request.method !== 'GET' && request.method !== 'HEAD') callers.set(request, await writerOf(context, request))
    })

    for (const write of writes) {
      const [method = '', path = ''] = write.endpoint.split(' ')
      scope.route({
        method,
        url: path.replace(/\{(\w+)\}/g, ':$1'),
        bodyLimit,
        handler: async (request, reply) => {
          const caller = callers.get(request) ?? (await writerOf(context, request))
          const asked = await accept(context, write, { request, caller })
          if (prefers(request, 'respond-async')) return send(reply, accepted(asked.ids))
          const gone = new AbortController()
          reply.raw.once('close', () => gone.abort())
          return send(reply, await answered(context, watch, asked, gone.signal))
        },
      })
    }

    scope.get<{ Params: { id: string } }>('/changes/:id', async (request, reply) => {
      const caller = await context.callerOf(request)
      const change = await ownChange(context, caller, request.params.id)
      if (change === null) return send(reply, problem(404, 'This token has asked for no change of this number.'))
      const body = stateOf(change, await seenBy(context, caller, change))
      return send(reply, { status: 200, headers: {}, contentType: 'application/json', body })
    })
  })
}

/** A change that this token asked for; null: there is none. */
async function ownChange(
  { sync: { database } }: WriteContext,
  { token }: Caller,
  id: string,
): Promise<WaitedChange | null> {
  if (token === null || !/^\d{1,18}$/.test(id)) return null
  const { rowCount } = await database.pool.query('select from outbox.requests where change_id = $1 and token = $2', [
    id,
    token.id,
  ])
  const [change = null] = rowCount === 0 ? [] : await readChanges(database.pool, [id])
  return change
}
