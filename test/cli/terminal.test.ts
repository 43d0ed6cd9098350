// What others wrote, on its way to a terminal, a log or a spreadsheet: shown, never obeyed.

import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { quarantineRecords } from '../../src/sync/quarantine.ts'
import { noteUnknownFields } from '../../src/sync/unknown-fields.ts'
import { withoutControls } from '../../src/text.ts'
import { buildProgram } from '../helpers/child-program.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror } from '../helpers/rows.ts'
import { openCommandLine } from './program.ts'

/** Clears the screen, recolours by ESC [ and by U+009B, rings, overwrites the line, turns the direction of writing. */
const hostile = 'x\u001b[2J\u009b31m\u0007\r\u202eevil'
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not come out
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

const mirror = opened(() => openMirror())
const cli = opened(() => openCommandLine({ DATABASE_URL: mirror.url }))
beforeAll(async () => {
  const { pool } = mirror.db
  await noteUnknownFields(pool, [{ stream: 'harbours', path: hostile, sample: JSON.stringify(hostile), times: 1 }])
  await mirror.db.transaction((client) =>
    quarantineRecords(client, [
      {
        stream: 'harbours',
        key: hostile,
        endpoint: 'GET /v3/harbours',
        payload: JSON.stringify({ id: hostile, name: 'a\u009bb' }),
        reason: `name: ${hostile}`,
        request: {},
      },
    ]),
  )
  await pool.query(
    `insert into mirror.resources (id, name, _payload, _source, _read_at) values ('A-1', $1, $2, 'GET /v3/resources', now())`,
    [hostile, { id: 'A-1', name: hostile }],
  )
  for (const [id, name] of [
    [1, '=1+1'],
    [2, '@SUM(A1)'],
    [3, '+33 6 12'],
    [4, '\t=1'],
    [5, '-12.50'],
    [6, '-a'],
    [7, "'quoted"],
    [8, '=HYPERLINK("http://evil", "a")'],
  ] as const)
    await pool.query(
      `insert into mirror.resources (id, name, builder_name, _payload, _source, _read_at)
       values ($1, $2, '-7', '{}', 'GET /v3/resources', now())`,
      [`B-${id}`, name],
    )
  await pool.query(
    `insert into sync.runs (stream, trigger, status, finished_at, error) values ('harbours', 'command', 'failed', now(), $1)`,
    [hostile],
  )
})

describe('text with control characters', () => {
  it('is shown with them written out', () => {
    expect(withoutControls(hostile)).toBe('x\\u001b[2J\\u009b31m\\u0007\\u000d\\u202eevil')
    expect(withoutControls('Été\tà\nl’île 🛥')).toBe('Été\tà\nl’île 🛥')
  })

  it('stays the same value in JSON', () =>
    fc.assert(
      fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), (value, text) => {
        const json = JSON.stringify([value, text], null, 2)
        expect(JSON.parse(withoutControls(json))).toEqual(JSON.parse(json))
      }),
    ))
})

describe('no command lets upstream text move the terminal', () => {
  const commands: readonly (readonly string[])[] = [
    ['status'],
    ['status', '--json'],
    ['drift'],
    ['drift', '--json'],
    ['quarantine'],
    ['quarantine', '--json'],
    ['quarantine', 'show', '1'],
    ['explain', 'harbours', '1'],
    ['explain', 'resources', 'A-1'],
    ['explain', 'resources', 'A-1', '--json'],
    ['explain', 'resources', hostile],
    ['runs'],
    ['runs', 'show', '1'],
    ['runs', '--json'],
    ['report', 'fleet'],
    ['report', 'fleet', '--csv'],
    ['report', 'fleet', '--json'],
  ]
  for (const args of commands)
    it(`${withoutControls(args.join(' '))}`, async () => {
      const { stdout, stderr } = await cli.run(args)
      expect(stdout + stderr).not.toBe('')
      expect(stdout.match(obeyed) ?? stderr.match(obeyed)).toBe(null)
      if (args.includes('--json')) JSON.parse(stdout)
    })

  it('and what programs read is the value itself', async () => {
    const { unknownFields } = JSON.parse((await cli.run(['status', '--json'])).stdout)
    expect(unknownFields).toMatchObject([{ path: hostile }])
    const fleet = JSON.parse((await cli.run(['report', 'fleet', '--json'])).stdout)
    expect(fleet.map((row: { resource_name: string }) => row.resource_name)).toContain(hostile)
  })
})

describe('a log line', () => {
  it('moves no terminal, whether it is JSON or for people, and its code is a code', async () => {
    await using program = await buildProgram('test/cli/log-lines.ts')
    const logged = (mode: string): string =>
      spawnSync(process.execPath, [program.file, mode], { encoding: 'utf8', timeout: 60_000 }).stderr
    const json = logged('json')
    expect(json).not.toMatch(obeyed)
    const lines = json
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toMatchObject([
      { reason: 'a\u001b[2Jb\u009b31mc\u0007d\re\u202ef\\u001bg\nh' },
      { err: { code: 'API_REJECTED' } },
      { err: { message: 'x' }, msg: 'sentence' },
      { err: { code: 'ECONNRESET' } },
    ])
    expect(lines[2].err).not.toHaveProperty('code')
    const pretty = logged('pretty')
    expect(pretty).toContain('a\\u001b[2Jb\\u009b31mc\\u0007d\\re\\u202ef')
    expect(pretty).not.toMatch(obeyed)
  })
})

describe('report --csv', () => {
  const cells = async (args: readonly string[]): Promise<string> => (await cli.run(['report', 'fleet', ...args])).stdout

  it('puts an apostrophe before what a spreadsheet would take for a formula, and before no number', async () => {
    const csv = await cells(['--csv'])
    for (const cell of [`,'=1+1,`, `,'@SUM(A1),`, `,'+33 6 12,`, `,'\t=1,`, ',-12.50,', `,'-a,`, `,'quoted,`, ',-7,'])
      expect(csv).toContain(cell)
    expect(csv).toContain(`,"'=HYPERLINK(""http://evil"", ""a"")",`)
    expect(csv).not.toMatch(/(^|,)"?[=@\t]/m)
  })

  it('leaves every text as it is with --raw, for programs', async () => {
    const csv = await cells(['--csv', '--raw'])
    for (const cell of [',=1+1,', ',@SUM(A1),', ',+33 6 12,', ',\t=1,', `"${hostile}"`]) expect(csv).toContain(cell)
  })

  it('takes --raw with --csv alone', async () => {
    expect(await cli.run(['report', 'fleet', '--raw'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--raw needs --csv.'),
    })
  })
})
