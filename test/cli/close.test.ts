// The command close as people call it: output, JSON, exit codes.

import { beforeAll, beforeEach, expect, it } from 'vitest'
import { opened } from '../helpers/opened.ts'
import { departing, openReports } from '../reports/support.ts'
import { errorOf, openCommandLine } from './program.ts'

const reports = opened(() => openReports())
const cli = opened(() => openCommandLine({ DATABASE_URL: reports.url }))
beforeAll(async () => {
  const known = { company_id: 1, status: 'VALIDATED', total_paid: '20', deposit_currency: '"EUR"' }
  const departure = departing('2026-07-01T00:30:00+02:00')
  await reports.add('rentals', { id: 7, ...known, total_to_pay: '12345678901234567.89', ...departure })
  await reports.add('rentals', { id: 8, ...known, company_id: 2, total_to_pay: '5', ...departure })
})
beforeEach(() => reports.pool.query('delete from sync.closes'))

const run = (...args: string[]) => cli.run(['close', ...args])

it('makes closes, lists them, shows what each adds up to and what has changed since, and removes them', async () => {
  expect((await run('list')).stdout).toBe('There are no closes. Make one with: boat-mirror close create NAME\n')
  const made = await run('create', '2026-06')
  expect(made).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Close 2026-06 of [\d: -]+ UTC holds 2 rentals\.\n$/),
  })
  expect(await run('create', '2026-06')).toEqual(made)
  const json = await run('create', 'june of 1', '--company', '1', '--json')
  expect(JSON.parse(json.stdout)).toMatchObject({ name: 'june of 1', company_id: 1, rentals: 1 })
  const listed = (await run('list')).stdout.split('\n')
  expect(listed[1]).toMatch(/^2026-06 +all +[\d: -]+ +2$/)
  expect(listed[2]).toMatch(/^june of 1 +1 +[\d: -]+ +1$/)

  expect((await run('show', '2026-06')).stdout).toContain('\nChanges until now:\nThere are none.\n')
  await reports.pool.query('update mirror.rentals set total_paid = 20.50 where id = 7')
  const { code, stdout } = await run('show', '2026-06')
  expect(code).toBe(0)
  expect(stdout).toMatch(/\n1 +EUR +1 +12345678901234567\.89 +20 /)
  expect(stdout).toMatch(/\nchanged +7 .* 20 +20\.50 +\{"total_paid": \{"now": 20\.50, "then": 20\}\}/)
  const shown = await run('show', '2026-06', '--json')
  expect(shown.stdout).toContain('"amount": 12345678901234567.89')
  expect(JSON.parse(shown.stdout)).toMatchObject({
    ...{ name: '2026-06', company_id: null, rentals: 2, totals: [{ company_id: 1, paid: 20 }, { company_id: 2 }] },
    changes: [{ what: 'changed', rental_id: 7, paid_then: 20, paid_now: 20.5 }],
  })
  await run('create', '2026-07')
  expect(JSON.parse((await run('show', '2026-06', '--until', '2026-07', '--json')).stdout).changes).toHaveLength(1)

  expect((await run('remove', '2026-06')).stdout).toBe('Close 2026-06 is removed.\n')
  expect(JSON.parse((await run('list', '--json')).stdout)).toMatchObject([{ name: 'june of 1' }, { name: '2026-07' }])
})

it('refuses a close that is not there with 1, and a name of another company with 2', async () => {
  await run('create', 'taken', '--company', '2')
  for (const args of [
    ['show', 'nothing'],
    ['show', 'nothing', '--json'],
    ['show', 'taken', '--until', 'nothing'],
    ['remove', 'nothing'],
  ]) {
    const ended = await run(...args)
    expect(ended.code, args.join(' ')).toBe(1)
    expect(errorOf(ended)).toContain("There is no close 'nothing'. [NOT_FOUND]\nList them with: boat-mirror close list")
  }
  const refused = await run('create', 'taken')
  expect(refused.code).toBe(2)
  expect(errorOf(refused)).toContain("There is a close 'taken' of another company. [USAGE]")
  expect((await run('create', 'x', '--company', 'Azur')).code).toBe(2)
})
