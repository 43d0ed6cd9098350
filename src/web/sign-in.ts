// Signing in and out: a form that takes the token and sets a cookie. Guesses are limited.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { counted } from '../format.ts'
import type { Guesses } from './guesses.ts'
import { html, layout } from './parts/html.ts'
import { returnPath, signInPath } from './return-path.ts'
import { isSecret, issueSession, sessionCookie } from './session.ts'

function signInPage(problem: string, back: string): string {
  const body = html`<main id="main"><section class="sign-in" aria-labelledby="title">
<h1 id="title">Boat Mirror</h1>
<form method="post" action="${signInPath(back)}"><label for="token">Token (ADMIN_TOKEN)</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus${
    problem !== '' && html` aria-invalid="true"`
  } aria-describedby="problem">
<p class="wrong" id="problem" role="alert">${problem}</p>
<button>Sign in</button></form></section></main>`
  return layout({ title: 'Sign in – Boat Mirror', body, live: false })
}

/** The browser came by https to a proxy that reports it; the header only ever makes the cookie stricter. */
const isSecure = (request: FastifyRequest): boolean => request.headers['x-forwarded-proto'] === 'https'

type Shown = { readonly status: number; readonly problem: string; readonly back: string }

const show = (reply: FastifyReply, { status, problem, back }: Shown): FastifyReply =>
  reply.code(status).type('text/html; charset=utf-8').send(signInPage(problem, back))

/** Adds /sign-in and /sign-out. Without a token there is nothing to sign in to. */
export function registerSignIn(server: FastifyInstance, token: string | null, guesses: Guesses): void {
  const options = { config: { open: true } }
  server.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  )
  server.get<{ Querystring: { to?: unknown } }>('/sign-in', options, ({ query }, reply) => {
    const back = returnPath(query.to)
    return token === null ? reply.redirect(back, 303) : show(reply, { status: 200, problem: '', back })
  })

  server.post<{ Querystring: { to?: unknown } }>('/sign-in', options, async (request, reply) => {
    if (token === null) return reply.redirect('/', 303)
    const given = request.body instanceof URLSearchParams ? (request.body.get('token') ?? '').trim() : ''
    const back = returnPath(request.query.to)
    const verdict = await guesses(request.ip, { kind: 'token', text: given }, () => isSecret(token, given))
    if (verdict.kind === 'wait') {
      reply.header('retry-after', String(verdict.seconds))
      return show(reply, {
        status: 429,
        problem: `Too many wrong tokens. Try again in ${counted(verdict.seconds, 'second')}.`,
        back,
      })
    }
    if (verdict.kind === 'wrong') return show(reply, { status: 401, problem: 'The token is wrong.', back })
    reply.header('set-cookie', sessionCookie(issueSession(token, new Date()), isSecure(request)))
    return reply.redirect(back, 303)
  })

  server.post('/sign-out', options, (request, reply) =>
    reply.header('set-cookie', sessionCookie('', isSecure(request))).redirect(token === null ? '/' : '/sign-in', 303),
  )
}
