// Commits changes of the mirror as a sync does, in a process of its own, and says when each was committed.

import { openApp } from '../src/app.ts'
import { streamNamed } from '../src/catalog/catalog.ts'
import { sleep } from '../src/clock.ts'
import { readConfig } from '../src/config.ts'
import { createLogger } from '../src/log.ts'
import type { SourcedRow } from '../src/mirror/rows.ts'
import { applyWrites } from '../src/mirror/writer.ts'
import { options, tell } from './measure.ts'

export type WriterOptions = {
  readonly env: Readonly<Record<string, string>>
  /** Commits, one after the other. */
  readonly commits: number
  readonly changesEach: number
  /** From one commit to the next, in milliseconds; up to a fifth more by chance. */
  readonly everyMs: number
  /** Key of the first record; each change is a record of its own. */
  readonly firstId: number
}

/** When each record was committed, by the host's clock in milliseconds. */
export type Committed = { readonly committed: readonly (readonly [id: number, at: number])[] }

const { env, commits, changesEach, everyMs, firstId } = options<WriterOptions>()
const log = createLogger(process.env.LOG_LEVEL ?? 'error')
const api = { apiUrl: 'http://127.0.0.1:9', sandbox: true } // nothing is read from it
const app = await openApp({ config: readConfig(env, '/'), log, ...api, schema: 'migrate', patienceMs: 60_000 })
const stream = streamNamed('harbours')
const rowOf = (id: number): SourcedRow => {
  const record: Readonly<Record<string, unknown>> = { id, name: `Harbour ${id}` }
  const values = stream.columns.map(({ name }) => (record[name] === undefined ? null : String(record[name])))
  return { key: [String(id)], values, payload: JSON.stringify(record) }
}

const committed: [number, number][] = []
const begins = performance.now()
for (let commit = 0; commit < commits; commit++) {
  const due = begins + commit * everyMs + (Math.random() * everyMs) / 5
  await sleep(Math.max(0, due - performance.now()))
  const ids = Array.from({ length: changesEach }, (_, index) => firstId + commit * changesEach + index)
  const write = {
    stream,
    source: 'GET /v3/harbours',
    readAt: new Date(),
    rows: ids.map(rowOf),
    mode: 'record',
  } as const
  await app.database.transaction((client) => applyWrites(client, { tables: [write] }))
  const at = Date.now()
  app.syncContext.onCommit(ids.length)
  for (const id of ids) committed.push([id, at])
}
await app[Symbol.asyncDispose]()
tell({ committed } satisfies Committed)
