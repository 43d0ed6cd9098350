// report.overlaps of companies whose API shows rentals as unavailabilities in one of many forms, or not at all: every double booking
// that was planted, and nothing else.

import fc from 'fast-check'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { overlapsToCome } from '../../src/inspect/report-queries.ts'
import { opened } from '../helpers/opened.ts'
import { type Bookings, bookingsOf, companies, forms, plants } from './booked-boats.ts'
import { openReports } from './support.ts'

const reports = opened(() => openReports())
beforeAll(async () => {
  await reports.pool.query(`update sync.settings set time_zone = 'Europe/Paris'`)
})
beforeEach(() =>
  reports.pool.query('truncate mirror.companies, mirror.resources, mirror.rentals, mirror.resource_unavailabilities'),
)

/** Hours since 2030-06-03T00:00 on a clock that is so many hours ahead of UTC. */
const instant = (hour: number, ahead: number): string =>
  new Date(Date.UTC(2030, 5, 3) + Math.round((hour - ahead) * 3_600_000)).toISOString()

/** Puts companies into the mirror, each on a clock that is so many hours ahead of UTC. */
async function put(all: readonly { readonly number: number; readonly ahead: number; readonly bookings: Bookings }[]) {
  const source = `'test', '2026-01-01', '{}'`
  await reports.pool.query(
    'truncate mirror.companies, mirror.resources, mirror.rentals, mirror.resource_unavailabilities',
  )
  for (const { number, ahead, bookings } of all) {
    const { rentals, blocks } = bookings
    const resources = [...new Set(rentals.map(({ resource }) => resource))]
    await reports.pool.query(
      `insert into mirror.companies (id, company_brand_name, _source, _read_at, _payload) values ($1::bigint, 'C' || $1::bigint, ${source})`,
      [number],
    )
    await reports.pool.query(
      `insert into mirror.resources (id, company_id, _source, _read_at, _payload) select r, $2, ${source} from unnest($1::text[]) r`,
      [resources, number],
    )
    await reports.pool.query(
      `insert into mirror.rentals (id, resource_id, company_id, status, departure_datetime, arrival_datetime, departure_local,
         arrival_local, _source, _read_at, _payload)
       select id, resource, $6, status, starts, ends, (starts at time zone 'UTC') + $7 * interval '1 hour',
         (ends at time zone 'UTC') + $7 * interval '1 hour', ${source}
       from unnest($1::bigint[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[]) r (id, resource, status, starts, ends)`,
      [
        ...[rentals.map(({ id }) => id), rentals.map(({ resource }) => resource), rentals.map(({ status }) => status)],
        ...[rentals.map(({ from }) => instant(from, ahead)), rentals.map(({ to }) => instant(to, ahead))],
        ...[number, ahead],
      ],
    )
    await reports.pool.query(
      `insert into mirror.resource_unavailabilities (resource_id, key, start_datetime, end_datetime, _source, _read_at, _payload)
       select resource, key, starts, ends, ${source}
       from unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[]) u (resource, key, starts, ends)`,
      [
        ...[blocks.map(({ resource }) => resource), blocks.map(({ key }) => key)],
        ...[blocks.map(({ from }) => instant(from, ahead)), blocks.map(({ to }) => instant(to, ahead))],
      ],
    )
  }
}

const lines = async (): Promise<string[]> =>
  (
    await reports.rows<{ line: string }>(
      `select concat_ws(' ', rental_id, other_kind, coalesce(other_rental_id::text, other_key)) as line from report.overlaps order by 1`,
    )
  ).map(({ line }) => line)

describe('of an API that shows rentals as unavailabilities', () => {
  for (const [name, form] of Object.entries(forms))
    it(`in this form: ${name}`, async () => {
      const hit = new Set<string>()
      await fc.assert(
        fc.asyncProperty(companies, fc.constantFrom(2, -4, 9), async (company, ahead) => {
          const bookings = bookingsOf(company, form, 1)
          await put([{ number: 1, ahead: form.behind === undefined ? ahead : form.behind, bookings }])
          const shown = await lines()
          expect({
            false: shown.filter((line) => !bookings.lines.includes(line)),
            missing: bookings.lines.filter((line) => !shown.includes(line)),
          }).toEqual({ false: [], missing: [] })
          for (const what of bookings.hit) hit.add(what)
        }),
        { numRuns: 25, seed: 2030 },
      )
      expect([...hit].sort()).toEqual([...plants].sort())
    })

  it('each company in its own', async () => {
    const names = Object.keys(forms)
    const several = fc.array(fc.record({ company: companies, form: fc.constantFrom(...names) }), {
      minLength: 2,
      maxLength: 4,
    })
    await fc.assert(
      fc.asyncProperty(several, async (all) => {
        const booked = all.map(({ company, form }, index) => ({
          ...{ number: index + 1, ahead: 2, form },
          bookings: bookingsOf(company, forms[form] ?? { block: null }, index + 1),
        }))
        await put(booked)
        expect((await lines()).sort()).toEqual(booked.flatMap(({ bookings }) => bookings.lines).sort())
        const found = await overlapsToCome({ query: (text, values) => reports.pool.query(text, values) })
        expect(found.forms.map(({ companyId, form, explained }) => [companyId, form !== null, explained])).toEqual(
          booked
            .map(({ number, form, bookings }) => [
              `${number}`,
              form !== 'none',
              bookings.blocks.filter(({ planted }) => !planted && form !== 'none').length,
            ])
            .filter(([companyId]) => found.forms.some((each) => each.companyId === companyId)),
        )
      }),
      { numRuns: 15, seed: 2030 },
    )
  })
})
