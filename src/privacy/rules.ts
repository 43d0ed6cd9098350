// What becomes of each personal column: kept, hashed or dropped, from PERSONAL_DATA and the section `privacy` of the
// configuration file. Pure.

import { streams } from '../catalog/catalog.ts'
import type { Column, StreamDef } from '../catalog/types.ts'
import type { Config } from '../config.ts'
import { BoatMirrorError } from '../errors.ts'
import { meant } from '../near-names.ts'
import { createHasher, type Hasher } from './hash.ts'

/** What happens to a personal value before it is stored. */
export type Action = 'keep' | 'hash' | 'drop'

/** The settings of personal data that a process reads. */
export type PrivacySettings = {
  /** PERSONAL_DATA: for every personal column that `columns` does not name. */
  readonly mode: Action
  /** `users.email` → its action, sorted by name, without columns whose action is `mode`. */
  readonly columns: Readonly<Record<string, Action>>
  /** Null where nothing is hashed and no key is given. */
  readonly hasher: Hasher | null
}

/** The columns that are personal, by `table.column`. */
export const personalColumns: ReadonlyMap<string, { readonly stream: StreamDef; readonly column: Column }> = new Map(
  streams.flatMap((stream) =>
    stream.columns.flatMap((column) =>
      column.personal === true ? [[`${stream.name}.${column.name}`, { stream, column }] as const] : [],
    ),
  ),
)

type Given = Pick<Config, 'personalData' | 'personalDataKey' | 'privacy'>

/**
 * Reads the settings of personal data.
 * @throws BoatMirrorError CONFIG_INVALID for a column that is not personal, or for hashing without a key
 */
export function privacySettings({ personalData: mode, personalDataKey: key, privacy }: Given): PrivacySettings {
  const names = [...personalColumns.keys()]
  const unknown = Object.keys(privacy).filter((name) => !personalColumns.has(name))
  if (unknown.length > 0)
    throw new BoatMirrorError(
      'CONFIG_INVALID',
      unknown.map((name) => `privacy.${name.slice(0, 100)} is not a personal column${meant(name, names)}.`).join('\n'),
      { remedy: `Personal columns are ${names.join(', ')}.` },
    )
  if (key === null && (mode === 'hash' || Object.values(privacy).includes('hash')))
    throw new BoatMirrorError('CONFIG_INVALID', 'PERSONAL_DATA_KEY is not set, but personal data must be hashed.', {
      remedy: 'Generate a key and keep it secret like a password: openssl rand -base64 32',
    })
  const columns = Object.entries(privacy)
    .filter(([, action]) => action !== mode)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return { mode, columns: Object.fromEntries(columns), hasher: key === null ? null : createHasher(key) }
}

/** Settings that keep every value. */
export const keepsAll: PrivacySettings = { mode: 'keep', columns: {}, hasher: null }

/**
 * The treatment of a personal column. Only text is hashed: a hash fits no other type, and with few possible dates or
 * years it hides nothing.
 */
export function actionOf({ mode, columns }: PrivacySettings, stream: StreamDef, column: Column): Action {
  if (column.personal !== true) return 'keep'
  const action = columns[`${stream.name}.${column.name}`] ?? mode
  return action === 'hash' && column.type !== 'text' ? 'drop' : action
}

/** Whether any value is not kept. */
export const changesValues = ({ mode, columns }: PrivacySettings): boolean =>
  mode !== 'keep' || Object.values(columns).some((action) => action !== 'keep')

/** The key's fingerprint, where a hash is made with it. */
export const fingerprintOf = (settings: PrivacySettings): string | null =>
  settings.mode === 'hash' || Object.values(settings.columns).includes('hash')
    ? (settings.hasher?.fingerprint ?? null)
    : null
