// The key of a record on the command line.

import type { StreamDef } from '../catalog/types.ts'
import { BoatMirrorError } from '../errors.ts'
import { readJson } from '../json/lossless.ts'

/**
 * The parts of a key in order: one argument each, or as one argument the JSON that is shown elsewhere, an array of
 * them or the object of the change log.
 * @throws BoatMirrorError USAGE when their number is not that of the key.
 */
export function recordKey(stream: StreamDef, given: readonly string[]): readonly string[] {
  const [only] = given
  const parts = given.length === 1 && only !== undefined ? (partsOfJson(stream, only) ?? given) : given
  if (parts.length === stream.key.length) return parts
  throw new BoatMirrorError(
    'USAGE',
    `The key of ${stream.name} is ${stream.key.join(', ')}, but you gave ${given.join(' ')}.`,
    {
      remedy: `Give ${stream.key.length === 1 ? 'one value' : `${stream.key.length} values, one after the other`}.`,
    },
  )
}

/** Null: it is not JSON of this form. */
function partsOfJson({ key }: StreamDef, text: string): readonly string[] | null {
  if (!/^[[{]/.test(text)) return null
  try {
    const parsed: unknown = readJson(text)
    if (Array.isArray(parsed)) return parsed.map(String)
    const values = Object.entries(parsed as Readonly<Record<string, unknown>>)
    return values.length === key.length && values.every(([name]) => key.includes(name))
      ? key.map((name) => String(Object.fromEntries(values)[name]))
      : []
  } catch {
    return null // no JSON: the text is taken as it stands
  }
}
