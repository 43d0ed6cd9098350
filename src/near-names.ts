// The likely meaning of a misspelt name. Pure.

import { BoatMirrorError } from './errors.ts'

/** The most letters that may be wrong, missing or too many. */
const lettersWrong = 2

/** How many letters must be changed, added or removed to turn one name into the other (Levenshtein). */
function lettersBetween(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row++) {
    const line = [row]
    for (let column = 1; column <= other.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (one[row - 1] === other[column - 1] ? 0 : 1)
      line.push(Math.min(replaced, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1))
    }
    above = line
  }
  return above.at(-1) ?? 0
}

/** The known name that is nearest to this one and at most two letters away; undefined: none is. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  if (name.length > 100) return undefined // no name of ours is as long
  const near = known.map((each) => ({ each, letters: lettersBetween(name, each) }))
  return near.filter(({ letters }) => letters <= lettersWrong).sort((a, b) => a.letters - b.letters)[0]?.each
}

/** Refuses unknown options, for programs without a compiler. @throws BoatMirrorError USAGE */
export function assertOptions(options: object, known: readonly string[]): void {
  for (const name of Object.keys(options))
    if (!known.includes(name))
      throw new BoatMirrorError('USAGE', `${name} is not an option${meant(name, known)}.`, {
        remedy: `Options are ${known.join(', ')}.`,
      })
}

/**
 * The likely meaning of an unknown name, as the end of a sentence: the name one or two letters away, else those with all of its words
 * (`API_URL`: ` (did you mean API_BASE_URL?)`); else empty.
 */
export function meant(name: string, known: readonly string[]): string {
  const right = nearest(name, known)
  const words = name.split('_')
  const wider = known.filter((each) => words.every((word) => each.split('_').includes(word)))
  const names = right !== undefined ? [right] : wider.length <= 3 ? wider : []
  return names.length === 0 ? '' : ` (did you mean ${names.join(' or ')}?)`
}
