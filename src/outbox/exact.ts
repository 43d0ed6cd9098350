// Characters that the mirror shows as U+FFFD because Postgres can't store them (NUL, halves of surrogate pairs) or because
// the bytes were none of the answer's character set: none of them may be written back as U+FFFD. Pure.

import { isStorable, type Json, type JsonObject, lostCharacter, someText } from '../api/wire/json.ts'
import type { BodyField } from '../catalog/types.ts'
import type { Seen } from './reads.ts'
import { readValue, sameValue } from './values.ts'

const namesOf = (fields: readonly BodyField[]): readonly string[] => fields.map((field) => field.name)

export type Unseen = {
  /** Fields of the change that only repeat what the mirror shows: nobody meant to change them. */
  readonly echoed: readonly string[]
  /** Fields of the change that hold U+FFFD, among other text, in the place of what the mirror can't show. */
  readonly garbled: readonly string[]
  /** Fields of the change that replace what the mirror can't show by something else. */
  readonly replaced: readonly string[]
}

/** What a change does to fields whose characters its author could not see. */
export function unseenFields(
  fields: readonly BodyField[],
  wishes: Readonly<JsonObject>,
  { record, exact }: Pick<Seen, 'record' | 'exact'>,
): Unseen {
  const wish = (field: BodyField): Json | undefined => wishes[field.name]
  const unseen = fields.filter(
    (field) => wish(field) !== undefined && someText(readValue(field, exact), (text) => !isStorable(text)),
  )
  const echoed = unseen.filter((field) => sameValue(field, wish(field), readValue(field, record)))
  const others = unseen.filter((field) => !echoed.includes(field))
  const garbled = others.filter((field) => someText(wish(field) ?? null, (text) => text.includes('\ufffd')))
  const replaced = others.filter((field) => !garbled.includes(field))
  return { echoed: namesOf(echoed), garbled: namesOf(garbled), replaced: namesOf(replaced) }
}

/** Fields of a body that hold bytes of no character set: no JSON can bring them back. */
export const lostFields = (body: Readonly<JsonObject>): readonly string[] =>
  Object.entries(body).flatMap(([name, value]) =>
    someText(value, (text) => text.includes(lostCharacter)) ? [name] : [],
  )

/** Why a change is not sent that would have to send lost fields back. */
export const lostMessage = (changeId: string, names: readonly string[]): string =>
  `Nothing was sent: ${names.join(', ')} came in bytes that are none of the answer's character set, and an update replaces ` +
  `the whole record. Name the field in a change, with its full text, or have it corrected upstream and run: boat-mirror changes retry ${changeId}.`

/** Why a change is not sent that holds U+FFFD for what the mirror can't show. */
export const garbledMessage = (names: readonly string[]): string =>
  `Nothing was sent: ${names.join(', ')} holds U+FFFD, which stands in the mirror for a character that can't be stored. ` +
  'Cancel this change and queue one with the full text.'

/** What is to be known of a change that is sent all the same. `applied`: its fields that are. */
export function unseenWarnings({ echoed, replaced }: Unseen, applied: Readonly<JsonObject>): readonly string[] {
  const sent = replaced.filter((name) => Object.hasOwn(applied, name))
  return [
    ...(echoed.length === 0 ? [] : [`Left as received, since the mirror can't show all of it: ${echoed.join(', ')}.`]),
    ...(sent.length === 0 ? [] : [`Replaced, though the mirror could not show all of it: ${sent.join(', ')}.`]),
  ]
}
