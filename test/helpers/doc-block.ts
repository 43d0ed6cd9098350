// Blocks of documents that programs write: what stands between `<!-- name -->` and `<!-- /name -->`.

import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** A document's text with other lines in its block of that name. @throws Error when it has none. */
export function withBlock(text: string, block: string, lines: readonly string[]): string {
  const pattern = new RegExp(`<!-- ${block} -->[\\s\\S]*?<!-- /${block} -->`)
  if (!pattern.test(text)) throw new Error(`The document has no block ${block}.`)
  return text.replace(pattern, () => [`<!-- ${block} -->`, ...lines, `<!-- /${block} -->`].join('\n'))
}

/** Replaces the block of that name in a document, named from the project's folder. @throws Error when it has none. */
export function writeBlock(document: string, block: string, lines: readonly string[]): void {
  const file = resolve(document)
  writeFileSync(file, withBlock(readFileSync(file, 'utf8'), block, lines))
}
