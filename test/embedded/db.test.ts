// `db`: what stands on stdout and stderr, what psql is handed, and that nothing stays up that was not up before.

import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { runDb } from '../../src/cli/commands/db.ts'
import { readConfig } from '../../src/config.ts'
import { openEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts'
import { answers, type Folder, makeFolder, quiet } from './folders.ts'

let folder: Folder
let bin: Folder
const signal = new AbortController().signal

beforeAll(async () => {
  folder = await makeFolder()
  bin = await makeFolder()
  await (await openEmbeddedPostgres({ dataDir: folder.path, log: quiet })).close()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})
afterAll(async () => {
  await folder[Symbol.asyncDispose]()
  await bin[Symbol.asyncDispose]()
})

/** Runs `db` as on a terminal, and returns its exit code and what it wrote. */
async function run(psql: boolean, databaseUrl: string | null = null) {
  const written = { out: '', err: '' }
  const into = (key: 'out' | 'err') => (chunk: unknown) => {
    written[key] += String(chunk)
    return true
  }
  vi.spyOn(process.stdout, 'write').mockImplementation(into('out'))
  vi.spyOn(process.stderr, 'write').mockImplementation(into('err'))
  const isTTY = process.stderr.isTTY
  process.stderr.isTTY = true
  try {
    const code = await runDb({ ...readConfig({}), databaseUrl, dataDir: folder.path }, { psql, log: quiet, signal })
    return { code, ...written }
  } finally {
    process.stderr.isTTY = isTTY
    vi.restoreAllMocks()
  }
}

/** Puts a psql on the path that notes what it was called with. */
async function placePsql(exitCode: number): Promise<string> {
  const note = join(bin.path, 'note')
  const file = join(bin.path, 'psql')
  await writeFile(file, `#!/bin/sh\nprintf '%s|%s|%s' "$1 $2" "$3$4" "$PGPASSWORD" > "${note}"\nexit ${exitCode}\n`)
  await chmod(file, 0o755)
  vi.stubEnv('PATH', `${bin.path}${delimiter}${process.env.PATH}`)
  return note
}

it('prints DATABASE_URL as it is, and nothing else', async () => {
  const url = 'postgres://me:secret@db.example:5433/boats'
  expect(await run(false, url)).toEqual({ code: 0, out: `${url}\n`, err: '' })
})

it('prints one line while a worker runs, and leaves the server up', async () => {
  const worker = await openEmbeddedPostgres({ dataDir: folder.path, log: quiet })
  try {
    expect(await run(false)).toEqual({ code: 0, out: `${worker.url}\n`, err: '' })
    expect(await answers(worker.url)).toBe(true)
  } finally {
    await worker.close()
  }
})

it('prints one line without a worker as well, says that the server stops again, and stops it', async () => {
  const { code, out, err } = await run(false)
  expect(code).toBe(0)
  expect(out).toMatch(/^postgres:\/\/boat_mirror:[\w-]{24,}@127\.0\.0\.1:\d+\/boat_mirror\n$/)
  expect(err).toContain('runs only while a command uses it')
  expect(await answers(out.trim())).toBe(false)
})

it('opens psql without a pager, and without a password among its arguments', async () => {
  const note = await placePsql(0)
  expect(await run(true)).toEqual({ code: 0, out: '', err: '' })
  const [options, address, password] = (await readFile(note, 'utf8')).split('|')
  expect(options).toBe('-P pager=off')
  expect(address).toMatch(/^postgres:\/\/boat_mirror@127\.0\.0\.1:\d+\/boat_mirror$/)
  expect(password).toMatch(/^[\w-]{24,}$/)
})

it('fails when psql fails', async () => {
  await placePsql(2)
  expect((await run(true, 'postgres://me@127.0.0.1:1/boats')).code).toBe(1)
})

it('says what to install where there is no psql', async () => {
  await rm(join(bin.path, 'psql'), { force: true })
  vi.stubEnv('PATH', bin.path)
  await expect(run(true, 'postgres://me@127.0.0.1:1/boats')).rejects.toMatchObject({
    code: 'PROGRAM_MISSING',
    message: 'psql is not on the path.',
  })
})
