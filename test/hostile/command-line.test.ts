// Hostile arguments: every command ends with an exit code and a sentence of ours, never with a stack trace or with what
// Postgres says of a wrong literal.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { streams } from '../../src/catalog/catalog.ts'
import { errorCodes } from '../../src/errors.ts'
import { reportViews } from '../../src/reports/report-views.ts'
import { errorOf, openCommandLine } from '../cli/program.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { sampleOf } from './draw.ts'
import { digits, jsonText, text } from './generators.ts'

const commands = [
  ['changes', 'list'],
  ['changes', 'show'],
  ['changes', 'enqueue', 'rental.update'],
  ['changes', 'enqueue'],
  ['changes', 'retry'],
  ['changes', 'cancel'],
  ['changes', 'resolve', '1'],
  ['runs'],
  ['runs', 'show'],
  ['runs', 'release'],
  ['quarantine'],
  ['quarantine', 'show'],
  ['report'],
  ['report', 'calendar'],
  ['explain'],
  ['explain', 'rentals'],
  ['explain', 'resources'],
  ['explain', 'resource_pricetable'],
  ['drift'],
  ['schedule'],
  ['status'],
]
const flags = [
  '--json',
  '--csv',
  '--limit',
  '--from',
  '--to',
  '--status',
  '--aggregate',
  '--take',
  '--took-effect',
  '--did-not',
  '--id',
  '--target',
  '--body',
  '--options',
  '--payload',
  '--all',
  '--stream',
  '--',
  '-x',
  '--help',
]
const argument = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...flags) },
  { weight: 3, arbitrary: text.map((each) => each.replaceAll('\0', '')) },
  { weight: 2, arbitrary: digits },
  { weight: 1, arbitrary: jsonText },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '1',
      '2',
      '9223372036854775808',
      '2026-07-14',
      '2026-02-30',
      'local',
      'queued',
      '{"rentalId":1}',
      '{"status":"VALIDATED"}',
      '{"reference":"a\\u0000b"}',
      '["1","2"]',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(...streams.map(({ name }) => name), ...reportViews.map(({ name }) => name)) },
)
const commandLine = fc
  .tuple(fc.constantFrom(...commands), fc.array(argument, { maxLength: 4 }))
  .map(([command, more]) => [...command, ...more])

const codes = Object.keys(errorCodes).join('|')

const database = opened(() => createTestDatabase())
const cli = opened(() => openCommandLine({ DATABASE_URL: database.url }))

it('a command line ends with 0, or with a code and a sentence of ours, whatever it says', async () => {
  await database.pool.query(`insert into outbox.queue (operation, target, body, aggregate, enqueued_by, status) values
    ('rental.update', '{"rentalId": 1}', '{"status": "VALIDATED"}', 'rental:1', current_user, 'unknown'),
    ('rental.create', '{}', '{"slotId": "x", "resourceId": "y"}', 'change:2', current_user, 'conflict')`)
  const wrong: string[] = []
  const seen = new Map<number | null, number>()
  for (const args of sampleOf(400, commandLine)) {
    const ended = await cli.run(args)
    const { code, stderr } = ended
    const said = errorOf(ended)
    seen.set(code, (seen.get(code) ?? 0) + 1)
    const explained =
      code === 0 ||
      code === 3 ||
      (code === 2 ? /error: |\[(USAGE|CONFIG_INVALID)\]/.test(said) : new RegExp(`\\[(${codes})\\]`).test(said))
    if (!explained || /\n\s+at |"stack":/.test(stderr) || said.includes('[INTERNAL]'))
      wrong.push(`${JSON.stringify(args).slice(0, 300)} → ${code}: ${stderr.slice(0, 400)}`)
  }
  expect(wrong.slice(0, 15)).toEqual([])
  expect([...seen.keys()].sort()).toEqual([0, 1, 2])
  const { rows } = await database.pool.query(
    `select count(*)::int as tables from information_schema.tables where table_schema in ('mirror', 'outbox', 'sync')`,
  )
  expect(rows[0].tables).toBeGreaterThan(50)
})
