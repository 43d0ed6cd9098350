// The pages on which an operator decides. GET shows the effect of a decision; POST makes it by the SQL functions that all clients use,
// under the typed name. Without ADMIN_TOKEN these pages do not exist.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { findStream } from '../catalog/catalog.ts'
import { keyParts } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import { writeNamed } from '../catalog/writes.ts'
import { BoatMirrorError } from '../errors.ts'
import { databaseClock } from '../inspect/database.ts'
import { recordRow } from '../inspect/record-queries.ts'
import { type ChangeDecision, decideChange } from '../outbox/decisions.ts'
import { findChange, neighboursOf } from '../outbox/inspect.ts'
import { kindOf } from '../outbox/kinds/kinds.ts'
import type { SendingDecision } from '../outbox/preview.ts'
import { type DecidedBy, decideStream, planOf, type StreamDecision } from '../sync/decisions.ts'
import { findRun } from '../sync/runs/runs.ts'
import { heldKeyPage } from '../sync/runs/sweeps.ts'
import { decidesOf } from './detail-pages.ts'
import type { OperatorContext } from './page-facts.ts'
import {
  changeSubject,
  type HeldRecord,
  longestName,
  releaseSubject,
  renderDecisionPage,
  renderRefusal,
  type Subject,
  streamSubject,
} from './pages/decision-page.ts'
import { type Action, type ActionName, type Area, actions, changeActions, isAction } from './parts/decisions.ts'

type Asked = {
  readonly area: Area
  readonly id: string
  readonly name: ActionName
  /** The last key that the previous page of a release showed. */
  readonly after: string
}

/** The subject of the decision; a text: why there is nothing to decide; null: it does not exist. */
type Found = Subject | string | null

const recordsShown = 50
/** The number of columns that help an operator to recognize a record. */
const columnsShown = 5

const identifiesRecord = ({ type, name }: StreamDef['columns'][number]): boolean =>
  type !== 'jsonb' && !type.endsWith('[]') && !/^(creation|last_modification)_/.test(name)

/** The typed name as it is recorded, marked as unproven; empty if none was typed. */
export function typedName(given: string): string {
  const name = given
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, longestName)
    .trim()
  return name === '' ? '' : `${name} (unproven)`
}

/** The decision of an action, as the functions of SQL call it. */
const decisionOf = (name: ActionName): string => name.replace('-', '_')

export function registerDecisionPages(server: FastifyInstance, context: OperatorContext): void {
  const { adminToken } = context.config
  if (adminToken === null) return
  const { pool } = context.database
  server.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  )

  const ofChange = async ({ id, name }: Asked): Promise<Found> => {
    const change = await findChange(pool, id)
    if (change === null) return null
    const kind = kindOf(writeNamed(change.operation))
    if (!changeActions(change.status, kind.replaces === true).includes(name)) return `Change ${id} is ${change.status}.`
    const { sends }: Action = actions[name]
    const isSent = sends === true || (sends === 'replacing' && kind.replaces)
    const preview = isSent ? await context.previewDecision(id, decisionOf(name) as SendingDecision) : null
    const neighbours = await neighboursOf(pool, id)
    return changeSubject(name, { change, neighbours, preview, makesRecord: kind.makesRecord === true })
  }

  const heldRecord = async (stream: StreamDef, key: string): Promise<HeldRecord> => {
    const row = await recordRow(pool, stream, keyParts(stream, key))
    const known = stream.columns
      .filter((column) => identifiesRecord(column) && !stream.key.includes(column.name))
      .flatMap(({ name }): [string, string][] => {
        const value = row?.values[name] ?? null
        return value === null ? [] : [[name, value]]
      })
    return { key, values: Object.fromEntries(known.slice(0, columnsShown)) }
  }

  const ofRun = async ({ id, after }: Asked): Promise<Found> => {
    const run = await findRun(pool, id)
    const stream = run && findStream(run.stream)
    if (run === null || stream === null || stream === undefined) return null
    const { count: held, keys } = await heldKeyPage(pool, id, { after, limit: recordsShown })
    if (held === 0) return `Run ${id} holds no deletions.`
    const records: HeldRecord[] = []
    for (const key of keys) records.push(await heldRecord(stream, key))
    const last = keys.length === recordsShown ? (keys.at(-1) ?? null) : null
    return releaseSubject({ run, stream, held, records, after: last })
  }

  const ofStream = async ({ id, name }: Asked): Promise<Found> => {
    const stream = findStream(id)
    return stream === undefined ? null : streamSubject(name, stream)
  }

  const readers = { changes: ofChange, runs: ofRun, streams: ofStream }

  const decide = async ({ area, id, name }: Asked, by: DecidedBy, resultId: string): Promise<void> => {
    const what = decisionOf(name)
    if (area === 'changes')
      await decideChange(pool, { what: what as ChangeDecision, id, ...(resultId === '' ? {} : { resultId }) }, by)
    else await decideStream(pool, what as StreamDecision, id, by)
  }

  /** The form as it is shown, again after a refusal. */
  type Again = { readonly status: number; readonly problem: string; readonly who: string; readonly resultId: string }

  const show = async (reply: FastifyReply, asked: Asked, { status, ...again }: Again): Promise<FastifyReply> => {
    const { area, id, name } = asked
    const noun = area.slice(0, -1)
    // Read the plan first. A change during the other reads then makes the form outdated, not wrong.
    const plan = (await planOf(pool, `${noun}:${id}`)) ?? ''
    const subject = await readers[area](asked)
    if (subject === null) {
      reply.callNotFound()
      return reply
    }
    const page = { now: await databaseClock(pool), version: context.version }
    reply.code(status).type('text/html; charset=utf-8')
    if (typeof subject === 'string')
      return reply.send(renderRefusal(`${again.problem} ${subject}`.trim(), `/${area}/${id}`, page))
    return reply.send(renderDecisionPage({ subject, name, about: `${noun} ${id}`, plan, ...again }, page))
  }

  /** Handles a posted form. @returns the address to go to, or what to show again */
  const take = async (request: FastifyRequest, asked: Asked): Promise<string | Again> => {
    const body = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
    const typed = (name: string): string => (body.get(name) ?? '').trim()
    const kept = { who: typed('who'), resultId: typed('resultId') }
    const plan = typed('plan')
    if (plan === '') return { ...kept, status: 422, problem: 'The form names no plan. Review the page again.' }
    const who = typedName(kept.who)
    if (who === '') return { ...kept, status: 422, problem: 'Enter your name.' }
    try {
      await decide(asked, { via: 'page', who, expected: plan }, kept.resultId)
      const { area, id, name } = asked
      const path = `/${area}/${id}/${name}`
      context.log.info({ event: 'decided', what: name, path }, `decided ${path} on a page`)
      return `/${area}/${id}`
    } catch (error) {
      if (!(error instanceof BoatMirrorError) || error.code.startsWith('DATABASE_')) throw error
      const changed = `${error.message.split(':')[0]}. This page shows the current state.`
      const refused = `${error.message}${error.remedy === undefined ? '' : ` ${error.remedy}`}`
      const problem = error.code === 'PLAN_CHANGED' ? changed : refused
      return { ...kept, status: error.code === 'PLAN_CHANGED' ? 409 : 422, problem }
    }
  }

  type Route = { Params: { id: string; action: string }; Querystring: { after?: unknown } }
  for (const area of ['changes', 'runs', 'streams'] as const) {
    const askedOf = (request: FastifyRequest<Route>): Asked | null => {
      const { id, action: name } = request.params
      const isKnown = area === 'streams' || /^\d{1,18}$/.test(id)
      if (!isAction(name) || actions[name].area !== area || !isKnown) return null
      const { after } = request.query
      return { area, id, name, after: typeof after === 'string' ? after : '' }
    }
    const answer = async (
      request: FastifyRequest<Route>,
      reply: FastifyReply,
      work: (asked: Asked) => Promise<FastifyReply>,
    ): Promise<FastifyReply> => {
      const asked = askedOf(request)
      if (asked === null) {
        reply.callNotFound()
        return reply
      }
      if (decidesOf(adminToken, request) === 'here') return await work(asked)
      return reply.code(403).type('text/plain; charset=utf-8').send('Decide in a browser that was given the token.\n')
    }
    server.get<Route>(`/${area}/:id/:action`, (request, reply) =>
      answer(request, reply, (asked) => show(reply, asked, { status: 200, problem: '', who: '', resultId: '' })),
    )
    server.post<Route>(`/${area}/:id/:action`, { config: { form: true } }, (request, reply) =>
      answer(request, reply, async (asked) => {
        const taken = await take(request, asked)
        return typeof taken === 'string' ? reply.redirect(taken, 303) : await show(reply, asked, taken)
      }),
    )
  }
}
