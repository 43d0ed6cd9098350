// A backend that is gone for good: a process with nothing left to do must be able to end.

import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { openBackend } from '../../src/jobs/backend.ts'
import { createLogger } from '../../src/log.ts'
import { openTestRedis } from '../helpers/redis-server.ts'

// Only a Redis of our own may be ended.
const own = process.env.TEST_REDIS_URL === undefined && inject('redisUrl') !== null

describe.runIf(own)('a worker whose Redis is gone', () => {
  it('closes, although the job in hand can never be reported as done', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-gone-'))
    const redis = await openTestRedis(folder)
    if (redis === null) throw new Error('There was a redis-server a moment ago.')
    const settings = { databaseUrl: '', redisUrl: redis.url, prefix: 'gone', patienceMs: 60_000 }
    const backend = openBackend({ ...settings, log: createLogger('silent'), signal: new AbortController().signal })
    const queue = await backend.openQueue('gone')
    const job = new AbortController()
    let begin = (): void => {}
    const started = new Promise<void>((resolve) => (begin = resolve))
    const worker = await backend.openWorker(
      'gone',
      async () => {
        begin()
        await once(job.signal, 'abort')
        return {}
      },
      1,
    )
    await queue.add('endless', {})
    await started
    await redis.close()
    job.abort()
    await expect(Promise.all([worker.close(), queue.close()])).resolves.toBeDefined()
    await backend.close()
    await rm(folder, { recursive: true, force: true })
  })
})
