// What people read of facts that need no sync: schema, quarantine, history, status and changes, in words.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { quarantineRecords } from '../../src/sync/quarantine.ts'
import { noteUnknownFields } from '../../src/sync/unknown-fields.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { at, openMirror, rowOf } from '../helpers/rows.ts'
import { openCommandLine } from './program.ts'

const mirror = opened(() => openMirror())
const sandbox = opened(() => createSandbox({ size: 5 }))
const cli = opened(() => openCommandLine({ DATABASE_URL: mirror.url, API_BASE_URL: sandbox.url, API_AUTH: 'none' }))

/** What a command prints; it must end with `code` and without a word of complaint. */
async function printed(args: readonly string[], code = 0): Promise<string> {
  const ended = await cli.run(args)
  expect(ended).toMatchObject({ code, stderr: '' })
  return ended.stdout
}

async function enqueue(operation: string, target: object, body: object): Promise<string> {
  const [row] = await mirror.all<{ id: string }>('select outbox.enqueue($1, $2, $3)::text as id', [
    operation,
    target,
    body,
  ])
  return String(row?.id)
}

describe('migrate --status', () => {
  it('names what is applied', async () => {
    expect(await printed(['migrate', '--status'])).toMatch(
      /0001_schemas +applied\n(?:\d{4}_\w+ +applied\n)*.*grants +of this version/,
    )
    expect(JSON.parse(await printed(['migrate', '--status', '--json']))).toMatchObject({ current: true, pending: [] })
  })

  it('names what is missing, and what a newer program has made', async () => {
    await using database = await createTestDatabase({ migrated: false })
    await using fresh = await openCommandLine({ DATABASE_URL: database.url })
    const before = await fresh.run(['migrate', '--status'])
    expect(before).toMatchObject({ code: 1, stdout: expect.stringMatching(/0001_schemas +missing/) })
    expect(before.stdout).toContain('Apply the missing migrations with: boat-mirror migrate')
    expect((await fresh.run(['migrate'])).stdout).toMatch(/^Applied 0001_schemas(?:, \d{4}_\w+)*\./)
    expect((await fresh.run(['migrate'])).stdout).toBe('The database is up to date.\n')
    await database.pool.query(`insert into sync.migrations (name, timestamp) values ('9999_later', '2030-01-01')`)
    const newer = await fresh.run(['migrate', '--status'])
    expect(newer).toMatchObject({ code: 1, stdout: expect.stringMatching(/9999_later +applied by a newer version/) })
    expect(newer.stdout).toContain('The database is newer than this program. Use the newer version of boat-mirror.')
  })
})

describe('db', () => {
  it('prints the address of the database', async () => {
    expect(await printed(['db'])).toBe(`${mirror.url}\n`)
  })
})

describe('what cannot be mirrored', () => {
  beforeAll(async () => {
    await mirror.db.transaction((client) =>
      quarantineRecords(
        client,
        ['7', '8'].map((key) => ({
          stream: 'harbours',
          key,
          endpoint: 'GET /v3/harbours',
          payload: `{"id":${key},"name":12345678901234567890}`,
          reason: 'name: expected text, got 12345678901234567890.',
          request: {},
        })),
      ),
    )
  })
  afterAll(() => mirror.db.pool.query('delete from sync.quarantine'))

  it('is listed with its reason, and how much more there is', async () => {
    const text = await printed(['quarantine', '--limit', '1'])
    expect(text).toMatch(/\d+ +harbours +8 +1 .* name: expected text, got 12345678901234567890\./)
    expect(text).toContain('1 of 2. Use --limit to see more.')
  })

  it('is shown whole, to the last digit', async () => {
    const [entry] = await mirror.all<{ id: string }>(`select id from sync.quarantine where key = '8'`)
    const text = await printed(['quarantine', 'show', String(entry?.id)])
    expect(text).toMatch(/^harbours 8 {3}GET \/v3\/harbours\nSeen 1 time from /)
    expect(text).toContain('{"id": 8, "name": 12345678901234567890}')
    const missing = await cli.run(['quarantine', 'show', '999999'])
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('no entry 999999 in quarantine') })
  })

  it('is in explain and in status', async () => {
    expect(await printed(['explain', 'harbours', '8'])).toMatch(/In quarantine as entry \d+, seen 1 time from/)
    expect(await printed(['status'])).toContain(
      'Needs attention:\n- 2 records cannot be mirrored (harbours 2).\n    boat-mirror quarantine\n',
    )
  })

  it('needs a person, says status to programs', async () => {
    const { attention } = JSON.parse(await printed(['status', '--json']))
    expect(attention).toContainEqual({
      kind: 'quarantine',
      stream: 'harbours',
      since: expect.stringMatching(/^\d{4}-.*Z$/),
      about: ['harbours'],
      message: '2 records cannot be mirrored (harbours 2).',
      commands: ['boat-mirror quarantine', 'boat-mirror quarantine retry --all'],
    })
    expect(await cli.run(['status', '--exit-code'])).toMatchObject({ code: 3, stderr: '' })
  })
})

describe('fields that the API shows and the catalog does not know', () => {
  it('are named by status, and no more than ten of them', async () => {
    const fields = Array.from({ length: 12 }, (_, n) => ({ stream: 'harbours', path: `f${n}`, sample: '1', times: 1 }))
    await noteUnknownFields(mirror.db.pool, fields)
    expect(await printed(['status'])).toMatch(/kept in _payload: harbours\.f0, .* and 2 more\./)
    await mirror.db.pool.query('delete from sync.unknown_fields')
  })
})

describe('status --json', () => {
  it('holds of every stream and of a run under way all that status shows', async () => {
    await mirror.db.pool.query(
      `insert into sync.runs (id, stream, trigger, status, pages, requests, read) overriding system value
         values (900, 'users', 'command', 'running', 2, 2, 200);
       insert into sync.tasks (run_id, stream, kind, checkpoint) values (900, 'users', 'sweep', '{"totals": [1000]}')`,
    )
    const facts = JSON.parse(await printed(['status', '--json']))
    const lines = (await printed(['status'])).split('\n')
    expect(facts.backlog).toMatchObject({ runs: 1, done: 0, all: 1, elapsedS: expect.any(Number) })
    expect(lines.some((line) => line.startsWith('Running: 1 stream, 0 of 1 tasks done'))).toBe(true)
    expect(facts.streams.length).toBeGreaterThan(30)
    // Eight pages of a thousand users, an empty one behind each of two passes, and a sample of their singles.
    expect(facts.estimate).toMatchObject({ requestsMade: 2, requestsLeft: 210 })
    for (const { stream, rows, rowsSoFar, lastRunStatus, state, asOf } of facts.streams) {
      const cells = lines.find((line) => line.startsWith(`${stream} `))?.split(/ {2,}/)
      const shown = state === 'unknown' ? (asOf === null ? 'never read' : 'no target') : state
      expect(cells?.slice(0, 4), stream).toEqual([
        stream,
        String(rowsSoFar ?? rows),
        expect.anything(),
        lastRunStatus ?? '–',
      ])
      expect(cells?.[6], stream).toBe(shown)
    }
    expect(facts.streams).toContainEqual(
      expect.objectContaining({ stream: 'users', lastRunStatus: 'running', rowsSoFar: 200 }),
    )
    await mirror.db.pool.query('delete from sync.tasks where run_id = 900; delete from sync.runs where id = 900')
  })
})

describe('a reader that goes away', () => {
  it('before the first line is no fault: `status | true`', async () => {
    const started = cli.start(['status'])
    started.process.stdout?.destroy()
    expect(await started.ended).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  it('after the first line is no fault: `status --watch | head -1`', async () => {
    const started = cli.start(['status', '--watch', '--json'])
    const { stdout } = started.process
    stdout?.once('data', () => stdout.destroy())
    const ended = await started.ended
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(ended.stdout.split('\n')[0] ?? '')).toMatchObject({ outbox: { queued: 0 } })
  })
})

describe('explain', () => {
  it('tells the history of a record column by column', async () => {
    for (const [minute, name] of [
      [1, 'Brest'],
      [2, 'Brest-le-Grand'],
    ] as const)
      await mirror.write({
        tables: [
          {
            stream: streamNamed('harbours'),
            mode: 'record',
            source: 'GET /v3/harbours',
            readAt: at(minute),
            rows: [rowOf('harbours', { id: 1, name })],
          },
        ],
      })
    const text = await printed(['explain', 'harbours', '1'])
    expect(text).toMatch(/update +name +"Brest" +"Brest-le-Grand"/)
    expect(text).toMatch(/\d +insert/)
  })
})

describe('changes', () => {
  it('name what they wait for, and who waits for them', async () => {
    const first = await enqueue('user.create', {}, { firstName: 'Ann', lastName: 'Lee', email: 'ann@example.com' })
    const second = await enqueue('user.update', { userId: { change: Number(first) } }, { firstName: 'Anna' })
    expect(await printed(['changes', 'show', second])).toContain(`Waits for    ${first} (user.create, queued)`)
    expect(await printed(['changes', 'show', first])).toContain(`Needed by    ${second} (user.update, queued)`)
    const dry = await printed(['push', '--dry-run'])
    expect(dry).toContain(`${first}  user.create  POST /v3/users`)
    expect(dry).toContain(`  firstName: null → "Anna"\n  Waits for change ${first}.`)
    await mirror.db.pool.query('truncate outbox.queue, outbox.dependencies')
  })

  it('whose record cannot be read are said so by a dry run, which then ends with 1', async () => {
    const id = await enqueue('user.update', { userId: 1 }, { firstName: 'Anna' })
    sandbox.fault({ op: 'GET /v3/users/{userId}', respond: 'forbidden' })
    const text = await printed(['push', '--dry-run'], 1)
    expect(text).toContain(`${id}  user.update  PUT /v3/users/{userId}\n  The current value cannot be read: `)
    sandbox.clearFaults()
    await mirror.db.pool.query('truncate outbox.queue, outbox.dependencies')
  })
})
