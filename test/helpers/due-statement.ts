// The statement that says what is due, as docs/operations.md shows it: with values in place of its parameters.

import { streamNamed } from '../../src/catalog/catalog.ts'
import type { Queryable } from '../../src/database/sql.ts'
import { isAnythingDue } from '../../src/sync/due/due.ts'

/** How a sync asks for the payments of rentals, under the default settings. */
export async function dueStatement(): Promise<string> {
  let text = ''
  const asked = async (sql: string, values: readonly unknown[] = []): Promise<{ readonly rows: readonly [] }> => {
    if (values.length > 1) text = sql
    return { rows: [] }
  }
  await isAnythingDue({ query: asked } as unknown as Queryable, streamNamed('rental_payments'), {
    ...{ scope: 'sync', maxAgeMs: 24 * 3_600_000, before: null, leavesOut: true, since: null },
    ...{ from: '', to: '' },
  })
  const values = ['null', String(24 * 3_600_000), 'current_date', '(current_date + 2)', 'null', 'true']
  return text
    .replace(/\$([1-6])(?=::)/g, (_, number: string) => values[Number(number) - 1] ?? '')
    .replace('select 1\n', 'select (m.id)::text as key, due.reason, t.*\n')
    .replace(' limit 1', '')
    .trim()
}
