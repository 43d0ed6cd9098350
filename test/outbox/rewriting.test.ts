// Lost answers of an API that rewrites what it takes: nothing is made twice, and what is there is found.

import { afterEach, describe, expect, it } from 'vitest'
import { opened } from '../helpers/opened.ts'
import { newPerson } from './plans.ts'
import type { Loss, Rewriting } from './rewriting-api.ts'
import { openRewritingRig, slotAt } from './rewriting-rig.ts'
import { createRig } from './rig.ts'

const rig = opened(openRewritingRig)
afterEach(async () => {
  Object.assign(rig.api, {
    rewriting: {},
    exactFilters: false,
    exclusive: true,
    refusal: 409,
    lag: 0,
    disturb: () => null,
  })
  await rig.clear()
})

/** The first write is disturbed, those after it are not. */
const disturbOnce = (loss: Loss): void => {
  let left = 1
  rig.api.disturb = () => (left-- > 0 ? loss : null)
}
const always = (): boolean => true
const summary = async () => (await rig.ended()).map(({ status, made }) => [status, made === null ? null : Number(made)])

const departure = '2026-07-14T07:00:00.000Z'
const payment = { currency: 'eur', method: { id: 1 }, price: 12.345, reference: 'booking-4711-deposit-of-july' }

describe('a lost answer of an API that rewrites', () => {
  it('e-mails in lower case, and compares exactly: the user is found, and made once', async () => {
    Object.assign(rig.api, { rewriting: { emails: 'lower case' }, exactFilters: true, exclusive: false })
    disturbOnce('lost after')
    await rig.queue('user.create', {}, { ...newPerson('Le Goff'), email: 'Ann.LeGoff@Example.com' })
    await rig.push(always)
    expect(rig.api.at('users').map(({ record }) => record.email)).toEqual(['ann.legoff@example.com'])
    expect(await summary()).toEqual([['done', rig.api.at('users')[0]?.id]])
  })

  it.each<[string, Rewriting]>([
    ['the currency', { currency: 'capitals' }],
    ['the cents, rounded', { prices: 'rounded' }],
    ['the cents, cut off', { prices: 'cut' }],
    ['the end of the reference', { references: 'cut' }],
    ['all of that', { currency: 'capitals', prices: 'rounded', references: 'cut', texts: 'trimmed' }],
  ])('%s of a payment: it is found, and made once', async (_, rewriting) => {
    rig.api.rewriting = rewriting
    const rentalId = rig.api.insert('rentals', slotAt('7-1', departure))
    disturbOnce('lost after')
    await rig.queue('rental_payment.add', { rentalId }, payment)
    await rig.push(always)
    const made = rig.api.at(`rentals/${rentalId}/payments`)
    expect(await summary()).toEqual([['done', made[0]?.id]])
    expect(made).toHaveLength(1)
  })

  it.each(['without offset', 'short offset'] as const)(
    'date-times %s: the rental is found, and made once',
    async (dateTimes) => {
      rig.api.rewriting = { dateTimes }
      await rig.mirrorSlots([slotAt('7-1', departure)])
      disturbOnce('lost after')
      await rig.queue('rental.create', {}, slotAt('7-1', departure))
      await rig.push(always)
      expect(await summary()).toEqual([['done', rig.api.at('rentals')[0]?.id]])
      expect(rig.api.writes).toHaveLength(1)
    },
  )

  it('a reference that it drops: nothing is sent again, and both sides are shown', async () => {
    const slot = slotAt('7-1', departure)
    await rig.mirrorSlots([slot])
    rig.api.disturb = (place, body) => {
      rig.api.insert(place, { ...body, referenceId: null })
      return 'lost before'
    }
    const id = await rig.queue('rental.create', {}, slot)
    await rig.push(always)
    const { rows } = await rig.database.pool.query(
      'select status, error, request, response from outbox.changes where id = $1',
      [id],
    )
    const [made] = rig.api.at('rentals')
    expect(rows).toEqual([
      {
        status: 'unknown',
        error: expect.stringContaining(
          `none of the rentals matches what was sent, but the API may have rewritten it. Candidates: ${made?.id}.`,
        ),
        request: expect.objectContaining({ body: expect.objectContaining(slot) }),
        response: { status: null, body: { candidates: [expect.objectContaining({ id: made?.id })] } },
      },
    ])
    expect(rig.api.writes).toHaveLength(1)
  })
})

describe('a refusal after a lost answer', () => {
  it.each([409, 422])('with %i is looked into: what the earlier attempt made is found, or shown', async (status) => {
    // What is made is shown only when it is sent again: later than the API usually takes.
    const slot = slotAt('7-1', departure)
    await rig.mirrorSlots([slot])
    rig.api.lag = 2
    rig.api.refusal = status
    disturbOnce('lost after')
    await rig.queue('rental.create', {}, slot)
    rig.api.disturb = ((first) => (place, body) => {
      const loss = first(place, body)
      if (loss === null) rig.api.nextTurn()
      return loss
    })(rig.api.disturb)
    await rig.push(always)
    expect(rig.api.writes).toHaveLength(2)
    expect(await summary()).toEqual([['done', rig.api.at('rentals')[0]?.id]])
  })
})

describe('a gateway that sends a request twice, so that only the 409 of the second comes back', () => {
  const slot = slotAt('7-1', departure)

  it('makes no failure of a rental that was made', async () => {
    await rig.mirrorSlots([slot])
    rig.api.disturb = (place, body) => {
      rig.api.insert(place, body)
      return null
    }
    await rig.queue('rental.create', {}, slot)
    await rig.push(always)
    expect(await summary()).toEqual([['done', rig.api.at('rentals')[0]?.id]])
  })

  it('leaves a slot that others took a failure', async () => {
    await rig.mirrorSlots([slot])
    rig.api.disturb = (place, body) => {
      rig.api.insert(place, { ...body, referenceId: 'of-others' })
      return null
    }
    await rig.queue('rental.create', {}, slot)
    await rig.push(always)
    expect(await summary()).toEqual([['failed', null]])
  })
})

describe('two changes that send the same, whose answers are both lost', () => {
  const person = newPerson('Twin')

  it('never share a record: of one that took effect both are unclear', async () => {
    rig.api.exclusive = false
    let writes = 0
    rig.api.disturb = () => (writes++ === 0 ? 'lost before' : 'lost after')
    await rig.queue('user.create', {}, person)
    await rig.queue('user.create', {}, person)
    await rig.push(always)
    const ended = await rig.ended()
    expect(ended.map(({ status }) => status)).toEqual(['unknown', 'unknown'])
    expect(ended[0]?.error).toMatch(/could be the result of this change, or of change \d, whose outcome is unknown/)
    expect(rig.api.at('users')).toHaveLength(1)
  })

  it('are told apart by what other changes are known to have made', async () => {
    rig.api.exclusive = false
    await rig.queue('user.create', {}, person)
    await rig.push(always)
    // It is shown only after the look-up of the second.
    rig.api.disturb = () => 'lost after'
    await rig.queue('user.create', {}, person)
    await rig.push(always)
    expect(await summary()).toEqual(rig.api.at('users').map(({ id }) => ['done', id]))
    expect(rig.api.at('users')).toHaveLength(2)
  })
})

describe('a user with a common name', () => {
  it('is sent again only when every page of that name was read', async () => {
    for (let other = 0; other < 12; other++)
      rig.api.insert('users', { ...newPerson('Martin'), email: `martin${other}@example.com` })
    rig.api.pageSize = 5
    disturbOnce('lost before')
    await rig.queue('user.create', {}, newPerson('Martin'))
    await rig.push(always)
    expect(await summary()).toEqual([['done', rig.api.at('users').at(-1)?.id]])
    expect(rig.api.writes).toHaveLength(2)
  })

  it('is left to a person where there are too many of that name', async () => {
    for (let other = 0; other < 30; other++)
      rig.api.insert('users', { ...newPerson('Martin'), email: `martin${other}@example.com` })
    rig.api.pageSize = 5
    disturbOnce('lost before')
    await rig.queue('user.create', {}, newPerson('Martin'))
    await rig.push(always)
    expect(await rig.ended()).toMatchObject([
      { status: 'unknown', error: expect.stringContaining('a part of its users') },
    ])
    expect(rig.api.writes).toHaveLength(1)
  })
})

describe('lists that leave out what records are told by', () => {
  it('are completed by reading the new records: a lost rental is found by its reference', async () => {
    await using short = await createRig({ sandbox: { summary: true } })
    short.once('POST /v3/rentals', 'dropAfterEffect')
    const id = await short.queue('rental.create', {}, short.planner.slot())
    await short.push()
    expect(await short.change(id)).toMatchObject({ status: 'done' })
    expect(short.writes()).toHaveLength(1)
  })
})
