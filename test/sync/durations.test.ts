// Slots and availability are asked for by a resource's first durations. A run that looked them up before they changed, and
// ends after another has read the new ones, takes nothing of those away.

import { expect, it, vi } from 'vitest'
import { json, startServer } from '../api/http-server.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'

const stream = 'resource_availability'
const path = /\/availability$|\/v3\/resources\/availabilities$/

// Not with `npm test`: a whole world for one order of two runs.
it.skipIf(isQuick)('availability of new durations stays when a hot run with the former ones ends last', async () => {
  let isHeld = false
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let held = 0
  const holding = (sandboxUrl: string) =>
    startServer(async (response, { url }) => {
      const target = new URL(url, sandboxUrl)
      if (isHeld && path.test(target.pathname)) {
        held += 1
        isHeld = false // the other run passes
        await released
      }
      const handed = await fetch(target)
      return json(response, JSON.parse((await handed.text()) || 'null'), handed.status)
    })
  const env = { SLOT_DAYS: '2', SLOT_DURATIONS: '1', PRICE_DAYS: '0' }
  await using mirror = await openTestMirror({ size: 4 }, env, undefined, holding)
  await mirror.sync()
  const differences = async (): Promise<readonly string[]> =>
    (await mirror.differences()).filter((each) => each.startsWith(`${stream} `))
  expect(await differences()).toEqual([])
  for (const { key, record } of mirror.sandbox.truth({ only: ['resources'] }).resources ?? [])
    mirror.sandbox.mutate([
      {
        record: 'resources',
        op: 'update',
        id: String(key.id),
        set: { durations: [...(record.durations as unknown[])].reverse() },
      },
    ])
  expect((await differences()).length, 'the first duration is another one').toBeGreaterThan(0)
  await mirror.all('update mirror.rentals set _changed_at = clock_timestamp(), _read_at = clock_timestamp()')
  isHeld = true
  const hot = mirror.sync({ streams: [stream], hot: true })
  await vi.waitFor(() => expect(held).toBe(1), 60_000)
  await mirror.sync({ streams: [stream] })
  expect(await differences()).toEqual([])
  release()
  await hot
  expect(await differences()).toEqual([])
})
