// Campaigns have two sizes: a slice in CI, and the full number with `npm run chaos`, which writes what came of it into
// docs/reliability.md.

import { readFileSync, writeFileSync } from 'node:fs'

/** True under `npm run chaos`. */
export const isFull = process.env.CHAOS === 'full'

const file = new URL('../../docs/reliability.md', import.meta.url)

/** In a full campaign, replaces the block of that name in docs/reliability.md. */
export function report(block: string, lines: readonly string[]): void {
  if (!isFull) return
  const text = readFileSync(file, 'utf8')
  const pattern = new RegExp(`<!-- ${block} -->[\\s\\S]*?<!-- /${block} -->`)
  if (!pattern.test(text)) throw new Error(`docs/reliability.md has no block ${block}.`)
  writeFileSync(
    file,
    text.replace(pattern, () => [`<!-- ${block} -->`, ...lines, `<!-- /${block} -->`].join('\n')),
  )
}
