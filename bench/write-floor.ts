// The write floor: the rows of a mirror by COPY into empty tables with the same columns and indexes.

import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Client } from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'

/** The mirror's rows as files, to be written again and again. */
export type Rows = readonly { readonly table: string; readonly file: string }[]

/** Copies the rows of some tables of a mirror into files below `folder`. */
export async function saveRows(databaseUrl: string, folder: string, tables: readonly string[]): Promise<Rows> {
  return await withClient(databaseUrl, async (client) => {
    const saved: { table: string; file: string }[] = []
    for (const table of tables) {
      const file = join(folder, `${table}.copy`)
      await pipeline(client.query(copyTo(`copy mirror.${table} to stdout`)), createWriteStream(file))
      saved.push({ table, file })
    }
    return saved
  })
}

/** Writes the rows into empty tables of schema `floor`. Returns the time in milliseconds and the number of rows. */
export async function writeRows(
  databaseUrl: string,
  rows: Rows,
): Promise<{ readonly ms: number; readonly rows: number }> {
  return await withClient(databaseUrl, async (client) => {
    await client.query('drop schema if exists floor cascade; create schema floor')
    for (const { table } of rows) await client.query(`create table floor.${table} (like mirror.${table} including all)`)
    const began = performance.now()
    let count = 0
    for (const { table, file } of rows) {
      const copy = client.query(copyFrom(`copy floor.${table} from stdin`))
      await pipeline(createReadStream(file, { highWaterMark: 256 * 1024 }), copy)
      count += copy.rowCount
    }
    return { ms: performance.now() - began, rows: count }
  })
}

async function withClient<T>(databaseUrl: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
