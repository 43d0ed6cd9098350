// The commands report, explain and drift as people call them: output, messages, exit codes.

import { beforeAll, describe, expect, it } from 'vitest'
import { reportViews } from '../../src/reports/report-views.ts'
import { errorOf, openCommandLine } from '../cli/program.ts'
import { opened } from '../helpers/opened.ts'
import { departing, openReports } from '../reports/support.ts'

const reports = opened(() => openReports())
const cli = opened(() => openCommandLine({ DATABASE_URL: reports.url }))
beforeAll(async () => {
  await reports.add('companies', { id: 1, company_brand_name: 'Azur, "the blue"' })
  await reports.add(
    'rentals',
    {
      id: 7,
      company_id: 1,
      status: 'VALIDATED',
      total_to_pay: '12345678901234567.89',
      deposit_currency: '"EUR"',
      ...departing('2026-07-01T00:30:00+02:00'),
    },
    { id: 8, company_id: 1, status: 'CANCELED_PAYMENT', ...departing('2026-07-01T00:30:00+02:00') },
  )
  await reports.add('resources', { id: 'A-1', name: 'Alizé' })
  await reports.pool.query(
    `insert into sync.unknown_fields (stream, path, sample, times) values ('harbours', 'berths', '"120"', 3)`,
  )
})

describe('report', () => {
  it('prints a table for people', async () => {
    const { code, stdout } = await cli.run(['report', 'revenue'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^COMPANY_ID +COMPANY_NAME +MONTH/)
    expect(stdout).toMatch(/Azur, "the blue" +2026-07-01 +EUR +1 +12345678901234567\.89/)
  })

  it('prints CSV with quoted texts and every digit', async () => {
    const { code, stdout } = await cli.run(['report', 'balances', '--csv'])
    expect(code).toBe(0)
    const [head, row] = stdout.split('\n')
    expect(head).toMatch(/^rental_id,status,reference_id,departure_date,/)
    expect(row).toContain('7,VALIDATED,,2026-07-01,2026-06-30 22:30:00+00,')
    expect(row).toContain('"Azur, ""the blue"""')
    expect(row).toContain(',12345678901234567.89,')
  })

  it('prints JSON with every digit', async () => {
    const { code, stdout } = await cli.run(['report', 'rentals', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject([{ rental_id: 8 }, { rental_id: 7, departure_date: '2026-07-01' }])
    expect(stdout).toContain('"total_to_pay":12345678901234567.89,')
  })

  it('prints an empty array, or says so, when there are no rows', async () => {
    expect((await cli.run(['report', 'departures', '--json'])).stdout).toBe('[]\n')
    expect((await cli.run(['report', 'departures'])).stdout).toBe('The report has no rows.\n')
  })

  it('prints the days that are asked for', async () => {
    const { stdout } = await cli.run(['report', 'calendar', '--from', '2052-02-28', '--to', '2052-03-01', '--csv'])
    expect(stdout.split('\n').map((line) => line.slice(0, 14))).toEqual([
      'date,resource_',
      '2052-02-28,A-1',
      '2052-02-29,A-1',
      '2052-03-01,A-1',
      '',
    ])
  })

  it('stops at a limit and says that there is more', async () => {
    const { stdout } = await cli.run(['report', 'calendar', '--limit', '2'])
    expect(stdout.trim().split('\n')).toHaveLength(5)
    expect(stdout).toContain('Only the first 2 rows')
  })

  it('lists the reports without a name', async () => {
    const { code, stdout } = await cli.run(['report'])
    expect(code).toBe(0)
    for (const { name } of reportViews) expect(stdout).toContain(`\n${name} `)
  })

  const wrong = [
    { args: ['report', 'nothing'], says: /no report "nothing".*\n.*fleet, rentals, occupancy/ },
    { args: ['report', 'revenu'], says: /no report "revenu" \(did you mean revenue\?\)/ },
    { args: ['runs', 'shw', '1'], says: /unknown command 'runs shw'\n\(Did you mean show\?\)/ },
    {
      args: ['changes', 'enqueue', 'rental.updat'],
      says: /no operation "rental\.updat" \(did you mean rental\.update\?\)/,
    },
    { args: ['sync', 'rental'], says: /no stream "rental" \(did you mean rentals\?\)/ },
    { args: ['report', 'fleet', '--from', '2026-01-01'], says: /for calendar; fleet has no days/ },
    { args: ['report', 'calendar', '--from', '2026-02-30'], says: /must be a day as YYYY-MM-DD/ },
    { args: ['report', 'calendar', '--to', '2026-02-20'], says: /--to needs --from/ },
    { args: ['report', 'calendar', '--from', '2026-02-20', '--to', '2026-02-19'], says: /must not be before/ },
    { args: ['report', 'fleet', '--csv', '--json'], says: /not both/ },
    { args: ['report', 'fleet', '--limit', 'all'], says: /whole number/ },
    { args: ['explain', 'boats', '1'], says: /no stream "boats"/ },
    { args: ['explain', 'rentals', 'abc'], says: /abc is not a key of rentals. It must be id bigint/ },
    { args: ['explain', 'rental_options', '7'], says: /key of rental_options is rental_id, id/ },
    { args: ['explain', 'rentals'], says: /missing required argument/ },
  ]
  for (const { args, says } of wrong)
    it(`${args.join(' ')} ends with 2 and says what is wrong`, async () => {
      const ended = await cli.run(args)
      expect(ended).toMatchObject({ code: 2, stdout: '' })
      expect(errorOf(ended)).toMatch(says)
    })
})

describe('explain', () => {
  it('says in words what is known', async () => {
    const { code, stdout } = await cli.run(['explain', 'rentals', '7'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^rentals 7: in the mirror\nWhy +No complete sweep/)
    expect(stdout).toMatch(/total_to_pay +12345678901234567\.89/)
  })

  it('prints JSON with the payload and every digit', async () => {
    const { code, stdout } = await cli.run(['explain', 'rentals', '7', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      stream: 'rentals',
      key: { id: '7' },
      state: 'alive',
      row: {
        values: { total_to_pay: '12345678901234567.89' },
        payload: { departureDatetime: '2026-07-01T00:30:00+02:00' },
      },
      history: { total: 0, entries: [] },
      changes: [],
    })
  })

  it('ends with 1 when nothing is known', async () => {
    const ended = await cli.run(['explain', 'rentals', '9'])
    expect(ended.code).toBe(1)
    expect(errorOf(ended)).toMatch(/There is no record of rentals 9.*\[NOT_FOUND\]/)
  })
})

describe('drift', () => {
  it('lists fields with their sample', async () => {
    const { code, stdout } = await cli.run(['drift'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/harbours +berths .* 3 +120/)
    expect(JSON.parse((await cli.run(['drift', '--json'])).stdout)).toMatchObject([
      { stream: 'harbours', path: 'berths', times: 3, sample: '120' },
    ])
  })

  it('and status show how many rentals, and what amount, rest on statuses that nobody knows, and mixed currencies', async () => {
    const money = { total_to_pay: '0.10', deposit_currency: '"EUR"', company_id: 1 }
    await reports.add(
      'rentals',
      { id: 9_001, status: 'REFUSED_BY_OWNER', ...money },
      { id: 9_002, status: 'Refused by owner', ...money },
      { id: 9_003, status: 'REFUSED_BY_OWNER', ...money, deposit_currency: null },
      { id: 9_004, status: 'VALIDATED', ...money },
    )
    await reports.add('rental_payments', { rental_id: 9_004, id: 1, currency: '"GBP"' })
    await reports.pool.query(`insert into mirror.change_log (epoch, stream, key, operation, diff)
      values (mirror.feed_epoch(), 'rentals', '{"id": 9001}', 'insert', '{}')`)
    const unknown =
      'Counted as taking place: 3 rentals with the unknown status REFUSED_BY_OWNER (0.10 without currency, 0.20 EUR).'
    const mixed = 'Not added to others: 1 rental with several currencies (Azur, "the blue" 1).'
    expect((await cli.run(['drift'])).stdout).toContain(unknown)
    const { stdout } = await cli.run(['status'])
    for (const line of [unknown, mixed]) expect(stdout).toContain(line)
    const amounts = [
      { currencies: [], totalToPay: '0.10' },
      { currencies: ['EUR'], totalToPay: '0.20' },
    ]
    expect(JSON.parse((await cli.run(['status', '--json'])).stdout).rentalDoubts).toMatchObject({
      currencies: [{ companyId: '1', companyName: 'Azur, "the blue"', rentals: 1 }],
      statuses: [{ status: 'REFUSED_BY_OWNER', rentals: 3, amounts }],
    })
    expect(JSON.parse((await cli.run(['drift', '--json'])).stdout)).toContainEqual({
      ...{ stream: 'rentals', path: 'status', firstSeenAt: null, lastSeenAt: null },
      ...{ times: 3, sample: '"REFUSED_BY_OWNER"', amounts },
    })
    await reports.pool.query(`delete from mirror.rentals where id > 9000; delete from mirror.rental_payments where rental_id > 9000;
      delete from mirror.change_log where key = '{"id": 9001}'`)
  })
})
