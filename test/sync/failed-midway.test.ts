// Details that take several reads, one of which fails: what was received before is kept, and nothing is taken for gone.

import { beforeAll, describe, expect, it } from 'vitest'
import { addDays, dateIn } from '../../src/clock.ts'
import { openTestMirror, usualRanges } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

let today: string
const mirror = opened(() => openTestMirror({ size: 12 }, usualRanges))
beforeAll(async () => {
  await mirror.sync({ streams: ['resources', 'resource_durations'] })
  const { clock, settings } = mirror.app.syncContext
  today = dateIn(settings.timeZone, clock.now())
})

/** Days (or years) of the live rows, each once. */
async function daysOf(stream: string, column: string): Promise<readonly string[]> {
  const rows = await mirror.all<{ day: string }>(
    `select distinct ${column}::text as day from mirror.${stream} where _deleted_at is null order by 1`,
  )
  return rows.map(({ day }) => day)
}

describe('what was received before a read failed', () => {
  const cases = [
    {
      stream: 'resource_slots',
      op: 'GET /v3/resources/{resourceId}/slots',
      column: 'date',
      match: () => ({ date: addDays(today, 1) }),
      kept: () => [today],
      all: () => [today, addDays(today, 1), addDays(today, 2)],
    },
    {
      stream: 'resource_availability_years',
      op: 'GET /v3/resources/{resourceId}/availabilities',
      column: 'year',
      match: () => ({ year: Number(today.slice(0, 4)) + 1 }),
      kept: () => [today.slice(0, 4)],
      all: () => [today.slice(0, 4), String(Number(today.slice(0, 4)) + 1)],
    },
    {
      stream: 'resource_pricetable',
      op: 'GET /v3/resources/{resourceId}/pricetable',
      column: 'date',
      match: () => ({ from: addDays(today, 31) }),
      kept: () => Array.from({ length: 31 }, (_, day) => addDays(today, day)),
      all: () => Array.from({ length: 90 }, (_, day) => addDays(today, day)),
    },
  ]
  for (const { stream, op, column, match, kept, all } of cases)
    it(`is in the mirror: ${stream}; the rest comes with the next sync`, async () => {
      mirror.sandbox.fault({ op, match: match(), respond: 'forbidden' })
      const [run] = (await mirror.sync({ streams: [stream] })).filter((each) => each.stream === stream)
      expect(run).toMatchObject({ status: 'partial', error: expect.stringContaining('403') })
      expect(Number(run?.inserted)).toBe(Number(run?.read))
      expect(await daysOf(stream, column)).toEqual(kept())

      mirror.sandbox.clearFaults()
      await mirror.sync({ streams: [stream] })
      expect(await daysOf(stream, column)).toEqual(all())
    })
})
