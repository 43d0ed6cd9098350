// The reader of date-times: every legal spelling is read, as Postgres reads it, whatever the time zone of the process.

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dateTimeForSql, dayOf, instantOf } from '../src/date-time.ts'
import { createTestDatabase } from './helpers/database.ts'
import { projectRoot } from './helpers/import-graph.ts'
import { opened } from './helpers/opened.ts'

const zone = 'Europe/Paris'

describe('one instant in other spellings', () => {
  const instant = Date.UTC(2026, 6, 14, 7, 30)
  const spellings = [
    '2026-07-14T07:30:00Z',
    '2026-07-14t07:30:00z',
    '2026-07-14 07:30:00Z',
    '2026-07-14T07:30Z',
    '2026-07-14T07:30:00.000Z',
    '2026-07-14T09:30:00+02:00',
    '2026-07-14T09:30:00+0200',
    '2026-07-14T09:30:00 +02',
    '2026-07-14T07:30:00+00',
    '2026-07-14T07:30:00-00:00',
    '2026-07-13T08:31:00-22:59',
    '2026-07-14T07:29:60Z',
    '2026-07-14T09:30:00',
    '2026-07-14 09:30',
  ]
  for (const text of spellings) it(text, () => expect(instantOf(text, zone)).toBe(instant))
})

describe('no date-time is', () => {
  const texts = [
    '',
    '2026-07-14',
    '2026-07-14T24:00:00Z',
    '2026-07-14T07:60:00Z',
    '2026-07-14T07:30:61Z',
    '2026-07-14T07:30:00+24:00',
    '2026-07-14T07:30:00.Z',
    '2026-02-30T07:30:00Z',
    '0000-01-01T00:00:00Z',
    'Tue, 14 Jul 2026 07:30:00 GMT',
    '07/14/2026 07:30',
    ' 2026-07-14T07:30:00Z',
  ]
  for (const text of texts)
    it(JSON.stringify(text), () => {
      expect(instantOf(text, zone)).toBeNull()
      expect(dateTimeForSql(text, zone)).toBeNull()
    })

  it('one whose instant lies outside of the years that have four digits', () => {
    expect(dateTimeForSql('9999-12-31T23:59:60.5Z', zone)).toBeNull()
    expect(dateTimeForSql('0001-01-01T00:00:00+16:00', zone)).toBeNull()
  })
})

describe('the day of', () => {
  const days: readonly (readonly [string, string | null])[] = [
    ['2026-07-14', '2026-07-14'],
    ['2026-07-14t23:30:00-05:00', '2026-07-14'],
    ['2026-07-14T99:30', null],
    ['2026-02-29', null],
    ['14.07.2026', null],
  ]
  for (const [text, day] of days) it(text, () => expect(dayOf(text)).toBe(day))
})

describe('Postgres reads the same instant', () => {
  const database = opened(() => createTestDatabase({ migrated: false }))

  const digits = (min: number, max: number, length = 2) =>
    fc.integer({ min, max }).map((number) => String(number).padStart(length, '0'))
  const mark = (...marks: string[]) => fc.constantFrom(...marks)
  const joined = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map((each) => each.join(''))
  const spelt = (years: fc.Arbitrary<string>, hours: fc.Arbitrary<string>, offset: fc.Arbitrary<string>) =>
    joined(
      joined(years, mark('-'), digits(1, 12), mark('-'), digits(1, 28)),
      mark('T', 't', ' '),
      joined(hours, mark(':'), digits(0, 59)),
      fc.oneof(
        mark('', ':60', ':60.25', ':59.9999995'),
        joined(mark(':'), digits(0, 59)),
        joined(mark(':'), digits(0, 59), mark('.'), fc.stringMatching(/^\d{1,20}$/)),
      ),
      mark('', ' '),
      offset,
    )
  const withOffset = spelt(
    digits(1700, 2247, 4),
    digits(0, 23),
    fc.oneof(mark('Z', 'z'), joined(mark('+', '-'), digits(0, 23), mark('', ':00', '45', ':59'))),
  )
  const withoutOffset = spelt(digits(1971, 2060, 4), digits(0, 23), mark(''))

  /** How far what Postgres makes of the text for SQL is from the instant, at most, in microseconds. */
  const difference = async (texts: readonly string[], timeZone: string): Promise<number> => {
    const { rows } = await database.pool.query<{ most: string }>(
      `select max(abs(extract(epoch from value::timestamptz) * 1000 - ms::numeric) * 1000) as most
       from unnest($1::text[], $2::text[]) each (value, ms)`,
      [texts.map((text) => dateTimeForSql(text, timeZone)), texts.map((text) => String(instantOf(text, timeZone)))],
    )
    return Number(rows[0]?.most)
  }

  it('of a text with an offset', async () => {
    expect(await difference(fc.sample(withOffset, 3_000), zone)).toBeLessThan(0.5)
  })

  for (const timeZone of ['Europe/Paris', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'UTC'])
    it(`of a text without one, in ${timeZone}`, async () => {
      expect(await difference(fc.sample(withoutOffset, 1_000), timeZone)).toBeLessThan(0.5)
    })

  it('around each change of the clocks: of times that are skipped, and that come twice', async () => {
    const nights = [
      ['Europe/Paris', '2026-03-29', '2026-10-25'],
      ['America/New_York', '2026-03-08', '2026-11-01'],
      ['Australia/Lord_Howe', '2026-10-04', '2026-04-05'],
      ['Europe/Dublin', '2026-03-29', '2026-10-25'],
    ] as const
    for (const [timeZone, ...days] of nights) {
      const texts = days.flatMap((day) =>
        Array.from({ length: 96 }, (_, quarter) => {
          const minutes = quarter * 15
          return `${day}T${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
        }),
      )
      expect(await difference(texts, timeZone), timeZone).toBe(0)
    }
  })
})

describe('texts of the API are read as date-times by this reader alone', () => {
  /** What turns numbers and instants of our own into a Date. */
  const allowed = new Set([
    'src/sync/lists/windows.ts: new Date(begin.getTime() + hotWindowMs)',
    'src/sync/lists/windows.ts: new Date(times[0] ?? 0)',
    "src/sync/check.ts: new Date('9999-12-31T00:00:00Z')",
    'src/sync/details/samples.ts: new Date(now.getTime() - dayMs)',
    'src/sync/details/gone.ts: new Date(startedAt.getTime() - recentlySeenMs)',
    'src/sync/deletions/emptied.ts: new Date(readAt.getTime() - longestMs)',
    'src/sync/just-written.ts: new Date(earliest - shownAfter.longestMs)',
    'src/mirror/direct-insert.ts: new Date(0)',
    'src/sync/remembered/new-records.ts: new Date(0)',
    'src/outbox/personal.ts: new Date(now.getTime() - overlapMs)',
    'src/api/admission/rate-limit.ts: new Date(Math.min(...since))',
    'src/api/admission/gate.ts: new Date(state.pausedUntil)',
    'src/api/admission/gate.ts: new Date(state.probeAt)',
    'src/api/admission/gate.ts: new Date(Math.max(state.pausedUntil, state.opened > 0 ? state.probeAt : 0, now))',
    // HTTP's own dates.
    'src/api/retry.ts: Date.parse(/(GMT|UTC)$/.test(text) ? text : `$' + '{text} GMT`)',
  ])

  it('no other place calls Date.parse, or makes a Date of what may be a text', () => {
    const files = ['sync', 'outbox', 'mirror', 'api', 'catalog'].flatMap((folder) =>
      readdirSync(join(projectRoot, 'src', folder), { withFileTypes: true, recursive: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
        .map((entry) => relative(projectRoot, join(entry.parentPath, entry.name)).split(sep).join('/')),
    )
    const found = files.flatMap((file) =>
      usesOf(readFileSync(join(projectRoot, file), 'utf8')).map((use) => `${file}: ${use}`),
    )
    expect(found.filter((use) => !allowed.has(use))).toEqual([])
    expect(found.length).toBeGreaterThanOrEqual(allowed.size)
  })

  it('the search finds them however they are written', () => {
    expect(usesOf('a.map(Date.parse)\nnew Date(f(x), 1)\nnew  Date (y)\n// Date.parse(z)\nnew Date()')).toEqual([
      'Date.parse',
      'new Date(f(x), 1)',
      'new  Date (y)',
    ])
  })
})

/** Each use of Date.parse, and each `new Date` with an argument, in a file's text; comments do not count. */
function usesOf(text: string): string[] {
  const code = text.replace(/^\s*(\/\/|\/?\*).*$/gm, '')
  return [...code.matchAll(/Date\s*\.\s*parse|new\s+Date\s*(?=\()/g)].flatMap((match) => {
    const from = match.index
    const open = from + match[0].length
    if (code[open] !== '(') return match[0]
    let depth = 0
    let end = open
    do {
      if (code[end] === '(') depth++
      if (code[end] === ')') depth--
      end++
    } while (depth > 0 && end < code.length)
    return /^\(\s*\)$/.test(code.slice(open, end)) ? [] : code.slice(from, end)
  })
}
