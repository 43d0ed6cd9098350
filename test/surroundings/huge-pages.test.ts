// Pages of hundreds of thousands of tiny elements, met by the built program as a process of its own: refused by name, or
// processed in portions, with bounded memory and a prompt answer to SIGTERM.

import { existsSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sleep } from '../../src/clock.ts'
import { type HttpServer, json, startServer } from '../api/http-server.ts'
import { type CommandLine, type Ended, openCommandLine, type Started } from '../cli/program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'

/** Far more than it takes on a busy machine, and less than this page takes in one piece. */
const promptMs = 20_000
/** What the program needs for any other page, and several times the 20 MB that an answer may have. */
const maxMegabytes = 700

let page = '[]'
let answered = 0
let api: HttpServer
let database: TestDatabase
let cli: CommandLine

// A database for each test: the next sync would carry on with what a stopped one left.
beforeEach(async () => {
  answered = 0
  api = await startServer((response, { url }) => {
    const { pathname } = new URL(url, 'http://api')
    if (pathname !== '/v3/harbours') return json(response, { id: Number(pathname.split('/').at(-1)) })
    response.writeHead(200, { 'content-type': 'application/json' })
    return response.end(page, () => answered++)
  })
  database = await createTestDatabase()
  const settings = { API_BASE_URL: api.url, API_AUTH: 'none', API_RATE_LIMIT: '0' }
  cli = await openCommandLine({ DATABASE_URL: database.url, ...settings })
})
afterEach(async () => {
  await cli[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
  await api[Symbol.asyncDispose]()
})

/** The most memory a process has had, in megabytes; null where the system does not say, or the process has ended. */
function peakMegabytes({ process: { pid } }: Started): number | null {
  const file = `/proc/${pid}/status`
  if (!existsSync(file)) return null
  const kilobytes = /VmHWM:\s+(\d+) kB/.exec(readFileSync(file, 'utf8'))?.[1]
  return kilobytes === undefined ? null : Number(kilobytes) / 1_024
}

type Watched = Ended & { readonly megabytes: number | null }

/** Waits for the end of a process and measures its memory until then. */
async function watch(started: Started): Promise<Watched> {
  let megabytes: number | null = null
  const timer = setInterval(() => {
    megabytes = peakMegabytes(started) ?? megabytes
  }, 20)
  const ended = await started.ended
  clearInterval(timer)
  return { ...ended, megabytes }
}

function expectBounded({ megabytes }: Watched): void {
  if (process.platform !== 'linux') return
  expect(megabytes).toBeGreaterThan(20) // it was measured
  expect(megabytes).toBeLessThan(maxMegabytes)
}

/** Syncs, and sends SIGTERM a while after the page was answered. */
async function stopInTheMidst(afterMs: number): Promise<Watched & { readonly ms: number }> {
  const started = cli.start(['sync', 'harbours'])
  const watched = watch(started)
  await vi.waitFor(() => expect(answered).toBe(1), { timeout: 100_000, interval: 10 })
  await sleep(afterMs)
  const asked = performance.now()
  started.process.kill('SIGTERM')
  const ended = await watched
  return { ...ended, ms: performance.now() - asked }
}

const repeated = (record: string, count: number): string => `[${Array(count).fill(record).join(',')}]`

const numbered = (count: number): string =>
  `[${Array.from({ length: count }, (_, index) => `{"id":${index + 1}}`).join(',')}]`

describe.runIf(isFull)('a page of 20 MB of {}', () => {
  it('is refused by name, with bounded memory', async () => {
    page = repeated('{}', 6_600_000)
    const ended = await watch(cli.start(['sync', 'harbours']))
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('GET /v3/harbours')
    expect(ended.stderr).toContain('JSON of more than 2000000 values is refused')
    expectBounded(ended)
  })
})

describe.runIf(isFull)('a page of hundreds of thousands of records', () => {
  const pages = [
    { name: 'with an id', body: () => numbered(300_000) },
    { name: 'without an id', body: () => repeated('{}', 600_000) },
    { name: 'that are texts', body: () => repeated('"a"', 900_000) },
  ]
  for (const { name, body } of pages)
    it(`${name} is let go within seconds of a SIGTERM, with bounded memory`, async () => {
      page = body()
      const ended = await stopInTheMidst(1_000)
      expect(ended.stderr).toContain('Stopping.')
      expect(ended.ms).toBeLessThan(promptMs)
      expectBounded(ended)
    })

  it.runIf(isFull)('is worked off to its last record', async () => {
    page = numbered(20_000)
    const ended = await watch(cli.start(['sync', 'harbours']))
    expect(ended).toMatchObject({ code: 0 })
    const { rows } = await database.pool.query(
      'select count(*)::int as count from mirror.harbours where _deleted_at is null',
    )
    expect(rows).toEqual([{ count: 20_000 }])
    expectBounded(ended)
  })
})

describe.runIf(isFull)('a record of a million tiny values', () => {
  const records = [
    { name: 'numbers', body: () => `[{"id":1,"parts":${repeated('0', 1_000_000)}}]` },
    { name: 'objects', body: () => `[{"id":2,"parts":${repeated('{"a":{}}', 600_000)}}]` },
  ]
  for (const { name, body } of records)
    it(`of ${name} lets go within seconds of a SIGTERM, with bounded memory`, async () => {
      page = body()
      const ended = await stopInTheMidst(0)
      expect(ended.ms).toBeLessThan(promptMs)
      expectBounded(ended)
    })
})
