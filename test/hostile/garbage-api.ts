// An API that answers every read with records nobody should send, in bytes that are not UTF-8, and now and then with what
// is no JSON at all. It remembers the records it answered, so that a test can ask where each of them went.

import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { parseJson, stringifyJson } from '../../src/api/wire/json.ts'
import { streams } from '../../src/catalog/catalog.ts'
import { keyText } from '../../src/catalog/keys.ts'
import type { StreamDef } from '../../src/catalog/types.ts'
import { keyOf, projectRecord } from '../../src/sync/records/project.ts'
import { brokenJsonText, jsonText, objectText } from './generators.ts'
import { type Example, isJson, mutations } from './records.ts'

export type GarbageApi = AsyncDisposable & {
  readonly url: string
  /** The records of the lists by stream, as they were answered: JSON text, cleaned as we promise. */
  readonly lists: ReadonlyMap<string, readonly string[]>
}

const perList = 30

/** One list of records: most of them real ones changed at a few places, some of them anything at all, some twice. */
function listOf(stream: StreamDef, examples: readonly Example[], seed: number): readonly string[] {
  const record = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(fc.constantFrom(...examples), mutations).map(([{ record }, mutate]) => mutate(record)),
    },
    { weight: 1, arbitrary: objectText },
    { weight: 1, arbitrary: jsonText },
  )
  const drawn = fc
    .sample(record, { seed, numRuns: perList })
    .map((source, index) => (index % 3 === 0 ? undecodable(source) : source))
  // Two records of one key are one record that changed in between, in the mirror and in quarantine: one of them stands.
  const seen = new Set<string>()
  return drawn.filter((source) => {
    const { value } = parseJson(source)
    const projected = projectRecord(stream, value, {}, 'UTC')
    const key = projected.ok ? keyText(projected.row.key) : projected.key
    return !seen.has(key) && seen.add(key)
  })
}

/** The record with a character in its first text that `bytesOf` spoils. */
function undecodable(source: string): string {
  const spoiled = source.replace('":"', '":"\ufffd')
  return isJson(spoiled) ? spoiled : source
}

/** A text as bytes, with what is not UTF-8 in place of each U+FFFD: what decodes to it again. */
function bytesOf(text: string): Buffer {
  const [first = '', ...rest] = text.split('\ufffd')
  return Buffer.concat([Buffer.from(first), ...rest.flatMap((part) => [Buffer.of(0xff), Buffer.from(part)])])
}

const isListOf = ({ reads }: StreamDef, path: string): boolean => reads.kind === 'list' && reads.list === `GET ${path}`

/**
 * Which answers are no JSON: the first to every list and to some other addresses, and every one to a few others. The
 * address decides, so that the order of the requests has no effect.
 */
function malformedAnswers(seed: number, isList: (url: URL) => boolean): (url: URL) => string | null {
  // What is nested too deep is read once only, and a list that begins so is not read: not what is looked for here.
  const texts = fc
    .sample(brokenJsonText, { seed, numRuns: 200 })
    .filter((text) => text.trim() !== '' && !isJson(text) && !/^(\[|\{"a":){50}/.test(text))
  const asked = new Set<string>()
  return (url) => {
    const isFirst = !asked.has(url.href)
    asked.add(url.href)
    const drawn = createHash('md5').update(`${seed} ${url.href}`).digest().readUInt32BE()
    const share = isList(url) ? 1 : drawn % 40
    return share === 0 || (share < 4 && isFirst) ? (texts[drawn % texts.length] ?? '{') : null
  }
}

/** Serves a world of garbage drawn from the seed. */
export async function serveGarbage(
  examples: ReadonlyMap<string, readonly Example[]>,
  seed: number,
): Promise<GarbageApi> {
  const lists = new Map(
    streams.flatMap((stream, index) =>
      stream.reads.kind === 'list'
        ? [[stream, listOf(stream, examples.get(stream.name) ?? [], seed + index)] as const]
        : [],
    ),
  )
  const singles = new Map<string, string>()
  for (const [stream, records] of lists)
    for (const source of records) {
      const key = keyOf(stream, parseJson(source).value, 'UTC')
      if (key !== null && stream.reads.kind === 'list')
        singles.set(stream.reads.single.endpoint.replace(/\{\w+\}/, key.join()), source)
    }
  const anything = fc.sample(fc.oneof(objectText, jsonText), { seed, numRuns: 200 })
  const below = fc.sample(
    fc.array(
      fc.oneof(
        objectText,
        ...[...examples.values()]
          .flat()
          .slice(0, 400)
          .map(({ record }) => fc.constant(JSON.stringify(record))),
      ),
      { maxLength: 4 },
    ),
    { seed, numRuns: 200 },
  )
  const malformedAnswer = malformedAnswers(seed, ({ pathname }) =>
    [...lists.keys()].some((stream) => isListOf(stream, pathname)),
  )
  let count = 0
  const answer = (path: string, page: string | null): { readonly status: number; readonly text: string } => {
    const found = [...lists].find(([stream]) => isListOf(stream, path))
    if (found !== undefined)
      return { status: 200, text: page === null || page === '1' ? `[${found[1].join(',')}]` : '[]' }
    const decoded = `GET ${decodeURIComponent(path)}`
    const single = singles.get(decoded)
    if (single !== undefined) return { status: 200, text: single }
    count += 1
    if (/^\/v3\/\w+\/[^/]+$/.test(path)) return { status: 404, text: '{}' }
    const collection = `[${(below[count % below.length] ?? []).join(',')}]`
    return {
      status: 200,
      text:
        count % 3 === 0
          ? (anything[count % anything.length] ?? 'null')
          : page === null || page === '1'
            ? collection
            : '[]',
    }
  }
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://x')
    const malformed = malformedAnswer(url)
    const { status, text } =
      malformed === null ? answer(url.pathname, url.searchParams.get('page')) : { status: 200, text: malformed }
    response.writeHead(status, { 'content-type': 'application/json' }).end(bytesOf(text))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lists: new Map(
      [...lists].map(([stream, records]) => [
        stream.name,
        records.map((source) => stringifyJson(parseJson(source).value)),
      ]),
    ),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
