// The metrics count the jobs of every queue, on both backends.

import { describe, expect, inject, it } from 'vitest'
import { queueNames } from '../../src/jobs/queues.ts'
import { openBarePages, readMetrics } from './pages-rig.ts'

const redisUrl = inject('redisUrl')
const backends = [
  { name: 'Postgres', redis: null, run: true },
  { name: 'Redis', redis: redisUrl, run: redisUrl !== null },
]

for (const { name, redis, run } of backends)
  describe.skipIf(!run)(`the jobs on ${name}`, () => {
    it('are counted by queue and state', async () => {
      await using pages = await openBarePages({}, redis)
      const failed = async (queue: string): Promise<number | undefined> => {
        const metrics = readMetrics(await (await pages.get('/metrics')).text())
        return metrics.get(`boat_mirror_queue_jobs{queue="${queue}",state="failed"}`)
      }
      for (const queue of queueNames) await expect.poll(() => failed(queue), { message: queue }).toBe(0)
    })
  })
