// Campaigns have two sizes: a slice in CI, and the full number with `npm run chaos`, which writes what came of it into
// docs/reliability.md.

import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** True in a full campaign of one fault at a time. */
export const isFull = process.env.CHAOS === 'full'

/** Replaces the block of that name in docs/reliability.md; run from the project's folder. */
export function writeBlock(block: string, lines: readonly string[]): void {
  const file = resolve('docs/reliability.md')
  const text = readFileSync(file, 'utf8')
  const pattern = new RegExp(`<!-- ${block} -->[\\s\\S]*?<!-- /${block} -->`)
  if (!pattern.test(text)) throw new Error(`docs/reliability.md has no block ${block}.`)
  writeFileSync(
    file,
    text.replace(pattern, () => [`<!-- ${block} -->`, ...lines, `<!-- /${block} -->`].join('\n')),
  )
}

/** In a full campaign, replaces the block of that name. */
export function report(block: string, lines: readonly string[]): void {
  if (isFull) writeBlock(block, lines)
}
