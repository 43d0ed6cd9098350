// What every request passes before a page sees it: headers that lock the browser down, the Host check, no state change
// but by the forms of ours, and the token.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isKnownHost, isOwnForm } from './hosts.ts'
import { isAllowed } from './session.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered without a token: nothing is told but that we live. */
    open?: boolean
    /** Policy of a page that brings an interface of its own. */
    contentPolicy?: string
  }
}

/**
 * Nothing but what this server itself sends, no inline script, no frame. `styles`: hashes of inline styles that may stay;
 * `base`: what may name the base of relative addresses.
 */
export const contentPolicy = ({ styles = '', base = "'none'" } = {}): string =>
  `default-src 'none'; script-src 'self'; style-src 'self'${styles && ` ${styles}`}; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri ${base}; frame-ancestors 'none'`

const headers = {
  'cache-control': 'no-store',
  // Without a referrer of the same origin, browsers would send "Origin: null" with our own forms.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
} as const

const isForm = (request: FastifyRequest): boolean =>
  request.routeOptions.config?.open === true && request.method === 'POST'

export type GuardOptions = { readonly host: string; readonly adminToken: string | null }

/** Why a request is refused before anything is done, or null. */
function refusal(request: FastifyRequest, { host, adminToken }: GuardOptions): { status: number; text: string } | null {
  if (!isKnownHost(request.headers.host, host))
    return {
      status: 421,
      text: 'This address does not answer to that name. Use localhost, an address, or the name in HOST.',
    }
  const reads = request.method === 'GET' || request.method === 'HEAD'
  if (!reads && !isForm(request)) return { status: 405, text: 'These pages change nothing. Use the command line.' }
  if (!reads && !isOwnForm(request.headers))
    return { status: 403, text: 'This form does not come from a page of ours.' }
  if (request.routeOptions.config?.open === true || isAllowed(adminToken, request.headers, new Date())) return null
  return {
    status: 401,
    text: 'The token of ADMIN_TOKEN is needed: as "Authorization: Bearer …", or sign in at /sign-in.',
  }
}

function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, text }: { status: number; text: string },
): FastifyReply {
  const wantsPage = request.headers.accept?.includes('text/html') === true
  if (status === 401 && wantsPage) return reply.redirect('/sign-in', 303)
  if (status === 401) reply.header('www-authenticate', 'Bearer realm="boat-mirror"')
  if (status === 405) reply.header('allow', 'GET, HEAD')
  return reply.code(status).type('text/plain; charset=utf-8').send(`${text}\n`)
}

/** Puts the guard before all routes of a server. */
export function guard(server: FastifyInstance, options: GuardOptions): void {
  server.addHook('onRequest', async (request, reply) => {
    reply.headers(headers)
    reply.header('content-security-policy', request.routeOptions.config?.contentPolicy ?? contentPolicy())
    const refused = refusal(request, options)
    if (refused !== null) return refuse(request, reply, refused)
  })
}
