// The secrets of access: what they look like, and how one is compared with a stored hash. And the keys of calendars
// and reports (`sync.calendar_keys`), one for each resource, and for each report and company. Only hashes are stored.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Queryable } from '../../database/sql.ts'

/** 32 random bytes as 43 characters of base64url. */
export const newSecret = (): string => randomBytes(32).toString('base64url')

/** SHA-256. A slow hash would gain nothing: 32 random bytes cannot be guessed. */
export const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** Is this the secret of a stored hash? Takes equally long for every wrong one. */
export function isSecretOf(secret: string, hash: Uint8Array): boolean {
  const given = hashOf(secret)
  return given.length === hash.length && timingSafeEqual(given, hash)
}

/** An access token: its number, for the lookup, and its secret. */
export const tokenText = (id: string, secret: string): string => `bmt_${id}_${secret}`

const tokenPattern = /^bmt_([1-9]\d{0,17})_([A-Za-z0-9_-]{43})$/

/** The parts of an access token; null for any text that is none. */
export function tokenParts(text: string): { readonly id: string; readonly secret: string } | null {
  const [, id, secret] = tokenPattern.exec(text) ?? []
  return id === undefined || secret === undefined ? null : { id, secret }
}

/**
 * Creates a new key for a resource; the one before it no longer opens anything. @returns null: the resource does not
 * exist.
 */
export async function createCalendarKey(db: Queryable, resourceId: string): Promise<string | null> {
  const key = newSecret()
  const { rowCount } = await db.query(
    `insert into sync.calendar_keys (resource_id, hash)
     select r.id, $2 from mirror.resources r where r.id = $1 and r._deleted_at is null
     on conflict (resource_id) do update set hash = excluded.hash, created_at = clock_timestamp()`,
    [resourceId, hashOf(key)],
  )
  return rowCount === 1 ? key : null
}

/** Revokes the key of a resource. @returns false where there was none. */
export async function revokeCalendarKey(db: Queryable, resourceId: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from sync.calendar_keys where resource_id = $1', [resourceId])
  return rowCount === 1
}

/** Does a key open the calendar of a resource? */
export async function opensCalendar(db: Queryable, resourceId: string, key: string): Promise<boolean> {
  const { rows } = await db.query<{ hash: Buffer }>('select hash from sync.calendar_keys where resource_id = $1', [
    resourceId,
  ])
  const [known] = rows
  return known !== undefined && isSecretOf(key, known.hash)
}

/** Creates a new key for a report of one company, in place of the one before. @returns null: the company does not exist. */
export async function createReportKey(db: Queryable, report: string, companyId: string): Promise<string | null> {
  const key = newSecret()
  const { rowCount } = await db.query(
    `insert into sync.calendar_keys (report, company_id, hash)
     select $1, c.id, $3 from mirror.companies c where c.id = $2 and c._deleted_at is null
     on conflict (report, company_id) do update set hash = excluded.hash, created_at = clock_timestamp()`,
    [report, companyId, hashOf(key)],
  )
  return rowCount === 1 ? key : null
}

/** Revokes the key of a report and company. @returns false where there was none. */
export async function revokeReportKey(db: Queryable, report: string, companyId: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from sync.calendar_keys where report = $1 and company_id = $2', [
    report,
    companyId,
  ])
  return rowCount === 1
}

/** The company for which a key opens a report; null: it opens none. */
export async function companyOfKey(db: Queryable, report: string, key: string): Promise<string | null> {
  const { rows } = await db.query<{ company: string }>(
    'select company_id::text as company from sync.calendar_keys where report = $1 and hash = $2',
    [report, hashOf(key)],
  )
  return rows[0]?.company ?? null
}
