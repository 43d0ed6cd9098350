// A consumer of the change feed during a storm: it polls all along, applies the changes to a copy of its own, and
// compares the copy with the mirror at the end.

import { streams } from '../../../src/catalog/catalog.ts'
import { sleep } from '../../../src/clock.ts'
import { openStormPool } from './pool.ts'

const pollMs = 200
const batch = 500

type Entry = {
  readonly cursor: string
  readonly seq: string
  readonly stream: string
  readonly key: Readonly<Record<string, unknown>>
  readonly operation: 'insert' | 'update' | 'delete'
  readonly diff: Readonly<Record<string, readonly [unknown, unknown]>>
}

type Row = Record<string, unknown>

/** JSON with the members in one order, so that equal values are equal texts. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )

/** Starts polling. */
export function startConsumer(databaseUrl: string) {
  const pool = openStormPool(databaseUrl, 'consumer', 1)
  const stopping = new AbortController()
  const copy = new Map<string, Map<string, Row>>()
  const seen = new Set<string>()
  const problems: string[] = []
  let cursor: string | null = null

  const apply = ({ seq, stream, key, operation, diff }: Entry): void => {
    const rows = copy.get(stream) ?? new Map<string, Row>()
    copy.set(stream, rows)
    const name = canonical(key)
    const row = rows.get(name)
    if (seen.has(seq)) problems.push(`the feed gave row ${seq} twice`)
    seen.add(seq)
    if ((operation === 'insert') !== (row === undefined))
      problems.push(
        `the feed says ${operation} of ${stream} ${name} (row ${seq}), and the copy ${row === undefined ? 'does not have it' : 'has it'}`,
      )
    if (operation === 'delete') {
      rows.delete(name)
      return
    }
    const changed = operation === 'insert' ? {} : { ...row }
    for (const [column, [, value]] of Object.entries(diff)) changed[column] = value
    rows.set(name, changed)
  }

  /** Reads until the feed has nothing more. */
  const drain = async (): Promise<void> => {
    for (;;) {
      const { rows } = await pool.query<Entry>('select * from mirror.changes_since($1, $2)', [cursor, batch])
      // A crash took back the entry of the cursor, and the feed begins again: so does the copy.
      if (rows[0] !== undefined && seen.has(rows[0].seq)) {
        copy.clear()
        seen.clear()
      }
      for (const entry of rows) apply(entry)
      cursor = rows.at(-1)?.cursor ?? cursor
      if (rows.length < batch) return
    }
  }
  const poll = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await drain().catch(() => undefined) // the database is out, or not migrated yet: the next poll goes on from the cursor
      await sleep(pollMs, stopping.signal).catch(() => undefined) // stopped
    }
  }
  const polling = poll()

  /** What the log holds of a record, to find the reason. */
  const entriesOf = async (stream: string, key: string): Promise<readonly string[]> => {
    const { rows } = await pool.query<{ entry: string }>(
      `select format('  %s.%s %s %s %s', xid, seq, changed_at, operation, diff) as entry from mirror.change_log
       where stream = $1 and key = $2::jsonb order by xid, seq`,
      [stream, key],
    )
    return rows.map(({ entry }) => entry)
  }

  const compare = async (): Promise<void> => {
    const { rows: missed } = await pool.query<{ seq: string }>('select seq from mirror.change_log order by seq')
    const missing = missed.filter(({ seq }) => !seen.has(seq))
    if (missing.length > 0 || missed.length !== seen.size)
      problems.push(
        `the feed gave ${seen.size} rows of ${missed.length}; missed: ${missing
          .slice(0, 5)
          .map(({ seq }) => seq)
          .join(', ')}`,
      )
    for (const { name, key, columns } of streams) {
      const { rows } = await pool.query<{ row: Row }>(
        `select to_jsonb(t) as row from mirror.${name} t where _deleted_at is null`,
      )
      const own = copy.get(name) ?? new Map<string, Row>()
      const live = new Set<string>()
      for (const { row } of rows) {
        const id = canonical(Object.fromEntries(key.map((column) => [column, row[column]])))
        live.add(id)
        const copied = own.get(id)
        const wrong =
          copied === undefined
            ? ['not in the copy']
            : columns
                .map((column) => column.name)
                .filter((column) => canonical(row[column] ?? null) !== canonical(copied[column] ?? null))
        if (wrong.length > 0) {
          problems.push(`the consumer's copy of ${name} ${id} differs: ${wrong.join(', ')}`)
          for (const column of wrong)
            problems.push(
              `  ${column}: ${canonical(row[column] ?? null)} in the mirror, ${canonical(copied?.[column] ?? null)} in the copy`,
            )
          problems.push(...(await entriesOf(name, id)))
        }
      }
      for (const id of own.keys())
        if (!live.has(id)) problems.push(`the consumer's copy of ${name} has ${id}, the mirror not`)
    }
  }
  return {
    /** Rows of the feed so far. */
    count: () => seen.size,
    /** Reads what is left and compares. Returns what is wrong. */
    finish: async () => {
      stopping.abort()
      await polling
      try {
        await drain()
        await compare()
      } finally {
        await pool.end()
      }
      return problems
    },
  }
}
