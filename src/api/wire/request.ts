// From a call to an HTTP request: path, query, credentials, the package's version. Builds, never sends. Also owns what is
// secret.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ApiSettings, AuthSetting } from '../../config.ts'
import { ApiError } from '../../errors.ts'
import type { WriteCall } from '../types.ts'
import { acceptedEncodings } from './body.ts'

/** Where the API stands and how to show who we are. */
export type Target = {
  /** `https://host:port`. */
  readonly origin: string
  /** Path in front of `/v3`, without a trailing slash; mostly empty. */
  readonly prefix: string
  readonly headers: Readonly<Record<string, string>>
  /** Query parameter that carries the secret (API_AUTH=query:NAME). */
  readonly secretQuery: { readonly name: string; readonly value: string } | null
  /** How the secret is sent, in words and without it: `the header Authorization with Bearer`. */
  readonly sent: string
  /** Texts that must never be shown or stored. */
  readonly secrets: readonly string[]
}

export type BuiltRequest = { readonly method: string; readonly path: string }

type TargetSettings = Pick<ApiSettings, 'token' | 'auth' | 'language'> & { readonly baseUrl: string }

/** Reads the settings once. `version` is shown to the API in User-Agent. */
export function buildTarget(settings: TargetSettings, version: string): Target {
  const url = new URL(settings.baseUrl)
  const headers: Record<string, string> = {
    accept: 'application/json',
    'accept-encoding': acceptedEncodings,
    'user-agent': `boat-mirror/${version}`,
  }
  if (settings.language !== null) headers['accept-language'] = settings.language
  const { token, auth } = settings
  const encoded = Buffer.from(token ?? '').toString('base64')
  if (token !== null && auth.kind === 'bearer') headers.authorization = `Bearer ${token}`
  if (token !== null && auth.kind === 'basic') headers.authorization = `Basic ${encoded}`
  if (token !== null && auth.kind === 'header') headers[auth.name.toLowerCase()] = token
  return {
    origin: url.origin,
    prefix: url.pathname.replace(/\/+$/, ''),
    headers,
    sent: sentAs(token === null ? { kind: 'none' } : auth),
    secretQuery: token !== null && auth.kind === 'query' ? { name: auth.name, value: token } : null,
    secrets: token === null ? [] : secretForms(token, auth.kind === 'basic'),
  }
}

/** The version as in package.json, which stands higher up in the sources than in dist; `0.0.0` where the program was bundled without it. Reads files. */
export function packageVersion(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) return '0.0.0'
    folder = parent
  }
  const { version }: { version?: string } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return version ?? '0.0.0'
}

function sentAs(auth: AuthSetting): string {
  if (auth.kind === 'none') return 'no credentials'
  if (auth.kind === 'header') return `the header ${auth.name}`
  if (auth.kind === 'query') return `the query parameter ${auth.name}`
  return `the header Authorization with ${auth.kind === 'basic' ? 'Basic' : 'Bearer'}`
}

/**
 * The forms in which an answer may echo the token, longest first; a part of three characters or less is not a secret.
 */
function secretForms(token: string, isBasic: boolean): string[] {
  const password = isBasic ? token.slice(token.indexOf(':') + 1) : token
  const forms = [token, password].flatMap((text) => [
    text,
    encodeURIComponent(text),
    new URLSearchParams({ t: text }).toString().slice(2),
    JSON.stringify(text).slice(1, -1),
    Buffer.from(text).toString('base64'),
  ])
  return [...new Set(forms)].filter((form) => form.length > 3).sort((a, b) => b.length - a.length)
}

/** The text without the secrets of the target and without anything that looks like a credential header. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const cleaned = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text)
  return cleaned.replace(/\b(Bearer|Basic)\s+[^\s"',;]+/gi, '$1 [secret]')
}

/**
 * Fills the path template, every value encoded as one segment (slashes, colons and commas too).
 * @throws ApiError API_REJECTED when a value is missing or empty, or a step in the path of a write: the request would
 *   reach another endpoint
 */
export function buildRequest(target: Target, call: WriteCall): BuiltRequest {
  const space = call.endpoint.indexOf(' ')
  const path = call.endpoint.slice(space + 1).replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = call.params?.[name]
    const details = { endpoint: call.endpoint, mayHaveTakenEffect: false }
    if (value === undefined || value === '')
      throw new ApiError('API_REJECTED', `${call.endpoint} was called without a value for ${name}.`, details)
    // Even encoded, a proxy may take dots for a step up; a read that strays is noticed, a write would be done.
    if (!call.endpoint.startsWith('GET ') && /^\.{1,2}$/.test(value))
      throw new ApiError('API_REJECTED', `${call.endpoint}: ${value} is not a valid value for ${name}.`, details)
    return encodeSegment(value)
  })
  const search = new URLSearchParams(call.query)
  return { method: call.endpoint.slice(0, space), path: withSecret(target, `${target.prefix}${path}`, search) }
}

/** The request for a path and query that came from a next link of the API's own; sent as it came. */
export function linkedRequest(target: Target, pathAndQuery: string): BuiltRequest {
  if (target.secretQuery === null) return { method: 'GET', path: pathAndQuery }
  const url = new URL(pathAndQuery, target.origin)
  return { method: 'GET', path: withSecret(target, url.pathname, url.searchParams) }
}

function withSecret(target: Target, path: string, search: URLSearchParams): string {
  if (target.secretQuery !== null) search.set(target.secretQuery.name, target.secretQuery.value)
  const query = search.toString()
  return query === '' ? path : `${path}?${query}`
}

/**
 * Encodes one path segment. Half a surrogate pair has no encoding; a segment of dots only would mean a parent folder.
 */
function encodeSegment(value: string): string {
  const encoded = encodeURIComponent(value.replace(/\p{Surrogate}/gu, '\ufffd'))
  return /^\.+$/.test(encoded) ? encoded.replaceAll('.', '%2E') : encoded
}
