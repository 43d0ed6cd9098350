// The request budget in simulated time: the rule as Postgres has it, which takes the time from the timers of the test.

import { type ClientBase, escapeLiteral, type QueryResult, type QueryResultRow } from 'pg'
import { vi } from 'vitest'
import { createPostgresBudget, type RequestBudget } from '../../src/api/admission/request-budget.ts'
import type { Queryable } from '../../src/database/sql.ts'
import { createTestDatabase } from '../helpers/database.ts'

export type SimulatedBudget = AsyncDisposable & {
  /** The budget of this rate, of which nothing is lent yet. Callers of the previous one wait for good. */
  readonly create: (ratePerSecond: number) => Promise<RequestBudget>
  /** Lets simulated milliseconds pass, one by one: time stands still while Postgres lends. */
  readonly advance: (ms: number) => Promise<void>
  readonly client: ClientBase
}

const lender = 'sync.lend_requests(int, text, int, int, boolean, int[], timestamptz)'
/** Of the test; any instant after 1970 will do for the first. */
const simulatedNow = `(timestamptz '2026-01-01' + current_setting('test.ms')::float8 * interval '1 ms')`

const valueText = (value: unknown): string =>
  value === null ? 'null' : escapeLiteral(value instanceof Date ? value.toISOString() : String(value))

/** Fakes the timers; to be disposed of in the same test, or after all. */
export async function openSimulatedBudget(): Promise<SimulatedBudget> {
  const database = await createTestDatabase()
  const client = await database.pool.connect()
  const { rows } = await client.query<{ text: string }>('select pg_get_functiondef($1::regprocedure) as text', [lender])
  await client.query((rows[0]?.text ?? '').replaceAll('clock_timestamp()', simulatedNow))
  const realImmediate = setImmediate
  let last: Promise<unknown> | undefined
  /** Lets everybody go on until they wait for the time. */
  const settled = async (): Promise<void> => {
    for (;;) {
      await new Promise<void>((resolve) => realImmediate(resolve))
      if (last === undefined) return
      await last
    }
  }
  let created = 0
  const dbOf = (mine: number): Queryable => ({
    query: async <R extends QueryResultRow>(text: string, values: unknown[] = []) => {
      if (mine !== created) return await new Promise(() => undefined)
      const asked = text.replace(/\$(\d)/g, (_, number) => valueText(values[number - 1]))
      const statements = `set test.ms = '${performance.now()}'; ${asked}`
      const mineDone = Promise.resolve(last).then(async () => {
        // Of several statements pg gives several results, which its types do not say.
        const results = (await client.query(statements)) as unknown as readonly QueryResult<R>[]
        return results[1] as QueryResult<R>
      })
      last = mineDone
      try {
        return await mineDone
      } finally {
        if (last === mineDone) last = undefined
      }
    },
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  return {
    create: async (ratePerSecond) => {
      const db = dbOf(++created)
      for (const name of ['requests_lent_until', 'changes_wait_until', 'reads_wait_until', 'details_lent_until'])
        await client.query(`select setval('sync.${name}', 1)`)
      return createPostgresBudget(db, ratePerSecond)
    },
    advance: async (ms) => {
      await settled()
      for (let passed = 0; passed < ms; passed++) {
        vi.advanceTimersByTime(1)
        await settled()
      }
    },
    client,
    [Symbol.asyncDispose]: async () => {
      vi.useRealTimers()
      client.release()
      await database[Symbol.asyncDispose]()
    },
  }
}
