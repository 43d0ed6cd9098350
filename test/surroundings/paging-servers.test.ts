// Servers that page in every way, drawn at random: a list that is read is complete, or it is said that it is not.

import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { clients, hidesInSilence, serverOf, sweepOf, worlds } from '../api/drawn-servers.ts'
import { json, startServer } from '../api/http-server.ts'
import type { Server } from '../api/page-servers.ts'
import { isFull } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'

const numRuns = isFull ? 10_000 : 400

vi.setConfig({ testTimeout: 600_000 })

const drawn = worlds
  .chain((world) => fc.tuple(fc.constant(world), clients(world)))
  .filter(([world, client]) => !hidesInSilence(world, client))

it(`${numRuns} lists end, and none is done with records missing`, async () => {
  const ends = { done: 0, partial: 0, failed: 0 }
  await fc.assert(
    fc.asyncProperty(drawn, async ([world, client]) => {
      const { server, lasting } = serverOf(world)
      const { status, seen } = await sweepOf(server, client, world.base as 0 | 1)
      ends[status] += 1
      if (status !== 'done') return
      expect(lasting().filter((id) => !seen.has(id))).toEqual([])
    }),
    { numRuns },
  )
  if (isFull) process.stdout.write(`lists: ${JSON.stringify(ends)}\n`)
  expect(ends.done).toBeGreaterThan(numRuns / 10)
})

it('an honest server is read completely, for two requests more than it has pages at most', async () => {
  const honest = drawn.filter(([world, client]) => {
    const { counts, next, past, total, depth, hides, shrinks, ignores } = world
    const isPlain = depth === null && hides === null && shrinks === 0 && !ignores.position && !ignores.size
    const isTrue = (total === 'none' || total === 'right') && next !== 'always' && past !== 'circle'
    const isOwn =
      next === 'none' ? client.style === counts && counts !== 'cursor' : ['link', counts].includes(client.style)
    const isLed = client.style === 'link' ? world.nextAs === 'link' : client.style !== 'cursor' || next !== 'none'
    // One record, or pages of one, cannot be asked for in fewer: see what nothing proves.
    return isPlain && isTrue && isOwn && isLed && Math.min(world.most, client.pageSize) > 1 && world.count !== 1
  })
  await fc.assert(
    fc.asyncProperty(honest, async ([world, client]) => {
      const { server, lasting } = serverOf(world)
      const { status, reason, seen, requests } = await sweepOf(server, client, world.base as 0 | 1)
      expect({ status, reason }).toEqual({ status: 'done', reason: '' })
      expect([...seen]).toEqual(lasting())
      const pages = Math.max(1, Math.ceil(world.count / Math.min(world.most, client.pageSize)))
      expect(requests).toBeLessThanOrEqual(pages + 2)
    }),
    { numRuns: numRuns / 4 },
  )
})

const syncs = 300

it.runIf(isFull)(`${syncs} of them synced: no run is done with records missing in the mirror`, async () => {
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
