// The data of a stream's page beyond `status`: its runs, and its quarantine.

import { readsOf } from '../catalog/catalog.ts'
import type { StreamDef } from '../catalog/types.ts'
import type { Queryable } from '../database/sql.ts'
import { type QuarantineFacts, quarantineFacts } from '../sync/quarantine.ts'
import { listRuns, type Run } from '../sync/runs/runs.ts'
import { type KeptDay, streamHistory } from './freshness-history.ts'

export type StreamDetails = {
  readonly stream: StreamDef
  /** Newest first, hot runs and those of single records too. */
  readonly runs: readonly Run[]
  /** The one seen last first. */
  readonly quarantine: readonly QuarantineFacts[]
  readonly endpoints: readonly string[]
  /** How long it met its target, by day, oldest first. */
  readonly history: readonly KeptDay[]
}

const shown = 50

/** Reads it. */
export async function streamDetails(db: Queryable, stream: StreamDef): Promise<StreamDetails> {
  return {
    stream,
    runs: await listRuns(db, { stream: stream.name, limit: shown }),
    quarantine: await quarantineFacts(db, { stream: stream.name, limit: shown }),
    endpoints: readsOf(stream),
    history: await streamHistory(db, stream.name),
  }
}
