// Rows into Postgres by COPY, in its text format.

import type { Writable } from 'node:stream'
import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

const special = /[\\\n\r\t]/

/** A text of this length or more is searched for one character after the other: of 2 kB that takes a fifteenth of the time. */
const long = 100

const isPlain = (value: string): boolean =>
  value.length < long
    ? !special.test(value)
    : !value.includes('\\') && !value.includes('\n') && !value.includes('\r') && !value.includes('\t')

/** A value in COPY's text format. */
export function copyText(value: string | null): string {
  if (value === null) return '\\N'
  if (isPlain(value)) return value
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')
}

/** Values in COPY's text format, with tabs between them: all of them, or those at some places. */
export function copyFields(values: readonly (string | null)[], places?: readonly number[]): string {
  const fields: string[] = []
  if (places === undefined || places.length === values.length) for (const value of values) fields.push(copyText(value))
  else for (const place of places) fields.push(copyText(values[place] ?? null))
  return fields.join('\t')
}

const chunkBytes = 64 * 1024

/**
 * Sends lines to a `copy … from stdin` statement.
 * @param parts lines, or parts of lines one after the other
 * @throws the error of Postgres
 */
export async function copyRows(client: PoolClient, statement: string, parts: Iterable<string>): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const copy = client.query(copyFrom(statement))
    copy.on('error', reject)
    copy.on('finish', resolve)
    send(parts, copy)
  })
}

/** Each part is encoded separately: joined before, a single wide character would make all take two bytes each. */
function send(parts: Iterable<string>, copy: Writable): void {
  let chunk = Buffer.allocUnsafe(chunkBytes)
  let used = 0
  for (const part of parts) {
    const most = 3 * part.length // bytes of UTF-8
    if (used + most > chunk.length) {
      if (used > 0) copy.write(chunk.subarray(0, used))
      chunk = Buffer.allocUnsafe(Math.max(chunkBytes, most))
      used = 0
    }
    used += chunk.write(part, used)
  }
  copy.end(chunk.subarray(0, used))
}
