// Fields seen upstream that the catalog does not know: since when, how often, with a sample.

import { streams } from '../catalog/catalog.ts'
import type { Queryable } from '../database/sql.ts'
import { listUnknownFields } from '../state/unknown-fields.ts'

export type DriftField = {
  readonly stream: string
  /** Dotted path in the record. */
  readonly path: string
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  /** Records it was seen in, over all reads. */
  readonly times: number
  /** JSON text of a value, possibly cut; null where the record says something about a person. */
  readonly sample: string | null
}

/** Unknown fields in the order of the catalog. */
export async function readDrift(db: Queryable): Promise<readonly DriftField[]> {
  const place = new Map(streams.map(({ name }, index) => [name, index]))
  const fields = (await listUnknownFields(db)).map(({ sample, times, ...field }) => ({
    ...field,
    times: Number(times),
    sample: typeof sample === 'string' ? sample : null, // a JSON text is kept as a string inside jsonb
  }))
  return fields.sort((a, b) => (place.get(a.stream) ?? 0) - (place.get(b.stream) ?? 0))
}
