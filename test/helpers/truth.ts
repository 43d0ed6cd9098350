// Compares every table of the mirror with the sandbox's truth, every record and every field. The expected values are made
// by Postgres from the truth's JSON, not by the program's own projection.

import type pg from 'pg'
import { streams } from '../../src/catalog/catalog.ts'
import type { Column, StreamDef } from '../../src/catalog/types.ts'

/** The value a column must have, as SQL over the truth's record `t.record`; null: the record does not say. */
function expectedSql(column: Column): string | null {
  if (column.path === null) return null
  const path = `{${column.path.split('.').join(',')}}`
  if (column.type === 'jsonb') return `nullif(t.record #> '${path}', 'null')`
  return `(t.record #>> '${path}')::${column.type}`
}

const keyCondition = (stream: StreamDef): string =>
  stream.key
    .filter((name) => !(stream.keyed === 'content' && name === 'key'))
    .map((name) => {
      const type = stream.columns.find((column) => column.name === name)?.type ?? 'text'
      return `m.${name} = (t.key ->> '${name}')::${type}`
    })
    .join(' and ')

/** The payload the mirror must hold: the record itself. */
const payloadSql = 'm._payload is distinct from t.record'
const payloadCase = `case when ${payloadSql} then '_payload' end`

async function compareTable(client: pg.PoolClient, stream: StreamDef): Promise<string[]> {
  const content = stream.keyed === 'content' ? 'and m._payload = t.record' : ''
  const join = `from truth t full join (select * from mirror.${stream.name} where _deleted_at is null and _source not like '%#%'
      ${pastDays(stream)}) m on ${keyCondition(stream)} ${content}
    where (t.name = '${stream.name}' or t.name is null)`
  const differing = stream.columns.flatMap((column) => {
    const sql = expectedSql(column)
    return sql === null ? [] : [`case when m.${column.name} is distinct from ${sql} then '${column.name}' end`]
  })
  const { rows } = await client.query<{ key: string | null; own: string | null; fields: string }>(
    `with truth as (select * from pg_temp.truth where name = '${stream.name}')
     select t.key::text as key, ${stream.key.map((name) => `m.${name}::text`).join(` || ' ' || `)} as own,
       array_to_string(array[${[payloadCase, ...differing].join(', ')}]::text[], ', ') as fields
     ${join} and (t.key is null or m._read_at is null or ${payloadSql} ${differing.map((each) => `or ${each} is not null`).join(' ')})
     limit 20`,
  )
  return rows.map(({ key, own, fields }) => {
    if (key === null) return `${stream.name} ${own}: in the mirror, not in the truth`
    return own === null ? `${stream.name} ${key}: missing in the mirror` : `${stream.name} ${key}: ${fields}`
  })
}

/** Past days of a horizon stay in the mirror and are not part of the truth of today. */
const pastDays = (stream: StreamDef): string =>
  stream.horizon === 'date'
    ? `and date >= (select min((key ->> 'date')::date) from pg_temp.truth where name in ('resource_availability', 'resource_pricetable'))`
    : ''

/** What the mirror holds of records without a column of their own: filled columns and calendars. */
const furtherChecks: readonly (readonly [string, string])[] = [
  [
    'rentals.resource_id',
    `select r.id::text as key from mirror.rentals r join pg_temp.truth t on t.name = 'rental_resources' and (t.key ->> 'rental_id')::bigint = r.id
     where r._deleted_at is null and (r.resource_id is distinct from t.record #>> '{resource,id}'
       or r.company_id is distinct from (t.record #>> '{resource,company,id}')::bigint)`,
  ],
  [
    'resource_availability_years.days',
    `select y.resource_id as key from mirror.resource_availability_years y join pg_temp.truth t on t.name = 'resource_availability_years'
       and t.key ->> 'resource_id' = y.resource_id and (t.key ->> 'year')::bigint = y.year
     where y._deleted_at is null and position(y.days in t.record::text) = 0`,
  ],
]

/**
 * Compares the mirror with a truth text of the sandbox.
 * @returns one line per difference, at most twenty a table; empty when all is equal.
 */
export async function differencesFromTruth(pool: pg.Pool, truthText: string): Promise<readonly string[]> {
  const client = await pool.connect()
  try {
    await client.query('create temp table if not exists truth (name text, key jsonb, record jsonb)')
    await client.query('truncate pg_temp.truth')
    await client.query(
      `insert into pg_temp.truth select e.key, r -> 'key', r -> 'record' from jsonb_each($1::jsonb) e, jsonb_array_elements(e.value) r`,
      [truthText],
    )
    await client.query('analyze pg_temp.truth')
    const found: string[] = []
    for (const stream of streams) found.push(...(await compareTable(client, stream)))
    for (const [name, sql] of furtherChecks) {
      const { rows } = await client.query<{ key: string }>(`${sql} limit 20`)
      found.push(...rows.map(({ key }) => `${name} of ${key}`))
    }
    return found
  } finally {
    client.release()
  }
}
