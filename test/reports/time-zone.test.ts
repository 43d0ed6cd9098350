// TIME_ZONE as both sides read it.

import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { assertTimeZone, differingDay } from '../../src/reports/time-zone.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
})
afterAll(() => database[Symbol.asyncDispose]())

it.each(['IST', 'ist', 'CET', 'EST', 'PST', 'Mars/Olympus'])('%s is refused', async (zone) => {
  await expect(assertTimeZone(database.pool, zone)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

it.each(['UTC', 'GMT', 'Europe/Paris', 'Asia/Kolkata', 'Etc/GMT+12', 'europe/berlin'])('%s is taken', async (zone) => {
  await assertTimeZone(database.pool, zone)
  expect(await differingDay(database.pool, zone)).toBeNull()
})

it('rules that differ are found', async () => {
  const query = vi.fn(async (text: string) => await database.pool.query(text, ['America/New_York']))
  expect(await differingDay({ query } as never, 'Europe/Paris')).toMatch(/^\d{4}-01-01$/)
})
