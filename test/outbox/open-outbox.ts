// outbox.enqueue on a database of its own, as tests call it.

import type pg from 'pg'
import { noticeHistory } from '../../src/outbox/claim.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'

type Runner = Pick<pg.ClientBase, 'query'> | pg.Pool

export type Outbox = AsyncDisposable & {
  readonly database: TestDatabase
  queue(operation: unknown, target: unknown, body?: unknown, options?: unknown, runner?: Runner): Promise<number>
  empty(): Promise<unknown>
}

/** Opens a migrated database with an empty outbox. */
export async function openOutbox(): Promise<Outbox> {
  const database = await createTestDatabase()
  await noticeHistory(database.pool)
  // The first change of a role makes it known: until that is committed, other sessions of the role wait.
  await database.pool.query('select company_access.registered()')
  return {
    database,
    queue: async (operation, target, body = {}, options = {}, runner = database.pool) => {
      const { rows } = await runner.query('select outbox.enqueue($1, $2, $3, $4)::int as id', [
        operation,
        JSON.stringify(target),
        JSON.stringify(body),
        JSON.stringify(options),
      ])
      return rows[0].id
    },
    empty: () => database.pool.query('truncate outbox.queue, outbox.dependencies restart identity'),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

export const user = { firstName: 'Ann', lastName: 'Lee', email: 'ann@example.com' }
export const rental = { resourceId: '7-1', slotId: '7-1|2026-07-14|DAYS,1' }
export const hostile = `'; drop table outbox.queue; --\\ "$$ \u2028 {"change": 1} ${'x'.repeat(50)}`
