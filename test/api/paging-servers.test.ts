// Servers that page in every way, drawn at random: a list that is read is complete, or it is said that it is not. Pure, so that 400 of
// them take a second.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isFull } from '../helpers/extent.ts'
import { type Client, clients, hidesInSilence, serverOf, sweepOf, type World, worlds } from './drawn-servers.ts'

const numRuns = isFull ? 10_000 : 400

const drawn = worlds
  .chain((world) => fc.tuple(fc.constant(world), clients(world)))
  .filter(([world, client]) => !hidesInSilence(world, client))

/** Its first page is empty, since the API hides its only record, and a link of other parameters leads on. */
const emptyFirst: readonly [World, Client] = [
  {
    ...{ count: 2, counts: 'page', base: 0, most: 1, usual: 1, past: 'empty', depth: null, hides: 2, shrinks: 0 },
    ...{ ignores: { position: false, size: false }, total: 'none', totalAt: 'total', flag: 'none', pages: false },
    ...{ next: 'zero end', nextAs: 'link', nextAt: 'next', part: false },
  },
  { style: 'page', pageSize: 1 },
]

/** Its first page is empty, too, and each answer names as its next page a token, which as a link leads to the same page. */
const tokenAsLink: readonly [World, Client] = [
  {
    ...{
      count: 56,
      counts: 'page',
      base: 1,
      most: 10,
      usual: 5,
      past: 'no content',
      depth: null,
      hides: 3,
      shrinks: 0,
    },
    ...{ ignores: { position: false, size: false }, total: 'none', totalAt: 'header', flag: 'none', pages: false },
    ...{ next: 'zero end', nextAs: 'token', nextAt: '@odata.nextLink', part: false },
  },
  { style: 'link', pageSize: 1 },
]

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
    { numRuns, examples: [[emptyFirst], [tokenAsLink]] },
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
