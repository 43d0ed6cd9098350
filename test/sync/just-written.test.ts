// Which rows and tombstones are skipped because they were read too early after a change of ours.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { changeSet } from '../../src/sync/change-set.ts'
import { withoutEarly } from '../../src/sync/just-written.ts'
import { projectRecord } from '../../src/sync/records/project.ts'
import type { OwnWrite } from '../../src/sync/remembered/own-writes.ts'

const rentals = streamNamed('rentals')
const payments = streamNamed('rental_payments')
const at = new Date('2026-05-01T12:00:00Z')
const later = (ms: number): Date => new Date(at.getTime() + ms)
const options = { shownAfter: { ms: () => 5_000, longestMs: 60_000 }, timeZone: 'UTC' }

const rowOf = (orderLink: string | null) => {
  const projected = projectRecord(rentals, { id: 7, status: 'VALIDATED', orderLink }, {}, 'UTC')
  if (!projected.ok) throw new Error(projected.reason)
  return projected.row
}
const written = (orderLink: string | null, more: Partial<OwnWrite> = {}): OwnWrite => ({
  ...{ stream: 'rentals', key: '7', at, state: 'there', made: false, fields: { orderLink } },
  ...more,
})
/** What is left of a read of rental 7 that began `ms` after the write. */
const readAfter = (ms: number, shows: string | null, write: OwnWrite, mode: 'record' | 'stub' = 'record') => {
  const { tables, records } = withoutEarly(
    changeSet([
      {
        tables: [{ stream: rentals, source: 'GET /v3/rentals', readAt: later(ms), rows: [rowOf(shows)], mode }],
        records: [{ stream: 'rentals', key: '7', listHash: 'x' }],
      },
    ]),
    [write],
    options,
  )
  return { rows: tables.flatMap(({ rows }) => rows).length, records: records.length }
}
const kept = { rows: 1, records: 1 }
const dropped = { rows: 0, records: 0 }

describe('a record that was read after a change of ours', () => {
  it('counts when it shows what was written, or was read late enough; else neither it nor its hash is kept', () => {
    const link = fc.constantFrom(null, 'https://example.com/1', 'https://example.com/2')
    fc.assert(
      fc.property(fc.integer({ min: -1_000, max: 10_000 }), link, link, (ms, shows, wrote) => {
        const counts = shows === wrote || ms >= 5_000
        expect(readAfter(ms, shows, written(wrote))).toEqual(counts ? kept : dropped)
      }),
    )
  })

  it('does not bring back what was deleted, says nothing while a change is on its way, and stands as a stub', () => {
    expect(readAfter(100, 'a', written('a', { state: 'gone' }))).toEqual(dropped)
    expect(readAfter(100, 'a', written('a', { state: 'sent' }))).toEqual(dropped)
    expect(readAfter(5_000, 'a', written('a', { state: 'gone' }))).toEqual(kept)
    expect(readAfter(100, 'b', written('a'), 'stub')).toEqual(kept)
    expect(readAfter(100, 'b', written('a', { key: '8' }))).toEqual(kept)
  })
})

describe('absence after a change of ours', () => {
  const absent = (ms: number, write: OwnWrite) => {
    const { tables, tombstones, records, warnings } = withoutEarly(
      changeSet([
        {
          tables: [
            {
              ...{ stream: payments, source: 'GET /v3/rentals/{rentalId}/payments', readAt: later(ms), rows: [] },
              ...{ mode: 'record', replace: [{ columns: ['rental_id'], values: ['7'] }] },
            },
          ],
          tombstones: [{ stream: rentals, keys: [['7']], source: 'GET /v3/rentals/{rentalId}', readAt: later(ms) }],
          records: [{ stream: 'rental_payments', key: '7', detailHash: 'x' }],
        },
      ]),
      [write],
      options,
    )
    const keys = tombstones.flatMap((each) => each.keys).length
    expect(warnings).toHaveLength(1 - keys) // a skipped deletion gives a warning
    return { scopes: tables.length, records: records.length, keys }
  }
  const payment = (more: Partial<OwnWrite> = {}): OwnWrite =>
    written(null, { stream: 'rental_payments', key: '["7","1"]', ...more })

  it('deletes nothing below a record, and no record, that a change made within a minute', () => {
    expect(absent(59_000, payment({ made: true }))).toEqual({ scopes: 0, records: 0, keys: 1 })
    expect(absent(59_000, written('a', { made: true }))).toEqual({ scopes: 1, records: 1, keys: 0 })
  })

  it('deletes nothing of what a change wrote within the time the API needs to show it, and counts after that', () => {
    expect(absent(4_900, payment())).toEqual({ scopes: 0, records: 0, keys: 1 })
    expect(absent(4_900, written('a'))).toEqual({ scopes: 1, records: 1, keys: 0 })
    expect(absent(5_000, payment())).toEqual({ scopes: 1, records: 1, keys: 1 })
    expect(absent(5_000, written('a'))).toEqual({ scopes: 1, records: 1, keys: 1 })
  })

  it('counts after that, where the change deleted it, and elsewhere', () => {
    for (const write of [payment({ at: later(-60_000) }), payment({ state: 'gone' }), payment({ key: '["8","1"]' })])
      expect(absent(100, write)).toEqual({ scopes: 1, records: 1, keys: 1 })
    expect(absent(100, written('a', { state: 'gone' }))).toEqual({ scopes: 1, records: 1, keys: 1 })
  })
})
