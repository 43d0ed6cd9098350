// sync.pinned: what was probed once and is relied on (page base, summary lists, prices at once, filters), and what contradicted it.

import { now, on, type Queryable } from '../database/sql.ts'
import { stringifyJson } from '../json/plain.ts'

export type DetectedSetting = {
  readonly key: string
  readonly value: unknown
  readonly probedAt: Date
  readonly contradictedAt: Date | null
  readonly contradiction: string | null
}

/** The name of the setting that says whether lists are numbered from 0 or from 1. */
export const pageBaseSetting = 'page_base'

/** How the names of the settings begin that say which lists below records answer 404 where they are empty. */
export const notFoundPrefix = 'not_found:'

/** Whether a later answer contradicts the setting. It may have been probed again since. Pure. */
export const isContradicted = ({ contradictedAt, probedAt }: DetectedSetting): boolean =>
  contradictedAt !== null && contradictedAt >= probedAt

const selectPins = (db: Queryable) =>
  on(db)
    .selectFrom('sync.pinned')
    .select(['key', 'value', 'probed_at as probedAt', 'contradicted_at as contradictedAt', 'contradiction'])

/** The setting in use; null when it was never probed or has been contradicted since. */
export async function readDetected(db: Queryable, key: string): Promise<DetectedSetting | null> {
  const pin = await selectPins(db).where('key', '=', key).executeTakeFirst()
  return pin === undefined || isContradicted(pin) ? null : pin
}

/** Pins a value anew; what contradicted the former one stays to be read. */
export async function saveDetected(db: Queryable, key: string, value: unknown): Promise<void> {
  const json = stringifyJson(value)
  await on(db)
    .insertInto('sync.pinned')
    .values({ key, value: json })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: json, probed_at: now }))
    .execute()
}

/** Records what contradicts a detected setting, which is then no longer used. */
export async function contradictDetected(db: Queryable, key: string, contradiction: string): Promise<void> {
  await on(db).updateTable('sync.pinned').set({ contradicted_at: now, contradiction }).where('key', '=', key).execute()
}

/** What is relied on: every detected setting in use, by key. */
export type Profile = ReadonlyMap<string, DetectedSetting>

/** Reads the whole profile, for a caller that needs several settings. */
export async function readProfile(db: Queryable): Promise<Profile> {
  const settings = await listDetected(db)
  return new Map(settings.flatMap((setting) => (isContradicted(setting) ? [] : [[setting.key, setting]])))
}

/** Everything that was ever detected, contradicted or not, by key. */
export async function listDetected(db: Queryable): Promise<readonly DetectedSetting[]> {
  return await selectPins(db).orderBy('key').execute()
}
