// What a role that is restricted to companies may queue, and which changes it sees.

import { beforeAll, describe, expect, it } from 'vitest'
import { grantCompanies } from '../../src/serve/access/company-access.ts'
import { opened } from '../helpers/opened.ts'
import { asRole, stateOf } from '../helpers/roles.ts'
import { openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const role = `shop_${Math.random().toString(36).slice(2, 8)}`

const mirror = opened(openMirror)
beforeAll(async () => {
  await mirror.write({
    tables: [
      tableOf('resources', 1, [
        rowOf('resources', { id: 'own', company_id: 1 }),
        rowOf('resources', { id: 'other', company_id: 2 }),
      ]),
      tableOf('rentals', 1, [
        rowOf('rentals', { id: 10, user_id: 7 }),
        rowOf('rentals', { id: 20, user_id: 8 }),
        rowOf('rentals', { id: 30 }),
      ]),
    ],
  })
  await mirror.all('update mirror.rentals set company_id = id / 10 where id < 30')
  await mirror.all(`create role ${role} nologin in role boat_mirror_enqueue`)
})

/** Statements of the role in one transaction, which is rolled back unless it is kept; what the last one answers, or its SQLSTATE. */
const asShop = (statements: readonly string[], keep = false): Promise<unknown> =>
  asRole(
    mirror.db.pool,
    role,
    async (client) => {
      let rows: unknown[] = []
      for (const statement of statements) rows = (await client.query(statement)).rows
      return rows
    },
    keep ? 'commit' : 'rollback',
  ).catch(stateOf)

const enqueue = (operation: string, target: object, body: object = {}): string =>
  `select outbox.enqueue('${operation}', '${JSON.stringify(target)}', '${JSON.stringify(body)}') as id`

const rental = (resourceId: string): string => enqueue('rental.create', {}, { resourceId, slotId: 's' })
const payment = (rentalId: number): string => enqueue('rental_payment.add', { rentalId }, { price: 1 })

describe('a role that is restricted to companies', () => {
  beforeAll(() => mirror.db.transaction((client) => grantCompanies(client, role, ['1'])))

  const cases: readonly (readonly [string, string, 'queued' | '42501'])[] = [
    ['pays for a rental of its company', payment(10), 'queued'],
    ['does not pay for one of another', payment(20), '42501'],
    ['nor for one whose company nobody knows yet', payment(30), '42501'],
    ['nor for one that there is not', payment(99), '42501'],
    ['rents out a boat of its company', rental('own'), 'queued'],
    ['but none of another', rental('other'), '42501'],
    ['assigns a customer of its rentals', enqueue('rental_user.assign', { rentalId: 10 }, { userId: 7 }), 'queued'],
    ['but none of others’', enqueue('rental_user.assign', { rentalId: 10 }, { userId: 8 }), '42501'],
    ['creates users', enqueue('user.create', {}, { firstName: 'Ada' }), 'queued'],
    ['but changes none', enqueue('user.update', { userId: 7 }, { firstName: 'Ada' }), '42501'],
    ['nor their documents', enqueue('user_identity.update', { userId: 7 }, { number: '1' }), '42501'],
  ]
  for (const [name, statement, answer] of cases)
    it(name, async () => {
      const answered = await asShop([statement])
      if (answer === 'queued') expect(answered).toHaveLength(1)
      else expect(answered).toBe(answer)
    })

  it('goes on with what it has created itself', async () => {
    await mirror.all(`select setval('outbox.queue_id_seq', 1000)`)
    const booking = [
      enqueue('user.create', {}, { firstName: 'Ada' }),
      rental('own'),
      enqueue('rental_user.assign', { rentalId: { change: 1002 } }, { userId: { change: 1001 } }),
      enqueue('user.update', { userId: { change: 1001 } }, { lastName: 'Lovelace' }),
      'select id from outbox.changes where id between 1001 and 1004',
    ]
    expect(await asShop(booking)).toHaveLength(4)
  })
})

it('changes that a role queued for other companies before it was restricted are hidden, and not to be built on', async () => {
  await mirror.all('delete from company_access.grants')
  const queued = (await asShop([payment(20), rental('other')], true)) as { id: string }[]
  await asShop([payment(10)], true)
  await mirror.db.transaction((client) => grantCompanies(client, role, ['1']))
  const seen = (await asShop(['select aggregate from outbox.changes'])) as { aggregate: string }[]
  expect(seen.map(({ aggregate }) => aggregate)).toEqual(['rental:10'])
  const onTop = enqueue('rental_payment.add', { rentalId: { change: Number(queued[0]?.id) } }, { price: 1 })
  expect(await asShop([onTop])).toBe('42501')
})
