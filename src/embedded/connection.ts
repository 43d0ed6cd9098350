// Asks a Postgres on 127.0.0.1 whether it is there and ours, and creates our database in it; and which ports are free there.

import { once } from 'node:events'
import { createServer } from 'node:net'
import { Client } from 'pg'
import { addressOf, roles, type State } from './state.ts'

/** `ready` ours and open · `starting` ours to be, or stopping · `absent` nothing there · `foreign` it refuses our password. */
export type Presence = 'ready' | 'starting' | 'absent' | 'foreign'

const connectTimeoutMs = 10_000

/** SQLSTATEs of a refused connection that show the state of the server [postgresql.org: errcodes-appendix]. */
const presenceOf: Readonly<Record<string, Presence>> = {
  '57P03': 'starting', // cannot_connect_now: starting up, recovering or shutting down
  '53300': 'ready', // too_many_connections
  '28P01': 'foreign', // invalid_password
  '28000': 'foreign', // invalid_authorization_specification: the role does not exist
}

/** Connects once. The password is random and checked in both directions (SCRAM), so `ready` proves the server is ours. */
export async function probe(state: State, port: number): Promise<Presence> {
  try {
    await withClient(addressOf(state, port, 'postgres'), async () => {})
    return 'ready'
  } catch (error) {
    const code = (error as { code?: string }).code ?? ''
    return presenceOf[code] ?? 'absent'
  }
}

/** Creates the database of Boat Mirror unless it exists. UTF-8, sorted by code point, upper and lower case of Unicode. */
export async function ensureDatabase(state: State, port: number): Promise<void> {
  await withClient(addressOf(state, port, 'postgres'), async (client) => {
    const found = await client.query('select from pg_database where datname = $1', [roles.database])
    if (found.rowCount === 0) await client.query(`create database ${client.escapeIdentifier(roles.database)}`)
  })
}

async function withClient(url: string, work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs })
  client.on('error', () => {}) // a connection that breaks makes the call in progress fail as well
  try {
    await client.connect()
    await work(client)
  } finally {
    await client.end()
  }
}

/** Returns the wanted port if nothing listens there, else one that is free now. 0 wants any. */
export async function findFreePort(wanted = 0): Promise<number> {
  return (await tryPort(wanted)) ?? (await tryPort(0)) ?? noneFree()
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

function noneFree(): never {
  throw new Error('the system has no free port on 127.0.0.1')
}
