// Explains a failed connection to the reader, from the error code only. Pure. Used for the API, for proxies and for
// Redis, which differ in the names of their settings and schemes.

/** Whom a connection was for. */
type Peer = {
  /** The setting that holds its address, e.g. `API_BASE_URL`. */
  readonly variable: string
  /** Its address's scheme, and the one that would be the other of with TLS and without. */
  readonly scheme: string
  readonly otherScheme: string
  readonly secure: boolean
}

type ConnectionProblem = {
  /** Completes "… at ADDRESS". */
  readonly what: string
  readonly remedy: string
}

/** The peer behind an address of http and https, which a setting holds. */
export function httpPeer(variable: string, origin: string): Peer {
  const secure = origin.startsWith('https:')
  return { variable, secure, scheme: secure ? 'https' : 'http', otherScheme: secure ? 'http' : 'https' }
}

const authorityUnknown =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?))$/
const hungUp = /^(UND_ERR_SOCKET|ECONNRESET|EPIPE|HTTPParserError|HPE_\w+)$/

/** Says what a code of Node's sockets, TLS or undici means for this peer; undefined: nothing more than the code is known. */
export function connectionProblem(code: string, peer: Peer): ConnectionProblem | undefined {
  const { variable, scheme, otherScheme, secure } = peer
  const check = `Check ${variable}, and that the server it names is up.`
  if (code === 'ECONNREFUSED') return { what: 'the connection was refused', remedy: check }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return { what: 'the host is unknown', remedy: check }
  if (/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/.test(code))
    return { what: 'the server could not be reached', remedy: check }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code))
    return {
      what: `the port does not speak ${scheme}`,
      remedy: `Use ${otherScheme}:// in ${variable}, or the port that speaks TLS.`,
    }
  if (!secure && hungUp.test(code))
    return {
      what: 'the connection was closed without a valid answer, as a TLS port does,',
      remedy: `If the port speaks TLS, use ${otherScheme}:// in ${variable}. Otherwise check the health of the server.`,
    }
  if (authorityUnknown.test(code))
    return {
      what: 'this host does not trust the authority that signed the certificate',
      remedy:
        'Set NODE_EXTRA_CA_CERTS to the file with the certificate of that authority (PEM). Set it in the environment: Node reads it before any .env.',
    }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return {
      what: code === 'CERT_HAS_EXPIRED' ? 'the certificate has expired' : 'the certificate is not valid yet',
      remedy: 'Renew the certificate. If it is valid, correct the clock of this host.',
    }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return {
      what: 'the certificate is for another host name',
      remedy: `Use a name from the certificate in ${variable}, or have a certificate issued for this name.`,
    }
  if (/CERT|SIGNATURE|^ERR_TLS|^ERR_SSL|^EPROTO$/.test(code))
    return { what: 'the TLS connection failed', remedy: `Check ${variable}, and what its server requires for TLS.` }
  return undefined
}

/** The code of an error or of what caused it; names only, because messages may quote what was sent. */
export function codeIn(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    const code: unknown = 'code' in current ? current.code : undefined
    if (typeof code === 'string') return code
  }
  return error instanceof Error ? error.name : 'unknown'
}
