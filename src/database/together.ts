// Several statements of one transaction in one round trip.

import type pg from 'pg'
import { begin, keepsPrepared } from './session.ts'
import { identifier, literal } from './sql.ts'

/** A statement whose values are texts, or null. `name`: it is prepared under that; null: its best plan depends on the values. */
export type Bound = {
  readonly name: string | null
  readonly text: string
  readonly values: readonly (string | null)[]
}

/** What a connection is borrowed from, such as a pool. */
export type Connecting = { connect(): Promise<pg.PoolClient> }

/** Names that are prepared on a connection. */
const prepared = new WeakMap<pg.ClientBase, Set<string>>()

const sqlOf = (value: string | null): string => (value === null ? 'null' : literal(value))

/** The statement with its values in their places. Ours never show a dollar sign otherwise. */
const inlined = ({ text, values }: Bound): string =>
  text.replace(/\$(\d+)/g, (_, number) => sqlOf(values[Number(number) - 1] ?? null))

/** The statement as it is sent, and what must be prepared for it before. */
function bound(client: pg.ClientBase, statement: Bound): { readonly run: string; readonly prepare: string | null } {
  const { name, text, values } = statement
  if (name === null || !keepsPrepared(client)) return { run: inlined(statement), prepare: null }
  const known = prepared.get(client) ?? new Set<string>()
  prepared.set(client, known)
  const run = `execute ${identifier(name)}${values.length === 0 ? '' : `(${values.map(sqlOf).join(', ')})`}`
  if (known.has(name)) return { run, prepare: null }
  known.add(name)
  return { run, prepare: `prepare ${identifier(name)} as ${text}` }
}

/**
 * Runs statements that read, all of which see the same moment, in one transaction; texts among them, such as `set local role`,
 * are run as they are. Returns the results of the statements among them.
 */
export async function readTogether(
  pool: Connecting,
  statements: readonly (Bound | string)[],
): Promise<readonly pg.QueryResult[]> {
  const client = await pool.connect()
  let failed = true
  try {
    const all = statements.map((each) =>
      typeof each === 'string' ? { run: each, prepare: null } : bound(client, each),
    )
    // Not with the rest: what precedes `begin` would belong to its transaction, and would have started it.
    const first = all.flatMap(({ prepare }) => prepare ?? [])
    if (first.length > 0) await client.query(first.join(';\n'))
    const run = all.map((each) => each.run).join(';\n')
    // One statement is its own transaction, unless it needs settings.
    const isAlone = statements.length === 1 && keepsPrepared(client)
    const whole = `${begin(client, 'isolation level repeatable read read only')};\n${run};\ncommit`
    // Of several statements pg gives several results, which its types do not say.
    const results = [await client.query(isAlone ? run : whole)].flat() as readonly pg.QueryResult[]
    failed = false
    const own = isAlone ? results : results.slice(-1 - statements.length, -1)
    return own.filter((_, index) => typeof statements[index] !== 'string')
  } finally {
    // What failed halfway has a transaction open, and may have prepared less than is noted.
    client.release(failed)
  }
}
