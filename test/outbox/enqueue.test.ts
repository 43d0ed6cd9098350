// outbox.enqueue as a partner calls it: what it refuses, how it orders, what it remembers.

import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { writes } from '../../src/catalog/writes.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { enqueue, resultOf } from '../../src/outbox/enqueue.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(() => database.pool.query('truncate outbox.queue, outbox.dependencies restart identity'))

type Runner = Pick<pg.ClientBase, 'query'> | pg.Pool

async function queue(
  operation: unknown,
  target: unknown,
  body: unknown = {},
  options: unknown = {},
  runner: Runner = database.pool,
): Promise<number> {
  const { rows } = await runner.query('select outbox.enqueue($1, $2, $3, $4)::int as id', [
    operation,
    JSON.stringify(target),
    JSON.stringify(body),
    JSON.stringify(options),
  ])
  return rows[0].id
}

const row = async (id: number) => (await database.pool.query('select * from outbox.queue where id = $1', [id])).rows[0]

/** Runs `work` as a role that may only enqueue. */
async function asRole<T>(role: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(database.url)
  await client.connect()
  try {
    await client.query(
      `do $$ begin create role ${role} in role boat_mirror_enqueue; exception when duplicate_object then null; end $$`,
    )
    await client.query(`set role ${role}`)
    return await work(client)
  } finally {
    await client.end()
  }
}

const user = { firstName: 'Ann', lastName: 'Lee', email: 'ann@example.com' }
const rental = { resourceId: '7-1', slotId: '7-1|2026-07-14|DAYS,1' }
const hostile = `'; drop table outbox.queue; --\\ "$$ \u2028 {"change": 1} ${'x'.repeat(50)}`

describe('a change that fits', () => {
  it('can be queued for each of the 22 operations', async () => {
    const { rows } = await database.pool.query('select operation from outbox.operations order by operation')
    expect(rows.map((each) => each.operation)).toEqual(writes.map((write) => write.operation).sort())
  })

  it('keeps text as it is, whatever it holds', async () => {
    const id = await queue('rental.update', { rentalId: 42 }, { orderLink: hostile }, { reference: hostile })
    expect(await row(id)).toMatchObject({ body: { orderLink: hostile }, reference: hostile, status: 'queued' })
  })

  it('keeps every digit of a price', async () => {
    const digits = '12345678901234567890.123456789'
    await database.pool.query(
      `select outbox.enqueue('rental.update', '{"rentalId": 42}', '{"rentalPrice": ${digits}}')`,
    )
    const stored = await database.pool.query(`select body->>'rentalPrice' as price from outbox.queue`)
    expect(stored.rows).toEqual([{ price: digits }])
  })

  it('is not there when its transaction is rolled back', async () => {
    const client = await database.pool.connect()
    await client.query('begin')
    const id = await queue('user.delete', { userId: 7 }, {}, {}, client)
    await client.query('rollback')
    client.release()
    expect(await row(id)).toBeUndefined()
  })

  it('wakes whoever listens, once per transaction and without content', async () => {
    const listener = new pg.Client(database.url)
    await listener.connect()
    const heard: (string | undefined)[] = []
    await listener.query('listen boat_mirror_outbox')
    listener.on('notification', (message) => heard.push(message.payload))
    await database.pool.query(
      `select outbox.enqueue('user.delete', '{"userId": 7}'), outbox.enqueue('user.delete', '{"userId": 8}')`,
    )
    await listener.query('select 1')
    await listener.end()
    expect(heard).toEqual([''])
  })
})

describe('a change that does not fit is refused', () => {
  const cases: readonly { name: string; call: readonly unknown[]; says: string }[] = [
    {
      name: 'an unknown operation',
      call: ['rental.confirm', {}],
      says: 'rental.confirm is unknown; allowed: rental.create',
    },
    { name: 'no operation', call: [null, {}], says: 'NULL is unknown' },
    { name: 'a hostile operation', call: [hostile, {}], says: 'is unknown; allowed' },
    {
      name: 'a missing target',
      call: ['rental.update', {}, { status: 'VALIDATED' }],
      says: 'target.rentalId is missing; it takes a whole number',
    },
    {
      name: 'a target of another operation',
      call: ['rental.delete', { rentalId: 1, userId: 2 }],
      says: "target.userId can't be written; allowed: rentalId",
    },
    {
      name: 'a target as text',
      call: ['rental.delete', { rentalId: '42' }],
      says: 'target.rentalId is "42"; it takes a whole number',
    },
    {
      name: 'a target that is null',
      call: ['rental.delete', { rentalId: null }],
      says: "target.rentalId can't be null",
    },
    {
      name: 'a target that is no object',
      call: ['rental.delete', 42],
      says: 'target is 42; it takes an object of rentalId',
    },
    {
      name: 'a body that is no object',
      call: ['rental.update', { rentalId: 1 }, []],
      says: 'body is []; it takes an object of status',
    },
    { name: 'an empty update', call: ['rental.update', { rentalId: 1 }, {}], says: 'body is empty; allowed: status' },
    {
      name: 'a field that is read only',
      call: ['rental.update', { rentalId: 1 }, { totalPaid: 1 }],
      says: "body.totalPaid can't be written; allowed: status, rentalPrice",
    },
    { name: 'a hostile field', call: ['rental.update', { rentalId: 1 }, { [hostile]: 1 }], says: "can't be written" },
    {
      name: 'a status that can’t be written',
      call: ['rental.update', { rentalId: 1 }, { status: 'PENDING' }],
      says: 'body.status is "PENDING"; it takes one of VALIDATED, CANCELED_BY_CLIENT',
    },
    {
      name: 'a status that is to be cleared',
      call: ['rental.update', { rentalId: 1 }, { status: null }],
      says: "body.status can't be null",
    },
    {
      name: 'a price as text',
      call: ['rental.update', { rentalId: 1 }, { rentalPrice: '10' }],
      says: 'body.rentalPrice is "10"; it takes a number',
    },
    {
      name: 'a quantity with a fraction',
      call: ['rental_option.add', { rentalId: 1 }, { optionId: 1, quantity: 1.5 }],
      says: 'body.quantity is 1.5; it takes a whole number',
    },
    {
      name: 'a missing field',
      call: ['rental_option.add', { rentalId: 1 }, { optionId: 1 }],
      says: 'body.quantity is missing; it takes a whole number',
    },
    {
      name: 'a day that does not exist',
      call: ['user.create', {}, { ...user, birthDate: '2001-02-29' }],
      says: 'body.birthDate is "2001-02-29"; it takes a date',
    },
    {
      name: 'an e-mail without @',
      call: ['user.create', {}, { ...user, email: 'ann' }],
      says: 'body.email is "ann"; it takes an e-mail address',
    },
    {
      name: 'a country by name',
      call: ['user.create', {}, { ...user, addressCountry: { name: 'France' } }],
      says: "body.addressCountry.name can't be written; allowed: code",
    },
    {
      name: 'a country without code',
      call: ['user.create', {}, { ...user, addressCountry: {} }],
      says: 'body.addressCountry.code is missing',
    },
    {
      name: 'a country as text',
      call: ['user.create', {}, { ...user, addressCountry: 'FR' }],
      says: 'it takes an object of code',
    },
    {
      name: 'a license type by text',
      call: ['user_license.add', { userId: 1 }, { type: { id: 'x' } }],
      says: 'body.type.id is "x"; it takes a whole number',
    },
    {
      name: 'an unknown option',
      call: ['user.delete', { userId: 1 }, {}, { priority: 1 }],
      says: 'options.priority is unknown; allowed: reference, expires_at, on_conflict, base',
    },
    {
      name: 'an empty reference',
      call: ['user.delete', { userId: 1 }, {}, { reference: '' }],
      says: 'options.reference is ""',
    },
    {
      name: 'a policy that does not exist',
      call: ['user.delete', { userId: 1 }, {}, { on_conflict: 'both' }],
      says: 'options.on_conflict is "both"; it takes one of fail, local_wins, remote_wins',
    },
    {
      name: 'an expiry that is no date',
      call: ['user.delete', { userId: 1 }, {}, { expires_at: 'tomorrow' }],
      says: 'options.expires_at is "tomorrow"; it takes a date-time',
    },
    {
      name: 'a base for a delete',
      call: ['user.delete', { userId: 1 }, {}, { base: {} }],
      says: 'options.base takes an object of the fields the editor saw, for updates only',
    },
    {
      name: 'a base with an unknown field',
      call: ['rental.update', { rentalId: 1 }, { status: 'VALIDATED' }, { base: { x: 1 } }],
      says: "options.base.x can't be written",
    },
    {
      name: 'a reference to nothing',
      call: ['rental.delete', { rentalId: { change: 999 } }],
      says: 'target.rentalId refers to change 999, and there is no such change',
    },
    {
      name: 'a reference of a wrong form',
      call: ['rental.delete', { rentalId: { change: '1' } }],
      says: 'a reference is written {"change": 17}',
    },
    {
      name: 'a reference where none may stand',
      call: ['rental.create', {}, { ...rental, resourceId: { change: 1 } }],
      says: "body.resourceId can't be the result of another change",
    },
  ]
  for (const { name, call, says } of cases)
    it(name, async () => {
      const [operation, target, body, options] = call
      await expect(queue(operation, target, body, options)).rejects.toMatchObject({
        code: '22023',
        message: expect.stringContaining(says),
      })
    })

  it('a reference to a change of another kind, or of another record', async () => {
    const person = await queue('user.create', {}, user)
    await expect(queue('rental.delete', { rentalId: { change: person } })).rejects.toThrow(
      `target.rentalId refers to change ${person}, a user.create; allowed is the result of rental.create`,
    )
    const option = await queue('rental_option.add', { rentalId: 41 }, { optionId: 1, quantity: 1 })
    await expect(queue('rental_option.remove', { rentalId: 42, optionId: { change: option } })).rejects.toThrow(
      `refers to change ${option}, which belongs to rental:41, not to rental:42`,
    )
  })
})

describe('a reference of the partner’s own', () => {
  it('makes the same content the same change, also for two at once', async () => {
    const ids = await Promise.all(
      Array.from({ length: 8 }, () => queue('user.create', {}, user, { reference: 'crm-1' })),
    )
    expect(new Set(ids).size).toBe(1)
    const { rows } = await database.pool.query('select count(*)::int as count from outbox.queue')
    expect(rows[0].count).toBe(1)
  })

  it('refuses other content', async () => {
    const id = await queue('user.create', {}, user, { reference: 'crm-2' })
    await expect(queue('user.create', {}, { ...user, lastName: 'Ray' }, { reference: 'crm-2' })).rejects.toThrow(
      `options.reference "crm-2" is taken by change ${id} with other content`,
    )
  })

  it('is another one for another role', async () => {
    const first = await asRole('bm_partner_a', (client) => queue('user.create', {}, user, { reference: 'x' }, client))
    const second = await asRole('bm_partner_b', (client) => queue('user.create', {}, user, { reference: 'x' }, client))
    expect(second).not.toBe(first)
  })
})

describe('a role that may only enqueue', () => {
  it('sees its own changes and nothing else', async () => {
    const foreign = await queue('user.create', {}, user)
    await asRole('bm_partner_a', async (client) => {
      const own = await queue('user.create', {}, user, {}, client)
      const { rows } = await client.query('select id::int, enqueued_by from outbox.changes')
      expect(rows).toEqual([{ id: own, enqueued_by: 'bm_partner_a' }])
      await expect(queue('user.delete', { userId: { change: foreign } }, {}, {}, client)).rejects.toThrow(
        'there is no such change of bm_partner_a',
      )
    })
  })

  it.each([
    'select * from outbox.queue',
    'select * from outbox.operations',
    'select * from outbox.installation',
    `insert into outbox.queue (operation, target, aggregate, enqueued_by) values ('x', '{}', 'x', 'x')`,
    `update outbox.changes set status = 'done'`,
    'select outbox.expire_due()',
    'select outbox.erase_person(1)',
    'select * from mirror.users',
    'select * from sync.runs',
  ])('may not: %s', async (statement) => {
    await asRole('bm_partner_a', (client) =>
      expect(client.query(statement)).rejects.toMatchObject({ code: expect.stringMatching(/^(42501|55000)$/) }),
    )
  })

  it('can’t be tricked by objects of its own in the search path', async () => {
    await database.pool.query('create schema if not exists trap; grant all on schema trap to public')
    await asRole('bm_partner_a', async (client) => {
      await client.query(
        `create or replace function trap.jsonb_typeof(jsonb) returns text language sql as $$ select 'object' $$`,
      )
      await client.query('set search_path = trap, public, pg_catalog')
      await expect(queue('user.delete', [], {}, {}, client)).rejects.toThrow('target is []')
    })
  })
})

describe('order', () => {
  it('is one per rental and one per user; what is to be created has its own until then', async () => {
    const person = await queue('user.create', {}, user)
    const booking = await queue('rental.create', {}, rental)
    const assignment = await queue(
      'rental_user.assign',
      { rentalId: { change: booking } },
      { userId: { change: person } },
    )
    const edit = await queue('rental.update', { rentalId: 42 }, { status: 'VALIDATED' })
    const aggregates = await Promise.all(
      [person, booking, assignment, edit].map(async (id) => (await row(id)).aggregate),
    )
    expect(aggregates).toEqual([`change:${person}`, `change:${booking}`, `change:${booking}`, 'rental:42'])
  })

  it('lets a creation wait for the user who is to be assigned', async () => {
    const person = await queue('user.create', {}, user)
    const booking = await queue('rental.create', {}, rental)
    await queue('rental_user.assign', { rentalId: { change: booking } }, { userId: { change: person } })
    const { rows } = await database.pool.query('select depends_on::int from outbox.dependencies where change_id = $1', [
      booking,
    ])
    expect(rows).toEqual([{ depends_on: person }])
  })

  it('commits ids of one aggregate in order, whoever commits first', async () => {
    const [one, two] = await Promise.all([database.pool.connect(), database.pool.connect()])
    await one.query('begin')
    const first = await queue('rental.update', { rentalId: 42 }, { orderLink: 'a' }, {}, one)
    const waiting = queue('rental.update', { rentalId: 42 }, { orderLink: 'b' }, {}, two)
    const elsewhere = await queue('rental.update', { rentalId: 43 }, { orderLink: 'c' })
    await one.query('commit')
    expect(first).toBeLessThan(await waiting)
    expect(elsewhere).toBeLessThan(await waiting)
    one.release()
    two.release()
  })

  it('blocks at once what refers to a change that did not succeed', async () => {
    const booking = await queue('rental.create', {}, rental)
    await database.pool.query(`update outbox.queue set status = 'failed' where id = $1`, [booking])
    const step = await queue('rental.update', { rentalId: { change: booking } }, { status: 'VALIDATED' })
    expect(await row(step)).toMatchObject({
      status: 'blocked',
      error: `Waits for change ${booking} (rental.create), which is failed.`,
    })
  })
})

describe('the base of an update', () => {
  it('is what the mirror shows, overlaid by what the editor saw', async () => {
    await database.pool.query(
      `insert into mirror.rentals (id, _payload, _source, _read_at)
       values (42, '{"id": 42, "status": "PENDING", "rentalPrice": 100.10}', 'GET /v3/rentals', now()) on conflict do nothing`,
    )
    const id = await queue(
      'rental.update',
      { rentalId: 42 },
      { status: 'VALIDATED', orderLink: 'x', rentalPrice: 1 },
      { base: { orderLink: 'seen' } },
    )
    expect((await row(id)).base).toEqual({ status: 'PENDING', orderLink: 'seen', rentalPrice: 100.1 })
  })

  it('is empty while the record is not mirrored', async () => {
    const id = await queue('rental.update', { rentalId: 43 }, { status: 'VALIDATED' })
    expect((await row(id)).base).toEqual({})
  })
})

describe('the library', () => {
  const library = (): Kysely<{ own: { id: number } }> =>
    new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: database.url, max: 2 }) }) })

  it('queues a typed chain inside the caller’s own transaction', async () => {
    const db = library()
    const [person, booking, assignment] = await db.transaction().execute(async (trx) => {
      const made = await enqueue(trx, { operation: 'user.create', target: {}, body: user })
      const booked = await enqueue(trx, { operation: 'rental.create', target: {}, body: rental })
      const assigned = await enqueue(trx, {
        operation: 'rental_user.assign',
        target: { rentalId: resultOf(booked) },
        body: { userId: resultOf(made) },
        options: { reference: 'chain-1' },
      })
      return [made, booked, assigned]
    })
    await db.destroy()
    const { rows } = await database.pool.query('select id from outbox.queue order by id')
    expect(rows.map((each) => each.id)).toEqual([person, booking, assignment])
  })

  it('refuses what does not fit, before and while it runs', async () => {
    const db = library()
    const wrong = db.transaction().execute((trx) =>
      // @ts-expect-error PENDING can't be written
      enqueue(trx, { operation: 'rental.update', target: { rentalId: 1 }, body: { status: 'PENDING' } }),
    )
    await expect(wrong).rejects.toBeInstanceOf(BoatMirrorError)
    await expect(wrong).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining('body.status') })
    await db.destroy()
  })
})
