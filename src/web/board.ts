// /queues: bull-board on our server, only to look at. Its fastify adapter needs a newer Node, its page wants a font from
// the network and styles inline: this adapter serves the same interface without the three.

import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import type {
  AppControllerRoute,
  AppViewRoute,
  BullBoardQueues,
  IServerAdapter,
  UIConfig,
} from '@bull-board/api/typings/app'
import { Queue } from 'bullmq'
import ejs from 'ejs'
import type { FastifyInstance } from 'fastify'
import { BoatMirrorError, messageOf } from '../errors.ts'
import type { OperatorContext } from './context.ts'
import { contentPolicy } from './guard.ts'

const base = '/queues'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
}

const style = `#root>.loading{display:flex;align-items:center;justify-content:center;min-height:100vh;font-family:system-ui,sans-serif}
:root{--font-sans:system-ui,sans-serif;--font-mono:ui-monospace,monospace}`

/** The interface's page without what would leave the machine or need inline styles. Pure. */
export function withoutForeignParts(page: string): string {
  return page
    .replace(/<link[^>]*href="https?:[^>]*>/g, '')
    .replace(/<div id="root">[\s\S]*?<\/style>\s*<\/div>/, '<div id="root"><div class="loading">Loading</div></div>')
    .replace('</head>', '<link href="board.css" rel="stylesheet"></head>')
}

/** What bull-board tells a server, kept until the routes are made. */
class BoardParts implements IServerAdapter {
  views = ''
  statics = ''
  queues: BullBoardQueues = new Map()
  entry: AppViewRoute | undefined
  routes: readonly AppControllerRoute[] = []
  ui: UIConfig = {}
  onError: (error: Error) => { readonly status?: number; readonly body: unknown } = () => ({ status: 500, body: {} })

  setQueues(queues: BullBoardQueues): this {
    this.queues = queues
    return this
  }
  setViewsPath(path: string): this {
    this.views = path
    return this
  }
  setStaticPath(_route: string, path: string): this {
    this.statics = path
    return this
  }
  setEntryRoute(route: AppViewRoute): this {
    this.entry = route
    return this
  }
  setErrorHandler(handler: BoardParts['onError']): this {
    this.onError = handler
    return this
  }
  setApiRoutes(routes: AppControllerRoute[]): this {
    this.routes = routes
    return this
  }
  setUIConfig(config: UIConfig): this {
    this.ui = config
    return this
  }
}

const listOf = <T>(value: T | readonly T[]): readonly T[] => (Array.isArray(value) ? value : [value as T])

/** The one style its scripts put into the page: how drop-down lists look. */
const ownStyle = "'sha256-r2N1TB/gHbBtBZFKg7ejmq1acVSREzucTAEw6ga4hoU='"
const routeOptions = { config: { contentPolicy: contentPolicy({ styles: ownStyle, base: "'self'" }) } }

/** The interface's own files, by path: nothing but these can be asked for. */
function registerStatics(server: FastifyInstance, folder: string): void {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const known = new Map(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return [relative(folder, path).split(sep).join('/'), path]
    }),
  )
  server.get<{ Params: { '*': string } }>(`${base}/static/*`, routeOptions, (request, reply) => {
    const path = known.get(request.params['*'])
    if (path === undefined) return reply.code(404).send()
    return reply
      .header('cache-control', 'private, max-age=86400')
      .type(types[extname(path)] ?? 'application/octet-stream')
      .send(readFileSync(path))
  })
}

function registerPages(server: FastifyInstance, parts: BoardParts, entry: AppViewRoute): void {
  const { name, params } = entry.handler({ basePath: base, uiConfig: parts.ui })
  const page = withoutForeignParts(ejs.render(readFileSync(join(parts.views, name), 'utf8'), params))
  server.get(base, routeOptions, (_request, reply) => reply.redirect(`${base}/`, 303))
  server.get(`${base}/board.css`, routeOptions, (_request, reply) => reply.type('text/css; charset=utf-8').send(style))
  for (const route of listOf(entry.route))
    server.get(`${base}${route}`, routeOptions, (_request, reply) => reply.type('text/html; charset=utf-8').send(page))
}

/** Only what reads becomes a route: there is no way to change a queue from here. */
function registerReads(server: FastifyInstance, parts: BoardParts): void {
  const reads = parts.routes.filter((route) => listOf(route.method).includes('get'))
  for (const { route, handler } of reads)
    for (const path of listOf(route))
      server.get(`${base}${path}`, routeOptions, async (request, reply) => {
        try {
          const { status, body } = await handler({
            queues: parts.queues,
            uiConfig: parts.ui,
            params: request.params as Record<string, string>,
            query: request.query as Record<string, string>,
            body: {},
            headers: {},
          })
          return reply.code(status ?? 200).send(body)
        } catch (error) {
          const { status, body } = parts.onError(error instanceof Error ? error : new Error(messageOf(error)))
          return reply.code(status ?? 500).send(body)
        }
      })
}

export type Board = {
  /** Jobs by queue and state; queues that do not answer are left out. */
  jobs(): Promise<readonly { readonly queue: string; readonly state: string; readonly count: number }[]>
  close(): Promise<void>
}

const notInstalled =
  'The queue board is not installed. Where boat-mirror is a package, add it beside: npm install @bull-board/ui@9\n'

/** The interface on the server; null where its package, which need not be there, is not. */
function openInterface(server: FastifyInstance): ReturnType<typeof createBullBoard> | null {
  const parts = new BoardParts()
  const uiConfig: UIConfig = { boardTitle: 'Boat Mirror', miscLinks: [{ text: 'Status', url: '/' }] }
  try {
    const board = createBullBoard({ queues: [], serverAdapter: parts, options: { uiConfig } })
    registerStatics(server, parts.statics)
    if (parts.entry !== undefined) registerPages(server, parts, parts.entry)
    registerReads(server, parts)
    return board
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    server.get(base, (_request, reply) => reply.code(404).type('text/plain; charset=utf-8').send(notInstalled))
    return null
  }
}

/** Adds /queues. The queues are opened in the background: the pages do not wait for the backend. */
export function registerBoard(server: FastifyInstance, context: OperatorContext): Board {
  const board = openInterface(server)

  const opened: Queue[] = []
  let closed = false
  const open = async (name: string): Promise<void> => {
    const queue = await context.queue.openQueue(name)
    if (closed || !(queue instanceof Queue)) return await queue.close()
    opened.push(queue)
    board?.addQueue(new BullMQAdapter(queue, { readOnlyMode: true, allowRetries: false }))
  }
  for (const name of context.queueNames)
    open(name).catch((error: unknown) => {
      const stopped = closed || (error instanceof BoatMirrorError && error.kind === 'abort')
      if (!stopped)
        context.log.warn(
          { event: 'board_without_queue', queue: name, reason: messageOf(error) },
          'the queue board lacks a queue',
        )
    })
  return {
    jobs: async () => {
      const counted = opened.map(async (queue) =>
        Object.entries(await queue.getJobCounts()).map(([state, count]) => ({ queue: queue.name, state, count })),
      )
      const results = await Promise.allSettled(counted)
      return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
    },
    close: async () => {
      closed = true
      await Promise.allSettled(opened.map((queue) => queue.close()))
    },
  }
}
