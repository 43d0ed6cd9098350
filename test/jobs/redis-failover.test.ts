// Two Redis behind one address: the primary becomes a replica of the other and lives on, so no connection breaks.

import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { sleep } from '../../src/clock.ts'
import { openBackend } from '../../src/jobs/backend.ts'
import type { QueueBackend } from '../../src/jobs/queues.ts'
import { createLogger } from '../../src/log.ts'
import { probe } from '../../src/web/health.ts'
import { findOnPath, type OwnRedis, startRedis } from '../helpers/redis-server.ts'

const program = findOnPath('redis-server') ?? ''

/** One address that leads new connections to `target`, and leaves those there are alone. */
async function openAddress(target: string): Promise<{ url: string; target: string; close(): void }> {
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(address.target).port), '127.0.0.1')
    client.pipe(upstream).pipe(client)
    for (const [one, other] of [[client, upstream] as const, [upstream, client] as const])
      one.on('error', () => undefined).on('close', () => other.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const address = { url: `redis://127.0.0.1:${port}`, target, close: () => void server.close() }
  return address
}

describe.runIf(inject('redisUrl') !== null && program !== '')('a Redis that fails over', () => {
  let folder: string
  const redis: OwnRedis[] = []
  const admins: Redis[] = []
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'boat-mirror-failover-'))
    for (const name of ['one', 'other']) {
      await mkdir(join(folder, name))
      redis.push(await startRedis(program, join(folder, name)))
      admins.push(new Redis(redis.at(-1)?.url ?? ''))
    }
  })
  beforeEach(() => become(1, 0))
  afterAll(async () => {
    for (const each of admins) each.disconnect()
    for (const each of redis) await each.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** Makes one of the two a replica of the other, and waits until it knows what that one knows. */
  const become = async (replica: number, primary: number): Promise<void> => {
    await admins[primary]?.call('REPLICAOF', 'NO', 'ONE')
    await admins[replica]?.call('REPLICAOF', '127.0.0.1', new URL(redis[primary]?.url ?? '').port)
    while (!(await admins[replica]?.info('replication'))?.includes('master_link_status:up')) await sleep(50)
  }
  const openWith = (url: string): QueueBackend =>
    openBackend({
      databaseUrl: '',
      redisUrl: url,
      prefix: 'boat-mirror-failover',
      patienceMs: 20_000,
      log: createLogger('silent'),
      signal: new AbortController().signal,
    })

  it('is followed by the queue, whose health is what its own connections answer', async () => {
    const address = await openAddress(redis[0]?.url ?? '')
    const backend = openWith(address.url)
    const health = async (): Promise<string> => {
      const part = await probe(() => backend.ping(), 'QUEUE_UNREACHABLE')
      return part.ok ? 'ok' : part.code
    }
    const done: string[] = []
    const queue = await backend.openQueue('failover')
    const worker = await backend.openWorker('failover', async (job) => ({ done: done.push(job.name) }), 1)
    try {
      await queue.add('before', {})
      await expect.poll(() => done).toEqual(['before'])
      expect(await health()).toBe('ok')

      // The address still leads to the one that is a replica now.
      await become(0, 1)
      await expect.poll(health).toBe('QUEUE_REFUSED')
      await expect(queue.add('refused', {})).rejects.toThrow()
      expect(await health()).not.toBe('ok')

      address.target = redis[1]?.url ?? ''
      await expect.poll(health).toBe('ok')
      await queue.add('after', {})
      await expect.poll(() => done).toEqual(['before', 'after'])
    } finally {
      await Promise.all([worker.close(true), queue.close()])
      await backend.close()
      address.close()
    }
  })

  it('is noticed by connections that nothing was asked of since, although the address leads to the new primary', async () => {
    const address = await openAddress(redis[0]?.url ?? '')
    const backend = openWith(address.url)
    const queue = await backend.openQueue('idle')
    try {
      await become(0, 1)
      address.target = redis[1]?.url ?? ''
      await expect(backend.ping()).rejects.toMatchObject({ code: 'QUEUE_REFUSED' })
      await expect
        .poll(() =>
          queue.add('after', {}).then(
            () => 'added',
            () => 'refused',
          ),
        )
        .toBe('added')
      expect(await admins[1]?.exists('boat-mirror-failover:idle:id')).toBe(1)
    } finally {
      await queue.close()
      await backend.close()
      address.close()
    }
  })
})
