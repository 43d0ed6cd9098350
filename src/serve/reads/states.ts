// What is known of a record or of what hangs below it decides how a read is answered: from the mirror, by asking the API, or
// not at all.

import { companyStreamOf } from '../../catalog/catalog.ts'
import { keyText } from '../../catalog/keys.ts'
import type { StreamDef, StreamSetting } from '../../catalog/types.ts'
import type { Queryable } from '../../database/sql.ts'
import { settings as settingNames } from '../../settings.ts'
import { problem, Refusal } from '../problem.ts'
import { refusalFor } from '../rights.ts'
import type { Caller } from '../types.ts'

/** Seconds after which what is not known yet may be known. */
const retryAfterS = 30

/** The mirror does not know it, and the API could not be asked. */
export const notKnown = (detail: string, seconds: number = retryAfterS): Refusal =>
  new Refusal(problem(503, detail, {}, { 'retry-after': String(seconds) }))

/** The record does not exist. `asOf`: when that was proven. */
export const notFound = (what: string, asOf: Date | null): Refusal =>
  new Refusal(problem(404, `${what} does not exist.`, {}, asOf === null ? {} : { 'x-as-of': asOf.toISOString() }))

/** Refuses who may not read a stream at all. @throws Refusal 403 */
export function assertMayRead(caller: Caller, stream: StreamDef): void {
  const why = refusalFor(caller, stream)
  if (why !== null) throw new Refusal(problem(403, why))
}

/**
 * Refuses where a caller with limits sees no row: whether others have it, is not said. @throws Refusal 403
 */
export function assertSees(caller: Caller, stream: StreamDef, what: string): void {
  if (caller.companies === null || companyStreamOf(stream) === undefined) return
  throw new Refusal(problem(403, `${what} is not among the records of this token's companies.`))
}

/** Refuses a stream that the settings switch off. @throws Refusal 501 */
export function assertOn(stream: StreamDef, settings: Readonly<Record<StreamSetting, boolean | number>>): void {
  const off = (stream.onlyWith ?? []).find((name) => !(Number(settings[name]) > 0))
  if (off === undefined) return
  const { name } = settingNames[off]
  throw new Refusal(problem(501, `${stream.name} is not mirrored: ${name} switches it off.`, { setting: name }))
}

/** A record by its key, for messages. */
export const named = ({ name }: StreamDef, key: readonly string[]): string => `${name} ${key.join(' ')}`

/** Is it about a person of whom only the key is kept? */
export async function isErasedPerson(db: Queryable, stream: StreamDef, key: readonly string[]): Promise<boolean> {
  const about = stream.document === true ? 'users' : stream.name
  const found = await db.query('select from sync.erased where stream = $1 and key = $2', [about, keyText(key)])
  return found.rowCount === 1
}
