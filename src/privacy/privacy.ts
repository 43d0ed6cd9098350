// What a process does with personal data: the settings it was started with, checked against those that the database holds,
// at the start and in every transaction that writes records.

import type { Protection } from '../api/wire/elements.ts'
import { type Json, parseJson, stringifyJson } from '../api/wire/json.ts'
import { keyText } from '../catalog/keys.ts'
import type { StreamDef } from '../catalog/types.ts'
import { newerProgram, newerRelease } from '../database/release.ts'
import type { Queryable } from '../database/sql.ts'
import { BoatMirrorError } from '../errors.ts'
import { type Erased, Protector, throughText } from './protect.ts'
import { changesValues, type PrivacySettings } from './rules.ts'
import { differenceOf, readErased, readStored, type StoredPrivacy } from './stored.ts'

export type Privacy = {
  readonly settings: PrivacySettings
  /** Whether any value is hashed or dropped. */
  readonly isActive: boolean
  /** The number of the settings that these are, and of who is erased: see sync.privacy. */
  generation(): string
  /** A record of this stream as it may be stored. `params`: the path parameters of the read. */
  protect(stream: StreamDef, record: Json, params?: Readonly<Record<string, string>>): Json
  /**
   * The same for all records of an answer; null: they may be stored as they came. `stream` null: the answer's type is
   * unknown.
   */
  protectionFor(stream: StreamDef | null, params: Readonly<Record<string, string>>): Protection | null
  /**
   * To be called in each transaction that writes records, before it writes: the rules by which they were protected are still
   * those of the database, and stay so until it ends.
   * @throws BoatMirrorError DATABASE_SCHEMA when a newer program has migrated it; PRIVACY_DIFFERS, of kind `abort` when only who is
   * erased has changed: what was read is read again.
   */
  assertCurrent(client: Queryable): Promise<void>
}

/** Called when the database holds other settings, or the schema of a newer program, by now: the process must stop. */
type OnFenced = (error: BoatMirrorError) => void

/**
 * Opens what a process does with personal data.
 * @throws BoatMirrorError PRIVACY_DIFFERS when the database holds other settings
 */
export async function openPrivacy(
  db: Queryable,
  settings: PrivacySettings,
  onFenced: OnFenced = () => {},
): Promise<Privacy> {
  const stored = await readStored(db)
  const refusal = refusalOf(stored, settings)
  if (refusal !== null) throw refusal
  return privacyOf(settings, { generation: stored.generation, erased: await readErased(db), onFenced })
}

/** Why a process with these settings must not work on the database; null: it may. */
function refusalOf(stored: StoredPrivacy, settings: PrivacySettings): BoatMirrorError | null {
  const newer = newerRelease(stored.schema)
  if (newer.length > 0) return newerProgram(newer, 'abort')
  const difference = differenceOf(stored, settings)
  if (difference !== null)
    return new BoatMirrorError('PRIVACY_DIFFERS', `The database has other settings for personal data: ${difference}.`, {
      remedy: differsRemedy,
    })
  if (!stored.isApplying) return null
  return new BoatMirrorError('PRIVACY_DIFFERS', 'New settings for personal data have not been applied to all tables.', {
    remedy:
      'Wait until `boat-mirror privacy apply` ends. If it was stopped, run it again: it continues where it stopped.',
  })
}

const differsRemedy =
  'Set PERSONAL_DATA, PERSONAL_DATA_KEY and `privacy` in the configuration file as they were. Or apply the new settings to the stored data: boat-mirror privacy apply'

type Known = { readonly generation: string; readonly erased: Erased; readonly onFenced?: OnFenced }

/** The treatment of personal data under these settings, whatever the database holds. */
export function privacyOf(settings: PrivacySettings, known: Known): Privacy {
  let { generation, erased } = known
  let protector = new Protector(settings, erased)
  const isActive = changesValues(settings)
  const isNeeded = (): boolean => isActive || erased.users.size > 0 || erased.crew.size > 0

  const protectText = (stream: StreamDef, json: string, params: Readonly<Record<string, string>>): string => {
    const [, owner = ''] = Object.entries(params).find(([name]) => name === 'userId') ?? []
    // Of a document nothing but whose it is would be left.
    if (stream.document === true && erased.users.has(owner)) return '{}'
    return protector.text(stream, withoutCrew(stream, json, params))
  }
  const withoutCrew = (
    stream: StreamDef,
    json: string,
    { rentalId = '' }: Readonly<Record<string, string>>,
  ): string => {
    if (stream.crew !== true || erased.crew.size === 0) return json
    const { id } = (parseJson(json).value ?? {}) as { readonly id?: Json }
    return erased.crew.has(keyText([rentalId, String(id)])) ? stringifyJson({ id: id ?? null }) : json
  }

  return {
    settings,
    isActive,
    generation: () => generation,
    protect: (stream, record, params = {}) =>
      isNeeded() ? throughText(record, (json) => protectText(stream, json, params)) : record,
    protectionFor: (stream, params) => {
      if (!isNeeded()) return null
      const { hasher } = settings
      return {
        text: (json) => (stream === null ? protector.unknownText(json) : protectText(stream, json, params)),
        ...(hasher !== null && { hash: hasher.ofHash }),
      }
    },
    assertCurrent: async (client) => {
      const stored = await readStored(client, 'for share')
      if (stored.generation === generation) return
      const refusal = refusalOf(stored, settings)
      if (refusal !== null) {
        known.onFenced?.(refusal)
        throw refusal
      }
      erased = await readErased(client)
      generation = stored.generation
      protector = new Protector(settings, erased)
      const message = 'The list of erased persons changed meanwhile. The data will be read again.'
      throw new BoatMirrorError('PRIVACY_DIFFERS', message, { kind: 'abort' })
    },
  }
}
