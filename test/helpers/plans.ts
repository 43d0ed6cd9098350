// What Postgres did for some statements, as its own plans show: also for those inside functions, and for what no statistics
// count, such as the rows of a nested loop over two sets that a statement made itself.

import type { Pool, PoolClient } from 'pg'

type Node = {
  readonly 'Node Type': string
  readonly 'Total Cost': number
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Node[]
}

/** What auto_explain reports of a statement; of settings, those that are not as they come. */
type Told = {
  readonly 'Query Text': string
  readonly Plan: Node
  readonly Settings?: Readonly<Record<string, string>>
  readonly JIT?: unknown
}

/** One statement that was carried out. */
type Handled = {
  readonly sql: string
  /** Rows that came out of all steps of its plan, and those that a step read and dropped. */
  readonly rows: number
  readonly ms: number
  /** What the planner expected, whatever it took. */
  readonly cost: number
  /** Postgres may compile it (JIT), as its cost says; the setting of the calling role, or of the function around it. */
  readonly mayCompile: boolean
  /** Postgres did compile it. */
  readonly compiled: boolean
}

function rowsOf(node: Node): number {
  const perLoop =
    (node['Actual Rows'] ?? 0) +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)
  const below = (node.Plans ?? []).reduce((sum, each) => sum + rowsOf(each), 0)
  return perLoop * (node['Actual Loops'] ?? 1) + below
}

const explainEverything = `load 'auto_explain';
  set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on; set auto_explain.log_timing = off;
  set auto_explain.log_nested_statements = on; set auto_explain.log_settings = on; set auto_explain.log_format = json; set auto_explain.log_level = notice`

/** Carries out work on a connection and returns every statement it needed, with the rows that Postgres handled for each. */
async function handledBy(client: PoolClient, work: () => Promise<unknown>): Promise<readonly Handled[]> {
  const found: Handled[] = []
  const onNotice = ({ message = '' }: { readonly message?: string | undefined }): void => {
    const start = message.indexOf('{')
    if (!message.startsWith('duration:') || start < 0) return
    const told = JSON.parse(message.slice(start)) as Told
    found.push({
      sql: told['Query Text'],
      rows: rowsOf(told.Plan),
      ms: Number(/^duration: ([\d.]+) ms/.exec(message)?.[1] ?? 0),
      cost: told.Plan['Total Cost'],
      mayCompile: told.Settings?.jit !== 'off',
      compiled: told.JIT !== undefined,
    })
  }
  await client.query(explainEverything)
  client.on('notice', onNotice)
  try {
    await work()
    await client.query('set auto_explain.log_min_duration = -1') // the plan of a query is reported when the next one starts
  } finally {
    client.off('notice', onNotice)
  }
  return found
}

/** The statements of a work, carried out under settings such as `set local enable_hashjoin = off;`, and taken back. */
export async function statementsOf(
  pool: Pool,
  work: (client: PoolClient) => Promise<unknown>,
  settings = '',
): Promise<readonly Handled[]> {
  const client = await pool.connect()
  try {
    await client.query(`begin; ${settings}`)
    return await handledBy(client, () => work(client))
  } finally {
    await client.query('rollback')
    client.release()
  }
}

/** Those of them that handle more than so many rows, with their number. */
export async function statementsBeyond(
  most: number,
  ...of: Parameters<typeof statementsOf>
): Promise<readonly string[]> {
  const handled = await statementsOf(...of)
  if (handled.length === 0) throw new Error('No statement was carried out.')
  return handled.filter(({ rows }) => rows > most).map(({ rows, sql }) => `${rows}: ${sql}`)
}
