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
import { type ActionName, actions, changeActions, findAction } from './parts/decisions.ts'

type Area = 'changes' | 'runs' | 'streams'

const areas: Readonly<Record<Area, { readonly noun: string; readonly names: readonly ActionName[] }>> = {
  changes: { noun: 'change', names: ['retry', 'cancel', 'local', 'remote', 'took-effect', 'did-not'] },
  runs: { noun: 'run', names: ['release'] },
  streams: { noun: 'stream', names: ['pause', 'resume', 'acknowledge'] },
}

type Asked = {
  readonly area: Area
  readonly id: string
  readonly name: ActionName
  readonly path: string
  /** The last key that the previous page of a release showed. */
  readonly after: string
}

/** The subject of the decision; null: there is nothing to decide, for the reason in `why`. */
type Found = { readonly plan: string; readonly subject: Subject | null; readonly why: string }

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

export function registerDecisionPages(server: FastifyInstance, context: OperatorContext): void {
  const { adminToken } = context.config
  if (adminToken === null) return
  const { pool } = context.database
  server.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  )

  const ofChange = async ({ id, name }: Asked): Promise<Omit<Found, 'plan'> | null> => {
    const change = await findChange(pool, id)
    if (change === null) return null
    const kind = kindOf(writeNamed(change.operation))
    if (!changeActions(change.status, kind.replaces === true).includes(name))
      return { subject: null, why: `Change ${id} is ${change.status}.` }
    const { what } = actions[name]
    const isSent = name === 'retry' || name === 'did-not' || name === 'local' || (name === 'remote' && kind.replaces)
    const preview = isSent ? await context.previewDecision(id, what as SendingDecision) : null
    const neighbours = await neighboursOf(pool, id)
    const subject = changeSubject(name, { change, neighbours, preview, makesRecord: kind.makesRecord === true })
    return { subject, why: '' }
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

  const ofRun = async ({ id, after }: Asked): Promise<Omit<Found, 'plan'> | null> => {
    const run = await findRun(pool, id)
    const stream = run && findStream(run.stream)
    if (run === null || stream === null || stream === undefined) return null
    const { count: held, keys } = await heldKeyPage(pool, id, { after, limit: recordsShown })
    if (held === 0) return { subject: null, why: `Run ${id} holds no deletions.` }
    const records: HeldRecord[] = []
    for (const key of keys) records.push(await heldRecord(stream, key))
    const last = keys.length === recordsShown ? (keys.at(-1) ?? null) : null
    return { subject: releaseSubject({ run, stream, held, records, after: last }), why: '' }
  }

  const ofStream = async ({ id, name }: Asked): Promise<Omit<Found, 'plan'> | null> => {
    const stream = findStream(id)
    return stream === undefined ? null : { subject: streamSubject(name, stream), why: '' }
  }

  const readers = { changes: ofChange, runs: ofRun, streams: ofStream }

  const find = async (asked: Asked): Promise<Found | null> => {
    // Read the plan first. A change during the other reads then makes the form outdated, not wrong.
    const plan = await planOf(pool, `${areas[asked.area].noun}:${asked.id}`)
    const found = await readers[asked.area](asked)
    return found && { plan: plan ?? '', ...found }
  }

  const decide = async ({ area, id, name }: Asked, by: DecidedBy, resultId: string): Promise<void> => {
    const { what } = actions[name]
    if (area === 'changes')
      await decideChange(pool, { what: what as ChangeDecision, id, ...(resultId === '' ? {} : { resultId }) }, by)
    else await decideStream(pool, what as StreamDecision, id, by)
  }

  type Again = {
    readonly status: number
    readonly problem: string
    readonly who?: string
    readonly resultId?: string
  }

  const show = async (reply: FastifyReply, asked: Asked, again: Again): Promise<FastifyReply> => {
    const found = await find(asked)
    if (found === null) {
      reply.callNotFound()
      return reply
    }
    const { noun } = areas[asked.area]
    const page = { now: await databaseClock(pool), version: context.version, decides: 'here' } as const
    const { button, does } = actions[asked.name]
    const title = `${button}: ${noun} ${asked.id}`
    reply.code(again.status).type('text/html; charset=utf-8')
    if (found.subject === null) {
      const why = [again.problem, found.why].filter((text) => text !== '').join(' ')
      return reply.send(
        renderRefusal({ title: 'There is nothing to decide', why, back: `/${asked.area}/${asked.id}` }, page),
      )
    }
    const { problem, who = '', resultId = '' } = again
    const tone = asked.name === 'release' || asked.name === 'did-not' ? 'warn' : 'busy'
    return reply.send(
      renderDecisionPage(
        {
          subject: found.subject,
          title,
          does,
          tone,
          form: { path: asked.path, plan: found.plan, button, problem, who, resultId },
        },
        page,
      ),
    )
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
      context.log.info({ event: 'decided', what: asked.name, path: asked.path }, `decided ${asked.path} on a page`)
      return `/${asked.area}/${asked.id}`
    } catch (error) {
      if (!(error instanceof BoatMirrorError) || error.code.startsWith('DATABASE_')) throw error
      const changed = `${error.message.split(':')[0]}. This page shows the current state.`
      const refused = `${error.message}${error.remedy === undefined ? '' : ` ${error.remedy}`}`
      const problem = error.code === 'PLAN_CHANGED' ? changed : refused
      return { ...kept, status: error.code === 'PLAN_CHANGED' ? 409 : 422, problem }
    }
  }

  type Route = { Params: { id: string; action: string }; Querystring: { after?: unknown } }
  for (const area of Object.keys(areas) as Area[]) {
    const askedOf = (request: FastifyRequest<Route>): Asked | null => {
      const { id, action } = request.params
      const name = findAction(action)
      const isKnown = area === 'streams' || /^\d{1,18}$/.test(id)
      if (name === undefined || !areas[area].names.includes(name) || !isKnown) return null
      const { after } = request.query
      return { area, id, name, path: `/${area}/${id}/${name}`, after: typeof after === 'string' ? after : '' }
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
      answer(request, reply, (asked) => show(reply, asked, { status: 200, problem: '' })),
    )
    server.post<Route>(`/${area}/:id/:action`, { config: { form: true } }, (request, reply) =>
      answer(request, reply, async (asked) => {
        const taken = await take(request, asked)
        return typeof taken === 'string' ? reply.redirect(taken, 303) : await show(reply, asked, taken)
      }),
    )
  }
}
