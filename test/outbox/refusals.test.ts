// What outbox.enqueue refuses at once, naming the field, its value and what is allowed.

import { describe, expect, it } from 'vitest'
import { hostile, type Outbox, rental, sharedOutbox, user } from './open-outbox.ts'

const outbox = sharedOutbox()
const queue: Outbox['queue'] = (...call) => outbox.queue(...call)

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
      says: 'target.rentalId is missing. It must be a whole number',
    },
    {
      name: 'a target of another operation',
      call: ['rental.delete', { rentalId: 1, userId: 2 }],
      says: 'target.userId cannot be written; allowed: rentalId',
    },
    {
      name: 'a target as a text that is no number',
      call: ['rental.delete', { rentalId: '42x' }],
      says: 'target.rentalId is "42x". It must be a whole number',
    },
    {
      name: 'a target that is null',
      call: ['rental.delete', { rentalId: null }],
      says: 'target.rentalId cannot be null',
    },
    {
      name: 'a target that is no object',
      call: ['rental.delete', 42],
      says: 'target is 42. It must be an object of rentalId',
    },
    {
      name: 'a body that is no object',
      call: ['rental.update', { rentalId: 1 }, []],
      says: 'body is []. It must be an object of status',
    },
    { name: 'an empty update', call: ['rental.update', { rentalId: 1 }, {}], says: 'body is empty; allowed: status' },
    {
      name: 'a field that is read only',
      call: ['rental.update', { rentalId: 1 }, { totalPaid: 1 }],
      says: 'body.totalPaid cannot be written; allowed: status, rentalPrice',
    },
    { name: 'a hostile field', call: ['rental.update', { rentalId: 1 }, { [hostile]: 1 }], says: 'cannot be written' },
    {
      name: 'a status that can’t be written',
      call: ['rental.update', { rentalId: 1 }, { status: 'PENDING' }],
      says: 'body.status is "PENDING". It must be one of VALIDATED, CANCELED_BY_CLIENT',
    },
    {
      name: 'a status that is to be cleared',
      call: ['rental.update', { rentalId: 1 }, { status: null }],
      says: 'body.status cannot be null',
    },
    {
      name: 'a price as a text that is no number',
      call: ['rental.update', { rentalId: 1 }, { rentalPrice: '10 EUR' }],
      says: 'body.rentalPrice is "10 EUR". It must be a number',
    },
    {
      name: 'a quantity with a fraction',
      call: ['rental_option.add', { rentalId: 1 }, { optionId: 1, quantity: 1.5 }],
      says: 'body.quantity is 1.5. It must be a whole number',
    },
    {
      name: 'a missing field',
      call: ['rental_option.add', { rentalId: 1 }, { optionId: 1 }],
      says: 'body.quantity is missing. It must be a whole number',
    },
    {
      name: 'a day that does not exist',
      call: ['user.create', {}, { ...user, birthDate: '2001-02-29' }],
      says: 'body.birthDate is "2001-02-29". It must be a date',
    },
    {
      name: 'an e-mail without @',
      call: ['user.create', {}, { ...user, email: 'ann' }],
      says: 'body.email is "ann". It must be an e-mail address',
    },
    {
      name: 'a country by name',
      call: ['user.create', {}, { ...user, addressCountry: { name: 'France' } }],
      says: 'body.addressCountry.name cannot be written; allowed: code',
    },
    {
      name: 'a country without code',
      call: ['user.create', {}, { ...user, addressCountry: {} }],
      says: 'body.addressCountry.code is missing',
    },
    {
      name: 'a country as text',
      call: ['user.create', {}, { ...user, addressCountry: 'FR' }],
      says: 'It must be an object of code',
    },
    {
      name: 'a license type by text',
      call: ['user_license.add', { userId: 1 }, { type: { id: 'x' } }],
      says: 'body.type.id is "x". It must be a whole number',
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
      says: 'options.on_conflict is "both". It must be one of fail, local_wins, remote_wins',
    },
    {
      name: 'an expiry that is no date',
      call: ['user.delete', { userId: 1 }, {}, { expires_at: 'tomorrow' }],
      says: 'options.expires_at is "tomorrow". It must be a date-time',
    },
    {
      name: 'a base for a delete',
      call: ['user.delete', { userId: 1 }, {}, { base: {} }],
      says: 'options.base must be an object of the fields that the editor saw, or null to overwrite any value. Only updates accept it',
    },
    {
      name: 'a base with an unknown field',
      call: ['rental.update', { rentalId: 1 }, { status: 'VALIDATED' }, { base: { x: 1 } }],
      says: 'options.base.x cannot be written',
    },
    {
      name: 'a reference to nothing',
      call: ['rental.delete', { rentalId: { change: 999 } }],
      says: 'target.rentalId refers to change 999, which does not exist for',
    },
    {
      name: 'a reference of a wrong form',
      call: ['rental.delete', { rentalId: { change: 'x' } }],
      says: 'A reference must be written as {"change": 17}',
    },
    {
      name: 'a reference where none may stand',
      call: ['rental.create', {}, { ...rental, resourceId: { change: 1 } }],
      says: 'body.resourceId cannot be the result of another change',
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
      `target.rentalId refers to change ${person}, a user.create. It must refer to the result of rental.create`,
    )
    const option = await queue('rental_option.add', { rentalId: 41 }, { optionId: 1, quantity: 1 })
    await expect(queue('rental_option.remove', { rentalId: 42, optionId: { change: option } })).rejects.toThrow(
      `refers to change ${option}, which belongs to rental:41, not to rental:42`,
    )
  })
})
