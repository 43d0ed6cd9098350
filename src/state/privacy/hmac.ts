// HMAC-SHA-256 (RFC 2104, FIPS 180-4) of short texts. Node's own costs a first sync three times as much: it is made for long
// messages, and begins each time with the key. Here the key's two blocks are hashed once. test/privacy/protect.test.ts
// compares it with Node's for any key and text.

import { createHash } from 'node:crypto'

const blockSize = 64

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes, as SHA-256 wants them. */
const constants = new Int32Array(64)
for (let candidate = 2, found = 0; found < 64; candidate++) {
  let isPrime = true
  for (let divisor = 2; divisor * divisor <= candidate; divisor++) if (candidate % divisor === 0) isPrime = false
  if (isPrime) constants[found++] = (Math.cbrt(candidate) % 1) * 2 ** 32
}

/** Of the square roots of the first eight. */
const start = Int32Array.from([2, 3, 5, 7, 11, 13, 17, 19], (prime) => (Math.sqrt(prime) % 1) * 2 ** 32)

const words = new Int32Array(64)

const rotated = (word: number, by: number): number => (word >>> by) | (word << (32 - by))

/** Takes one block of 64 bytes into the state. */
function compress(state: Int32Array, bytes: Buffer, at: number): void {
  for (let i = 0; i < 16; i++) words[i] = bytes.readInt32BE(at + 4 * i)
  for (let i = 16; i < 64; i++) {
    const early = words[i - 15] as number
    const late = words[i - 2] as number
    const one = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3)
    const other = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10)
    words[i] = ((words[i - 16] as number) + (words[i - 7] as number) + one + other) | 0
  }
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  let e = state[4] as number
  let f = state[5] as number
  let g = state[6] as number
  let h = state[7] as number
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g)
    const sum = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const first = (h + sum + choice + (constants[i] as number) + (words[i] as number)) | 0
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const second = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  state[0] = (state[0] as number) + a
  state[1] = (state[1] as number) + b
  state[2] = (state[2] as number) + c
  state[3] = (state[3] as number) + d
  state[4] = (state[4] as number) + e
  state[5] = (state[5] as number) + f
  state[6] = (state[6] as number) + g
  state[7] = (state[7] as number) + h
}

/** Ends a message of `length` bytes, of which a block was hashed before, and hashes it. `bytes` has room for two more blocks. */
function finish(state: Int32Array, bytes: Buffer, length: number): void {
  const blocks = Math.ceil((length + 9) / blockSize)
  const end = blocks * blockSize
  bytes.fill(0, length, end)
  bytes[length] = 0x80
  bytes.writeUInt32BE((length + blockSize) * 8, end - 4) // texts are far shorter than half a gigabyte
  for (let block = 0; block < blocks; block++) compress(state, bytes, block * blockSize)
}

/** Makes the function that signs with this key. @returns 43 characters of base64url */
export function hmacWith(key: string): (value: string | Uint8Array) => string {
  const given = Buffer.from(key)
  const short = given.length > blockSize ? createHash('sha256').update(given).digest() : given
  const padded = (by: number): Int32Array => {
    const block = Buffer.alloc(blockSize, by)
    for (const [index, byte] of short.entries()) block[index] = byte ^ by
    const state = start.slice()
    compress(state, block, 0)
    return state
  }
  const [inside, outside] = [padded(0x36), padded(0x5c)]
  const state = new Int32Array(8)
  const digest = Buffer.alloc(2 * blockSize)
  let message = Buffer.alloc(1_024)
  const writeDigest = (): void => {
    for (let i = 0; i < 8; i++) digest.writeInt32BE(state[i] as number, 4 * i)
  }
  return (value) => {
    const most = (typeof value === 'string' ? value.length * 3 : value.length) + 2 * blockSize
    if (most > message.length) message = Buffer.alloc(2 * most)
    let length = value.length
    if (typeof value === 'string') length = message.write(value, 0)
    else message.set(value, 0)
    state.set(inside)
    finish(state, message, length)
    writeDigest()
    state.set(outside)
    finish(state, digest, 32)
    writeDigest()
    return digest.toString('base64url', 0, 32)
  }
}
