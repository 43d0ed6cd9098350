// A terminal that is closed ends a command as SIGTERM does: nothing that it started stays behind.

import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it, vi } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { openCommandLine } from './program.ts'

it('the worker ends in order, and its embedded database with it', async () => {
  const sandbox = await createSandbox({ size: 1 })
  await using cli = await openCommandLine({ API_BASE_URL: sandbox.url, API_AUTH: 'none', PORT: '0' })
  const serverIsUp = async (): Promise<boolean> => {
    const port = Number(/^Database .*127\.0\.0\.1:(\d+)/m.exec(worker.text())?.[1])
    const socket = connect(port, '127.0.0.1')
    return await once(socket, 'connect').then(
      () => socket.destroy() !== undefined,
      () => false,
    )
  }
  const worker = cli.start(['worker'])
  await vi.waitFor(() => expect(worker.text()).toContain('Pages '), 60_000)
  expect(await serverIsUp()).toBe(true)
  worker.process.kill('SIGHUP')
  worker.process.kill('SIGHUP')
  expect((await worker.ended).code).toBe(0)
  expect(await serverIsUp()).toBe(false)
  await sandbox.close()
})
