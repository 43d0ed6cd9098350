// A command that opens the embedded database while a worker of this folder runs on another one says so.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { markDatabase, otherDatabase, seekDatabase } from '../../src/cli/worker-mark.ts'
import { readConfig } from '../../src/config.ts'
import { recordingLog } from '../api/recording-log.ts'
import { makeFolder } from '../embedded/folders.ts'
import { openCommandLine } from './program.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'boat-mirror-mark-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const own = 'postgres://me:geheim@db.example/boats'
const { log, lines } = recordingLog()

it('names the database of the worker for as long as it runs, and never its password', async () => {
  const dataDir = join(folder, 'data')
  {
    await using _worker = await markDatabase({ databaseUrl: own, dataDir }, log)
    const told = await otherDatabase({ databaseUrl: null, dataDir })
    expect(told).toContain(`opened the embedded database in ${dataDir}, because DATABASE_URL is not set`)
    expect(told).toContain('postgres://me:***@db.example/boats')
    expect(await readFile(join(dataDir, 'worker.json'), 'utf8')).not.toContain('geheim')
    await seekDatabase({ ...readConfig({}), databaseUrl: null, dataDir }, log, true)
    // Where no database may be created, and there is none, it says where the worker's is.
    await expect(seekDatabase({ ...readConfig({}), dataDir }, log, false)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      remedy: expect.stringContaining('The worker of this folder uses postgres://me:***@db.example/boats'),
    })
    expect(lines.at(-1)).toMatchObject({ level: 40, event: 'other_database' })
    // No hint if the command names its database.
    expect(await otherDatabase({ databaseUrl: own, dataDir })).toBeNull()
  }
  expect(await otherDatabase({ databaseUrl: null, dataDir })).toBeNull()
})

it('knows nothing of a worker on the embedded database, of one that was killed, and of half a file', async () => {
  await using _worker = await markDatabase({ databaseUrl: null, dataDir: folder }, log)
  expect(await otherDatabase({ databaseUrl: null, dataDir: folder })).toBeNull()
  for (const text of ['{"owner":"999999999 1 x","database":"postgres://db/x"}', '{"owner":', 'null', '[]']) {
    await writeFile(join(folder, 'worker.json'), text)
    expect(await otherDatabase({ databaseUrl: null, dataDir: folder })).toBeNull()
  }
})

it('keeps no worker from starting where nothing can be written', async () => {
  await writeFile(join(folder, 'file'), '')
  const dataDir = join(folder, 'file', 'below')
  await using _worker = await markDatabase({ databaseUrl: own, dataDir }, log)
  expect(await otherDatabase({ databaseUrl: null, dataDir })).toBeNull()
})

it('is said by commands that write, that look and that print the address; not where DATABASE_URL says which is meant', async () => {
  await using data = await makeFolder()
  await using cli = await openCommandLine({ DATA_DIR: data.path })
  await using _worker = await markDatabase({ databaseUrl: own, dataDir: data.path }, log)
  for (const command of ['migrate', 'status', 'db']) {
    const ended = await cli.run([command])
    expect(ended.code, command).toBe(0)
    expect(ended.stderr, command).toContain(`opened the embedded database in ${data.path}`)
    expect(ended.stderr, command).toContain('The worker of this folder uses postgres://me:***@db.example/boats')
    expect(ended.stderr, command).not.toContain('geheim')
  }
  expect((await cli.run(['db'], { DATABASE_URL: own })).stderr).toBe('')
})
