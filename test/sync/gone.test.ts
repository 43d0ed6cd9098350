// A read below a record is answered 404: what is below stays known until an answer says that the record itself is gone.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Run } from '../../src/sync/runs/runs.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

let rentalId: string
let goingId: string
let goneId: string
const mirror = opened(() => openTestMirror({ size: 12 }))
beforeAll(async () => {
  await mirror.sync({ streams: ['rentals', 'rental_payments'] })
  const rows = await mirror.all<{ id: string }>(
    'select distinct rental_id as id from mirror.rental_payments where _deleted_at is null order by 1 limit 3',
  )
  rentalId = String(rows[0]?.id)
  goingId = String(rows[1]?.id)
  goneId = String(rows[2]?.id)
})
beforeEach(() => mirror.sandbox.clearFaults())

/** Reads the payments of all rentals anew, those of one answered 404. @returns their run. */
async function readAgain(id: string = rentalId): Promise<Run | undefined> {
  mirror.sandbox.fault({
    op: 'GET /v3/rentals/{rentalId}/payments',
    match: { rentalId: id },
    respond: { status: 404, body: '{}' },
  })
  // The rental was not read lately.
  await mirror.all(
    `update sync.records set detail_read_at = detail_read_at - interval '1 day' where stream = 'rentals'`,
  )
  const runs = await mirror.sync({ streams: ['rental_payments'], full: true })
  return runs.find(({ stream }) => stream === 'rental_payments')
}

async function livePayments(id: string = rentalId): Promise<number> {
  const rows = await mirror.all<{ count: number }>(
    'select count(*)::int as count from mirror.rental_payments where rental_id = $1 and _deleted_at is null',
    [id],
  )
  return rows[0]?.count ?? 0
}

describe('payments answered 404', () => {
  it('stay when their rental is there, and the run says so', async () => {
    const run = await readAgain()
    expect(run).toMatchObject({
      status: 'partial',
      error: expect.stringMatching(/answered 404 for 1 record that the API has.* The known rows stay/),
    })
    expect(await livePayments()).toBeGreaterThan(0)
  })

  it('stay when their rental cannot be read, and the run is not done', async () => {
    mirror.sandbox.fault({ op: 'GET /v3/rentals/{rentalId}', match: { rentalId }, respond: 'forbidden' })
    const run = await readAgain()
    expect(run).toMatchObject({
      status: 'partial',
      error: expect.stringContaining('the rentals record above it could not be'),
    })
    expect(await livePayments()).toBeGreaterThan(0)
  })

  it('go with their rental when that is gone, too', async () => {
    expect(await livePayments(goingId)).toBeGreaterThan(0)
    const answer = { status: 404, body: '{}' }
    mirror.sandbox.fault({ op: 'GET /v3/rentals/{rentalId}', match: { rentalId: goingId }, respond: answer })
    expect(await readAgain(goingId)).toMatchObject({ status: 'done' })
    expect(await livePayments(goingId)).toBe(0)
    const rows = await mirror.all('select _deleted_at is not null as gone, _source from mirror.rentals where id = $1', [
      goingId,
    ])
    expect(rows).toEqual([{ gone: true, _source: 'GET /v3/rentals/{rentalId}' }])
  })

  it('go with their rental, too, when its own read was answered 404 a moment ago', async () => {
    const answer = { status: 404, body: '{}' }
    mirror.sandbox.fault({ op: 'GET /v3/rentals/{rentalId}', match: { rentalId: goneId }, respond: answer })
    await mirror.sync({ streams: ['rentals'], full: true })
    mirror.sandbox.fault({
      op: 'GET /v3/rentals/{rentalId}/payments',
      match: { rentalId: goneId },
      respond: answer,
    })
    await mirror.all(`update sync.records set detail_read_at = null where stream = 'rental_payments' and key = $1`, [
      goneId,
    ])
    await mirror.sync({ streams: ['rental_payments'] })
    expect(await livePayments(goneId)).toBe(0)
  })
})
