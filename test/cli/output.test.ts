// How facts look, and what decides an exit code: pure parts of the command line.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exitCodeOfCheck } from '../../src/cli/check-sync.ts'
import { refusalWords } from '../../src/cli/commands/push.ts'
import { runsTable } from '../../src/cli/commands/runs.ts'
import { scheduleTable } from '../../src/cli/commands/schedule.ts'
import { advice, exitCodeOfSync, outcomeTable } from '../../src/cli/outcome.ts'
import { createProgram } from '../../src/cli/program.ts'
import { parseSandboxFile } from '../../src/cli/sandbox/file.ts'
import { oneLine, table, widthOf } from '../../src/cli/terminal/output.ts'
import { lineView } from '../../src/cli/terminal/progress.ts'
import { quarantinedOf, runLine } from '../../src/inspect/outcome.ts'
import type { Run } from '../../src/sync/runs/runs.ts'
import { asCalled, commandNames } from '../../src/text.ts'
import { readTexts } from '../helpers/citations.ts'
import { projectRoot } from '../helpers/import-graph.ts'

const run = (facts: Partial<Run>): Run => ({
  id: '7',
  stream: 'rentals',
  hot: false,
  unexpected: '0',
  trigger: 'command',
  status: 'done',
  started_at: new Date('2030-01-01T00:00:00Z'),
  finished_at: new Date('2030-01-01T00:00:02Z'),
  pages: '1',
  requests: '3',
  retries: '0',
  read: '1200',
  inserted: '0',
  updated: '0',
  unchanged: '1200',
  deleted: '0',
  quarantined: '0',
  held: '0',
  bytes: '1',
  error: null,
  full_read: false,
  phase: 'finished',
  swept_at: null,
  total: null,
  plan: null,
  warnings: [],
  record_key: null,
  ...facts,
})

describe('tables', () => {
  it('align numbers to the right, show gaps, and carry no colour', () => {
    expect(
      table(
        ['NAME', 'ROWS'],
        [
          ['a', 1_200],
          ['long name', null],
          ['b', 7],
        ],
      ),
    ).toBe(['NAME        ROWS', 'a          1,200', 'long name      –', 'b              7'].join('\n'))
  })

  it('never let the API move the cursor of a terminal', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these must be gone
        expect(oneLine(text, 50)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/)
        expect(oneLine(text, 50).length).toBeLessThanOrEqual(50)
      }),
    )
  })
})

describe('what 80 columns hold', () => {
  const now = new Date('2030-01-02T03:04:05Z')
  const long = 'resource_availability_years'

  it('`runs` is a table: with room for all that there is, without the rest', () => {
    const runs = [
      run({ id: '1234567', stream: long, read: '1200000', inserted: '70000', updated: '30000', deleted: '1' }),
      run({ status: 'failed', error: 'a long reason '.repeat(9) }),
    ]
    expect(runsTable(runs, now, 80)).toBe(
      [
        'ID       STREAM                       STARTED  STATUS       READ  CHANGED',
        '1234567  resource_availability_years  1 d ago  done    1,200,000  100,001',
        '7        rentals                      1 d ago  failed      1,200        0',
      ].join('\n'),
    )
    expect(runsTable(runs, now, 200)).toBe(runsTable(runs, now, null))
    expect(runsTable(runs, now, null)).toMatch(/STARTED \(UTC\).*REQUESTS {2}ERROR\n.*2030-01-01 00:00:00/)
  })

  it('`schedule` is a table, too', () => {
    const turn = {
      ...{ stream: long, wantedS: 5_400, effectiveS: 93_784, requestsPerTurn: 12_345, targetS: 281_352 },
      ...{ asOf: new Date('2030-01-01T00:00:00Z'), nextDueAt: new Date('2030-01-03T00:00:00Z'), paused: false },
    }
    const turns = [
      turn,
      { ...turn, stream: 'rentals.hot', nextDueAt: null },
      { ...turn, stream: 'users', paused: true },
    ]
    expect(scheduleTable(turns, now, 80)).toBe(
      [
        'STREAM                       EFFECTIVE  NEXT      REQUESTS A TURN  TARGET',
        'resource_availability_years  1 d 2 h    in 21 h            12,345  3 d 6 h',
        'rentals.hot                  1 d 2 h    at start           12,345  3 d 6 h',
        'users                        1 d 2 h    paused             12,345  3 d 6 h',
      ].join('\n'),
    )
    expect(scheduleTable(turns, now, null)).toMatch(
      /WANTED {2,}EFFECTIVE.*AS OF\n.*1 h 30 min.*\n.*when a worker starts/,
    )
  })
})

describe('a table on a narrow terminal', () => {
  const head = ['ID', 'NAME', 'NOTE']
  const rows = [
    [7, 'a', 'the first word of a long note that goes on and on'],
    [12, 'b', null],
  ]
  it('stays as it is where it fits, and where no one looks', () => {
    expect(table(head, rows, 80)).toBe(table(head, rows, null))
    expect(widthOf(table(head, rows, null))).toBe(59)
  })
  it('is wrapped in its widest column, between words', () => {
    expect(table(head, rows, 40).split('\n')).toEqual([
      'ID  NAME  NOTE',
      ' 7  a     the first word of a long note',
      '          that goes on and on',
      '12  b     –',
    ])
  })
  it('becomes records where too little is left for that', () => {
    const many = ['ONE', 'TWO', 'THREE', 'FOUR'].map((name) => `${name} THAT IS LONG`)
    const text = table(many, [['1', 'x'.repeat(30), 'y'.repeat(30), 4]], 40)
    expect(widthOf(text)).toBeLessThanOrEqual(46)
    expect(text.split('\n')[0]).toBe('ONE THAT IS LONG    1')
    expect(text.split('\n').at(-1)).toBe('FOUR THAT IS LONG   4')
  })
})

describe('the API’s own words of refusal', () => {
  const cases = [
    { body: { message: 'Invalid', errors: [{ field: 'email', message: 'is required' }] }, says: 'email: is required' },
    { body: { errors: { email: ['is taken', 'is no address'] } }, says: 'email: is taken, is no address' },
    { body: { violations: [{ propertyPath: 'price', title: 'too low' }] }, says: 'price: too low' },
    { body: { error: { message: 'Not now' } }, says: 'Not now' },
    { body: { title: 'Conflict', detail: 'It exists', errors: [] }, says: 'It exists' },
    { body: [1], says: null },
    { body: {}, says: null },
  ]
  for (const { body, says } of cases)
    it(`${JSON.stringify(body)}: ${says}`, () =>
      expect(refusalWords({ status: 400, body: JSON.stringify(body) })).toBe(says))
  it('none where it is cut off, no text, or no refusal', () => {
    for (const response of [null, { status: 400, body: '{"me' }, { status: 200, body: '{"message":"x"}' }])
      expect(refusalWords(response)).toBeNull()
  })
})

describe('the exit code of a sync', () => {
  const cases = [
    { name: 'everything done', runs: [run({})], quarantine: {}, code: 0 },
    { name: 'a failed run', runs: [run({ status: 'failed' }), run({ status: 'held' })], quarantine: {}, code: 1 },
    { name: 'a partial run', runs: [run({ status: 'partial' })], quarantine: {}, code: 1 },
    { name: 'a held run', runs: [run({}), run({ status: 'held' })], quarantine: {}, code: 3 },
    { name: 'a record in quarantine', runs: [run({})], quarantine: { rentals: 1 }, code: 3 },
    {
      name: 'a record in quarantine that stands inside a record that was read',
      runs: [run({ stream: 'resources' })],
      quarantine: { resource_equipments: 1 },
      code: 3,
    },
    {
      name: 'a record in quarantine of a stream that was not read',
      runs: [run({})],
      quarantine: { users: 2 },
      code: 0,
    },
  ] as const
  for (const { name, code, ...outcome } of cases)
    it(`${name}: ${code}`, () => expect(exitCodeOfSync(outcome)).toBe(code))

  it('each that is not 0 comes with what to do', () => {
    for (const { code, ...outcome } of cases)
      expect(advice(outcome).length > 0, JSON.stringify(outcome.quarantine)).toBe(code !== 0)
  })

  it('counts in quarantine stand in the table', () => {
    const outcome = { runs: [run({})], quarantine: { rentals: 4, users: 9 } }
    expect(quarantinedOf(outcome)).toEqual({ rentals: 4 })
    expect(outcomeTable(outcome)).toMatch(/rentals\s+1,200\s+0\s+0\s+1,200\s+0\s+0\s+4\s+3\s+2\s+done/)
  })

  it('of a comparison: 1 for a difference or something unread, 3 for bad records alone', () => {
    const check = {
      stream: 'users',
      compared: 1,
      missing: 0,
      different: 0,
      deleted: 0,
      bad: 0,
      problems: [],
      samples: [],
    }
    expect(exitCodeOfCheck([check])).toBe(0)
    expect(exitCodeOfCheck([{ ...check, bad: 1 }])).toBe(3)
    expect(
      exitCodeOfCheck([
        { ...check, bad: 1 },
        { ...check, deleted: 1 },
      ]),
    ).toBe(1)
    expect(exitCodeOfCheck([{ ...check, problems: ['no answer'] }])).toBe(1)
  })
})

describe('progress', () => {
  it('tells each finished stream once, and totals every five seconds', () => {
    const lines: string[] = []
    const stream = { write: (text: string) => lines.push(text) > 0 } as unknown as NodeJS.WritableStream
    const show = lineView(stream)
    const done = run({ inserted: '3', error: 'a page was cut', status: 'partial' })
    const snapshot = {
      finished: false,
      streams: 2,
      runs: [done, run({ id: '8', status: 'running' })],
      estimate: { requestsMade: 6, requestsLeft: 1_200, perSecond: 10, secondsLeft: 120 },
    }
    for (const seconds of [1, 2, 5, 6, 9]) show(snapshot, seconds)
    expect(lines).toEqual([
      `${runLine(done)}\n`,
      '… 1 of 2 streams, 2,400 records, 6 requests, 0:05, about 2 min left\n',
    ])
    expect(runLine(done)).toBe('rentals: partial, 1,200 read, 3 inserted, 3 requests, 2 s – a page was cut')
  })
})

it('a damaged file of the built-in sandbox is no sandbox', () => {
  const good = { url: 'http://127.0.0.1:9', port: 9, owner: '1' }
  expect(parseSandboxFile(JSON.stringify(good))).toEqual(good)
  for (const text of ['', '{', 'null', '{}', JSON.stringify({ ...good, port: 'none' })])
    expect(parseSandboxFile(text)).toBeNull()
})

it('hints know every command', () => {
  const names = createProgram().commands.map((command) => command.name())
  expect(names).toEqual(commandNames.split('|'))
})

it('no command prints a hint without spelling it as it was called', () => {
  const printed = new RegExp(`\\bprint\\([^\\n]*\\bboat-mirror (?:${commandNames})\\b.*`, 'g')
  const sources = [...readTexts(projectRoot, ['src/cli'], [])].filter(([path]) => path.endsWith('.ts'))
  expect(sources.length).toBeGreaterThan(30)
  expect(sources.flatMap(([path, text]) => [...text.matchAll(printed)].map(([line]) => `${path}: ${line}`))).toEqual([])
})

it('hints name the command as it was called', () => {
  const hint = 'See: boat-mirror runs show 7. Use the newer version of boat-mirror with it.'
  const inCheckout = hint.replace('boat-mirror', 'npm run cli --')
  expect(asCalled(hint, { npm_package_name: 'boat-mirror', npm_lifecycle_event: 'cli' })).toBe(inCheckout)
  expect(asCalled(hint, { npm_package_name: 'boat-mirror', npm_lifecycle_event: 'start' })).toBe(inCheckout)
  expect(asCalled('try: boat-mirror worker', { npm_package_name: 'boat-mirror', npm_lifecycle_event: 'cli' })).toBe(
    'try: npm start',
  )
  for (const elsewhere of [
    {},
    { npm_lifecycle_event: 'npx' },
    { npm_package_name: 'ours', npm_lifecycle_event: 'start' },
  ])
    expect(asCalled(hint, elsewhere)).toBe(hint)
})
