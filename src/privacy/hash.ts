// The hash in place of a personal value: the same value always has the same hash, so that people can be counted and
// joined, and without the key nothing can be tried against it. Pure.

import { createHmac, createSecretKey } from 'node:crypto'
import { memo } from '../memo.ts'

/** The prefix of every hash of a personal value; values written by partners may not start with it. */
export const hashPrefix = 'bmh1:'

/**
 * The member beside hashed values that holds hashes of the exact values received, where their normal form differs:
 * with these an update sees whether a field was changed by another client.
 */
export const exactMember = '_exact'

const hashPattern = /^bmh1:[A-Za-z0-9_-]{43}$/

/** Whether a text is a hash that this program made, or looks like one. */
export const isHash = (text: string): boolean => text.startsWith(hashPrefix) && hashPattern.test(text)

/** E-mail addresses are joined without regard to case. */
const foldsCase = (name: string): boolean => name === 'email'

/** Most values: ASCII, words with one space between them. */
const isPlain = /^[!-~]+(?: [!-~]+)*$/

/**
 * The form of a value that is hashed: Unicode NFC, no white space at the ends, one space for any run of it inside, and
 * e-mail addresses in lower case. `name`: that of the field.
 */
export function normalValue(name: string, value: string): string {
  if (isPlain.test(value)) return foldsCase(name) ? value.toLowerCase() : value
  const plain = value.normalize('NFC').trim().replace(/\s+/gu, ' ')
  return foldsCase(name) ? plain.toLowerCase() : plain
}

/** What replaces a text in JSON. */
type Substitute = {
  /** The hash of its normal form as JSON; null: the text stays, because it is blank or a hash already. */
  readonly json: string | null
  /** The hash of the exact text where its normal form differs; else ''. */
  readonly exact: string
}

const asItIs: Substitute = { json: null, exact: '' }

/** Values that repeat: cities, countries, and users with several rentals. */
const remembered = 50_000
const longestRemembered = 100

export type Hasher = {
  /** The hash of a text, as it is. */
  of(text: string): string
  /** What replaces a text of the field `name`. `written` is the text as JSON writes it between two quotes. */
  inPlaceOf(written: string, name: string): Substitute
  /** A short keyed hash of the plain hash of a record as received. It shows whether the record is the same again. */
  ofHash(plain: string): string
  /** Shows whether two processes have the same key, and nothing else about it. */
  readonly fingerprint: string
}

/** Makes hashes with PERSONAL_DATA_KEY. */
export function createHasher(key: string): Hasher {
  // Made once: Node would make a key of the text for each hash, which takes a fifth of its time.
  const secret = createSecretKey(key, 'utf8')
  const digest = (value: string): string => createHmac('sha256', secret).update(value).digest('base64url')
  const bounds = { most: remembered, longest: longestRemembered }
  const of = (text: string): string => hashPrefix + digest(text)
  const substitute =
    (name: string) =>
    (written: string): Substitute => {
      const text = written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written
      if (text.trim() === '' || isHash(text)) return asItIs
      const normal = normalValue(name, text)
      return { json: `"${of(normal)}"`, exact: normal === text ? '' : of(text) }
    }
  const [folded, other] = [memo(substitute('email'), bounds), memo(substitute(''), bounds)]
  return {
    of,
    inPlaceOf: (written, name) => (foldsCase(name) ? folded : other)(written),
    ofHash: (plain) => digest(plain).slice(0, 24),
    fingerprint: digest('boat-mirror: fingerprint of PERSONAL_DATA_KEY').slice(0, 16),
  }
}
