// A receiver of messages, which answers as a test says.

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Received = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string }

/** Answers one request; 200 where nothing else is said. A status, `drop` (the connection), `hang` (nothing). */
export type Answer = number | 'drop' | 'hang' | { readonly status: number; readonly headers: Record<string, string> }

export type Receiver = AsyncDisposable & {
  readonly url: string
  /** Every request, in order. */
  readonly received: readonly Received[]
  /** How the next requests are answered, one after the other; later ones by `otherwise`. */
  answers: Answer[]
  otherwise: (message: Received) => Answer
  /** The most requests that were open at a time. */
  mostAtOnce(): number
  /** Answers what hangs. */
  release(status: number): void
}

export async function openReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const hanging: ServerResponse[] = []
  const [open, most] = [new Set<ServerResponse>(), { atOnce: 0 }]
  const server = createServer(async (request, response) => {
    open.add(response)
    response.once('close', () => open.delete(response))
    most.atOnce = Math.max(most.atOnce, open.size)
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const message = { path: request.url ?? '', headers: request.headers, body }
    received.push(message)
    const answer = receiver.answers.shift() ?? receiver.otherwise(message)
    if (answer === 'drop') request.destroy()
    else if (answer === 'hang') hanging.push(response)
    else if (typeof answer === 'number') response.writeHead(answer).end('what a receiver says')
    else response.writeHead(answer.status, answer.headers).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/secret-path?token=secret`,
    received,
    answers: [],
    otherwise: () => 200,
    mostAtOnce: () => most.atOnce,
    release: (status) => {
      for (const response of hanging.splice(0)) response.writeHead(status).end()
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
  return receiver
}
