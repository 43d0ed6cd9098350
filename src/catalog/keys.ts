// Keys as one text, as every table of `sync` has them.

import type { StreamDef } from './types.ts'

/** The key of a record or a row as one text. */
export const keyTextOf = ({ key }: { readonly key: readonly string[] }): string => keyText(key)

/** A key as one text: a single column as it is, several as a JSON array of texts. */
export function keyText(parts: readonly string[]): string {
  const [first] = parts
  return first !== undefined && parts.length === 1 ? first : JSON.stringify(parts)
}

/** Splits the text of a key of `stream` into its parts. @throws Error when the text is not a key: a bug. */
export function keyParts(stream: StreamDef, text: string): readonly string[] {
  if (stream.key.length === 1) return [text]
  const parts: unknown = JSON.parse(text)
  if (Array.isArray(parts) && parts.every((part) => typeof part === 'string')) return parts
  throw new Error(`${text} is not a key of ${stream.name}.`)
}

/** The key of a record without one: a short hash of its content. */
export const contentKey = (hash: string): string => `#${hash}`

const contentKeyPattern = '^#[A-Za-z0-9_-]{22}$'

/** Whether a key is a hash of content. */
export const isContentKey = (key: string): boolean => new RegExp(contentKeyPattern).test(key)

/** The same of an SQL expression. */
export const isContentKeySql = (key: string): string => `(${key} ~ '${contentKeyPattern}')`
