// A temporary folder that is full: Postgres's programs are copied there only where the name of their own folder is not plain. Nothing
// else needs it. Root of Linux only, who can mount a file system.

import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { findPackage, prepareBinaries } from '../../src/embedded/binaries.ts'
import { findFreePort } from '../../src/embedded/connection.ts'
import { chooseIdentity } from '../../src/embedded/identity.ts'
import { clusterFolder, createCluster, majorOf } from '../../src/embedded/server.ts'
import { newPassword } from '../../src/embedded/state.ts'
import { openVolume, type Volume } from '../chaos/storm/volume.ts'
import { type CommandLine, openCommandLine } from '../cli/program.ts'
import { type Folder, makeFolder } from './folders.ts'

describe.runIf(process.getuid?.() === 0 && process.platform === 'linux')('a full temporary folder', () => {
  let place: Folder
  let volume: Volume
  beforeAll(async () => {
    place = await makeFolder()
    const opened = await openVolume(join(place.path, 'temporary'), 200)
    if (typeof opened === 'string') throw new Error(opened)
    volume = opened
    await volume.fill()
    vi.stubEnv('TMPDIR', volume.folder)
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await volume?.close()
    await place[Symbol.asyncDispose]()
  })

  it('is named where the programs of Postgres are copied to it, and needs only some space', async () => {
    const source = await findPackage()
    const root = join(place.path, 'programs of $(nobody)')
    const location = join(place.path, 'database of $(nobody)')
    await mkdir(location)
    await cp(source.root, root, { recursive: true, verbatimSymlinks: true })
    const folder = clusterFolder(location)
    const identity = await chooseIdentity(folder)
    const binaries = await prepareBinaries({ ...source, root }, location, identity)
    const cluster = { folder, location, identity, binaries }
    await expect(createCluster(cluster, newPassword())).rejects.toMatchObject({
      code: 'EMBEDDED_UNAVAILABLE',
      message: expect.stringContaining(volume.folder),
      remedy: expect.stringMatching(/^Free some space/),
    })
    await volume.free()
    await createCluster(cluster, newPassword())
    expect(await majorOf(folder)).toBe(binaries.major)
    await volume.fill()
  })

  it('is needed by no sync, push, serve or worker', async () => {
    await using cli: CommandLine = await openCommandLine({
      ...{ TMPDIR: volume.folder, PORT: '0', API_AUTH: 'none', DATA_DIR: join(place.path, 'data') },
    })
    for (const line of ['sync harbours', 'push'])
      expect(await cli.start(line.split(' ')).ended).toMatchObject({ code: 0 })
    for (const command of ['serve', 'worker']) {
      const port = await findFreePort()
      const started = cli.start([command], { SERVE: 'on', SERVE_LISTEN: `127.0.0.1:${port}` })
      const status = (): Promise<number> =>
        fetch(`http://127.0.0.1:${port}/v3/harbours`).then(
          (answer) => answer.status,
          () => 0,
        )
      await expect.poll(status).toBe(200)
      started.process.kill('SIGTERM')
      expect(await started.ended).toMatchObject({ code: 0 })
    }
  })
})
