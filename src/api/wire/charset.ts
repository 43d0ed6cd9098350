// From the bytes of an answer to its text: by its byte-order mark, else the character set it declares, else UTF-8.

import { isUtf8 } from 'node:buffer'
import { BoatMirrorError } from '../../errors.ts'

type DecodedText = {
  readonly text: string
  /** Bytes that are nothing in this character set were replaced by U+FFFD. */
  readonly damaged: boolean
}

/** Windows-1252 where it differs from Latin-1: TextDecoder of Node 20.18.3 to 24 takes the two for the same. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'
const firstOfWindows1252 = 0x80

/**
 * Decodes an answer. ISO-8859-1 is read as windows-1252, as everywhere on the web. An unknown name does no harm where
 * the bytes are UTF-8.
 * @param contentType the header of this name
 * @throws BoatMirrorError API_NOT_JSON for an unknown character set and bytes that are not UTF-8
 */
export function decodeText(bytes: Buffer, contentType: string | undefined): DecodedText {
  // No JSON begins with the bytes of a mark, in whatever set, so a mark is believed before a declaration.
  const declared = charsetIn(contentType)
  const encoding = markedAs(bytes) ?? encodingOf(declared, bytes)
  if (encoding === 'utf-8') return { text: bytes.toString('utf8'), damaged: !isUtf8(bytes) }
  if (encoding === undefined)
    throw new BoatMirrorError(
      'API_NOT_JSON',
      `The answer declares the unknown character set ${declared?.slice(0, 60)}, and is not UTF-8.`,
    )
  if (encoding === 'windows-1252') return { text: decodeWindows1252(bytes), damaged: false }
  try {
    return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes), damaged: false }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return { text: new TextDecoder(encoding).decode(bytes), damaged: true }
  }
}

/**
 * An answer as UTF-8, decoded only where it is not that already.
 * @throws BoatMirrorError as `decodeText`
 */
export function utf8Of(
  bytes: Buffer,
  contentType: string | undefined,
): { readonly bytes: Buffer; readonly damaged: boolean } {
  if (markedAs(bytes) === undefined && encodingOf(charsetIn(contentType), bytes) === 'utf-8' && isUtf8(bytes))
    return { bytes, damaged: false }
  const { text, damaged } = decodeText(bytes, contentType)
  return { bytes: Buffer.from(text), damaged }
}

/** The charset parameter of a content type, lower case. */
function charsetIn(contentType: string | undefined): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType ?? '')?.[1]?.toLowerCase()
}

function markedAs(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : undefined
}

/** The encoding a name stands for; undefined where it stands for none. */
function encodingOf(charset: string | undefined, bytes: Buffer): string | undefined {
  if (charset === undefined || charset === 'utf-8') return 'utf-8'
  // Without a mark the name does not say which byte comes first; JSON begins with an ASCII character.
  if (charset === 'utf-16') return bytes[0] === 0 ? 'utf-16be' : 'utf-16le'
  try {
    return new TextDecoder(charset).encoding
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return isUtf8(bytes) ? 'utf-8' : undefined
  }
}

const decodeWindows1252 = (bytes: Buffer): string =>
  bytes.toString('latin1').replace(/[\x80-\x9f]/g, (byte) => windows1252[byte.charCodeAt(0) - firstOfWindows1252] ?? '')
