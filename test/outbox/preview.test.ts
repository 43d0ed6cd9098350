// `push --dry-run`: what would be sent and why something would not, while nothing is claimed, sent or settled.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Preview, previewChanges } from '../../src/outbox/preview.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { Planner } from './plans.ts'
import { createRig, type Rig } from './rig.ts'

let testDatabase: TestDatabase
let rig: Rig
let planner: Planner
let rentalId: number

beforeAll(async () => {
  testDatabase = await createTestDatabase()
  rig = await createRig({ databaseUrl: testDatabase.url })
  planner = new Planner(rig.sandbox)
})
afterAll(async () => {
  await rig[Symbol.asyncDispose]()
  await testDatabase[Symbol.asyncDispose]()
})
beforeEach(async () => {
  rentalId = planner.rental()
  upstream({ orderLink: 'https://example.com/start' })
  await rig.mirror('rentals', { id: rentalId })
  rig.sandbox.resetRequests()
})
afterEach(() => rig.database.pool.query('truncate outbox.queue, outbox.dependencies'))

/** Another client changes the rental at the API. */
const upstream = (set: Record<string, unknown>): unknown =>
  rig.sandbox.mutate([{ record: 'rentals', op: 'update', id: rentalId, set }])

const path = '/v3/rentals/{rentalId}'

/** Previews the only change; it must be left as it was. */
async function previewOf(id: string): Promise<Preview> {
  const before = await rig.change(id)
  const [preview, ...others] = await previewChanges(rig.context, 10, AbortSignal.timeout(100_000))
  expect(others).toEqual([])
  expect([rig.writes(), await rig.change(id)]).toEqual([[], before])
  return preview as Preview
}

describe('a preview', () => {
  it('of an update shows the fields that would change, before and after, and all that would be sent', async () => {
    const orderLink = 'https://example.com/ours'
    const id = await rig.queue('rental.update', { rentalId }, { orderLink })
    const preview = await previewOf(id)
    expect(preview).toMatchObject({ method: 'PUT', path: `/v3/rentals/${rentalId}`, note: null, readable: true })
    expect(preview.fields).toEqual([{ field: 'orderLink', from: 'https://example.com/start', to: orderLink }])
    expect(preview.body).toMatchObject({ orderLink })
    expect(Object.keys(preview.body ?? {}).length).toBeGreaterThan(1)
  })

  it('of a conflict names the fields that somebody else changed as well', async () => {
    const ours = { orderLink: 'https://example.com/ours', contractLink: 'https://example.com/contract' }
    const id = await rig.queue('rental.update', { rentalId }, ours)
    upstream({ orderLink: 'https://example.com/theirs' })
    const note = 'Conflict: orderLink changed in the API and in this change.'
    expect(await previewOf(id)).toEqual({
      ...{ id, operation: 'rental.update', method: 'PUT', path },
      ...{ body: null, fields: [], note, readable: true },
    })
  })

  it('of what is there already shows no field, and what is sent to make sure of it', async () => {
    const orderLink = 'https://example.com/ours'
    const id = await rig.queue('rental.update', { rentalId }, { orderLink })
    upstream({ orderLink })
    expect(await previewOf(id)).toMatchObject({ body: { orderLink }, fields: [], note: null, readable: true })
  })

  it('of a form that was saved without a change says that there is nothing to send, and what is kept', async () => {
    const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/start' })
    upstream({ orderLink: 'https://example.com/theirs' })
    const note = 'Nothing to send. Kept the value that was changed in the API, not sent: orderLink.'
    expect(await previewOf(id)).toMatchObject({ body: null, fields: [], note, readable: true })
  })

  it('of what yields to somebody else says what is kept', async () => {
    const body = { orderLink: 'https://example.com/ours' }
    const id = await rig.queue('rental.update', { rentalId }, body, { on_conflict: 'remote_wins' })
    upstream({ orderLink: 'https://example.com/theirs' })
    const note = 'Nothing to send. Kept the value that was changed in the API, not sent: orderLink.'
    expect(await previewOf(id)).toMatchObject({ body: null, fields: [], note, readable: true })
  })

  it('of a record that is gone says so', async () => {
    const id = await rig.queue('rental.update', { rentalId }, { orderLink: 'https://example.com/ours' })
    rig.sandbox.mutate([{ record: 'rentals', op: 'delete', id: rentalId }])
    expect(await previewOf(id)).toMatchObject({ body: null, fields: [], note: expect.stringContaining('gone') })
  })

  it('of a removal has no body', async () => {
    const id = await rig.queue('rental.delete', { rentalId })
    const removal = { method: 'DELETE', path: `/v3/rentals/${rentalId}`, body: null, fields: [], note: null }
    expect(await previewOf(id)).toMatchObject(removal)
  })
})
