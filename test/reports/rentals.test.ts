// report.rentals, report.departures and report.balances against examples worked out by hand.

import { beforeAll, describe, expect, it } from 'vitest'
import { saveReportSettings } from '../../src/reports/time-zone.ts'
import { opened } from '../helpers/opened.ts'
import { departing, openReports } from './support.ts'

const reports = opened(() => openReports())
beforeAll(async () => {
  await reports.add('companies', { id: 1, company_brand_name: 'Azur' })
  await reports.add('harbours', { id: 5, name: 'Palma' }, { id: 6, name: 'Ibiza', _deleted_at: '2026-01-02' })
  await reports.add('resources', { id: '9-5', name: 'Alizé', boat_id: 9, company_id: 1, harbour_id: 5 })
})

describe('the day of a departure', () => {
  const cases = [
    { name: 'is that of its own offset, a day ahead of UTC', text: '2026-07-15T00:30:00+02:00', day: '2026-07-15' },
    { name: 'is that of its own offset, a day behind UTC', text: '2026-07-14T23:30:00-04:00', day: '2026-07-14' },
    { name: 'is that of UTC with Z', text: '2026-07-14T23:30:00Z', day: '2026-07-14' },
    { name: 'may be as far east as +14:00', text: '2026-01-01T05:00:00+14:00', day: '2026-01-01' },
    { name: 'is read from a text without seconds', text: '2026-02-28T23:59-03:00', day: '2026-02-28' },
    {
      name: 'is that of the text, which is in TIME_ZONE, without an offset',
      text: '2026-07-15 00:30:00',
      day: '2026-07-15',
    },
  ]
  cases.forEach(({ name, text, day }, index) => {
    it(`${name}: ${text}`, async () => {
      const id = 1_000 + index
      await reports.add('rentals', { id, status: 'VALIDATED', ...departing(text) })
      const [row] = await reports.rows(
        `select departure_date::text as day, departure_local::text as local from report.rentals where rental_id = $1`,
        [id],
      )
      expect(row).toEqual({ day, local: `${text.slice(0, 16).replace('T', ' ')}:00` })
    })
  })

  it('is that of TIME_ZONE where the record as received has no date-time', async () => {
    await reports.add('rentals', { id: 1_100, departure_datetime: '2026-07-14T23:30:00Z' })
    const day = `select departure_date::text as day from report.rentals where rental_id = 1100`
    expect(await reports.rows(day)).toEqual([{ day: '2026-07-14' }])
    await reports.pool.query(`update sync.settings set time_zone = 'Europe/Paris'`)
    expect(await reports.rows(day)).toEqual([{ day: '2026-07-15' }])
    await reports.pool.query(`update sync.settings set time_zone = 'UTC'`)
  })

  it('is null for a rental without departure', async () => {
    await reports.add('rentals', { id: 1_101, ...departing(null) })
    expect(
      await reports.rows(`select departure_date, departure_local from report.rentals where rental_id = 1101`),
    ).toEqual([{ departure_date: null, departure_local: null }])
  })
})

describe('the currency of a rental', () => {
  const cases = [
    {
      name: 'is what payments and deposit agree on',
      payments: ['EUR', ' eur '],
      deposit: { iso: 'Eur' },
      currency: 'EUR',
    },
    { name: 'is not known where the deposit disagrees', payments: ['EUR', 'EUR'], deposit: 'GBP', currency: null },
    { name: "is the deposit's without payments", payments: [], deposit: { code: 'GBP' }, currency: 'GBP' },
    {
      name: 'is not known where payments disagree',
      payments: ['EUR', { code: 'USD' }],
      deposit: 'EUR',
      currency: null,
    },
    {
      name: 'is not known where payments disagree and no deposit says',
      payments: ['EUR', 'USD'],
      deposit: null,
      currency: null,
    },
    { name: 'is not known where nothing names one', payments: [null, {}], deposit: null, currency: null },
    { name: 'ignores payments that name none', payments: [null, { iso: 'EUR' }], deposit: null, currency: 'EUR' },
    { name: 'is read from code', payments: [{ code: 'EUR', id: 978 }], deposit: null, currency: 'EUR' },
    { name: 'is read from id', payments: [{ id: 978 }], deposit: null, currency: '978' },
    { name: 'is not an empty text', payments: [' '], deposit: 'EUR', currency: 'EUR' },
  ]
  cases.forEach(({ name, payments, deposit, currency }, index) => {
    it(name, async () => {
      const id = 2_000 + index
      const tomorrow = await reports.day(1)
      const deposited = deposit === null ? null : JSON.stringify(deposit)
      const money = { total_to_pay: '10.10', total_paid: '0.10', deposit_currency: deposited }
      await reports.add('rentals', { id, status: 'VALIDATED', ...money, ...departing(`${tomorrow}T09:00:00Z`) })
      for (const [place, each] of payments.entries())
        await reports.add('rental_payments', {
          rental_id: id,
          id: place,
          currency: each === null ? null : JSON.stringify(each),
        })
      await reports.add('rental_payments', { rental_id: id, id: 99, currency: '"XXX"', _deleted_at: '2026-01-02' })
      for (const view of ['rentals', 'departures', 'balances'])
        expect(await reports.rows(`select currency from report.${view} where rental_id = $1`, [id]), view).toEqual([
          { currency },
        ])
    })
  })
})

describe('what is paid of a rental', () => {
  const paidOf = async (id: number): Promise<unknown> =>
    (await reports.rows(`select total_paid, balance, currencies from report.rentals where rental_id = $1`, [id]))[0]
  let id = 2_500
  const rental = async (...lines: readonly object[]): Promise<number> => {
    id += 1
    await reports.add('rentals', { id, status: 'VALIDATED', total_to_pay: '10.10', deposit_currency: '"EUR"' })
    for (const [place, line] of lines.entries())
      await reports.add('rental_payments', { rental_id: id, id: place, ...line })
    await reports.readLines(id)
    return id
  }

  it('is the sum of its lines where its record says nothing', async () => {
    const some = await rental(
      { price: '1.05', currency: '"eur"' },
      { price: '2' },
      { price: '9', _deleted_at: '2026-01-02' },
    )
    expect(await paidOf(some)).toEqual({ total_paid: '3.05', balance: '7.05', currencies: ['EUR'] })
    expect(await paidOf(await rental())).toEqual({ total_paid: '0', balance: '10.10', currencies: ['EUR'] })
  })

  it('is what its record says, whatever its lines say', async () => {
    const said = await rental({ price: '1', currency: '"GBP"' })
    await reports.pool.query(`update mirror.rentals set total_paid = 430 where id = $1`, [said])
    expect(await paidOf(said)).toMatchObject({ total_paid: '430', currencies: ['EUR', 'GBP'] })
  })

  it('is unknown where lines were not read, have no amount, or are in another currency', async () => {
    const unread = await rental({ price: '1' })
    await reports.pool.query(`update sync.records set detail_read_at = null where key = $1`, [unread])
    const other = [await rental({ price: '1' }, { price: null }), await rental({ price: '1', currency: '"GBP"' })]
    for (const each of [unread, ...other]) expect(await paidOf(each)).toMatchObject({ total_paid: null, balance: null })
  })

  it('counts options among what names its currency', async () => {
    const named = await rental({ price: '1' })
    const prices = [{ price: 1, currency: { code: 'sek' } }]
    await reports.add('rental_options', { rental_id: named, id: 1, _payload: { option: { id: 1, prices } } })
    expect(await paidOf(named)).toEqual({ total_paid: null, balance: null, currencies: ['EUR', 'SEK'] })
  })
})

describe('a status', () => {
  const cases: readonly (readonly [status: string | null, takesPlace: boolean, isKnown: boolean])[] = [
    ['VALIDATED', true, true],
    ['validated', true, true],
    ['Pending', false, true],
    ['canceled_by_client', false, true],
    ['CANCELLED_BY_CLIENT', false, true],
    ['Cancelled by-client', false, true],
    ['canceled', false, true],
    ['REFUSED_BY_OWNER', true, false],
    ['NO_SHOW', false, true],
    ['No show', false, true],
    [null, true, false],
  ]
  it('is compared without case, and shown as it was sent', async () => {
    await saveReportSettings(reports.pool, { timeZone: 'UTC', notTakingPlace: ['no-show'] })
    for (const [index, [status]] of cases.entries()) await reports.add('rentals', { id: 2_700 + index, status })
    const rows = await reports.rows(
      `select status, takes_place, status_known from report.rentals where rental_id between 2700 and 2799 order by rental_id`,
    )
    await saveReportSettings(reports.pool, { timeZone: 'UTC', notTakingPlace: null })
    expect(rows.map((row) => [row.status, row.takes_place, row.status_known])).toEqual(cases)
    const later = `select takes_place, status_known from report.rentals where status = 'NO_SHOW'`
    expect(await reports.rows(later)).toEqual([{ takes_place: true, status_known: false }])
  })
})

describe('report.rentals', () => {
  it('names what a rental refers to, records that are gone too, and leaves gone rentals out', async () => {
    const refers = { resource_id: '9-5', company_id: 1, departure_harbour_id: 5, arrival_harbour_id: 6 }
    await reports.add('rentals', { id: 3_000, ...refers }, { id: 3_001, ...refers, _deleted_at: '2026-01-02' })
    expect(
      await reports.rows(
        `select rental_id, resource_name, boat_id, company_name, departure_harbour_name, arrival_harbour_name
         from report.rentals where rental_id in (3000, 3001)`,
      ),
    ).toEqual([
      {
        rental_id: '3000',
        resource_name: 'Alizé',
        boat_id: '9',
        company_name: 'Azur',
        departure_harbour_name: 'Palma',
        arrival_harbour_name: 'Ibiza',
      },
    ])
  })

  it('shows a rental whose resource was not read yet', async () => {
    await reports.add('rentals', { id: 3_002 })
    expect(await reports.rows(`select resource_name, company_id from report.rentals where rental_id = 3002`)).toEqual([
      { resource_name: null, company_id: null },
    ])
  })
})

describe('report.departures', () => {
  const coming = async (): Promise<string[]> =>
    (
      await reports.rows(`select rental_id from report.departures where rental_id between 4000 and 4099 order by 1`)
    ).map((row) => String(row.rental_id))

  it('has rentals of today and later, by the day of their own offset, that are not called off', async () => {
    const [before, today, after] = [await reports.day(-1), await reports.day(0), await reports.day(400)]
    await reports.add(
      'rentals',
      { id: 4_000, status: 'VALIDATED', ...departing(`${today}T00:00:00Z`) },
      { id: 4_001, status: 'PENDING', ...departing(`${after}T09:00:00+02:00`) },
      { id: 4_002, status: 'CANCELED_BAD_WEATHER', ...departing(`${after}T09:00:00+02:00`) },
      { id: 4_003, status: 'VALIDATED', ...departing(`${before}T23:59:00Z`) },
      // Already tomorrow by UTC, but it was yesterday's departure on its own clock, and the other way round.
      { id: 4_004, status: 'VALIDATED', ...departing(`${before}T23:30:00-05:00`) },
      { id: 4_005, status: 'VALIDATED', ...departing(`${today}T00:30:00+05:00`) },
      { id: 4_006, status: null, ...departing(`${today}T12:00:00Z`) },
      { id: 4_007, status: 'VALIDATED', ...departing(`${today}T12:00:00Z`), _deleted_at: '2026-01-02' },
      { id: 4_008, status: 'VALIDATED', ...departing(null) },
    )
    expect(await coming()).toEqual(['4000', '4001', '4005', '4006'])
  })

  it('counts the crew that is listed by name', async () => {
    await reports.add('rentals', { id: 4_500, status: 'CONFIRMED', ...departing(`${await reports.day(5)}T09:00:00Z`) })
    await reports.add('rental_crew_members', { rental_id: 4_500, id: 1 }, { rental_id: 4_500, id: 2 })
    await reports.add('rental_crew_members', { rental_id: 4_500, id: 3, _deleted_at: '2026-01-02' })
    expect(await reports.rows(`select crew_members from report.departures where rental_id = 4500`)).toEqual([
      { crew_members: '2' },
    ])
  })
})

describe('report.balances', () => {
  it('has what is still to pay, exactly, of rentals that take place', async () => {
    const today = await reports.day(0)
    const later = departing(`${await reports.day(10)}T09:00:00Z`)
    await reports.add(
      'rentals',
      { id: 5_000, status: 'VALIDATED', total_to_pay: '0.30', total_paid: '0.10', ...later },
      { id: 5_001, status: 'VALIDATED', total_to_pay: '12345678901234567.89', total_paid: null, ...later },
      { id: 5_002, status: 'VALIDATED', total_to_pay: '10', total_paid: '10.00', ...later },
      { id: 5_003, status: 'VALIDATED', total_to_pay: '10', total_paid: '11', ...later },
      { id: 5_004, status: 'CANCELED_PAYMENT', total_to_pay: '10', total_paid: '0', ...later },
      { id: 5_005, status: 'PENDING', total_to_pay: '10', total_paid: '0', ...later },
      { id: 5_006, status: 'RETURNED', total_to_pay: '10', total_paid: '0.01', ...departing(`${today}T00:00:00Z`) },
      { id: 5_007, status: 'VALIDATED', total_to_pay: null, total_paid: null, ...later },
      { id: 5_008, status: 'VALIDATED', total_to_pay: '10', total_paid: null, ...later },
    )
    await reports.readLines(5_001, 5_007)
    expect(
      await reports.rows(
        `select rental_id, balance, days_to_departure from report.balances where rental_id between 5000 and 5999 order by 1`,
      ),
    ).toEqual([
      { rental_id: '5000', balance: '0.20', days_to_departure: 10 },
      { rental_id: '5001', balance: '12345678901234567.89', days_to_departure: 10 },
      { rental_id: '5006', balance: '9.99', days_to_departure: 0 },
      { rental_id: '5008', balance: null, days_to_departure: 10 },
    ])
  })
})
