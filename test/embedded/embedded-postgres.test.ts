// One process on one embedded database: what is kept where, which ports, and what goes wrong with which words.

import { once } from 'node:events'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { translateDatabaseError } from '../../src/database/sql-states.ts'
import { type EmbeddedPostgres, holdsDatabase, openEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts'
import type { State } from '../../src/embedded/state.ts'
import { answers, ask, type Folder, makeFolder, quiet } from './folders.ts'

const isRoot = process.getuid?.() === 0
const settings = { fsync: 'off' }
let folder: Folder
let server: EmbeddedPostgres | undefined

const open = async (dataDir = folder.path): Promise<EmbeddedPostgres> => {
  server = await openEmbeddedPostgres({ dataDir, log: quiet, settings })
  return server
}
const readState = async (): Promise<State> => JSON.parse(await readFile(join(folder.path, 'embedded.json'), 'utf8'))
const complaint = (dataDir = folder.path): Promise<unknown> =>
  open(dataDir).then(
    () => 'opened',
    (error: unknown) => error,
  )

beforeAll(async () => {
  folder = await makeFolder()
  const first = await open()
  await first.close()
})
afterEach(() => server?.close())
afterAll(() => folder[Symbol.asyncDispose]())

describe('an embedded database', () => {
  it('keeps a long random password and its port in a file that only its owner reads', async () => {
    const { url } = await open()
    const { password, port } = await readState()
    expect(password.length).toBeGreaterThanOrEqual(24)
    expect((await stat(join(folder.path, 'embedded.json'))).mode & 0o777).toBe(0o600)
    expect(url).toBe(`postgres://boat_mirror:${password}@127.0.0.1:${port}/boat_mirror`)
  })

  it('listens on 127.0.0.1 only, asks for a password, and waits for the disk at each commit', async () => {
    const { url } = await open()
    expect(await ask(url, 'show listen_addresses')).toBe('127.0.0.1')
    expect(await ask(url, 'show unix_socket_directories')).toBe('')
    expect(await ask(url, 'show synchronous_commit')).toBe('on')
    const wrong = url.replace(/:[^:@]+@/, ':wrong@')
    await expect(ask(wrong, 'select 1')).rejects.toMatchObject({ code: '28P01' })
    const without = url.replace(/:[^:@]+@/, '@')
    const refusal = await ask(without, 'select 1').catch((error: unknown) => translateDatabaseError(error, without))
    expect(refusal).toMatchObject({ code: 'DATABASE_REFUSED', message: expect.stringMatching(/asks for a password/) })
  })

  it('stores UTF-8, sorts by code point and knows upper and lower case beyond ASCII', async () => {
    const { url } = await open()
    expect(await ask(url, 'show server_encoding')).toBe('UTF8')
    expect(await ask(url, "select lower('ÎLE') || ' ' || ('Z' < 'a')")).toBe('île true')
  })

  it('never runs as root', async () => {
    const { url, location } = await open()
    expect(await ask(url, 'select current_user')).toBe('boat_mirror')
    expect((await stat(join(location, 'postgres'))).uid).not.toBe(0)
  })

  it('takes another port when a stranger sits on its own, remembers it, and comes back with its data', async () => {
    const before = await open()
    await ask(before.url, 'create table kept as select 7 as n')
    await before.close()
    const { port } = await readState()
    const stranger = createServer().listen(port, '127.0.0.1')
    await once(stranger, 'listening')
    try {
      const after = await open()
      const moved = await readState()
      expect(moved.port).not.toBe(port)
      expect(new URL(after.url).port).toBe(String(moved.port))
      expect(await ask(after.url, 'select n from kept')).toBe(7)
    } finally {
      stranger.close()
    }
  })

  it('runs again for who has it open when it has ended, as Postgres does on a full disk', async () => {
    const { url, location } = await open()
    const pid = async (): Promise<number> =>
      Number.parseInt(await readFile(join(location, 'postgres', 'postmaster.pid'), 'utf8').catch(() => ''), 10)
    const first = await pid()
    process.kill(first, 'SIGINT')
    await expect
      .poll(async () => (await answers(url)) && (await pid()) !== first, { timeout: 120_000, interval: 100 })
      .toBe(true)
  })

  it('is attached to a second time by the same process, and stops with the last close; closing twice is allowed', async () => {
    const first = await open()
    const second = await open()
    expect([first.startedHere, second.startedHere]).toEqual([true, false])
    await first.close()
    await first.close()
    expect(await answers(second.url)).toBe(true)
    await second.close()
    expect(await answers(second.url)).toBe(false)
  })

  it('starts although a crash left a pid file, also one whose number another process has now', async () => {
    const pidFile = join(folder.path, 'postgres', 'postmaster.pid')
    for (const pid of [4_194_303, process.pid]) {
      const { port } = await readState()
      await writeFile(pidFile, `${pid}\n${join(folder.path, 'postgres')}\n1\n${port}\n\n127.0.0.1\n`)
      const { url, startedHere, close } = await open()
      expect(startedHere).toBe(true)
      expect(await answers(url)).toBe(true)
      await close()
    }
  })
})

it('finding out whether a database is there starts nothing and makes no folder', async () => {
  const missing = join(folder.path, 'missing')
  expect(await holdsDatabase(missing)).toBe(false)
  expect(await holdsDatabase(folder.path)).toBe(true)
  await expect(stat(missing)).rejects.toMatchObject({ code: 'ENOENT' })
})

describe('what is wrong is told without a stack, with a way out', () => {
  const cases = [
    {
      name: 'the folder is a file',
      arrange: async () => {
        const dataDir = join(folder.path, 'a-file')
        await writeFile(dataDir, '')
        return { dataDir, undo: () => rm(dataDir) }
      },
      message: /a-file cannot be used/,
    },
    {
      name: 'embedded.json is damaged',
      arrange: async () => {
        const file = join(folder.path, 'embedded.json')
        const text = await readFile(file)
        await writeFile(file, '{"port":')
        return { undo: () => writeFile(file, text) }
      },
      message: /embedded\.json is damaged/,
    },
    {
      name: 'the files of the database are gone',
      arrange: async () => {
        const files = join(folder.path, 'postgres')
        await rename(files, `${files}-away`)
        return { undo: () => rename(`${files}-away`, files) }
      },
      message: /that was in .* is gone/,
    },
    {
      name: 'the database was made by another major version',
      arrange: async () => {
        const file = join(folder.path, 'postgres', 'PG_VERSION')
        const text = await readFile(file)
        await writeFile(file, '14\n')
        return { undo: () => writeFile(file, text) }
      },
      message: /made by Postgres 14, and this version brings Postgres \d+/,
    },
    {
      name: 'the files of the database are corrupted',
      arrange: async () => {
        const file = join(folder.path, 'postgres', 'global', 'pg_control')
        await rename(file, `${file}-away`)
        return { undo: () => rename(`${file}-away`, file) }
      },
      message: /Starting the embedded database in .* failed: .*pg_control/s,
    },
  ] as const

  for (const { name, arrange, message } of cases)
    it(name, async () => {
      const arranged: { dataDir?: string; undo: () => Promise<void> } = await arrange()
      try {
        expect(await complaint(arranged.dataDir)).toMatchObject({
          code: 'EMBEDDED_UNAVAILABLE',
          message: expect.stringMatching(message),
          remedy: expect.stringContaining('DATABASE_URL'),
        })
      } finally {
        await arranged.undo()
      }
      expect(await answers((await open()).url)).toBe(true)
    })
})

describe.runIf(isRoot)('as root in a folder only root may enter', () => {
  it('places the database where its account can reach it, and finds it there again', async () => {
    await using closed = await makeFolder(0o700)
    const dataDir = join(closed.path, 'data')
    await mkdir(dataDir)
    const first = await open(dataDir)
    try {
      expect(first.location).toMatch(/^\/var\/lib\/boat-mirror\/[0-9a-f]{16}$/)
      await ask(first.url, 'create table kept as select 1 as n')
      await first.close()
      const second = await open(dataDir)
      expect(second.location).toBe(first.location)
      expect(await ask(second.url, 'select n from kept')).toBe(1)
      await second.close()
    } finally {
      await rm(first.location, { recursive: true, force: true })
    }
  })
})
