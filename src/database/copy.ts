// Rows into Postgres by COPY, in its text format.

import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A value in COPY's text format. */
export const copyText = (value: string | null): string =>
  value === null
    ? '\\N'
    : /[\\\n\r\t]/.test(value)
      ? value.replace(/[\\\n\r\t]/g, (found) => escapes[found] ?? '')
      : value

const chunkCharacters = 256 * 1024

/** Sends lines to a `copy … from stdin` statement. Rejects with the error of Postgres. */
export async function copyRows(client: PoolClient, statement: string, lines: Iterable<string>): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const copy = client.query(copyFrom(statement))
    copy.on('error', reject)
    copy.on('finish', resolve)
    let chunk = ''
    for (const line of lines) {
      chunk += line
      if (chunk.length < chunkCharacters) continue
      copy.write(chunk)
      chunk = ''
    }
    copy.end(chunk)
  })
}
