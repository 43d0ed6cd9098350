// A receiver of the webhook that accepts everything and notes when each change came.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A change as a call contains it; it has more members than are named here. */
type ToldChange = { readonly stream: string; readonly key: { readonly id?: number }; readonly changedAt: string }

export type BenchReceiver = {
  readonly url: string
  /** Called for each change, with the time when its call had arrived whole, by the host's clock in milliseconds. */
  onChange: (change: ToldChange, at: number) => void
  close(): Promise<void>
}

export async function openBenchReceiver(): Promise<BenchReceiver> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const at = Date.now()
    response.writeHead(204).end()
    const { data } = JSON.parse(Buffer.concat(parts).toString('utf8')) as { data: { changes: ToldChange[] } }
    for (const change of data.changes) receiver.onChange(change, at)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const receiver: BenchReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    onChange: () => {},
    close: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
  return receiver
}
