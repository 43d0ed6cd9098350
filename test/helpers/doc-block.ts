// Blocks of documents that programs write: what stands between `<!-- name -->` and `<!-- /name -->`.

import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** Replaces the block of that name in a document, named from the project's folder. @throws Error when it has none. */
export function writeBlock(document: string, block: string, lines: readonly string[]): void {
  const file = resolve(document)
  const text = readFileSync(file, 'utf8')
  const pattern = new RegExp(`<!-- ${block} -->[\\s\\S]*?<!-- /${block} -->`)
  if (!pattern.test(text)) throw new Error(`${document} has no block ${block}.`)
  writeFileSync(
    file,
    text.replace(pattern, () => [`<!-- ${block} -->`, ...lines, `<!-- /${block} -->`].join('\n')),
  )
}
