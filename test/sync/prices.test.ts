// Prices of the whole horizon are asked for at once where the API answers them whole, and are never fewer for it.

import { expect, it } from 'vitest'
import { addDays } from '../../src/clock.ts'
import { listDetected } from '../../src/profile/profile.ts'
import { json, startServer } from '../api/http-server.ts'
import { openTestMirror } from '../helpers/mirror.ts'

it('are read at once as long as that brings what months bring', async () => {
  let longest = 366
  let none = true
  let asked = 0
  /** Hands everything on to the sandbox; of a longer price table it answers the beginning. */
  const cutsPrices = (sandboxUrl: string) =>
    startServer(async (response, { url }) => {
      const target = new URL(url, sandboxUrl)
      const from = target.searchParams.get('from')
      if (from !== null) {
        asked++
        const most = addDays(from, longest - 1)
        if ((target.searchParams.get('to') ?? '') > most) target.searchParams.set('to', most)
      }
      if (from !== null && none) return json(response, [])
      const handed = await fetch(target)
      return json(response, JSON.parse(await handed.text()), handed.status)
    })
  await using mirror = await openTestMirror({ size: 4 }, { PRICE_DAYS: '90' }, undefined, cutsPrices)
  const { pool } = mirror.app.database
  const read = async (): Promise<{ requests: number; known: unknown; contradicted: boolean }> => {
    asked = 0
    await mirror.sync({ streams: ['resource_pricetable'], full: true })
    if (!none) expect((await mirror.differences()).filter((line) => line.includes('resource_pricetable'))).toEqual([])
    const pin = (await listDetected(pool)).find(({ key }) => key === 'prices_at_once')
    return {
      requests: asked,
      known: pin?.value,
      contradicted: (pin?.contradictedAt?.getTime() ?? 0) > (pin?.probedAt.getTime() ?? 0),
    }
  }
  const boats = mirror.sandbox.truth({ only: ['resources'] }).resources?.length ?? 0

  // Without prices nothing can be learned: after three boats the others are read by months, and nothing is remembered.
  expect(await read()).toEqual({ requests: 3 * boats + 3, known: undefined, contradicted: false })
  none = false
  const first = await read()
  expect(first).toMatchObject({ known: { days: 90, whole: true }, contradicted: false })
  // Nobody reads by months while it is being found out.
  expect(first.requests).toBeLessThan(3 * boats)
  // Some are compared, at random.
  expect((await read()).requests).toBeLessThan(3 * boats)
  longest = 31
  expect(await read()).toMatchObject({ contradicted: true })
  expect(await read()).toEqual({ requests: 3 * boats + 1, known: { days: 90, whole: false }, contradicted: false })
})
