// Certificates made by openssl at run time: an authority of a test's own, and servers' certificates that it signs.

import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export type Certificate = {
  /** Paths of PEM files. `authority` is what NODE_EXTRA_CA_CERTS takes. */
  readonly files: { readonly key: string; readonly certificate: string; readonly authority: string }
  readonly key: string
  readonly certificate: string
}

/** Makes a certificate for a host name or address, signed by an authority of its own. `days`: valid for, 0: expired at once. */
export async function makeCertificate(folder: string, host: string, days = 2): Promise<Certificate> {
  const file = (name: string): string => join(folder, `${host}-${days}-${name}`)
  const [authorityKey, authority, key, request, certificate] = ['ca.key', 'ca.pem', 'key', 'csr', 'pem'].map(file)
  if (!authorityKey || !authority || !key || !request || !certificate) throw new Error('five files have five names')
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const openssl = (...args: string[]): Promise<unknown> => run('openssl', args)
  await openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    authorityKey,
    '-out',
    authority,
    '-days',
    '3',
    '-subj',
    '/CN=test CA',
  )
  await openssl('req', ...newKey, '-keyout', key, '-out', request, '-subj', `/CN=${host}`)
  const names = file('names')
  await writeFile(names, `subjectAltName=${/^[\d.]+$/.test(host) ? 'IP' : 'DNS'}:${host}`)
  const signed = ['-CA', authority, '-CAkey', authorityKey, '-CAcreateserial', '-extfile', names, '-days', String(days)]
  await openssl('x509', '-req', '-in', request, '-out', certificate, ...signed)
  return {
    files: { key, certificate, authority },
    key: await readFile(key, 'utf8'),
    certificate: await readFile(certificate, 'utf8'),
  }
}
