// Reads the body of an answer: decompresses, counts decoded bytes while they stream, because a few hundred kilobytes of
// gzip can unfold to half a gigabyte, and decodes text in the character set that the answer declares.

import { isUtf8 } from 'node:buffer'
import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { BoatMirrorError } from '../../errors.ts'
import { tooLarge } from './exchange.ts'

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: () => new InflateEither(),
  br: createBrotliDecompress,
}
/** The encodings requested. */
export const acceptedEncodings = 'gzip, deflate, br'
/** Those that exist besides. Any other name, such as `UTF-8`, is a mistake of servers that send plain bytes. */
const unrequested = new Set(['aes128gcm', 'compress', 'dcb', 'dcz', 'exi', 'pack200-gzip', 'x-compress', 'zstd'])
/** The names in a Content-Encoding that mean no encoding. */
export const noEncodings = (encoding: string | undefined): readonly string[] =>
  namesIn(encoding).filter((name) => !Object.hasOwn(decoders, name) && !unrequested.has(name))
/** More than one encoding on top of another has no honest use. */
const maxEncodings = 2

type BodyLimit = {
  readonly maxBytes: number
  /** What happens beyond: the answer is refused, or what came so far is enough. */
  readonly beyond: 'refuse' | 'cut'
}

/**
 * The decoded bytes of a body. Destroys the stream (and with it the connection) when it is larger than allowed.
 * @throws BoatMirrorError API_TOO_LARGE, API_NOT_JSON for an encoding that was not requested, or is none and no JSON; the stream's own errors
 * pass through
 */
export async function readBody(body: Readable, encoding: string | undefined, limit: BodyLimit): Promise<Buffer> {
  const steps = decodersFor(encoding, body)
  // The last stream is destroyed with the error of whichever failed, so collect() reports it.
  const decoded = steps.length === 0 ? body : (pipeline([body, ...steps], () => undefined) as Transform)
  const bytes = await collect(decoded, limit)
  const isJson = bytes.length === 0 || /^\s*["[{\dfnt-]/.test(bytes.toString('latin1', 0, 100))
  if (!isJson && noEncodings(encoding).length > 0) throw notRequested(noEncodings(encoding))
  return bytes
}

const namesIn = (encoding = ''): readonly string[] =>
  encoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')

function decodersFor(encoding: string | undefined, body: Readable): Transform[] {
  const none = noEncodings(encoding)
  const names = namesIn(encoding).filter((name) => !none.includes(name))
  const makers = names.reverse().map((name) => (Object.hasOwn(decoders, name) ? decoders[name] : undefined))
  if (makers.length > maxEncodings || makers.includes(undefined)) {
    body.on('error', () => undefined).destroy() // our own destroy is not an error
    throw notRequested(names)
  }
  return makers.flatMap((make) => (make === undefined ? [] : [make()]))
}

const notRequested = (names: readonly string[]): BoatMirrorError =>
  new BoatMirrorError(
    'API_NOT_JSON',
    `The answer is encoded as ${names.join(', ').slice(0, 60)}, which was not requested.`,
    { remedy: `The API, or the proxy in front of it, must send one of these encodings: ${acceptedEncodings}.` },
  )

/** The low half of the first byte of zlib's format; no bare deflate begins with it. */
const zlibMethod = 8

/**
 * HTTP's "deflate" means zlib's format. Some servers take the name literally and send raw deflate: the first byte
 * shows which.
 */
class InflateEither extends Transform {
  #inflate: Transform | undefined

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const [first = zlibMethod] = chunk
    this.#inflate ??= this.#begin(first % 16 === zlibMethod ? createInflate() : createInflateRaw())
    this.#inflate.write(chunk, done)
  }

  override _flush(done: TransformCallback): void {
    if (this.#inflate === undefined) done()
    else this.#inflate.once('end', done).end()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#inflate?.destroy()
    done(error)
  }

  #begin(inflate: Transform): Transform {
    return inflate.on('data', (decoded: Buffer) => this.push(decoded)).on('error', (error) => this.destroy(error))
  }
}

function collect(stream: Readable, limit: BodyLimit): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const all = (): Buffer =>
      chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, bytes)
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      chunks.push(chunk)
      if (bytes <= limit.maxBytes) return
      if (limit.beyond === 'cut') resolve(all())
      else reject(tooLarge(limit.maxBytes))
      stream.removeAllListeners('data')
      stream.destroy()
    })
    stream.on('end', () => resolve(all()))
    stream.on('error', reject)
    // Every answer closes; an error, with its stack trace, is made only for one that did so before its end.
    stream.on('close', () => stream.readableEnded || reject(new Error('The answer ended early.')))
  })
}

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
