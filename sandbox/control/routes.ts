// The control interface under /_sandbox/: JSON in, JSON out, no credentials. It changes the world and reads its truth.

import type { FastifyInstance } from 'fastify'
import { Failure } from '../call.ts'
import { parseFaultRule } from '../http/faults.ts'
import type { Sandbox } from '../sandbox.ts'
import type { Change } from './mutate.ts'
import type { TruthOptions } from './truth.ts'

type Body = Record<string, unknown>

function bodyOf(text: unknown): unknown {
  try {
    return typeof text === 'string' && text !== '' ? JSON.parse(text) : {}
  } catch {
    throw new Failure(400, 'BAD_JSON', 'The body is not JSON')
  }
}

/** Turns the RangeErrors of wrong wishes into 400. */
function attempt<T>(action: () => T): T {
  try {
    return action()
  } catch (error) {
    if (error instanceof RangeError) throw new Failure(400, 'BAD_REQUEST', error.message)
    throw error
  }
}

function truthOptions(query: Record<string, string | undefined>): TruthOptions {
  const number = (name: string): Record<string, number> => {
    const text = query[name]
    if (text === undefined) return {}
    if (!/^\d{1,4}$/.test(text)) throw new Failure(400, 'BAD_REQUEST', `${name} must be a whole number`)
    return { [name]: Number(text) }
  }
  return {
    ...(query.today && { today: query.today }),
    ...number('days'),
    ...number('durations'),
    ...number('priceDays'),
    ...number('calendarYears'),
    ...(query.only && { only: query.only.split(',') }),
  }
}

function moveClock({ clock }: Sandbox, body: Body): { now: string } {
  const { advanceMs, set, run } = body
  if (typeof set === 'string' && !Number.isNaN(Date.parse(set))) clock.set(new Date(set))
  else if (set !== undefined) throw new Failure(400, 'BAD_REQUEST', 'set must be a date-time')
  if (typeof advanceMs === 'number') clock.advance(advanceMs)
  if (run === true) clock.run()
  return { now: new Date(clock.now()).toISOString() }
}

function change(sandbox: Sandbox, body: Body): unknown {
  if (typeof body.random === 'number') {
    return attempt(() => sandbox.mutateRandomly(Number(body.random), Number(body.seed ?? 1)))
  }
  const changes = Array.isArray(body) ? body : (body.changes ?? [body])
  if (!Array.isArray(changes)) throw new Failure(400, 'BAD_REQUEST', 'Expected a list of changes')
  return attempt(() => sandbox.mutate(changes as Change[]))
}

function overrideRaw(sandbox: Sandbox, body: Body): unknown {
  const { text, ...target } = body
  if (typeof text !== 'string') throw new Failure(400, 'BAD_REQUEST', 'text must be the JSON text of the record')
  attempt(() => sandbox.raw(target as unknown as Omit<Change, 'op' | 'set'>, text))
  return { done: true }
}

function enrichSingles(sandbox: Sandbox, { record, oneIn }: Body): unknown {
  if (typeof record !== 'string' || typeof oneIn !== 'number')
    throw new Failure(400, 'BAD_REQUEST', 'record must be a table and oneIn a number')
  attempt(() => sandbox.richSingles(record, oneIn))
  return { record, oneIn }
}

/** Registers the control routes of a sandbox. */
export function registerControl(server: FastifyInstance, sandbox: Sandbox): void {
  const post = (path: string, action: (body: unknown) => unknown): void => {
    server.post(`/_sandbox/${path}`, (request, reply) => reply.send(action(bodyOf(request.body))))
  }
  post('faults', (body) => {
    for (const rule of Array.isArray(body) ? body : [body]) sandbox.fault(attempt(() => parseFaultRule(rule)))
    return sandbox.faults()
  })
  server.get('/_sandbox/faults', (_request, reply) => reply.send(sandbox.faults()))
  server.delete('/_sandbox/faults', (_request, reply) => {
    sandbox.clearFaults()
    return reply.code(204).send()
  })
  server.get('/_sandbox/requests', (_request, reply) => reply.send(sandbox.requests()))
  server.delete('/_sandbox/requests', (_request, reply) => {
    sandbox.resetRequests()
    return reply.code(204).send()
  })
  server.get('/_sandbox/stats', (_request, reply) => reply.send(sandbox.stats()))
  server.get('/_sandbox/clock', (_request, reply) => reply.send({ now: new Date(sandbox.clock.now()).toISOString() }))
  post('clock', (body) => moveClock(sandbox, body as Body))
  post('mutate', (body) => change(sandbox, body as Body))
  post('singles', (body) => enrichSingles(sandbox, body as Body))
  post('raw', (body) => overrideRaw(sandbox, body as Body))
  server.get<{ Querystring: Record<string, string | undefined> }>('/_sandbox/truth', (request, reply) =>
    reply
      .header('content-type', 'application/json; charset=utf-8')
      .send(sandbox.truthText(truthOptions(request.query))),
  )
}
