// What libpq's `sslmode=prefer` and `allow` ask for and pg does not know: TLS where the server has it, else none. And files
// that an address names.

import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { connect } from 'node:net'
import { withDeadline } from '../clock.ts'
import { BoatMirrorError } from '../errors.ts'
import type { Logger } from '../log.ts'
import { shownAddress } from '../text.ts'
import { folders } from './sql-states.ts'

type Addresses = { readonly url: string; readonly directUrl: string; readonly folder?: string }

const answerMs = 10_000

/** The message of Postgres's protocol that asks for TLS: its length, and its code. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Whether the server offers TLS; null: it does not answer, which the next connection reports better. */
async function offersTls(url: URL): Promise<boolean | null> {
  const host = url.searchParams.get('host') ?? decodeURIComponent(url.hostname).replace(/^\[(.+)\]$/, '$1')
  if (host === '' || host.startsWith('/')) return false // a Unix socket
  const socket = connect(Number(url.searchParams.get('port') ?? (url.port || 5432)), host)
  try {
    const answer = new Promise<boolean>((resolve, reject) => {
      socket.once('data', (bytes) => resolve(bytes.toString('latin1', 0, 1) === 'S'))
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('no answer')))
    })
    socket.write(tlsRequest)
    return await withDeadline(answer, answerMs)
  } catch {
    return null
  } finally {
    socket.destroy()
  }
}

/** Files that libpq's parameters name. @throws BoatMirrorError CONFIG_INVALID for one that cannot be read */
async function assertFiles(url: URL, setting: string): Promise<void> {
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const file = url.searchParams.get(name)
    if (file === null) continue
    await access(file, constants.R_OK).catch((cause: unknown) => {
      throw new BoatMirrorError('CONFIG_INVALID', `${setting} names ${name}=${file}, which cannot be read.`, { cause })
    })
  }
}

async function settled(address: string, setting: string, log: Logger): Promise<string> {
  if (!URL.canParse(address)) return address
  const url = new URL(address)
  // libpq's word for the authorities that the system trusts, which are Node's own unless another is named.
  if (url.searchParams.get('sslrootcert') === 'system') {
    url.searchParams.delete('sslrootcert')
    url.searchParams.set('sslmode', 'verify-full')
  }
  await assertFiles(url, setting)
  const mode = url.searchParams.get('sslmode')
  if (mode !== 'prefer' && mode !== 'allow') return url.href
  const offered = await offersTls(url)
  if (offered === false)
    log.info(
      { event: 'database_without_tls' },
      `The database (${setting} ${shownAddress(address)}) has no TLS, and sslmode=${mode} does without.`,
    )
  // As libpq: what is only preferred is not verified.
  url.searchParams.set('sslmode', offered === true ? 'no-verify' : 'disable')
  return url.href
}

/**
 * The same addresses as pg understands them.
 * @throws BoatMirrorError CONFIG_INVALID for a certificate or a key that cannot be read
 */
export async function withTls<T extends Addresses>(server: T, log: Logger): Promise<T> {
  const url = await settled(server.url, 'DATABASE_URL', log)
  if (server.folder !== undefined) folders.set(url, server.folder)
  const isSame = server.directUrl === server.url
  return { ...server, url, directUrl: isSame ? url : await settled(server.directUrl, 'DATABASE_DIRECT_URL', log) }
}
