// Folders whose names mean something to a shell: none runs on the way from us to Postgres, and what initdb runs by one has a
// plain path.

import { cp, mkdir, readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findPackage, prepareBinaries } from '../../src/embedded/binaries.ts'
import { openEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts'
import { chooseIdentity } from '../../src/embedded/identity.ts'
import { clusterFolder, createCluster, hasEnded, startServer, stopServer } from '../../src/embedded/server.ts'
import { addressOf, newPassword } from '../../src/embedded/state.ts'
import { opened } from '../helpers/opened.ts'
import { ask, makeFolder, quiet } from './folders.ts'

const names = [
  '$HOME and $(touch executed)',
  'a `touch executed` b',
  'one " double',
  "one ' single",
  'back\\slash; touch executed',
]

const place = opened(makeFolder)

/** Whether a command in a name was carried out, wherever the shell stood. */
async function executed(folder: string): Promise<readonly string[]> {
  const found = (await readdir(folder, { recursive: true })).filter((name) => basename(name) === 'executed')
  return [...found, ...(await readdir('.')).filter((name) => name === 'executed')]
}

it('hold a database under all of these names at once', async () => {
  const dataDir = join(place.path, ...names, 'data')
  const server = await openEmbeddedPostgres({ dataDir, log: quiet, settings: { fsync: 'off' } })
  try {
    expect(await ask(server.url, 'show data_directory')).toBe(join(dataDir, 'postgres'))
    expect(await executed(place.path)).toEqual([])
  } finally {
    await server.close()
  }
})

describe('hold the programs of Postgres', () => {
  for (const name of names)
    it(name, async () => {
      const source = await findPackage()
      const root = join(place.path, 'programs', name)
      const location = join(place.path, 'databases', name)
      await mkdir(location, { recursive: true })
      await cp(source.root, root, { recursive: true, verbatimSymlinks: true })
      try {
        const folder = clusterFolder(location)
        const identity = await chooseIdentity(folder)
        const binaries = await prepareBinaries({ ...source, root }, location, identity)
        expect(binaries.binDir.startsWith(root)).toBe(true)
        const cluster = { folder, location, identity, binaries }
        const state = { location, port: 0, password: newPassword(), created: false }
        await createCluster(cluster, state.password)
        const port = await startServer(cluster, state, { fsync: 'off', application_name: `a 'b' "c" \\ d` })
        expect(await ask(addressOf(state, port, 'postgres'), `select current_setting('application_name')`)).toBe(
          `a 'b' "c" \\ d`,
        )
        await stopServer(cluster)
        expect(await hasEnded(folder)).toBe(true)
        expect(await readdir(location)).toEqual(['postgres'])
        expect(await executed(place.path)).toEqual([])
      } finally {
        await rm(root, { recursive: true, force: true })
      }
    })
})

it('are refused by a sentence where a name has a line break', async () => {
  const opening = openEmbeddedPostgres({ dataDir: join(place.path, 'two\nlines'), log: quiet })
  await expect(opening).rejects.toMatchObject({
    code: 'EMBEDDED_UNAVAILABLE',
    message: expect.stringMatching(/line break/),
  })
})
