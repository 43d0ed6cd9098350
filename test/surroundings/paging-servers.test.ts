// Servers that page in every way, drawn at random: read by the client (10,000, test/api/paging-servers.test.ts) and as runs of a sync.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { hidesInSilence, serverOf, worlds } from '../api/drawn-servers.ts'
import { json, startServer } from '../api/http-server.ts'
import type { Server } from '../api/page-servers.ts'
import '../api/paging-servers.test.ts'
import { isFull } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'

const syncs = isFull ? 300 : 20

it(`${syncs} servers are synced: no run is done with records missing in the mirror`, async () => {
  let round = 0
  let server: Server = () => ({ body: [] })
  /** Answers the companies, each round with ids of its own, and hands everything else on. */
  const before = (sandboxUrl: string) =>
    startServer(async (response, { url }) => {
      const { pathname, searchParams } = new URL(url, sandboxUrl)
      const [, id] = /^\/v3\/companies\/(\d+)$/.exec(pathname) ?? []
      if (id !== undefined) return json(response, { id: Number(id) })
      if (pathname !== '/v3/companies') return json(response, await (await fetch(new URL(url, sandboxUrl))).json())
      const { body, status, headers } = server(Object.fromEntries(searchParams))
      const text = JSON.stringify(body ?? null).replace(
        /"id":(\d+)/g,
        (_, own) => `"id":${Number(own) + round * 1_000}`,
      )
      return response.writeHead(status ?? 200, { 'content-type': 'application/json', ...headers }).end(text)
    })
  await using mirror = await openTestMirror({ size: 1 }, { API_PAGE_SIZE: '6', API_PAGE_BASE: '1' }, undefined, before)
  const { pool } = mirror.app.database
  const ends: Record<string, number> = {}
  const byNumbers = worlds
    .map((world) => ({ ...world, base: 1 as const, next: world.nextAs === 'link' ? ('none' as const) : world.next }))
    .filter((world) => !hidesInSilence(world, { style: 'page', pageSize: 6 }))
  await fc.assert(
    fc.asyncProperty(byNumbers, async (world) => {
      round += 1
      await pool.query('delete from mirror.companies')
      await pool.query("delete from sync.records where stream = 'companies'")
      const drawnServer = serverOf(world)
      server = drawnServer.server
      const [run] = await mirror.sync({ streams: ['companies'] })
      const status = run?.status ?? 'missing'
      ends[status] = (ends[status] ?? 0) + 1
      if (status !== 'done') {
        expect(run?.error).not.toBeNull()
        return
      }
      const { rows } = await pool.query<{ id: string }>('select id::text from mirror.companies')
      const mirrored = new Set(rows.map(({ id }) => Number(id) - round * 1_000))
      expect(drawnServer.lasting().filter((id) => !mirrored.has(id))).toEqual([])
    }),
    { numRuns: syncs, endOnFailure: true },
  )
  if (isFull) process.stdout.write(`runs: ${JSON.stringify(ends)}\n`)
  expect(ends.done).toBeGreaterThan(0)
})
