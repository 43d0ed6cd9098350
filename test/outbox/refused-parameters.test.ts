// An API that refuses to order or to filter its lists: what was made and whose answer was lost is still found, and never
// made twice.

import { expect, it } from 'vitest'
import { createPusher } from '../../src/outbox/pusher.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { openStrictFront } from '../helpers/strict-front.ts'
import { freeSlots, newPerson } from './plans.ts'
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
    await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
    expect(await rig.change(id)).toMatchObject({ status: 'done' })
    expect(rig.writes()).toHaveLength(1)
    expect(new Set(front.refused)).toEqual(new Set(['/v3/rentals order']))
    expect(front.refused).toHaveLength(1)
  } finally {
    await pusher.close()
    await close()
  }
})

it('looks for a new user on the list where filters are refused, and sends it again only if a person says so', async () => {
  await using database = await createTestDatabase()
  await using rig = await createRig({ databaseUrl: database.url, sandbox: { size: 40 } })
  await using front = await openStrictFront(rig.sandbox.url)
  const { context, close } = contextFor({ database: rig.database, sandbox: front })
  const pusher = createPusher(context)
  const pushed = async (lastName: string, lost?: 'errorAfterEffect' | 'reset') => {
    if (lost !== undefined) rig.sandbox.fault({ op: 'POST /v3/users', times: 1, respond: lost })
    const id = await rig.queue('user.create', {}, newPerson(lastName))
    await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
    const sent = rig.writes().filter(({ body }) => JSON.stringify(body).includes(lastName))
    return { status: (await rig.change(id)).status, requests: sent.length }
  }
  try {
    expect(await pushed('plain')).toEqual({ status: 'done', requests: 1 })
    expect(new Set(front.refused)).toEqual(new Set(['/v3/users email', '/v3/users name']))
    front.refused.length = 0
    expect(await pushed('made', 'errorAfterEffect')).toEqual({ status: 'done', requests: 1 })
    expect(await pushed('lost', 'reset')).toEqual({ status: 'unknown', requests: 1 })
    expect(front.refused).toEqual([])
  } finally {
    await pusher.close()
    await close()
  }
})
