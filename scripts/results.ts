// What long runs found, as Markdown in the folder `results`, which git ignores. The documents keep only what a reader
// decides by; after you repeat a run, its tables are here.

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'

/** Where results are written: a folder of the project's folder. */
export const resultsFolder = 'results'

/** Makes the folder of results and returns the path of a file in it. */
export function resultsFile(name: string): string {
  mkdirSync(resultsFolder, { recursive: true })
  return join(resultsFolder, name)
}

/**
 * Writes a result over the one of before: when, of which commit and by which command it was measured, then the lines.
 * Returns the path of the file, which is named as the result.
 */
export function writeResult(name: string, command: string, lines: readonly string[]): string {
  const file = resultsFile(`${name}.md`)
  const day = new Date().toISOString().slice(0, 10)
  const how = `Measured on ${day} at commit ${commit()} by \`${command}\`: Node ${process.version}, ${cpus().length} processors.`
  writeFileSync(file, `${[how, '', ...lines].join('\n')}\n`)
  return file
}

/** The commit at hand, with `-dirty` behind it when something is not committed. */
function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown' // no checkout, or no git
  }
}
