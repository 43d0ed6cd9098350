// Every date-time that the sync takes, in every view and calendar: no text makes one fail, and all agree about it. What a text means
// is worked out here from its parts.

import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { reportViews } from '../../src/reports/report-views.ts'
import { readBoat } from '../../src/serve/calendars/read-boat.ts'
import { projectRecord } from '../../src/sync/records/project.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror } from '../helpers/rows.ts'

const mirror = opened(() => openMirror())
beforeEach(() => mirror.db.pool.query('truncate mirror.rentals, mirror.resource_unavailabilities, mirror.resources'))

type Written = {
  readonly text: string /** As in UTC, in milliseconds. */
  readonly wall: number
  readonly aheadMinutes: number | null
}

const two = (value: number): string => String(value).padStart(2, '0')
const minuteMs = 60_000
const year = 2030

/** Every way in which RFC 3339, and what is common besides, writes a moment of some days. */
const written: fc.Arbitrary<Written> = fc
  .record({
    minute: fc.integer({ min: 0, max: 5 * 1_440 - 1 }),
    t: fc.constantFrom('T', 't', ' '),
    second: fc.option(fc.integer({ min: 0, max: 60 }), { nil: null }),
    fraction: fc.option(fc.stringMatching(/^[0-9]{1,20}$/), { nil: null }),
    gap: fc.constantFrom('', ' '),
    offset: fc.option(fc.integer({ min: -1_439, max: 1_439 }), { nil: null }),
    form: fc.constantFrom('Z', 'z', ':', '', 'hours'),
  })
  .map(({ minute, t, second, fraction, gap, offset, form }) => {
    const at = new Date(Date.UTC(year, 0, 1) + minute * minuteMs)
    const [day, time] = [at.toISOString().slice(0, 10), at.toISOString().slice(11, 16)]
    const hasFraction = second !== null && fraction !== null
    const seconds = second === null ? '' : `:${two(second)}${hasFraction ? `.${fraction}` : ''}`
    const isUtc = form.toUpperCase() === 'Z'
    const ahead = offset === null ? null : isUtc ? 0 : form === 'hours' ? Math.trunc(offset / 60) * 60 : offset
    const [hours, minutes] = [Math.trunc(Math.abs(ahead ?? 0) / 60), Math.abs(ahead ?? 0) % 60]
    const sign = (ahead ?? 0) < 0 ? '-' : '+'
    const zone = isUtc ? form : `${sign}${two(hours)}${form === 'hours' ? '' : `${form}${two(minutes)}`}`
    const wall =
      at.getTime() + (second ?? 0) * 1_000 + (hasFraction ? Math.round(Number(`0.${fraction}`) * 1e6) / 1e3 : 0)
    return { text: `${day}${t}${time}${seconds}${offset === null ? '' : `${gap}${zone}`}`, wall, aheadMinutes: ahead }
  })

const instantOf = ({ wall, aheadMinutes }: Written): number => wall - (aheadMinutes ?? 0) * minuteMs

/** To the millisecond: digits behind it are compared by Postgres. */
const shown = (ms: number): string => new Date(Math.floor(ms)).toISOString()
const near = (ms: number, iso: unknown): boolean => Math.abs(Date.parse(String(iso)) - ms) <= 1

const readAt = new Date('2029-01-01T00:00:00Z')

async function write(
  stream: string,
  records: readonly { readonly key: string; readonly record: Record<string, unknown> }[],
  zone = 'UTC',
) {
  const definition = streamNamed(stream)
  const rows = records.map(({ key, record }) => {
    const request = { resource_id: 'b', company_id: null, key }
    const projected = projectRecord(definition, record as never, request, zone)
    if (!projected.ok) throw new Error(`${JSON.stringify(record)}: ${projected.reason}`)
    return projected.row
  })
  await mirror.write({ tables: [{ stream: definition, source: `GET /v3/${stream}`, mode: 'record', readAt, rows }] })
}

const addBoat = (): Promise<unknown> =>
  mirror.db.pool.query(`insert into mirror.resources (id, boat_id, name, _payload, _source, _read_at)
    values ('b', 1, 'Alizé', '{}', 'test', now()) on conflict do nothing`)

async function fill(stays: readonly (readonly [Written, Written])[]): Promise<void> {
  await mirror.db.pool.query('truncate mirror.rentals, mirror.resource_unavailabilities')
  await addBoat()
  await write(
    'rentals',
    stays.map(([from, to], index) => ({
      key: '',
      record: {
        id: index + 1,
        status: 'VALIDATED',
        departureDatetime: from.text,
        arrivalDatetime: to.text,
        totalToPay: 10,
      },
    })),
  )
  await mirror.db.pool.query(`update mirror.rentals set resource_id = 'b'`)
  await write(
    'resource_unavailabilities',
    stays.map(([from, to], index) => ({ key: `u${index + 1}`, record: { start: from.text, dateTo: to.text } })),
  )
}

const stays = fc.array(fc.tuple(written, written), { minLength: 1, maxLength: 30 })

describe('every text that the sync takes', () => {
  it('fails no view, and all say the same of it', async () => {
    await fc.assert(
      fc.asyncProperty(stays, async (all) => {
        await fill(all)
        for (const { name } of reportViews) await mirror.all(`select * from report.${name}`)
        for (const schema of ['live', 'mirror_views'])
          for (const table of ['rentals', 'resource_unavailabilities'])
            await mirror.all(`select * from ${schema}.${table}`)
        const rentals = await mirror.all<Record<string, string>>(
          `select v.departure_datetime::text as departure, v.arrival_datetime::text as arrival, v.departure_local::text || 'Z' as departure_local,
             v.arrival_local::text || 'Z' as arrival_local, v.departure_date::text as day, u.start_datetime::text as starts,
             u.end_datetime::text as ends, l.departure_local::text || 'Z' as live_local
           from report.rentals v join live.rentals l on l.id = v.rental_id
           join live.resource_unavailabilities u on u.key = 'u' || v.rental_id order by v.rental_id`,
        )
        expect(rentals).toHaveLength(all.length)
        for (const [index, row] of rentals.entries()) {
          const [from, to] = all[index] ?? []
          if (from === undefined || to === undefined) throw new Error('There is no such rental.')
          const told = `${from.text} ${to.text} ${JSON.stringify(row)}`
          expect(near(instantOf(from), row.departure), told).toBe(true)
          expect(near(instantOf(to), row.arrival), told).toBe(true)
          expect(near(from.wall, row.departure_local), told).toBe(true)
          expect(near(to.wall, row.arrival_local), told).toBe(true)
          expect([row.starts, row.ends, row.live_local], told).toEqual([
            row.departure,
            row.arrival,
            row.departure_local,
          ])
          expect(row.day, told).toBe(String(row.departure_local).slice(0, 10))
        }
        const boat = await readBoat(mirror.db.pool, 'b')
        const busy = boat?.stays.map(({ uid, from }) => `${uid} ${from.toISOString()}`)
        const taking = all.flatMap(([from, to], index) =>
          instantOf(from) < instantOf(to) ? [`rental-${index + 1} ${shown(instantOf(from))}`] : [],
        )
        expect(busy?.filter((each) => each.startsWith('rental')).map((each) => each.split(' ')[0])).toEqual(
          taking.map((each) => each.split(' ')[0]),
        )
      }),
      { numRuns: runsOf(25) },
    )
  })
})
