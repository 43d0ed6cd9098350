// A pusher that is stopped: what has not left goes back, what has left is finished.

import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type Limiter, unlimited } from '../../src/api/admission/rate-limit.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { Planner } from './plans.ts'
import { contextFor, createRig, type Rig } from './rig.ts'

let testDatabase: TestDatabase
let rig: Rig
let planner: Planner
beforeAll(async () => {
  testDatabase = await createTestDatabase()
  rig = await createRig({ databaseUrl: testDatabase.url })
  planner = new Planner(rig.sandbox)
})
afterAll(async () => {
  await rig[Symbol.asyncDispose]()
  await testDatabase[Symbol.asyncDispose]()
})

/** Works on what is queued; stopped once `isTime`, it comes to its end. */
async function stopWhen(isTime: () => boolean, limiter = unlimited): Promise<void> {
  const { context, close } = contextFor(rig, { limiter, concurrency: 1, settings: { leaseMs: 60_000 } })
  const pusher = createPusher(context)
  const stopping = new AbortController()
  try {
    const working = pusher.runOnce(stopping.signal)
    await vi.waitUntil(isTime, { timeout: 10_000, interval: 10 })
    stopping.abort()
    await working
  } finally {
    await pusher.close()
    await close()
  }
}

const writesTo = (path: string): readonly string[] =>
  rig.writes().flatMap((request) => (request.path === path ? [request.method] : []))

it('a change that is being prepared is queued as if nobody had taken it up, long before its claim runs out', async () => {
  const rentalId = planner.rental()
  const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://crm.example.com/1' })
  let waiting = false
  const untilStopped: Limiter['acquire'] = (_priority, signal) => {
    waiting = true
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  await stopWhen(() => waiting, { acquire: untilStopped })
  expect(await rig.change(id)).toMatchObject({ status: 'queued', attempts: 0 })
  expect(writesTo(`/v3/rentals/${rentalId}`)).toEqual([])
  await rig.push()
  expect(await rig.change(id)).toMatchObject({ status: 'done', attempts: 1 })
  expect(writesTo(`/v3/rentals/${rentalId}`)).toEqual(['PUT'])
})

it('a change whose request is under way is not cut off, and its answer counts', async () => {
  const rentalId = planner.rental()
  const path = `/v3/rentals/${rentalId}`
  rig.sandbox.fault({ op: 'PUT /v3/rentals/{rentalId}', times: 1, respond: { delayMs: 500 } })
  const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://crm.example.com/2' })
  await stopWhen(() => writesTo(path).length > 0)
  expect(await rig.change(id)).toMatchObject({ status: 'done', attempts: 1 })
  expect(writesTo(path)).toEqual(['PUT'])
})
