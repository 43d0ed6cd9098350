// The truth of a world: what a complete mirror must hold, and how large the default world is.

import { describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { streams } from '../../src/catalog/catalog.ts'
import { openedForEach } from '../helpers/opened.ts'
import { type Fields, fields, list, now, openSandbox, send, truthOf } from './client.ts'

const sandbox = openedForEach(openSandbox)

describe('the truth', () => {
  it('is the same for the same seed, size and time, and another for another seed', async () => {
    await using same = await openSandbox()
    await using other = await openSandbox({ seed: 8 })
    expect(same.truthText()).toBe(sandbox.truthText())
    expect(other.truthText()).not.toBe(sandbox.truthText())
  })

  it('has every table of a mirror, none empty', () => {
    const truth = sandbox.truth()
    expect(Object.keys(truth).sort()).toEqual(streams.map(({ name }) => name).sort())
    expect(Object.entries(truth).filter(([, rows]) => rows.length === 0)).toEqual([])
  })

  it('equals what the API answers', async () => {
    const reads: [table: string, path: (key: Fields) => string][] = [
      ['users', ({ id }) => `users/${id}`],
      ['rentals', ({ id }) => `rentals/${id}`],
      ['rental_resources', ({ rental_id }) => `rentals/${rental_id}/resource`],
      ['user_licenses', ({ user_id }) => `users/${user_id}/license`],
      ['resources', ({ id }) => `resources/${id}`],
      ['countries', ({ code }) => `countries/${code}`],
      [
        'resource_availability',
        ({ resource_id, date, duration }) => `resources/${resource_id}/availability?date=${date}&duration=${duration}`,
      ],
      [
        'resource_availability_years',
        ({ resource_id, year }) => `resources/${resource_id}/availabilities?year=${year}`,
      ],
    ]
    for (const [table, path] of reads) {
      for (const { key, record } of truthOf(sandbox, table).slice(0, 5)) {
        expect(fields(await send(sandbox, `GET /v3/${path(key)}`)), table).toEqual(record)
      }
    }
  })

  it('covers the horizons it is asked for', () => {
    const rows = (options: object, table: string): number =>
      sandbox.truth({ ...options, only: [table] })[table]?.length ?? 0
    const resources = rows({}, 'resources')
    expect(rows({ days: 5 }, 'resource_availability')).toBe(resources * 5)
    expect(rows({ calendarYears: 3 }, 'resource_availability_years')).toBe(resources * 3)
    expect(rows({ priceDays: 2 }, 'resource_pricetable')).toBe(rows({}, 'resource_durations') * 2)
    expect(rows({ days: 0 }, 'resource_slots')).toBe(0)
    expect(sandbox.truth({ today: '2026-07-01', only: ['resource_slots'] }).resource_slots?.[0]?.key.id).toContain(
      '2026-07-01',
    )
  })

  it('is read over HTTP, with the same choices', async () => {
    const reply = await send(sandbox, 'GET /_sandbox/truth?only=resource_slots,users&days=2')
    expect(reply.body).toEqual(sandbox.truth({ only: ['resource_slots', 'users'], days: 2 }))
    expect((await send(sandbox, 'GET /_sandbox/truth?days=many')).status).toBe(400)
  })

  it('leaves out test resources, which are served only with test=true', async () => {
    const shown = new Set(truthOf(sandbox, 'resources').map(({ key }) => key.id))
    const all = list(await send(sandbox, 'GET /v3/resources?perPage=100&test=true')).map(({ id }) => String(id))
    const [hidden, ...others] = all.filter((id) => !shown.has(id))
    expect(others).toEqual([])
    expect((await send(sandbox, `GET /v3/resources/${hidden}/durations`)).status).toBe(404)
    expect((await send(sandbox, `GET /v3/resources/${hidden}/durations?test=true`)).status).toBe(200)
  })
})

describe('the default world', () => {
  it('is of the promised size and takes some thousands of requests to read whole', async () => {
    await using usual = await createSandbox({ now })
    const truth = usual.truth()
    const count = (...tables: string[]): number => tables.reduce((sum, table) => sum + (truth[table]?.length ?? 0), 0)
    expect([count('rentals'), count('resources'), count('companies'), count('users')]).toEqual([200, 40, 8, 120])
    const statuses = new Set(truth.rentals?.map(({ record }) => record.status))
    expect(statuses.size).toBe(6)
    const at = (rental: Fields, field: string): number => Date.parse(String(rental[field]))
    const rentals = truth.rentals?.map(({ record }) => record) ?? []
    const present = rentals.filter(
      (r) => at(r, 'departureDatetime') <= now.getTime() && at(r, 'arrivalDatetime') >= now.getTime(),
    )
    expect(present.length).toBeGreaterThan(0)
    const references = Object.keys(truth).filter(
      (table) => !/^(rental|resource|user|compan(ies$))/.test(table) || /types|methods|forms/.test(table),
    )
    const requests =
      count('resources') * (1 + 1 + 3 + 1 + 1 + 2 + 1 + 3 + 3) +
      2 * count('resource_slots') +
      count('resource_options', 'rental_options', 'rental_payments', 'rental_crew_members') +
      count('rentals') * 6 +
      count('users') * 3 +
      count(...references)
    expect(requests).toBeGreaterThan(3_000)
    expect(requests).toBeLessThan(5_000)
  })

  it('never rents a boat to two at once', async () => {
    await using usual = await createSandbox({ now })
    const taken = usual.truth({ only: ['resource_unavailabilities'] }).resource_unavailabilities ?? []
    const spans = taken.map(({ key, record }) => ({
      resource: key.resource_id,
      from: Date.parse(String(record.startDatetime)),
      to: Date.parse(String(record.endDatetime)),
    }))
    const overlaps = spans.filter((a) =>
      spans.some((b) => a !== b && a.resource === b.resource && a.from <= b.from && b.from < a.to),
    )
    expect(overlaps).toEqual([])
  })
})
