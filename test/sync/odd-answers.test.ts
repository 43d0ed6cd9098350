// One record's odd answer stops that record and nothing else, and is never taken for an answer about what was asked for.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Run } from '../../src/sync/runs/runs.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

const streams = ['user_identities', 'rental_crew_members', 'rental_payments']
const single = 'GET /v3/rentals/{rentalId}/crewMembers/{crewMemberId}'

const mirror = opened(() => openTestMirror({ size: 30 }, { MIRROR_DOCUMENTS: 'on', READ_ECONOMY: 'off' }))
beforeAll(async () => {
  await mirror.sync({ streams })
})
beforeEach(() => mirror.sandbox.clearFaults())

/** Reads what is due, which is everything below the records. */
async function readAgain(stream: string): Promise<Run | undefined> {
  await mirror.all('update sync.records set detail_read_at = null where stream = $1', [stream])
  return await readDue(stream)
}

async function readDue(stream: string): Promise<Run | undefined> {
  const runs = await mirror.sync({ streams: [stream] })
  return runs.find((run) => run.stream === stream)
}

async function live(stream: string): Promise<readonly string[]> {
  const rows = await mirror.all<{ row: string }>(
    `select (to_jsonb(m) - '{_read_at,_source}'::text[])::text as row from mirror.${stream} m where _deleted_at is null order by 1`,
  )
  return rows.map(({ row }) => row)
}

async function unread(stream: string, since: Date): Promise<readonly string[]> {
  const rows = await mirror.all<{ key: string }>(
    'select key from sync.records where stream = $1 and (detail_read_at < $2) is not false order by key',
    [stream, since],
  )
  return rows.map(({ key }) => key)
}

describe('a cache that answers the read of one element with another one', () => {
  it('takes nothing away, and the run says so', async () => {
    const before = await live('rental_crew_members')
    expect(before.length).toBeGreaterThan(20)
    const record = mirror.sandbox.truth({ only: ['rental_crew_members'] }).rental_crew_members?.[0]?.record
    mirror.sandbox.fault({ op: single, respond: { status: 200, body: JSON.stringify(record) } })
    const run = await readAgain('rental_crew_members')
    expect(run).toMatchObject({
      status: 'partial',
      deleted: '0',
      error: expect.stringContaining('returned something other than requested'),
    })
    expect(await live('rental_crew_members')).toEqual(before)
    mirror.sandbox.clearFaults()
    const again = await readDue('rental_crew_members')
    expect(again).toMatchObject({ status: 'done' })
    expect(Number(again?.read)).toBeGreaterThan(20)
  })
})

describe('a list below a record whose elements name another record', () => {
  it.each([['rentalId'], ['rental']])('by %s is not taken for that record’s', async (member) => {
    const before = await live('rental_payments')
    const rows = await mirror.all<{ id: string }>(
      'select distinct rental_id as id from mirror.rental_payments where _deleted_at is null order by 1 limit 2',
    )
    const [rentalId = '', other = ''] = rows.map(({ id }) => String(id))
    const foreign = { id: 1, price: 1, [member]: member === 'rental' ? { id: Number(other) } : Number(other) }
    const respond = { status: 200, body: JSON.stringify([foreign]) }
    mirror.sandbox.fault({ op: 'GET /v3/rentals/{rentalId}/payments', match: { rentalId }, respond })
    const run = await readAgain('rental_payments')
    expect(run).toMatchObject({ status: 'partial', error: expect.stringContaining(other) })
    expect(await live('rental_payments')).toEqual(before)
  })
})

describe('a list below a record that is answered with an error, or with nothing', () => {
  it.each([['{"success":false,"data":[]}'], ['{"error":{"code":500}}'], ['']])(
    'as %s is a failure, not an empty list',
    async (body) => {
      const before = await live('rental_payments')
      const rows = await mirror.all<{ id: string }>(
        'select rental_id as id from mirror.rental_payments where _deleted_at is null order by 1 limit 1',
      )
      const rentalId = String(rows[0]?.id)
      const op = 'GET /v3/rentals/{rentalId}/payments'
      mirror.sandbox.fault({ op, match: { rentalId }, respond: { status: 200, body } })
      const run = await readAgain('rental_payments')
      expect(run).toMatchObject({ status: 'partial', error: expect.stringContaining(op) })
      expect(await live('rental_payments')).toEqual(before)
    },
  )

  it.each([['{"success":true,"error":null,"data":[]}'], ['[]']])('as %s it is an empty list', async (body) => {
    const rows = await mirror.all<{ id: string; count: number }>(
      `select rental_id as id, count(*)::int as count from mirror.rental_payments where _deleted_at is null
         group by 1 order by 2, 1 limit 1`,
    )
    const rentalId = String(rows[0]?.id)
    const op = 'GET /v3/rentals/{rentalId}/payments'
    mirror.sandbox.fault({ op, match: { rentalId }, respond: { status: 200, body } })
    expect(await readAgain('rental_payments')).toMatchObject({ status: 'done', deleted: String(rows[0]?.count) })
    mirror.sandbox.clearFaults()
    await readAgain('rental_payments')
  })
})

describe('one user’s document that is answered', () => {
  it.each([
    ['304, which nobody asked for', { status: 304, body: '' }],
    ['301', { status: 301, body: '', headers: { location: 'https://elsewhere.example/' } }],
    ['{"success":false}', { status: 200, body: '{"success":false}' }],
  ])('%s leaves all others to be read, and is read again later', async (_, respond) => {
    const before = await live('user_identities')
    const rows = await mirror.all<{ id: string }>(
      'select user_id as id from mirror.user_identities where _deleted_at is null order by 1 limit 1',
    )
    const userId = String(rows[0]?.id)
    mirror.sandbox.fault({ op: 'GET /v3/users/{userId}/identity', match: { userId }, respond })
    const since = mirror.app.syncContext.clock.now()
    const run = await readAgain('user_identities')
    expect(run).toMatchObject({ status: 'partial', error: expect.stringContaining(`user_identities ${userId}`) })
    expect(await unread('user_identities', since)).toEqual([userId])
    expect(await live('user_identities')).toEqual(before)
  })

  it('301, as all others, fails the run', async () => {
    const respond = { status: 301, body: '', headers: { location: 'https://elsewhere.example/' } }
    mirror.sandbox.fault({ op: 'GET /v3/users/{userId}/identity', respond })
    expect(await readAgain('user_identities')).toMatchObject({ status: 'failed' })
  })
})

describe('one record of a list whose own read is redirected', () => {
  it('leaves the others to be read', async () => {
    const rows = await mirror.all<{ id: string }>(
      'select id from mirror.rentals where _deleted_at is null order by id limit 1',
    )
    const rentalId = String(rows[0]?.id)
    const respond = { status: 301, body: '', headers: { location: 'https://elsewhere.example/' } }
    mirror.sandbox.fault({ op: 'GET /v3/rentals/{rentalId}', match: { rentalId }, respond })
    const since = mirror.app.syncContext.clock.now()
    expect(await readAgain('rentals')).toMatchObject({ status: 'partial' })
    expect(await unread('rentals', since)).toEqual([rentalId])
  })
})
