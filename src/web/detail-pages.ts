// The pages of one stream, run, change, quarantined record, and of the webhook; the lists of changes and of quarantine.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { findStream } from '../catalog/catalog.ts'
import { databaseClock } from '../inspect/database.ts'
import { runDetails } from '../inspect/runs.ts'
import { streamDetails } from '../inspect/streams.ts'
import { deliveriesKept } from '../mirror/history.ts'
import { listDeliveries } from '../mirror/webhook-deliveries.ts'
import { findChange, listChanges, neighboursOf } from '../outbox/inspect.ts'
import { statuses } from '../outbox/states.ts'
import { decisionsAbout } from '../sync/decisions.ts'
import { getQuarantined, quarantineFacts } from '../sync/quarantine.ts'
import { credentialIn } from './guard.ts'
import { type OperatorContext, openStates, type PageFacts } from './page-facts.ts'
import { changesListed, renderChangePage, renderChangesPage } from './pages/change-page.ts'
import { quarantineListed, renderQuarantineListPage, renderQuarantinePage } from './pages/quarantine-page.ts'
import { renderRunPage } from './pages/run-page.ts'
import { renderStreamPage } from './pages/stream-page.ts'
import { renderWebhookPage } from './pages/webhook-page.ts'
import type { PageContext } from './parts/frame.ts'

/** The number of decisions that a page shows, the newest first. */
const decisionsShown = 10

/** Whether the client may decide on the pages: a browser may, a program with the bearer may not. */
export const decidesOf = (adminToken: string | null, { headers }: FastifyRequest): PageContext['decides'] =>
  adminToken === null ? 'off' : credentialIn(headers.authorization)?.kind === 'basic' ? 'here' : 'sign-in'

/** Whether this is the route of a page of this file. */
export const isDetailRoute = (route: string | undefined): boolean =>
  /^\/((streams|runs)\/|(changes|quarantine)(\/|$)|webhook$)/.test(route ?? '')

const isNumber = (text: string): boolean => /^\d{1,18}$/.test(text)

/** A page, or null where its subject does not exist. */
type Render = (name: string, page: PageContext) => Promise<string | null>

/** Adds the pages. `facts`: those of the status page. */
export function registerDetailPages(
  server: FastifyInstance,
  context: OperatorContext,
  facts: () => Promise<PageFacts>,
): void {
  const { pool } = context.database
  const { adminToken } = context.config
  const page = (path: string, render: Render): void => {
    server.get<{ Params: { name: string } }>(`${path}/:name`, async (request, reply): Promise<FastifyReply> => {
      const { version } = context
      const decides = decidesOf(adminToken, request)
      const text = await render(request.params.name, { now: await databaseClock(pool), version, decides })
      if (text !== null) return reply.type('text/html; charset=utf-8').send(text)
      reply.callNotFound()
      return reply
    })
  }
  const numbered = (path: string, render: Render): void =>
    page(path, async (id, about) => (isNumber(id) ? await render(id, about) : null))

  const decisionsOf = (target: string) => decisionsAbout(pool, target, decisionsShown)

  page('/streams', async (name, about) => {
    const stream = findStream(name)
    if (stream === undefined) return null
    const details = { ...(await streamDetails(pool, stream)), decisions: await decisionsOf(`stream:${name}`) }
    return renderStreamPage(await facts(), details, about)
  })
  numbered('/runs', async (id, about) => {
    const details = await runDetails(pool, id)
    return details && renderRunPage({ ...details, decisions: await decisionsOf(`run:${id}`) }, about)
  })
  numbered('/changes', async (id, about) => {
    const change = await findChange(pool, id)
    if (change === null) return null
    const decisions = await decisionsOf(`change:${id}`)
    return renderChangePage({ change, neighbours: await neighboursOf(pool, id), decisions }, about)
  })
  numbered('/quarantine', async (id, about) => {
    const bad = await getQuarantined(pool, id)
    return bad && renderQuarantinePage(bad, about)
  })
  type Filter = { Querystring: Readonly<Record<string, unknown>> }
  server.get<Filter>('/changes', async ({ query }, reply) => {
    const state = statuses.find((each) => each === query.status)
    const changes = await listChanges(pool, {
      statuses: state === undefined ? openStates : [state],
      limit: changesListed,
    })
    const text = renderChangesPage(await facts(), { changes, state: state ?? '' })
    return reply.type('text/html; charset=utf-8').send(text)
  })
  server.get<Filter>('/quarantine', async ({ query }, reply) => {
    const known = await facts()
    const stream = Object.keys(known.status.quarantine.byStream).find((each) => each === query.stream)
    const found = await quarantineFacts(pool, { limit: quarantineListed, ...(stream === undefined ? {} : { stream }) })
    const text = renderQuarantineListPage(known, { found, stream: stream ?? '' })
    return reply.type('text/html; charset=utf-8').send(text)
  })
  server.get('/webhook', async (_request, reply) => {
    const { status, now, version } = await facts()
    const deliveries = await listDeliveries(pool, deliveriesKept)
    const text = renderWebhookPage({ webhook: status.webhook, deliveries }, { now, version })
    return reply.type('text/html; charset=utf-8').send(text)
  })
}
