// sync.privacy: what the database holds of the settings of personal data. A process that has others must not write to it.

import { isDeepStrictEqual } from 'node:util'
import type { Queryable } from '../database/sql.ts'
import type { Erased } from './protect.ts'
import { type Action, fingerprintOf, type PrivacySettings } from './rules.ts'

export type StoredPrivacy = {
  readonly mode: Action
  readonly columns: Readonly<Record<string, Action>>
  /** Of the key with which its hashes are made; null: it holds none. */
  readonly fingerprint: string | null
  /** Counts changes of the settings and of who is erased. */
  readonly generation: string
  /** When the settings were written; null: never. */
  readonly setAt: Date | null
  /** `privacy apply` has not finished. */
  readonly isApplying: boolean
  /** The schema that was applied: see sync.repeatable. */
  readonly schema: string
}

/** Reads the settings; `for share` keeps them unchanged until the transaction ends. */
export async function readStored(db: Queryable, lock: '' | 'for share' = ''): Promise<StoredPrivacy> {
  const { rows } = await db.query<StoredPrivacy>(
    `select mode, columns, key_fingerprint as fingerprint, generation::text, set_at as "setAt", applying is not null as "isApplying",
       (select version from sync.repeatable) as schema
     from sync.privacy ${lock}`,
  )
  const [row] = rows
  if (row === undefined) throw new Error('sync.privacy has no row.')
  return row
}

/**
 * Writes the settings into a database in which nothing was ever read or queued: from then on only `privacy apply`
 * changes them. Does nothing where they were written before.
 */
export async function claimPrivacy(db: Queryable, settings: PrivacySettings): Promise<void> {
  await db.query(
    `update sync.privacy set mode = $1, columns = $2, key_fingerprint = $3, set_at = clock_timestamp(), generation = generation + 1
     where set_at is null and (mode, columns, key_fingerprint) is distinct from ($1, $2::jsonb, $3::text)
       and not exists (select from sync.requests) and not exists (select from sync.records) and not exists (select from outbox.queue)`,
    [settings.mode, JSON.stringify(settings.columns), fingerprintOf(settings)],
  )
}

/** How the settings of a process differ from those of the database; null: they do not. */
export function differenceOf(
  stored: Pick<StoredPrivacy, 'mode' | 'columns' | 'fingerprint'>,
  settings: PrivacySettings,
): string | null {
  if (stored.mode !== settings.mode) return `PERSONAL_DATA is ${stored.mode} in the database and ${settings.mode} here`
  if (!isDeepStrictEqual(stored.columns, { ...settings.columns })) {
    const names = [...new Set([...Object.keys(stored.columns), ...Object.keys(settings.columns)])]
    const shown = names
      .filter((name) => stored.columns[name] !== settings.columns[name])
      .map(
        (name) =>
          `${name} is ${stored.columns[name] ?? stored.mode} in the database and ${settings.columns[name] ?? settings.mode} here`,
      )
    return shown.join(', ')
  }
  if (stored.fingerprint !== fingerprintOf(settings)) return 'its hashes were made with another PERSONAL_DATA_KEY'
  return null
}

/** Who is erased. */
export async function readErased(db: Queryable): Promise<Erased> {
  const { rows } = await db.query<{ stream: string; key: string }>('select stream, key from sync.erased')
  const keysOf = (stream: string): ReadonlySet<string> =>
    new Set(rows.flatMap((row) => (row.stream === stream ? row.key : [])))
  return { users: keysOf('users'), crew: keysOf('rental_crew_members') }
}
