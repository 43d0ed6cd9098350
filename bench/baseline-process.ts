// The usual ways to copy a list into Postgres, written in the most natural form: a page is read, then written.
// `rows`: one upsert after the other; `pages`: one multi-row upsert for each page; `careful`: the next page is read meanwhile, and
// equal rows are not written. No hashes, no change log, no checkpoint.

import { Pool as Postgres } from 'pg'
import { Pool } from 'undici'
import { streamNamed } from '../src/catalog/catalog.ts'
import { type Measured, measure, options, tell } from './measure.ts'

export type BaselineOptions = {
  readonly apiUrl: string
  readonly databaseUrl: string
  readonly way: 'rows' | 'pages' | 'careful'
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
  let next = readPage(1)
  for (let page = 2; ; page++) {
    const records = await next
    if (records.length === 0) return { read, firstRowMs }
    if (way === 'careful') next = readPage(page)
    read += records.length
    if (way === 'rows') for (const record of records) await upsert([record])
    else await upsert(records)
    firstRowMs ??= performance.now()
    if (way !== 'careful') next = readPage(page)
  }
}

async function readPage(page: number): Promise<readonly Record<string, unknown>[]> {
  const path = `/v3/rentals?order=creationDateAsc&page=${page}&perPage=${pageSize}`
  const { body } = await api.request({ method: 'GET', path })
  return (await body.json()) as Record<string, unknown>[]
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
     on conflict (id) do update set ${updates.join(', ')}
     ${way === 'careful' ? 'where rentals._payload::text is distinct from excluded._payload::text' : ''}`,
    values,
  )
}

function memberAt(record: unknown, path: string): unknown {
  const value = path
    .split('.')
    .reduce<unknown>((holder, member) => (holder as Record<string, unknown> | null | undefined)?.[member], record)
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}
