// TIME_ZONE as both sides read it.

import pg from 'pg'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { dateIn } from '../../src/clock.ts'
import { nodeOffset, postgresZones, zoneOffset } from '../../src/date-time.ts'
import { assertTimeZone, followZone } from '../../src/reports/time-zone.ts'
import { openCommandLine } from '../cli/program.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'

const database = opened(() => createTestDatabase({ migrated: false }))

it.each(['IST', 'ist', 'CET', 'EST', 'PST', 'Mars/Olympus'])('%s is refused', async (zone) => {
  await expect(assertTimeZone(database.pool, zone)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

it.each(['UTC', 'GMT', 'Europe/Paris', 'Asia/Kolkata', 'Etc/GMT+12', 'europe/berlin'])('%s is taken', async (zone) => {
  await assertTimeZone(database.pool, zone)
  expect(await followZone(database.pool, zone)).toBeNull()
})

const [hourMs, yearMs] = [3_600_000, 31_536_000_000]
const year = new Date().getUTCFullYear()
const begin = Date.UTC(year, 0)

it.each(['Europe/Paris', 'Australia/Lord_Howe', 'America/St_Johns'])(
  '%s has the same offsets on both sides, before, in and after the two years that Postgres decides',
  async (zone) => {
    await followZone(database.pool, zone)
    const hours = Array.from({ length: (4 * yearMs) / hourMs }, (_, hour) => begin - yearMs + hour * hourMs)
    expect(hours.filter((at) => zoneOffset(at, zone) !== nodeOffset(at, zone))).toEqual([])
  },
)

// A zone that no other test uses: what is learnt about one is true for the whole process.
describe('rules that differ', () => {
  const zone = 'America/Nome'
  const newRules = { query: (text: string) => database.pool.query(text, ['Pacific/Kiritimati']) } as never
  afterEach(() => postgresZones.delete(zone))

  it('are named with both versions', async () => {
    const { rows } = await database.pool.query<{ server_version: string }>('show server_version')
    expect(await followZone(newRules, zone)).toBe(
      `Node ${process.versions.node} (time zones ${process.versions.tz}) and Postgres ${rows[0]?.server_version} differ in ${zone} on ${year}-01-01. Postgres decides.`,
    )
  })

  it('are those of Postgres for this year and the next', async () => {
    await followZone(newRules, zone)
    const noon = (of: number): string => dateIn(zone, new Date(Date.UTC(of, 6, 1, 12)))
    expect([year - 1, year, year + 1, year + 2].map(noon)).toEqual([
      `${year - 1}-07-01`,
      `${year}-07-02`,
      `${year + 1}-07-02`,
      `${year + 2}-07-01`,
    ])
  })

  it('are named by check and status', async () => {
    const mirrored = await createTestDatabase()
    const cli = await openCommandLine({ DATABASE_URL: mirrored.url, TIME_ZONE: zone, API_AUTH: 'none' })
    const query = pg.Client.prototype.query as (...given: unknown[]) => unknown
    const altered = (text: unknown): unknown =>
      typeof text === 'string' && text.includes('lag(ms)')
        ? text.replaceAll('time zone $1', `time zone coalesce('Pacific/Kiritimati', $1)`)
        : text
    const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
      this: pg.Client,
      text: unknown,
      ...rest: unknown[]
    ) {
      return query.call(this, altered(text), ...rest)
    } as never)
    try {
      const sentence = new RegExp(`Node .* and Postgres .* differ in ${zone} on ${year}-01-01`)
      expect((await cli.run(['check'])).stdout).toMatch(sentence)
      expect((await cli.run(['status'])).stdout).toMatch(sentence)
    } finally {
      spy.mockRestore()
      await cli[Symbol.asyncDispose]()
      await mirrored[Symbol.asyncDispose]()
    }
  })
})
