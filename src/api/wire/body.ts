// Reads the body of an answer: decompresses, and counts decoded bytes while they stream, because a few hundred
// kilobytes of gzip can unfold to half a gigabyte.

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
