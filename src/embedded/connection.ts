// Asks a Postgres on 127.0.0.1 whether it is there and ours, and creates our database in it; and which ports are free there.

import { once } from 'node:events'
import { createServer } from 'node:net'
import { Client } from 'pg'
import { addressOf, roles, type State } from './state.ts'

/** `ready` ours and open · `absent` nothing there, or it starts or stops · `foreign` it refuses our password. */
export type Presence = 'ready' | 'absent' | 'foreign'

const connectTimeoutMs = 10_000

/** SQLSTATEs of a refused connection that show the state of the server [postgresql.org: errcodes-appendix]. */
const presenceOf: Readonly<Record<string, Presence>> = {
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
  const port = (await tryPort(wanted)) ?? (await tryPort(0))
  if (port === null) throw new Error('the system has no free port on 127.0.0.1')
  return port
}

/** The port, or any for 0; null when something listens there. */
export async function tryPort(port: number): Promise<number | null> {
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
