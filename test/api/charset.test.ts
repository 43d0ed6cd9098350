// From bytes to text, whatever character set an answer comes in.

import { describe, expect, it } from 'vitest'
import { decodeText } from '../../src/api/wire/body.ts'
import { openApi, startServer } from './http-server.ts'

const bytes = (...parts: readonly (string | number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))))
const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16()

/** The 32 bytes by which windows-1252 differs from Latin-1, as the Encoding Standard has them. */
const c1 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

const cases: readonly { name: string; type: string | undefined; bytes: Buffer; text: string }[] = [
  { name: 'UTF-8 undeclared', type: undefined, bytes: Buffer.from('"é€🛥"'), text: '"é€🛥"' },
  { name: 'UTF-8 declared', type: 'application/json; charset=UTF-8', bytes: Buffer.from('"é€🛥"'), text: '"é€🛥"' },
  { name: 'ISO-8859-1', type: 'application/json;charset=ISO-8859-1', bytes: bytes('"é"'), text: '"é"' },
  { name: 'a quoted label', type: 'application/json; Charset = "latin1"; x=y', bytes: bytes('"é"'), text: '"é"' },
  {
    name: 'windows-1252, each of its own characters',
    type: 'text/json; charset=windows-1252',
    bytes: bytes(Array.from({ length: 32 }, (_, index) => 0x80 + index)),
    text: c1,
  },
  { name: 'ISO-8859-15', type: 'x; charset=iso-8859-15', bytes: bytes('"\xa4"'), text: '"€"' },
  { name: 'windows-1250', type: 'x; charset=windows-1250', bytes: bytes('"\x9d\xe8"'), text: '"ťč"' },
  { name: 'Shift_JIS', type: 'x; charset=Shift_JIS', bytes: bytes('"\x91\x44"'), text: '"船"' },
  { name: 'UTF-16LE', type: 'x; charset=utf-16le', bytes: Buffer.from('"é🛥"', 'utf16le'), text: '"é🛥"' },
  { name: 'UTF-16BE', type: 'x; charset=utf-16be', bytes: utf16be('"é🛥"'), text: '"é🛥"' },
  { name: 'UTF-16 that is big-endian without a mark', type: 'x; charset=utf-16', bytes: utf16be('"é"'), text: '"é"' },
  {
    name: 'UTF-16 that is little-endian without a mark',
    type: 'x; charset=utf-16',
    bytes: Buffer.from('"é"', 'utf16le'),
    text: '"é"',
  },
  {
    name: 'a mark of UTF-16LE',
    type: 'application/json',
    bytes: bytes([0xff, 0xfe], Buffer.from('"é"', 'utf16le').toString('latin1')),
    text: '"é"',
  },
  {
    name: 'a mark of UTF-16BE, against the declaration',
    type: 'application/json; charset=utf-8',
    bytes: bytes([0xfe, 0xff], utf16be('"é"').toString('latin1')),
    text: '"é"',
  },
  { name: 'an unknown label on UTF-8', type: 'x; charset=utf8mb4', bytes: Buffer.from('"é"'), text: '"é"' },
]

describe('an answer is decoded', () => {
  for (const { name, type, bytes: given, text } of cases)
    it(name, () => expect(decodeText(given, type)).toEqual({ text, damaged: false }))

  it('with a mark of UTF-8, against the declaration', async () => {
    const marked = bytes([0xef, 0xbb, 0xbf], Buffer.from('{"a":"é"}').toString('latin1'))
    const headers = { 'content-type': 'application/json; charset=iso-8859-1' }
    await using server = await startServer((response) => response.writeHead(200, headers).end(marked))
    await using test = openApi(server.url)
    expect(await test.api.read({ endpoint: 'GET /v3/users' })).toMatchObject({ body: { a: 'é' }, sanitized: 0 })
  })

  for (const [name, type, given, text] of [
    ['UTF-8', undefined, bytes('"\xe9"'), '"\ufffd"'],
    ['UTF-16', 'x; charset=utf-16le', bytes([0x22, 0, 0, 0xd8, 0x22, 0]), '"\ufffd"'],
    ['Shift_JIS', 'x; charset=shift_jis', bytes('"\x91'), '"\ufffd'],
  ] as const)
    it(`with U+FFFD where bytes are nothing in ${name}, and says so`, () => {
      expect(decodeText(given, type)).toEqual({ text, damaged: true })
    })
})

describe('an answer in an unknown character set that is not UTF-8', () => {
  it('is refused with the name it declares', async () => {
    const headers = { 'content-type': 'application/json; charset=x-klingon' }
    await using server = await startServer((response) => response.writeHead(200, headers).end(bytes('{"a":"\xe9"}')))
    await using test = openApi(server.url)
    const failure = test.api.read({ endpoint: 'GET /v3/users', signal: AbortSignal.timeout(100_000) })
    await expect(failure).rejects.toMatchObject({
      code: 'API_NOT_JSON',
      message: expect.stringContaining('character set x-klingon'),
    })
  })

  it('that is an error answer still has its status and, where it can be read, its reason', async () => {
    const headers = { 'content-type': 'application/json; charset=iso-8859-1' }
    await using server = await startServer((response) =>
      response.writeHead(400, headers).end(bytes('{"message":"pr\xe9nom"}')),
    )
    await using test = openApi(server.url)
    await expect(test.api.read({ endpoint: 'GET /v3/users' })).rejects.toMatchObject({ status: 400, reason: 'prénom' })
  })
})
