// Ports of 127.0.0.1.

import { once } from 'node:events'
import { createServer } from 'node:net'

/** Returns the wanted port if nothing listens there, else one that is free now. 0 wants any. */
export async function findFreePort(wanted = 0): Promise<number> {
  return (await tryPort(wanted)) ?? (await tryPort(0)) ?? failed()
}

/** True when nothing listens on this port. */
export async function isFree(port: number): Promise<boolean> {
  return (await tryPort(port)) !== null
}

async function tryPort(port: number): Promise<number | null> {
  const server = createServer()
  try {
    server.listen({ port, host: '127.0.0.1', exclusive: true })
    await once(server, 'listening')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EADDRINUSE' || code === 'EACCES') return null
    throw error
  }
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : null
}

function failed(): never {
  throw new Error('the system has no free port on 127.0.0.1')
}
