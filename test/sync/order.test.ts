// In which order a sync reads: all lists, then details of what is of use first.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streamNamed, streams } from '../../src/catalog/catalog.ts'
import { dueKeys } from '../../src/sync/due/due.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

const lists = new Set(streams.flatMap(({ reads }) => (reads.kind === 'list' ? [reads.list as string] : [])))
const dayMs = 86_400_000

let mirror: TestMirror
let asked: readonly { readonly template: string | null; readonly path: string }[]
beforeAll(async () => {
  // The samples of learned reads are drawn from all rentals, and read before the others.
  mirror = await openTestMirror({ size: 60 }, { API_PAGE_BASE: '1', READ_ECONOMY: 'off' })
  await mirror.sync({ streams: ['companies', 'rental_options', 'rental_payments', 'rental_crew_members'] })
  asked = mirror.sandbox.requests()
})
afterAll(() => mirror?.[Symbol.asyncDispose]())

/** Rentals by when they are of use, as the sandbox has them. */
function rentalsOf(): Record<'soon' | 'past', ReadonlySet<string>> {
  const of = (holds: (begin: number, end: number) => boolean): ReadonlySet<string> =>
    new Set(
      (mirror.sandbox.truth({ only: ['rentals'] }).rentals ?? []).flatMap(({ key, record }) => {
        const [begin, end] = [record.departureDatetime, record.arrivalDatetime].map((text) => Date.parse(String(text)))
        return holds(begin ?? 0, end ?? 0) ? String(key.id) : []
      }),
    )
  const now = Date.now()
  return {
    soon: of((begin, end) => end > now + dayMs && begin < now + 29 * dayMs),
    past: of((_, end) => end < now - 8 * dayMs),
  }
}

describe('a first sync', () => {
  it('asks for nothing but pages of lists until all lists are in the mirror', () => {
    const first = asked.findIndex(({ template }) => !lists.has(template ?? ''))
    expect(asked.slice(first).filter(({ template }) => lists.has(template ?? ''))).toEqual([])
  })

  // What is read at once by four tasks may overlap a little.
  it('reads the details of rentals that are about to depart before those of the past', () => {
    const { soon, past } = rentalsOf()
    const readsOf = (ids: ReadonlySet<string>): number[] =>
      asked.flatMap(({ path }, index) => (ids.has(/rentals\/(\d+)\/[a-z]/.exec(path)?.[1] ?? '') ? [index] : []))
    expect(soon.size).toBeGreaterThan(0)
    expect(past.size).toBeGreaterThan(0)
    const lastSoon = Math.max(...readsOf(soon))
    expect(readsOf(past).filter((index) => index < lastSoon).length).toBeLessThan(readsOf(past).length / 2)
  })
})

it('details are due by rank: what departs soonest, what is back since shortest, the past', async () => {
  const { pool } = mirror.app.database
  const days = async (): Promise<readonly (readonly [number, number])[]> => {
    const due = {
      scope: 'schedule' as const,
      before: new Date(Date.now() + dayMs),
      maxAgeMs: dayMs,
      from: '2000-01-01',
      to: '2000-01-01',
      since: null,
      leavesOut: false,
    }
    const keys = await dueKeys(pool, streamNamed('rentals'), due)
    const rows = await mirror.all<{ id: string; begin: number; end: number }>(
      `select id, extract(epoch from departure_datetime - now())::float8 / 86400 as begin,
         extract(epoch from arrival_datetime - now())::float8 / 86400 as end from mirror.rentals`,
    )
    const byId = new Map(rows.map((row) => [row.id, row]))
    // Sooner is smaller: days until the departure, or, beyond any, since the return.
    return keys.map(({ key, rank }) => {
      const { begin = 0, end = 0 } = byId.get(key) ?? {}
      return [rank, end >= 0 ? begin : 10_000 - end] as const
    })
  }
  const order = await days()
  // In a small world nobody may just be back.
  expect(new Set(order.flatMap(([rank]) => (rank === 2 ? [] : rank)))).toEqual(new Set([0, 1, 3]))
  expect(order).toEqual(order.toSorted(([a, x], [b, y]) => a - b || x - y))
})
