// sync.unknown_fields: fields seen upstream that the catalog does not know. They stay in the payload; here they are listed.

import { holdsPerson, streamNamed, streams } from '../catalog/catalog.ts'
import type { Queryable } from '../database/sql.ts'
import { indexedKey } from './quarantine.ts'

/** Sightings of one field in one or more records. */
export type UnknownField = {
  readonly stream: string
  readonly path: string
  /** A value as JSON text, possibly cut. */
  readonly sample: string | null
  readonly times: number
}

const jsonTypes: Readonly<Record<string, string>> = {
  '"': 'text',
  '{': 'object',
  '[': 'array',
  t: 'boolean',
  f: 'boolean',
  n: 'null',
}

/** A sample as it may be stored: in a record about a person, only the value's type. */
function keptSample({ stream, sample }: UnknownField): string | null {
  if (sample === null || !holdsPerson(streamNamed(stream))) return sample
  return jsonTypes[sample.charAt(0)] ?? 'number'
}

/** Counts sightings; the newest sample is kept. One statement for the batch. */
export async function noteUnknownFields(db: Queryable, fields: readonly UnknownField[]): Promise<void> {
  const byPath = new Map<string, UnknownField>()
  for (const field of fields) {
    const path = indexedKey(field.path)
    const id = JSON.stringify([field.stream, path])
    byPath.set(id, { ...field, path, times: field.times + (byPath.get(id)?.times ?? 0) })
  }
  const distinct = [...byPath.values()]
  if (distinct.length === 0) return
  await db.query(
    `insert into sync.unknown_fields as u (stream, path, sample, times)
     select g.stream, g.path, to_jsonb(g.sample), g.times
     from unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as g(stream, path, sample, times)
     order by g.stream, g.path
     on conflict (stream, path) do update set sample = coalesce(excluded.sample, u.sample),
       times = u.times + excluded.times, last_seen_at = clock_timestamp()`,
    [
      distinct.map((field) => field.stream),
      distinct.map((field) => field.path),
      distinct.map(keptSample),
      distinct.map((field) => field.times),
    ],
  )
}

/** A field that the catalog does not know, over all reads. */
export type ListedField = Omit<UnknownField, 'sample'> & {
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  /** First seen within a week, and not acknowledged. */
  readonly isNew: boolean
  readonly sample: unknown
}

/** SQL of whether a field (alias `u`) was first seen within a week, and its stream has not been acknowledged since. */
export const isNewField = `u.first_seen_at > clock_timestamp() - interval '7 days' and not exists (select from sync.decisions d
    where d.what = 'acknowledge' and d.target = 'stream:' || u.stream and d.at >= u.first_seen_at)`

/** All fields that were ever seen and are not known, by stream and path. */
export async function listUnknownFields(db: Queryable): Promise<readonly ListedField[]> {
  const { rows } = await db.query<ListedField>(
    `select stream, path, first_seen_at as "firstSeenAt", last_seen_at as "lastSeenAt", sample, times::float8 as times,
       ${isNewField} as "isNew" from sync.unknown_fields u order by stream, path`,
  )
  return rows
}

/** The same in the order of the catalog; a sample is JSON text, null where the record is about a person. */
export async function readDrift(
  db: Queryable,
): Promise<readonly (Omit<ListedField, 'sample' | 'isNew'> & { readonly sample: string | null })[]> {
  const place = new Map(streams.map(({ name }, index) => [name, index]))
  const fields = (await listUnknownFields(db)).map(({ stream, path, firstSeenAt, lastSeenAt, times, sample }) => ({
    ...{ stream, path, firstSeenAt, lastSeenAt, times },
    sample: typeof sample === 'string' ? sample : null, // a JSON text is kept as a string inside jsonb
  }))
  return fields.sort((a, b) => (place.get(a.stream) ?? 0) - (place.get(b.stream) ?? 0))
}
