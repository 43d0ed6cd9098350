// `check` on a pooler in front of the database: which of its connections go through one, and what works there.

import { assertSameDatabase, type Pooling, poolingOf } from '../database/pooler.ts'
import type { DatabaseServer } from '../embedded/embedded-postgres.ts'
import { type Finding, ok, warn } from './findings.ts'

const withoutNotifications =
  'notifications do not pass through it, so queue and outbox are polled every second; everything else works'

/**
 * Checks both addresses of the database.
 * @returns the finding, null where there is nothing to report; and the pooling in front of migrations, LISTEN and the
 * queue.
 * @throws BoatMirrorError CONFIG_INVALID when they lead to two databases, DATABASE_*.
 */
export async function checkPooler(server: DatabaseServer): Promise<{ finding: Finding | null; direct: Pooling }> {
  const { url, directUrl } = server
  const pooling = await poolingOf(url, 'DATABASE_URL')
  if (directUrl === url) return { finding: findingOf(pooling), direct: pooling }
  await assertSameDatabase(url, directUrl)
  const direct = await poolingOf(directUrl, 'DATABASE_DIRECT_URL')
  if (direct === 'transaction')
    return {
      finding: warn(
        'pooler',
        `DATABASE_DIRECT_URL points to a transaction pooler: ${withoutNotifications}`,
        'Set DATABASE_DIRECT_URL to the address of Postgres itself.',
      ),
      direct,
    }
  const before = pooling === 'none' ? 'DATABASE_URL uses no pooler' : `DATABASE_URL points to a ${pooling} pooler`
  const detail = `${before}; migrations, LISTEN and the queue on Postgres use DATABASE_DIRECT_URL`
  return { finding: ok('pooler', detail), direct }
}

function findingOf(pooling: Pooling): Finding | null {
  if (pooling === 'none') return null
  if (pooling === 'session')
    return ok(
      'pooler',
      'a session pooler: everything works through it; a worker holds up to 29 of its server connections',
    )
  return warn(
    'pooler',
    `a transaction pooler: ${withoutNotifications}`,
    'Nothing to do. DATABASE_DIRECT_URL with the address of Postgres itself restores notifications.',
  )
}
