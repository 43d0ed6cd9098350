// Campaigns have two sizes: a slice in CI, and the full number with `npm run chaos`, which writes what came of it into
// docs/reliability.md.

import { writeBlock as writeBlockOf } from '../helpers/doc-block.ts'

/** True in a full campaign of one fault at a time. */
export const isFull = process.env.CHAOS === 'full'

/** Replaces the block of that name in docs/reliability.md; run from the project's folder. */
export const writeBlock = (block: string, lines: readonly string[]): void =>
  writeBlockOf('docs/reliability.md', block, lines)

/** In a full campaign, replaces the block of that name. */
export function report(block: string, lines: readonly string[]): void {
  if (isFull) writeBlock(block, lines)
}
