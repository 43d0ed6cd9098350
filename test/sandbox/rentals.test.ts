// Rentals: the slot they block, the 15 minutes they may be pending, replacement by PUT, the user attached once.

import { describe, expect, it } from 'vitest'
import { openedForEach } from '../helpers/opened.ts'
import { bookRental, type Fields, fields, first, freeSlot, list, openSandbox, send, truthOf } from './client.ts'

const MINUTE = 60_000
const sandbox = openedForEach(openSandbox)

const get = async (path: string): Promise<Fields> => fields(await send(sandbox, `GET ${path}`))

describe('a new rental', () => {
  it('is pending, priced as its slot, without a user', async () => {
    const { resourceId, slotId } = await freeSlot(sandbox)
    const rental = fields(await send(sandbox, 'POST /v3/rentals', { resourceId, slotId }))
    expect(rental).toMatchObject({ status: 'PENDING', user: null, discountPrice: 0, totalPaid: 0, paymentProgress: 0 })
    expect(rental.totalToPay).toBe(rental.rentalPrice)
    expect(rental.creationDatetime).toBe('2026-06-10T08:00:00.000Z')
    expect(String(rental.departureDatetime)).toContain('2026-06-20T')
    expect(await get(`/v3/rentals/${rental.id}`)).toEqual(rental)
  })

  it('blocks its slot everywhere: slots, availability, calendar, unavailabilities', async () => {
    const { resourceId, slotId } = await freeSlot(sandbox)
    const duration = slotId.split('/')[2]
    const path = `/v3/resources/${resourceId}`
    const bit = async (): Promise<string | undefined> =>
      String((await get(`${path}/availabilities?year=2026`)).bitstring)[170]
    const wholeDay = `${path}/availability?date=2026-06-20&duration=DATE,2026-06-20`
    const before = list(await send(sandbox, `GET ${path}/unavailabilities`)).length
    expect([await bit(), (await get(wholeDay)).isAvailable]).toEqual(['0', true])
    const rental = fields(await send(sandbox, 'POST /v3/rentals', { resourceId, slotId }))
    expect([await bit(), (await get(wholeDay)).isAvailable]).toEqual(['1', false])
    const slots = list(await send(sandbox, `GET ${path}/slots?date=2026-06-20&duration=${duration}`))
    expect(slots.map(({ id }) => id)).not.toContain(slotId)
    expect(list(await send(sandbox, `GET ${path}/unavailabilities`))).toHaveLength(before + 1)
    expect((await send(sandbox, 'POST /v3/rentals', { resourceId, slotId })).status).toBe(409)
    await send(sandbox, `PUT /v3/rentals/${rental.id}`, { status: 'CANCELED_BAD_WEATHER' })
    expect([await bit(), (await get(wholeDay)).isAvailable]).toEqual(['0', true])
  })

  it('blocks the same boat in its other harbour', async () => {
    const resources = truthOf(sandbox, 'resources').map(({ record }) => record)
    const boatIds = resources.map(({ boatId }) => boatId)
    const twins = resources.filter(({ boatId }) => boatIds.indexOf(boatId) !== boatIds.lastIndexOf(boatId))
    expect(twins).toHaveLength(2)
    const [one, other] = twins.map(({ id }) => id)
    const [duration] = first(twins).durations as Fields[]
    const query = `slots?date=2026-06-20&duration=${duration?.type},${duration?.value}`
    const slots = (id: unknown): Promise<Fields[]> => send(sandbox, `GET /v3/resources/${id}/${query}`).then(list)
    const [slot] = await slots(one)
    const before = await slots(other)
    expect((await send(sandbox, 'POST /v3/rentals', { resourceId: one, slotId: slot?.id })).status).toBe(200)
    expect((await slots(other)).length).toBeLessThan(before.length)
  })

  it('takes referenceId as a number or a text and shows it as a text; prices fall back to the slot', async () => {
    const numbered = await bookRental(sandbox, { referenceId: 4711, rentalPrice: 99.5, discountPrice: 9.5 })
    expect(numbered).toMatchObject({ referenceId: '4711', rentalPrice: 99.5, discountPrice: 9.5, totalToPay: 90 })
    expect(await bookRental(sandbox, { referenceId: 'A/1' }, '2026-06-25')).toMatchObject({ referenceId: 'A/1' })
  })

  it('gets its mandatory options only when asked for', async () => {
    const without = await bookRental(sandbox)
    expect(list(await send(sandbox, `GET /v3/rentals/${without.id}/options`))).toEqual([])
    const rental = await bookRental(sandbox, { addMandatoryOptions: true }, '2026-06-25')
    const options = list(await send(sandbox, `GET /v3/rentals/${rental.id}/options`))
    expect(options.map(({ option }) => (option as Fields).isMandatory)).toEqual([true])
    expect(rental.totalToPay).toBe(Number(rental.rentalPrice) + Number(options[0]?.price))
  })

  const refusals = [
    { name: 'without a slot', body: { slotId: undefined }, field: 'slotId' },
    { name: 'of an unknown resource', body: { resourceId: '1-1' }, field: 'resourceId' },
    { name: 'of a slot that is none', body: { slotId: 'nonsense' }, field: 'slotId' },
    { name: 'with a price in text', body: { rentalPrice: '12' }, field: 'rentalPrice' },
  ]
  for (const { name, body, field } of refusals) {
    it(`${name} is refused with 400, naming ${field}`, async () => {
      const reply = await send(sandbox, 'POST /v3/rentals', { ...(await freeSlot(sandbox)), ...body })
      expect(reply.status).toBe(400)
      expect(fields(reply).errors).toEqual([expect.objectContaining({ field })])
    })
  }

  it('of a day that is past is refused', async () => {
    const slot = await freeSlot(sandbox)
    sandbox.clock.advance(30 * 24 * 60 * MINUTE)
    expect((await send(sandbox, 'POST /v3/rentals', slot)).status).toBe(400)
  })
})

describe('a pending rental', () => {
  it('is gone after 15 minutes, and its slot is free again', async () => {
    const slot = await freeSlot(sandbox)
    const { id } = fields(await send(sandbox, 'POST /v3/rentals', slot))
    sandbox.clock.advance(15 * MINUTE - 1)
    expect((await send(sandbox, `GET /v3/rentals/${id}`)).status).toBe(200)
    sandbox.clock.advance(1)
    expect((await send(sandbox, `GET /v3/rentals/${id}`)).status).toBe(404)
    expect(list(await send(sandbox, `GET /v3/rentals?id=${id}`))).toEqual([])
    expect(truthOf(sandbox, 'rentals').some(({ key }) => key.id === id)).toBe(false)
    expect((await send(sandbox, 'POST /v3/rentals', slot)).status).toBe(200)
  })

  it('stays once it is validated', async () => {
    const { id } = await bookRental(sandbox)
    await send(sandbox, `PUT /v3/rentals/${id}`, { status: 'VALIDATED' })
    sandbox.clock.advance(60 * MINUTE)
    expect((await get(`/v3/rentals/${id}`)).status).toBe('VALIDATED')
  })

  it('exists in a fresh world', () => {
    expect(truthOf(sandbox, 'rentals').filter(({ record }) => record.status === 'PENDING').length).toBeGreaterThan(0)
  })
})

describe('PUT of a rental', () => {
  it('resets prices that are left out and clears other fields, but keeps the status', async () => {
    const rental = await bookRental(sandbox, { discountPrice: 10, referenceId: 'R', orderLink: 'https://x.example' })
    const path = `/v3/rentals/${rental.id}`
    await send(sandbox, `PUT ${path}`, { status: 'VALIDATED', rentalPrice: 50, discountPrice: 5, commissionPrice: 3 })
    const replaced = fields(await send(sandbox, `PUT ${path}`, { orderLink: 'https://y.example' }))
    expect(replaced).toMatchObject({
      status: 'VALIDATED',
      rentalPrice: rental.rentalPrice,
      discountPrice: 0,
      commissionPrice: null,
      referenceId: null,
      orderLink: 'https://y.example',
      totalToPay: rental.rentalPrice,
    })
  })

  it('changes only the status where the sandbox was told so', async () => {
    await using strict = await openSandbox({ onlyStatusChanges: true })
    const rental = await bookRental(strict, { discountPrice: 10, referenceId: 'R' })
    const body = { status: 'VALIDATED', rentalPrice: 1, referenceId: 'S' }
    const updated = fields(await send(strict, `PUT /v3/rentals/${rental.id}`, body))
    expect(updated).toMatchObject({
      status: 'VALIDATED',
      rentalPrice: rental.rentalPrice,
      discountPrice: 10,
      referenceId: 'R',
    })
  })

  it('refuses PENDING, unknown statuses and a reference that is a number', async () => {
    const { id } = await bookRental(sandbox)
    for (const body of [{ status: 'PENDING' }, { status: 'CANCELED' }, { referenceId: 5 }]) {
      expect((await send(sandbox, `PUT /v3/rentals/${id}`, body)).status, JSON.stringify(body)).toBe(400)
    }
    expect((await send(sandbox, 'PUT /v3/rentals/1', {})).status).toBe(404)
  })

  it('does not give a canceled rental its slot back once it is taken', async () => {
    const slot = await freeSlot(sandbox)
    const { id } = fields(await send(sandbox, 'POST /v3/rentals', slot))
    await send(sandbox, `PUT /v3/rentals/${id}`, { status: 'CANCELED_PAYMENT' })
    expect((await send(sandbox, 'POST /v3/rentals', slot)).status).toBe(200)
    expect((await send(sandbox, `PUT /v3/rentals/${id}`, { status: 'VALIDATED' })).status).toBe(409)
  })

  it('moves lastModificationDatetime forward even while the clock stands still', async () => {
    const { id, lastModificationDatetime: first } = await bookRental(sandbox)
    const second = fields(await send(sandbox, `PUT /v3/rentals/${id}`, {})).lastModificationDatetime
    const third = fields(await send(sandbox, `PUT /v3/rentals/${id}`, {})).lastModificationDatetime
    expect([first, second, third]).toEqual([first, second, third].toSorted())
    expect(new Set([first, second, third]).size).toBe(3)
  })
})

describe('the user of a rental', () => {
  it('is attached once', async () => {
    const { id } = await bookRental(sandbox)
    const path = `/v3/rentals/${id}/user`
    expect((await send(sandbox, `GET ${path}`)).status).toBe(404)
    expect((await send(sandbox, `POST ${path}`, { userId: 1 })).status).toBe(400)
    expect((await send(sandbox, `POST ${path}`, { userId: 5001 })).status).toBe(200)
    expect(await get(path)).toMatchObject({ id: 5001 })
    expect((await send(sandbox, `POST ${path}`, { userId: 5002 })).status).toBe(409)
    expect((await get(`/v3/rentals/${id}`)).user).toMatchObject({ id: 5001 })
  })
})

describe('options and payments of a rental', () => {
  it('move totals and progress', async () => {
    const rental = await bookRental(sandbox, { rentalPrice: 100 })
    const path = `/v3/rentals/${rental.id}`
    const resource = (await get(`${path}/resource`)).resource as Fields
    const [option] = list(await send(sandbox, `GET /v3/resources/${resource.id}/options`))
    const added = fields(await send(sandbox, `POST ${path}/options`, { optionId: option?.id, quantity: 2 }))
    const total = 100 + 2 * Number(added.price)
    expect((await get(path)).totalToPay).toBe(total)
    await send(sandbox, `POST ${path}/payments`, { currency: 'EUR', method: { id: 1 }, price: total / 2 })
    expect(await get(path)).toMatchObject({ totalPaid: total / 2, paymentProgress: 50 })
    await send(sandbox, `DELETE ${path}/options/${added.id}`)
    expect((await get(path)).totalToPay).toBe(100)
  })

  it('refuse an option twice, an unknown one, and take several at once', async () => {
    const rental = await bookRental(sandbox)
    const path = `/v3/rentals/${rental.id}/options`
    const resource = (await get(`/v3/rentals/${rental.id}/resource`)).resource as Fields
    const [one, two] = list(await send(sandbox, `GET /v3/resources/${resource.id}/options`)).map(({ id }) => id)
    const both = [one, two].map((optionId) => ({ optionId, quantity: 1, commissionPrice: '1.50' }))
    expect((await send(sandbox, `POST ${path}`, [...both, { optionId: 1, quantity: 1 }])).status).toBe(400)
    expect(list(await send(sandbox, `GET ${path}`))).toEqual([])
    expect(list(await send(sandbox, `POST ${path}`, both))).toHaveLength(2)
    expect((await send(sandbox, `POST ${path}`, { optionId: one, quantity: 1 })).status).toBe(409)
    expect((await send(sandbox, `POST ${path}`, { optionId: one, quantity: 0 })).status).toBe(400)
    expect((await send(sandbox, `POST ${path}`, { optionId: one, quantity: 1, commissionPrice: 1.5 })).status).toBe(400)
  })

  it('keep the conditions of the booking when the boat changes later', async () => {
    const { key, record } = first(truthOf(sandbox, 'rental_options'))
    const { id } = record.option as Fields
    const resource = (await get(`/v3/rentals/${key.rental_id}/resource`)).resource as Fields
    sandbox.mutate([
      { record: 'resource_options', op: 'update', parent: String(resource.id), id: String(id), set: { name: 'New' } },
    ])
    expect(await get(`/v3/rentals/${key.rental_id}/options/${key.id}`)).toEqual(record)
    expect((await get(`/v3/resources/${resource.id}/options/${id}`)).name).toBe('New')
  })

  it('refuse an unknown payment method', async () => {
    const { id } = await bookRental(sandbox)
    const body = { currency: 'EUR', method: { id: 77 }, price: 1 }
    expect((await send(sandbox, `POST /v3/rentals/${id}/payments`, body)).status).toBe(400)
  })
})

describe('the list of rentals', () => {
  const query = async (text: string): Promise<Fields[]> =>
    list(await send(sandbox, `GET /v3/rentals?perPage=100&${text}`))

  it('is ordered by creation either way', async () => {
    const ascending = await query('order=creationDateAsc')
    const dates = ascending.map(({ creationDatetime }) => String(creationDatetime))
    expect(dates).toEqual(dates.toSorted())
    expect((await query('order=creationDateDesc')).map(({ id }) => id)).toEqual(ascending.map(({ id }) => id).reverse())
    expect((await send(sandbox, 'GET /v3/rentals?order=price')).status).toBe(400)
  })

  it('is filtered by user, resource, company, status and dates, bounds included', async () => {
    const all = await query('')
    const resources = new Map(
      truthOf(sandbox, 'rental_resources').map(({ key, record }) => [Number(key.rental_id), record.resource as Fields]),
    )
    const one = first(all, ({ user, status }) => user !== null && status === 'VALIDATED')
    const resource = resources.get(Number(one.id))
    const companyOf = (id: unknown): unknown =>
      (resources.get(Number(id)) as { company: Fields } | undefined)?.company.id
    const day = String(one.departureDatetime).slice(0, 10)
    const cases: [string, (rental: Fields) => boolean][] = [
      [`customerId=${(one.user as Fields).id}`, ({ user }) => (user as Fields | null)?.id === (one.user as Fields).id],
      [`resourceId=${resource?.id}`, ({ id }) => resources.get(Number(id))?.id === resource?.id],
      [`companyId=${companyOf(one.id)}`, ({ id }) => companyOf(id) === companyOf(one.id)],
      ['status=CANCELED', ({ status }) => String(status).startsWith('CANCELED')],
      ['status=PENDING', ({ status }) => status === 'PENDING'],
      [
        `departureMinDate=${day}&departureMaxDate=${day}`,
        ({ departureDatetime }) => String(departureDatetime).startsWith(day),
      ],
      ['creationMinDate=2026-06-09', ({ creationDatetime }) => String(creationDatetime) >= '2026-06-09'],
    ]
    for (const [text, test] of cases) {
      const expected = all.filter(test).map(({ id }) => id)
      expect(expected.length, text).toBeGreaterThan(0)
      expect(
        (await query(text)).map(({ id }) => id),
        text,
      ).toEqual(expected)
    }
    expect((await send(sandbox, 'GET /v3/rentals?creationMinDate=yesterday')).status).toBe(400)
  })

  it('has no filter by reference', async () => {
    expect(await query('referenceId=nothing-has-this')).toHaveLength((await query('')).length)
  })
})
