// The queue board shows BullMQ's queues on both backends, and changes none of them.

import { describe, expect, inject, it } from 'vitest'
import { withoutForeignParts } from '../../src/web/board.ts'
import { type BarePages, openBarePages, readMetrics } from './pages-rig.ts'

const names = ['boat-mirror-push', 'boat-mirror-schedule', 'boat-mirror-sync']

type Listed = {
  readonly queues: readonly { readonly name: string; readonly readOnlyMode: boolean; readonly counts: object }[]
}

const listed = async (pages: BarePages): Promise<Listed> =>
  (await (await pages.get('/queues/api/queues')).json()) as Listed

const redisUrl = inject('redisUrl')
const backends = [
  { name: 'Postgres', redis: null, run: true },
  { name: 'Redis', redis: redisUrl, run: redisUrl !== null },
]

for (const { name, redis, run } of backends)
  describe.skipIf(!run)(`the board on ${name}`, () => {
    it('shows every queue, and all of them only to look at', async () => {
      await using pages = await openBarePages({}, redis)
      await expect.poll(async () => (await listed(pages)).queues.map((queue) => queue.name).sort()).toEqual(names)
      for (const queue of (await listed(pages)).queues) expect(queue.readOnlyMode).toBe(true)
    })

    it('tells the metrics how many jobs there are', async () => {
      await using pages = await openBarePages({}, redis)
      await expect.poll(async () => (await listed(pages)).queues.length).toBe(names.length)
      const metrics = readMetrics(await (await pages.get('/metrics')).text())
      for (const queue of names)
        expect(metrics.get(`boat_mirror_queue_jobs{queue="${queue}",state="failed"}`), queue).toBe(0)
    })

    it('shows schedulers and the backend it stands on', async () => {
      await using pages = await openBarePages({}, redis)
      await expect.poll(async () => (await listed(pages)).queues.length).toBe(names.length)
      for (const path of ['/queues/api/job-schedulers', '/queues/api/redis/stats'])
        expect((await pages.get(path)).status, path).toBe(200)
    })
  })

describe('the page of the board', () => {
  it('wants nothing from the network, and keeps its scripts and settings', () => {
    const page = withoutForeignParts(
      '<head><link href="https://fonts.example/css" rel="stylesheet">\n<link href="static/a.css" rel="stylesheet"></head>' +
        '<script id="c" type="application/json">{}</script>\n<div id="root">\n<div style="color:red">Loading</div>\n<style>a{}</style>\n</div>\n<script src="static/a.js"></script>',
    )
    expect(page).not.toMatch(/https:|style=|<style/)
    expect(page).toContain('static/a.css')
    expect(page).toContain('<script src="static/a.js">')
    expect(page).toContain('<div id="root"><div class="loading">Loading</div></div>')
  })
})
