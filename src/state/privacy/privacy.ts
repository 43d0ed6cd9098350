// What a process does with personal data: the settings it was started with, checked against those that the database holds,
// at the start and in every transaction that writes records.

import type { Protection } from '../../api/wire/elements.ts'
import type { Json } from '../../api/wire/json.ts'
import type { StreamDef } from '../../catalog/types.ts'
import type { Queryable } from '../../database/sql.ts'
import { BoatMirrorError } from '../../errors.ts'
import { keyText } from '../remembered/records.ts'
import { type Erased, Protector } from './protect.ts'
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
  /** The same for all records of an answer; null: they may be stored as they came. `stream` null: nobody knows what it answers. */
  protectionFor(stream: StreamDef | null, params: Readonly<Record<string, string>>): Protection | null
  /**
   * To be called in each transaction that writes records, before it writes: the rules by which they were protected are still
   * those of the database, and stay so until it ends.
   * @throws BoatMirrorError PRIVACY_DIFFERS; of kind `abort` when only who is erased has changed: what was read is read again.
   */
  assertCurrent(client: Queryable): Promise<void>
}

/**
 * Opens what a process does with personal data.
 * @throws BoatMirrorError PRIVACY_DIFFERS when the database holds other settings
 */
export async function openPrivacy(db: Queryable, settings: PrivacySettings): Promise<Privacy> {
  const stored = await readStored(db)
  assertSame(stored, settings)
  return privacyOf(settings, stored.generation, await readErased(db))
}

function assertSame(stored: StoredPrivacy, settings: PrivacySettings): void {
  const difference = differenceOf(stored, settings)
  if (difference === null) return
  throw new BoatMirrorError('PRIVACY_DIFFERS', `The database holds other settings of personal data: ${difference}.`, {
    remedy: differsRemedy,
  })
}

const differsRemedy =
  'Set PERSONAL_DATA, PERSONAL_DATA_KEY and the section `privacy` of the file as they were, or begin with a new database: this version cannot change them for records that are there.'

function privacyOf(settings: PrivacySettings, atGeneration: string, atErased: Erased): Privacy {
  let generation = atGeneration
  let erased = atErased
  let protector = new Protector(settings, erased)
  const isActive = changesValues(settings)
  const isNeeded = (): boolean => isActive || erased.users.size > 0 || erased.crew.size > 0

  const protect: Privacy['protect'] = (stream, record, params = {}) => {
    if (!isNeeded()) return record
    const [, owner = ''] = Object.entries(params).find(([name]) => name === 'userId') ?? []
    // Of a document nothing but whose it is would be left.
    if (stream.document === true && erased.users.has(owner)) return {}
    return protector.protect(stream, withoutCrew(stream, record, params))
  }
  const withoutCrew = (stream: StreamDef, record: Json, { rentalId = '' }: Readonly<Record<string, string>>): Json => {
    if (stream.crew !== true || erased.crew.size === 0) return record
    const { id } = (record ?? {}) as { readonly id?: Json }
    return erased.crew.has(keyText([rentalId, String(id)])) ? { id: id ?? null } : record
  }

  return {
    settings,
    isActive,
    generation: () => generation,
    protect,
    protectionFor: (stream, params) => {
      if (!isNeeded()) return null
      const { hasher } = settings
      return {
        record: (value) => (stream === null ? protector.protectUnknown(value) : protect(stream, value, params)),
        ...(hasher !== null && { hash: hasher.ofBytes }),
      }
    },
    assertCurrent: async (client) => {
      const stored = await readStored(client, 'for share')
      if (stored.generation === generation) return
      assertSame(stored, settings)
      erased = await readErased(client)
      generation = stored.generation
      protector = new Protector(settings, erased)
      const message = 'Who is erased has changed meanwhile; what was read is read again.'
      throw new BoatMirrorError('PRIVACY_DIFFERS', message, { kind: 'abort' })
    },
  }
}
