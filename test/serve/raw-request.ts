// Requests as bytes, so that they hold what no client would send, and the first answer to them.

import { connect } from 'node:net'

export type RawAnswer = {
  readonly status: number
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** Reads the first answer of a connection. @throws Error where it is none */
function parseAnswer(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
  if (!Number.isInteger(status)) throw new Error(`No answer: ${JSON.stringify(text.slice(0, 200))}`)
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const length = Number(headers.get('content-length') ?? 0)
  return { status, headers, body: Buffer.from(rest.join('\r\n\r\n')).subarray(0, length).toString() }
}

/** Sends head and body, and waits until the server closes the connection. */
export async function sendRaw(port: number, head: string, body: Buffer): Promise<RawAnswer> {
  const socket = connect({ host: '127.0.0.1', port })
  const parts: Buffer[] = []
  await new Promise<void>((resolve, reject) => {
    socket.on('data', (part) => parts.push(part))
    socket.on('close', () => resolve())
    // A server may refuse a request before it has read all of it, and close.
    socket.on('error', (error) => (parts.length > 0 ? resolve() : reject(error)))
    socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]))
  })
  return parseAnswer(Buffer.concat(parts).toString())
}
