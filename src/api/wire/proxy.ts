// The way to the API through a proxy: which one serves an address (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), and undici's
// dispatchers for both kinds. An https API is reached through a tunnel (CONNECT), an http one by asking the proxy.

import { BlockList, isIP } from 'node:net'
import { type Dispatcher, Pool, ProxyAgent } from 'undici'
import type { ProxySettings } from '../../config.ts'

export type ApiProxy = {
  readonly variable: 'HTTPS_PROXY' | 'HTTP_PROXY'
  /** Scheme, host and port: what may be shown. */
  readonly origin: string
  /** The value of Proxy-Authorization; null: no credentials were given. */
  readonly authorization: string | null
}

const addressesOf = (host: string): string => host.replace(/^\[|\]$/g, '')

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

const isListed = (list: BlockList, host: string): boolean => {
  const family = isIP(host)
  return family !== 0 && list.check(host, family === 6 ? 'ipv6' : 'ipv4')
}

/** True for an origin on this machine: localhost, names below it, and the addresses of loopback. */
export function isLoopback(origin: string): boolean {
  const host = addressesOf(new URL(origin).hostname)
  return /(^|\.)localhost$/.test(host) || isListed(loopback, host)
}

/** The proxy for an origin, or null: none is set, NO_PROXY names the host, or it is loopback, which no proxy can reach for us. */
export function proxyFor(origin: string, settings: ProxySettings): ApiProxy | null {
  const { protocol, hostname, port } = new URL(origin)
  const secure = protocol === 'https:'
  const address = secure ? settings.https : settings.http
  const host = addressesOf(hostname)
  if (address === null || isLoopback(origin)) return null
  if (isExcepted(host, Number(port || (secure ? 443 : 80)), settings.except ?? '')) return null
  const proxy = new URL(address)
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  return {
    variable: secure ? 'HTTPS_PROXY' : 'HTTP_PROXY',
    origin: proxy.origin,
    authorization: credentials === ':' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`,
  }
}

/** NO_PROXY as everywhere: `*`, names with all below them, addresses, subnets such as 10.0.0.0/8, each with or without a port. */
function isExcepted(host: string, port: number, except: string): boolean {
  return except
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true
      const subnet = /^(?<net>[\d.]+|[\da-f:.]+)\/(?<bits>\d{1,3})$/.exec(entry)?.groups
      if (subnet !== undefined) return isWithin(host, subnet.net ?? '', Number(subnet.bits))
      const [, name = entry, only] = isIP(entry) === 6 ? [] : (/^(.+?)(?::(\d+))?$/.exec(entry) ?? [])
      if (only !== undefined && Number(only) !== port) return false
      const bare = addressesOf(name).replace(/^\*?\./, '')
      return host === bare || host.endsWith(`.${bare}`)
    })
}

function isWithin(host: string, net: string, bits: number): boolean {
  const family = isIP(net)
  if (family === 0 || bits > (family === 6 ? 128 : 32)) return false
  const list = new BlockList()
  list.addSubnet(net, bits, family === 6 ? 'ipv6' : 'ipv4')
  return isListed(list, host)
}

/** The proxy did not let us through, or was not there. */
export class ProxyFailure extends Error {
  /** What it answered; undefined: it did not. */
  readonly status: number | undefined

  constructor(status: number | undefined, cause?: unknown) {
    super('the proxy failed', { cause })
    this.status = status
  }
}

/** Requests tunnels from a proxy, and distinguishes its refusal or absence from failures behind it. */
function tunnelPool(proxy: URL, options: Pool.Options): Dispatcher {
  const pool = new Pool(proxy, options)
  const ask = (wanted: Dispatcher.ConnectOptions<null>): Promise<Dispatcher.ConnectData<null>> =>
    new Promise((resolve, reject) =>
      Pool.prototype.connect.call(pool, wanted, (error, answer) => {
        if (error !== null) return reject(new ProxyFailure(undefined, error))
        if (answer.statusCode === 200) return resolve(answer)
        answer.socket.on('error', () => {}).destroy() // the refusal is all there was to learn
        reject(new ProxyFailure(answer.statusCode))
      }),
    )
  return Object.assign(pool, { connect: ask })
}

type Route = {
  readonly dispatcher: Dispatcher
  /** Whom the dispatcher's connections lead to. */
  readonly origin: string
  /** The text before the path of each request: the API's origin where the request goes to a proxy. */
  readonly prefix: string
  readonly headers: Readonly<Record<string, string>>
}

/** The way to `origin`. Opens no connection before the first request. `options` hold for the API's connections on each way. */
export function openRoute(
  origin: string,
  proxy: ApiProxy | null,
  options: Pool.Options & { readonly connect: { readonly timeout: number } },
): Route {
  const direct = { origin, prefix: '', headers: {} }
  if (proxy === null) return { ...direct, dispatcher: new Pool(origin, options) }
  if (proxy.variable === 'HTTP_PROXY') {
    const authorization = proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization }
    return {
      dispatcher: new Pool(proxy.origin, options),
      origin: proxy.origin,
      prefix: origin,
      headers: { host: new URL(origin).host, ...authorization },
    }
  }
  const { connect, ...limits } = options
  const dispatcher = new ProxyAgent({
    ...limits,
    uri: proxy.origin,
    ...(proxy.authorization === null ? {} : { token: proxy.authorization }),
    requestTls: connect,
    proxyTls: connect,
    clientFactory: (url, given) => tunnelPool(url, { ...given, headersTimeout: connect.timeout }),
  })
  return { ...direct, dispatcher }
}
