// The secrets of access: what they look like, and how one is compared with a stored hash. Pure, except for randomness.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 32 random bytes as 43 characters of base64url. */
export const newSecret = (): string => randomBytes(32).toString('base64url')

/** SHA-256. A slow hash would gain nothing: 32 random bytes cannot be guessed. */
export const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** Is this the secret of a stored hash? Takes equally long for every wrong one. */
export function isSecretOf(secret: string, hash: Uint8Array): boolean {
  const given = hashOf(secret)
  return given.length === hash.length && timingSafeEqual(given, hash)
}

/** An access token: its number, for the lookup, and its secret. */
export const tokenText = (id: string, secret: string): string => `bmt_${id}_${secret}`

const tokenPattern = /^bmt_([1-9]\d{0,17})_([A-Za-z0-9_-]{43})$/

/** The parts of an access token; null for any text that is none. */
export function tokenParts(text: string): { readonly id: string; readonly secret: string } | null {
  const [, id, secret] = tokenPattern.exec(text) ?? []
  return id === undefined || secret === undefined ? null : { id, secret }
}
