// outbox.enqueue on a database of its own, as tests call it.

import type pg from 'pg'
import { readConfig } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { createLogger } from '../../src/log.ts'
import type { Change } from '../../src/outbox/change.ts'
import { noticeHistory } from '../../src/outbox/claim.ts'
import type { PushContext } from '../../src/outbox/context.ts'
import type { Done, Outcome } from '../../src/outbox/outcome.ts'
import { settleChange } from '../../src/outbox/settle.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'

type Runner = Pick<pg.ClientBase, 'query'> | pg.Pool

export type Outbox = AsyncDisposable & {
  readonly database: TestDatabase
  /** The same as the program opens it. */
  readonly opened: Database
  queue(operation: unknown, target: unknown, body?: unknown, options?: unknown, runner?: Runner): Promise<number>
  empty(): Promise<unknown>
}

/** An outbox for the tests of a file. */
export const sharedOutbox = (): Outbox => opened(openOutbox)

/** Opens a migrated database with an empty outbox. */
export async function openOutbox(): Promise<Outbox> {
  const database = await createTestDatabase()
  await noticeHistory(database.pool)
  // The first change of a role makes it known: until that is committed, other sessions of the role wait.
  await database.pool.query('select company_access.registered()')
  const log = createLogger('silent')
  const opened = openDatabase({ url: database.url, applicationName: 'outbox test', max: 10, log })
  return {
    database,
    opened,
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
    [Symbol.asyncDispose]: async () => {
      await opened.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

export const user = { firstName: 'Ann', lastName: 'Lee', email: 'ann@example.com' }
export const rental = { resourceId: '7-1', slotId: '7-1|2026-07-14|DAYS,1' }
export const hostile = `'; drop table outbox.queue; --\\ "$$ \u2028 {"change": 1} ${'x'.repeat(50)}`

/** Settles a change as a worker does. */
export const settle = (database: Pick<Database, 'transaction'>, change: Change, outcome: Outcome): Promise<void> =>
  settleChange({ database, settings: readConfig({}, '/') } as unknown as PushContext, change, outcome)

/** The outcome of a change that took effect on the record of this id, or made it. */
export function doneWith({ operation }: Change, id: number, rentalStatus: string | null = null): Done {
  const madeRoot = operation.endsWith('.create')
  return {
    ...{ kind: 'done', response: null, warnings: [], mirror: {}, leftBehind: null, rentalStatus },
    ...{ result: madeRoot ? { id } : null, recordKey: [String(id)], madeRoot, rootId: String(id) },
  }
}
