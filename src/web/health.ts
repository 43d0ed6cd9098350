// /healthz: the process is alive. /readyz: database, schema and queue answer; breaker and freshness are included.
// Both are open to every client, so they contain codes and numbers, no addresses and no messages.

import type { FastifyInstance } from 'fastify'
import { withDeadline } from '../clock.ts'
import { translateDatabaseError } from '../database/sql-states.ts'
import { BoatMirrorError, type ErrorCode } from '../errors.ts'
import { type Freshness, freshnessFacts } from '../inspect/streams.ts'
import { kept } from '../memo.ts'
import { assertSchemaCurrent } from '../schema/migrate.ts'
import type { OperatorContext } from './page-facts.ts'

type PartHealth = { readonly ok: true; readonly ms: number } | { readonly ok: false; readonly code: ErrorCode }

type Readiness = {
  readonly ready: boolean
  readonly database: PartHealth
  readonly schema: PartHealth
  readonly queue: PartHealth
  /** null: not known, because the database does not answer. */
  readonly breaker: 'closed' | 'open' | null
  readonly freshness: Readonly<Record<Freshness, number>> | null
}

const patienceMs = 4_000
const maxAgeMs = 1_000

/** Tries something for at most four seconds. */
export async function probe(
  work: () => Promise<unknown>,
  late: ErrorCode,
  clockMs: () => number = () => performance.now(),
): Promise<PartHealth> {
  const began = clockMs()
  try {
    await withDeadline(work(), patienceMs, new BoatMirrorError(late, `No answer within ${patienceMs} ms.`))
    return { ok: true, ms: Math.round(clockMs() - began) }
  } catch (error) {
    const known = translateDatabaseError(error)
    return { ok: false, code: known instanceof BoatMirrorError ? known.code : 'INTERNAL' }
  }
}

/** Checks everything at once. Never throws. */
async function readReadiness(context: OperatorContext): Promise<Readiness> {
  const [database, schema, queue] = await Promise.all([
    probe(() => context.database.pool.query('select 1'), 'DATABASE_UNREACHABLE'),
    probe(() => assertSchemaCurrent(context.database), 'DATABASE_UNREACHABLE'),
    probe(() => context.queue.ping(), 'QUEUE_UNREACHABLE'),
  ])
  let known: Pick<Readiness, 'breaker' | 'freshness'> = { breaker: null, freshness: null }
  if (database.ok && schema.ok) {
    const reading = await probe(async () => {
      known = { breaker: (await context.readStatus()).api.breaker, freshness: await countStates(context) }
    }, 'DATABASE_UNREACHABLE')
    if (!reading.ok) return { ready: false, database: reading, schema, queue, ...known }
  }
  return { ready: database.ok && schema.ok && queue.ok, database, schema, queue, ...known }
}

async function countStates(context: OperatorContext): Promise<Readonly<Record<Freshness, number>>> {
  const counts = { fresh: 0, late: 0, unknown: 0, failing: 0, reading: 0, off: 0 }
  for (const { state } of await freshnessFacts(context.database.pool)) counts[state]++
  return counts
}

export function registerHealth(server: FastifyInstance, context: OperatorContext): void {
  const readiness = kept(() => readReadiness(context), maxAgeMs)
  const options = { config: { open: true } }
  server.get('/healthz', options, () => ({ alive: true, version: context.version }))
  server.get('/readyz', options, async (_request, reply) => {
    const state = await readiness()
    return reply.code(state.ready ? 200 : 503).send(state)
  })
}
