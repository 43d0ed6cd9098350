// Rows into Postgres by COPY, in its text format.

import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

const special = /[\\\n\r\t]/

/** From this length on four searches of a text are faster than one for any of four characters. */
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

/** Values in COPY's text format, each with the tab that ends it: all of them, or those at some places. */
export function copyFields(values: readonly (string | null)[], places?: readonly number[]): string {
  let fields = ''
  if (places === undefined || places.length === values.length)
    for (const value of values) fields += `${copyText(value)}\t`
  else for (const place of places) fields += `${copyText(values[place] ?? null)}\t`
  return fields
}

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
