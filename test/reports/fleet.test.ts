// report.fleet, report.occupancy and report.calendar against calendars written by hand.

import { beforeAll, describe, expect, it } from 'vitest'
import { opened } from '../helpers/opened.ts'
import { openReports } from './support.ts'

/** Day of the year (from 1) of `MM-DD`. */
const dayOfYear = (year: number, day: string): number =>
  (Date.parse(`${year}-${day}T00:00:00Z`) - Date.parse(`${year}-01-01T00:00:00Z`)) / 86_400_000 + 1

/** A year's calendar with some spans (`MM-DD`, both included) full. */
function calendar(year: number, ...full: readonly (readonly [from: string, to: string])[]): string {
  const days = Array.from({ length: dayOfYear(year, '12-31') }, () => '0')
  for (const [from, to] of full)
    for (let day = dayOfYear(year, from); day <= dayOfYear(year, to); day++) days[day - 1] = '1'
  return days.join('')
}

const reports = opened(() => openReports())
beforeAll(async () => {
  const thisYear = Number((await reports.day(0)).slice(0, 4))
  await reports.add('countries', { code: 'ES' })
  await reports.add('navigation_areas', { id: 3, country_code: 'ES' })
  await reports.add('cities', { id: 4, name: 'Palma', navigation_area_id: 3 })
  await reports.add('harbours', { id: 5, name: 'Real Club', city_id: 4 }, { id: 6, name: 'Ocean Village' })
  await reports.add('companies', { id: 1, company_brand_name: 'Azur' })
  await reports.add('types', { id: 7, name: 'Sailboat' })
  await reports.add(
    'resources',
    {
      id: 'A-5',
      name: 'Alizé',
      boat_id: 9,
      company_id: 1,
      harbour_id: 5,
      type_id: 7,
      min_price: '99.90',
      is_rentable: true,
    },
    { id: 'A-6', name: 'Alizé', boat_id: 9, company_id: 1, harbour_id: 6 },
    { id: 'B-5', name: 'Bora', boat_id: null, company_id: 1, harbour_id: 5 },
    { id: 'D-5', name: 'Dora', harbour_id: 6 },
    { id: 'C-5', name: 'Sold', boat_id: 9, company_id: 1, harbour_id: 5, _deleted_at: '2026-01-01' },
  )
  await reports.add(
    'resource_availability_years',
    // A leap year: 29 February full, so is New Year's Eve, the 366th day.
    { resource_id: 'A-5', year: 2052, days: calendar(2052, ['02-15', '02-29'], ['12-31', '12-31']) },
    // A common year: the whole of February and one day of March.
    { resource_id: 'A-5', year: 2051, days: calendar(2051, ['02-01', '03-01']) },
    { resource_id: 'A-6', year: 2052, days: calendar(2052, ['01-01', '12-31']) },
    { resource_id: 'B-5', year: 2051, days: calendar(2051), _deleted_at: '2026-01-01' },
    { resource_id: 'C-5', year: 2051, days: calendar(2051) },
    { resource_id: 'D-5', year: thisYear, days: calendar(thisYear, ['01-01', '12-31']) },
  )
})

describe('report.occupancy', () => {
  const months = async (where: string): Promise<string[]> =>
    (
      await reports.rows<{ line: string }>(
        `select concat_ws(' ', to_char(month, 'YYYY-MM'), days, full_days, free_days, occupancy) as line
         from report.occupancy where ${where} order by month`,
      )
    ).map(({ line }) => line)

  it('knows that February has 29 days in a leap year', async () => {
    expect(await months(`resource_id = 'A-5' and month between '2052-01-01' and '2052-03-01'`)).toEqual([
      '2052-01 31 0 31 0.0000',
      '2052-02 29 15 14 0.5172',
      '2052-03 31 0 31 0.0000',
    ])
  })

  it('counts the 366th day in December', async () => {
    expect(await months(`resource_id = 'A-5' and month = '2052-12-01'`)).toEqual(['2052-12 31 1 30 0.0323'])
  })

  it('counts 28 days in a common year, and the 1st of March in March', async () => {
    expect(await months(`resource_id = 'A-5' and month between '2051-02-01' and '2051-03-01'`)).toEqual([
      '2051-02 28 28 0 1.0000',
      '2051-03 31 1 30 0.0323',
    ])
  })

  it('has twelve months that make up the year', async () => {
    const rows = await reports.rows(
      `select resource_id, extract(year from month)::int as year, count(*)::int as months, sum(days)::int as days,
         sum(full_days)::int as full from report.occupancy where resource_id <> 'D-5' group by 1, 2 order by 1, 2`,
    )
    expect(rows).toEqual([
      { resource_id: 'A-5', year: 2051, months: 12, days: 365, full: 29 },
      { resource_id: 'A-5', year: 2052, months: 12, days: 366, full: 16 },
      { resource_id: 'A-6', year: 2052, months: 12, days: 366, full: 366 },
    ])
  })

  it('names the boat that resources share, and how many live resources do', async () => {
    expect(
      await reports.rows(
        `select resource_id, boat_id, boat_resources from report.occupancy where month = '2052-01-01' order by 1`,
      ),
    ).toEqual([
      { resource_id: 'A-5', boat_id: '9', boat_resources: '2' },
      { resource_id: 'A-6', boat_id: '9', boat_resources: '2' },
    ])
  })
})

describe('report.calendar', () => {
  it('has the next 100 days of every live resource, and says null where the calendar does not say', async () => {
    const [row] = await reports.rows(
      `select min(date)::text as first, max(date)::text as last, count(*)::int as rows, count(distinct resource_id)::int as resources,
         count(is_full) filter (where resource_id = 'B-5')::int as known from report.calendar`,
    )
    expect(row).toEqual({ first: await reports.day(0), last: await reports.day(99), rows: 400, resources: 4, known: 0 })
  })

  it('shows the days that are asked for, over the turn of a year', async () => {
    const rows = await reports.rows<{ line: string }>(
      `select date::text || ' ' || coalesce(is_full::text, '?') as line from report.calendar('2052-12-30', '2053-01-01')
       where resource_id = 'A-5' order by date`,
    )
    expect(rows.map(({ line }) => line)).toEqual(['2052-12-30 false', '2052-12-31 true', '2053-01-01 ?'])
  })

  it('refuses days that are reversed or missing', async () => {
    for (const [from, to] of [
      ['2052-02-29', '2052-02-28'],
      [null, '2052-02-28'],
      [null, null],
    ])
      await expect(reports.rows('select * from report.calendar($1, $2)', [from, to])).rejects.toMatchObject({
        code: '22023',
        message: `The days are ${from} to ${to}.`,
      })
  })

  it('shows one day when one is asked for', async () => {
    expect(
      await reports.rows(
        `select resource_id, resource_name, harbour_name, is_full from report.calendar('2052-02-29') order by resource_id`,
      ),
    ).toEqual([
      { resource_id: 'A-5', resource_name: 'Alizé', harbour_name: 'Real Club', is_full: true },
      { resource_id: 'A-6', resource_name: 'Alizé', harbour_name: 'Ocean Village', is_full: true },
      { resource_id: 'B-5', resource_name: 'Bora', harbour_name: 'Real Club', is_full: null },
      { resource_id: 'D-5', resource_name: 'Dora', harbour_name: 'Ocean Village', is_full: null },
    ])
  })
})

describe('report.fleet', () => {
  it('names place, kind and price of every live resource', async () => {
    const today = await reports.day(0)
    await reports.add(
      'resource_pricetable',
      { resource_id: 'A-5', date: await reports.day(-1), duration: 'DAYS,1', currency: '"USD"' },
      { resource_id: 'A-5', date: today, duration: 'DAYS,1', currency: '{"code": "EUR"}' },
    )
    expect(
      await reports.rows(
        `select resource_id, company_name, harbour_name, city_name, country_code, type_name, is_rentable, min_price, currency
         from report.fleet order by 1`,
      ),
    ).toEqual([
      {
        resource_id: 'A-5',
        company_name: 'Azur',
        harbour_name: 'Real Club',
        city_name: 'Palma',
        country_code: 'ES',
        type_name: 'Sailboat',
        is_rentable: true,
        min_price: '99.90',
        currency: 'EUR',
      },
      expect.objectContaining({ resource_id: 'A-6', harbour_name: 'Ocean Village', city_name: null, currency: null }),
      expect.objectContaining({ resource_id: 'B-5', country_code: 'ES', type_name: null }),
      expect.objectContaining({ resource_id: 'D-5', company_name: null }),
    ])
  })

  it('says whether a resource is full today, and null where its calendar does not say', async () => {
    const full = await reports.rows(`select resource_id, is_full_today from report.fleet order by 1`)
    expect(full.map((row) => row.is_full_today)).toEqual([null, null, null, true])
  })
})
