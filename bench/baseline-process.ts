// The usual ways to copy a list into Postgres, written in the most natural form: a page is read, then written.
// `rows`: one upsert after the other; `pages`: one multi-row upsert for each page. No hashes, no change log, no checkpoint.

import { Pool as Postgres } from 'pg'
import { Pool } from 'undici'
import { streamNamed } from '../src/catalog/catalog.ts'
import { type Measured, measure, options, tell } from './measure.ts'

export type BaselineOptions = {
  readonly apiUrl: string
  readonly databaseUrl: string
  readonly way: 'rows' | 'pages'
  readonly pageSize: number
}

export type BaselineResult = Measured & {
  readonly read: number
  /** Milliseconds from the start of the process to its first commit of rows. */
  readonly firstRowMs: number | null
}

const { apiUrl, databaseUrl, way, pageSize } = options<BaselineOptions>()
const api = new Pool(apiUrl, { connections: 1 })
const database = new Postgres({ connectionString: databaseUrl, max: 1 })
const columns = streamNamed('rentals').columns.filter(({ path }) => path !== null)
const names = [...columns.map(({ name }) => name), '_payload', '_source', '_read_at'].map((name) => `"${name}"`)

await database.query('create schema baseline; create table baseline.rentals (like mirror.rentals including all)')
tell(await measure(copyAll))
await Promise.all([api.close(), database.end()])

async function copyAll(): Promise<{ read: number; firstRowMs: number | null }> {
  let read = 0
  let firstRowMs: number | null = null
  for (let page = 1; ; page++) {
    const { body } = await api.request({
      method: 'GET',
      path: `/v3/rentals?order=creationDateAsc&page=${page}&perPage=${pageSize}`,
    })
    const records = (await body.json()) as Record<string, unknown>[]
    if (records.length === 0) return { read, firstRowMs }
    read += records.length
    if (way === 'pages') await upsert(records)
    else for (const record of records) await upsert([record])
    firstRowMs ??= performance.now()
  }
}

async function upsert(records: readonly Record<string, unknown>[]): Promise<void> {
  const values = records.flatMap((record) => [
    ...columns.map(({ path }) => memberAt(record, path ?? '')),
    JSON.stringify(record),
    'GET /v3/rentals',
    new Date(),
  ])
  const places = records.map(
    (_, row) => `(${names.map((_, column) => `$${row * names.length + column + 1}`).join(', ')})`,
  )
  const updates = names.map((name) => `${name} = excluded.${name}`)
  await database.query(
    `insert into baseline.rentals (${names.join(', ')}) values ${places.join(', ')}
     on conflict (id) do update set ${updates.join(', ')}`,
    values,
  )
}

function memberAt(record: unknown, path: string): unknown {
  const value = path
    .split('.')
    .reduce<unknown>((holder, member) => (holder as Record<string, unknown> | null | undefined)?.[member], record)
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}
