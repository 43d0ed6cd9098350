// report.revenue and report.cancellations against examples worked out by hand.

import { beforeAll, describe, expect, it } from 'vitest'
import { opened } from '../helpers/opened.ts'
import { departing, openReports } from './support.ts'

const rental = (
  id: number,
  company: number | null,
  status: string | null,
  departure: string | null,
  money: object,
) => ({
  id,
  company_id: company,
  status,
  ...departing(departure),
  ...money,
})

const reports = opened(() => openReports())
beforeAll(async () => {
  await reports.add('companies', { id: 1, company_brand_name: 'Azur' }, { id: 2, company_brand_name: 'Bora' })
  const eur = { deposit_currency: '"EUR"' }
  await reports.add(
    'rentals',
    // Azur, July, EUR: 0.10 + 0.20 = 0.30, of which 0.05 is paid.
    rental(1, 1, 'VALIDATED', '2026-07-01T00:30:00+02:00', {
      total_to_pay: '0.10',
      total_paid: '0.05',
      commission_price: '0.01',
      ...eur,
    }),
    rental(2, 1, 'VALIDATED', '2026-07-31T23:30:00-04:00', { total_to_pay: '0.20', total_paid: null, ...eur }),
    // The same month in another currency, and in none.
    rental(3, 1, 'VALIDATED', '2026-07-15T09:00:00+02:00', {
      total_to_pay: '100',
      total_paid: '100',
      deposit_currency: '{"code": "GBP"}',
    }),
    rental(4, 1, 'VALIDATED', '2026-07-15T09:00:00+02:00', { total_to_pay: '7', total_paid: '0' }),
    // Another month: the payments say EUR, the deposit USD.
    rental(5, 1, 'VALIDATED', '2026-08-01T09:00:00+02:00', {
      total_to_pay: '50',
      total_paid: '20',
      deposit_currency: '"USD"',
    }),
    // Other statuses of Azur in July.
    rental(6, 1, 'PENDING', '2026-07-15T09:00:00+02:00', { total_to_pay: '1000', ...eur }),
    rental(7, 1, 'CANCELED_BY_CLIENT', '2026-07-15T09:00:00+02:00', { total_to_pay: '30', total_paid: '10', ...eur }),
    rental(8, 1, 'CANCELED_BY_CLIENT', '2026-07-16T09:00:00+02:00', { total_to_pay: '5.5', total_paid: '0', ...eur }),
    rental(9, 1, 'CANCELED_BAD_WEATHER', '2026-07-16T09:00:00+02:00', { total_to_pay: '8', total_paid: '8', ...eur }),
    rental(10, 1, 'CANCELED', '2026-07-16T09:00:00+02:00', { total_to_pay: '9', total_paid: '0', ...eur }),
    // Bora: a status nobody has published, and one rental of a company that is not known.
    rental(11, 2, 'RETURNED', '2024-02-29T09:00:00+01:00', { total_to_pay: '12', total_paid: '12', ...eur }),
    rental(12, 2, 'CANCELED_BREAKDOWN', '2024-02-01T09:00:00+01:00', { total_to_pay: '4', total_paid: '0', ...eur }),
    rental(13, 2, 'CANCELED_PAYMENT', '2025-02-01T09:00:00+01:00', { total_to_pay: '4', total_paid: '0', ...eur }),
    rental(14, null, 'VALIDATED', null, { total_to_pay: '3', total_paid: '1', ...eur }),
    { ...rental(15, 2, 'VALIDATED', '2024-02-01T09:00:00+01:00', { total_to_pay: '999' }), _deleted_at: '2026-01-01' },
  )
  await reports.add('rental_payments', { rental_id: 5, id: 1, currency: '"EUR"' })
  await reports.readLines(2)
})

describe('report.revenue', () => {
  it('adds up per company, month of departure and currency, digit by digit', async () => {
    const rows = await reports.rows<{ line: string }>(
      `select concat_ws(' ', coalesce(company_name, '-'), coalesce(to_char(month, 'YYYY-MM'), '-'), coalesce(currency, '-'),
         rentals, total_to_pay, coalesce(total_paid::text, '-'), balance, currencies, paid_unknown) as line
       from report.revenue order by company_id, month, currency`,
    )
    expect(rows.map(({ line }) => line)).toEqual([
      'Azur 2026-07 EUR 2 0.30 0.05 0.25 {EUR} 0',
      'Azur 2026-07 GBP 1 100 100 0 {GBP} 0',
      'Azur 2026-07 - 1 7 0 7 {} 0',
      'Azur 2026-08 - 1 50 20 30 {EUR,USD} 0',
      'Bora 2024-02 EUR 1 12 12 0 {EUR} 0',
      '- - EUR 1 3 1 2 {EUR} 0',
    ])
  })
})

describe('report.cancellations', () => {
  it('counts by kind, with the share of all rentals of the company and month that were not pending', async () => {
    const rows = await reports.rows<{ line: string }>(
      `select concat_ws(' | ', company_name, to_char(month, 'YYYY-MM'), status, kind, currency, rentals, share, total_to_pay,
         total_paid) as line
       from report.cancellations order by company_id, month, status`,
    )
    // Azur in July: four that take place (1, 2, 3, 4) and four cancelled; Bora in February 2024: one of two.
    expect(rows.map(({ line }) => line)).toEqual([
      'Azur | 2026-07 | CANCELED | not said | EUR | 1 | 0.1250 | 9 | 0',
      'Azur | 2026-07 | CANCELED_BAD_WEATHER | bad weather | EUR | 1 | 0.1250 | 8 | 8',
      'Azur | 2026-07 | CANCELED_BY_CLIENT | by client | EUR | 2 | 0.2500 | 35.5 | 10',
      'Bora | 2024-02 | CANCELED_BREAKDOWN | breakdown | EUR | 1 | 0.5000 | 4 | 0',
      'Bora | 2025-02 | CANCELED_PAYMENT | payment | EUR | 1 | 1.0000 | 4 | 0',
    ])
  })
})
