// Why a body is not JSON, and where, for the reader of an error. Quotes only names of members and words that are not
// data. Pure.

import { scanPage } from './scan.ts'

/** What programs write for values that do not exist in JSON. */
const foreignWord = /^(NaN|-?Infinity|undefined|None|True|False|nil)\b/

/** Names the first thing that is wrong with a text, and its place: `NaN at $[17].price, character 812`. */
export function faultIn(text: string): string {
  const bytes = Buffer.from(text)
  const scan = scanPage(bytes, 0, true)
  const at = typeof scan === 'number' ? bytes.toString('utf8', 0, scan).length : 0
  const place = `${pathTo(text, at)}, character ${at + 1}`
  return at >= text.length ? `it ends too early, at ${place}` : `${wrongThing(text.slice(at, at + 20))} at ${place}`
}

function wrongThing(text: string): string {
  const word = foreignWord.exec(text)?.[1]
  if (word !== undefined) return word
  const character = text.charAt(0)
  return /[\p{P}\p{S}]/u.test(character) ? `an unexpected ${character}` : 'unexpected text'
}

/** The path of a place in a text that is JSON up to there, from `$`. */
function pathTo(text: string, end: number): string {
  const steps: (string | number)[] = []
  for (let i = 0; i < end; i++) {
    const character = text[i]
    if (character === '"') {
      const begin = i
      i = endOfText(text, i)
      if (i < end && steps.at(-1) === '') steps[steps.length - 1] = text.slice(begin + 1, i)
    } else if (character === '{') steps.push('')
    else if (character === '[') steps.push(0)
    else if (character === '}' || character === ']') steps.pop()
    else if (character === ',') {
      const step = steps.pop()
      steps.push(typeof step === 'number' ? step + 1 : '')
    }
  }
  return `$${steps.map((step) => (typeof step === 'number' ? `[${step}]` : step === '' ? '' : `.${step}`)).join('')}`
}

/** Where the text that begins at a quote ends; beyond the end where it does not. */
function endOfText(text: string, begin: number): number {
  let i = begin + 1
  while (i < text.length && text[i] !== '"') i += text[i] === '\\' ? 2 : 1
  return i
}
