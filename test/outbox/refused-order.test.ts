// An API that refuses to order its list of rentals: a booking whose answer was lost is still found, and never made twice.

import { expect, it } from 'vitest'
import { createPusher } from '../../src/outbox/pusher.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { openStrictFront } from '../helpers/strict-front.ts'
import { freeSlots } from './plans.ts'
import { contextFor, createRig } from './rig.ts'

it('finds the new rental on the last of many pages, where nobody can ask for the newest first', async () => {
  await using database = await createTestDatabase()
  await using rig = await createRig({ databaseUrl: database.url, sandbox: { size: 160 } })
  await using front = await openStrictFront(rig.sandbox.url)
  const { context, close } = contextFor({ database: rig.database, sandbox: front }, { env: { API_PAGE_SIZE: '2' } })
  const pusher = createPusher(context)
  try {
    const [slot] = freeSlots(rig.sandbox)
    rig.sandbox.fault({ op: 'POST /v3/rentals', times: 1, respond: 'errorAfterEffect' })
    const id = await rig.queue('rental.create', {}, { ...slot, referenceId: 'last-of-all' })
    await pusher.drain(AbortSignal.timeout(25_000), { until: 'settled' })
    expect(await rig.change(id)).toMatchObject({ status: 'done' })
    expect(rig.writes()).toHaveLength(1)
    expect(new Set(front.refused)).toEqual(new Set(['/v3/rentals order']))
    expect(front.refused).toHaveLength(1)
  } finally {
    await pusher.close()
    await close()
  }
})
