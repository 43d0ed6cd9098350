// Stands in front of an API and answers in another character set, as servers of other times do: what the set does not hold
// goes as an escape of JSON.

import { startServer } from '../api/http-server.ts'
import type { Front } from './mirror.ts'

/** Windows-1252 from 0x80 to 0x9f, as the Encoding Standard has it. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

const inOneByte = (own: (character: string) => number | null) => (text: string) =>
  Buffer.from(
    text.replace(/[^\0-\x7f]/g, (unit) => {
      const byte = own(unit)
      return byte === null ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}` : String.fromCharCode(byte)
    }),
    'latin1',
  )

const latin1 = (unit: string): number | null => {
  const code = unit.charCodeAt(0)
  return code >= 0xa0 && code <= 0xff ? code : null
}
const windows = (unit: string): number | null => {
  const place = windows1252.indexOf(unit)
  return place === -1 ? latin1(unit) : 0x80 + place
}
const utf16le = (text: string): Buffer => Buffer.from(text, 'utf16le')
const utf16be = (text: string): Buffer => utf16le(text).swap16()
const mark = '\ufeff'

export type Charset = { readonly contentType: string; readonly encode: (text: string) => Buffer }

const json = 'application/json'

/** By the words of a table of surroundings. */
export const charsets: Readonly<Record<string, Charset>> = {
  'ISO-8859-1': { contentType: `${json}; charset=ISO-8859-1`, encode: inOneByte(latin1) },
  'windows-1252': { contentType: `${json}; charset=windows-1252`, encode: inOneByte(windows) },
  'UTF-16LE': { contentType: `${json}; charset=utf-16le`, encode: utf16le },
  'UTF-16BE': { contentType: `${json}; charset=utf-16be`, encode: utf16be },
  'UTF-16 with a byte-order mark, undeclared': { contentType: json, encode: (text) => utf16be(mark + text) },
  'UTF-8 with a byte-order mark': { contentType: json, encode: (text) => Buffer.from(mark + text) },
}

const notPassedOn = new Set(['content-type', 'content-length', 'content-encoding', 'transfer-encoding', 'connection'])

/** Passes everything on to `target`, and its answers back in this character set. */
export function answerIn({ contentType, encode }: Charset, target: string): Promise<Front> {
  return startServer(async (response, { method, url, headers, body }) => {
    const { authorization } = headers
    const answer = await fetch(`${target}${url}`, {
      method,
      headers: { 'content-type': json, ...(authorization !== undefined && { authorization }) },
      ...(body !== '' && { body }),
    })
    const kept = [...answer.headers].filter(([name]) => !notPassedOn.has(name))
    const text = await answer.text()
    response.writeHead(answer.status, {
      ...Object.fromEntries(kept),
      ...(text !== '' && { 'content-type': contentType }),
    })
    response.end(text === '' ? undefined : encode(text))
  })
}
