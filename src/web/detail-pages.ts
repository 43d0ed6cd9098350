// The pages about one thing: a stream, a run, a change, a quarantined record, the webhook. Each is read when it is asked for.

import type { FastifyInstance, FastifyReply } from 'fastify'
import { findStream } from '../catalog/catalog.ts'
import { databaseClock } from '../inspect/queries.ts'
import { runDetails } from '../inspect/run-details.ts'
import { streamDetails } from '../inspect/stream-details.ts'
import { findChange, neighboursOf } from '../outbox/inspect.ts'
import { getQuarantined } from '../state/quarantine.ts'
import { deliveriesKept, listDeliveries } from '../state/shared/webhook-deliveries.ts'
import type { OperatorContext } from './context.ts'
import type { PageFacts } from './page-facts.ts'
import { renderChangePage } from './pages/change-page.ts'
import type { PageContext } from './pages/page-context.ts'
import { renderQuarantinePage } from './pages/quarantine-page.ts'
import { renderRunPage } from './pages/run-page.ts'
import { renderStreamPage } from './pages/stream-page.ts'
import { renderWebhookPage } from './pages/webhook-page.ts'

/** Is this the route of one of them? */
export const isDetailRoute = (route: string | undefined): boolean =>
  /^\/((streams|runs|changes|quarantine)\/|webhook$)/.test(route ?? '')

const isNumber = (text: string): boolean => /^\d{1,18}$/.test(text)

/** A page, or null where there is no such thing. */
type Render = (name: string, page: PageContext) => Promise<string | null>

/** Adds them. `facts` are those of the status page, shared with it. */
export function registerDetailPages(
  server: FastifyInstance,
  context: OperatorContext,
  facts: () => Promise<PageFacts>,
): void {
  const { pool } = context.database
  const signedIn = context.config.adminToken !== null
  const page = (path: string, render: Render): void => {
    server.get<{ Params: { name: string } }>(`${path}/:name`, async ({ params }, reply): Promise<FastifyReply> => {
      const { version } = context
      const text = await render(params.name, { now: await databaseClock(pool), version, signedIn })
      if (text !== null) return reply.type('text/html; charset=utf-8').send(text)
      reply.callNotFound()
      return reply
    })
  }
  const numbered = (path: string, render: Render): void =>
    page(path, async (id, about) => (isNumber(id) ? await render(id, about) : null))

  page('/streams', async (name) => {
    const stream = findStream(name)
    return stream === undefined ? null : renderStreamPage(await facts(), await streamDetails(pool, stream), signedIn)
  })
  numbered('/runs', async (id, about) => {
    const details = await runDetails(pool, id)
    return details && renderRunPage(details, about)
  })
  numbered('/changes', async (id, about) => {
    const change = await findChange(pool, id)
    return change && renderChangePage({ change, neighbours: await neighboursOf(pool, id) }, about)
  })
  numbered('/quarantine', async (id, about) => {
    const bad = await getQuarantined(pool, id)
    return bad && renderQuarantinePage(bad, about)
  })
  server.get('/webhook', async (_request, reply) => {
    const { status, now, version } = await facts()
    const deliveries = await listDeliveries(pool, deliveriesKept)
    const text = renderWebhookPage({ webhook: status.webhook, deliveries }, { now, version, signedIn })
    return reply.type('text/html; charset=utf-8').send(text)
  })
}
