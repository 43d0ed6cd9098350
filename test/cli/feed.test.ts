// `feed`: what a line says, acknowledgements from standard input, and how it ends.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { changesChannel } from '../../src/mirror/change-notifier.ts'
import { opened } from '../helpers/opened.ts'
import { at, feedSettled, openMirror, placeOf, rowOf, tableOf } from '../helpers/rows.ts'
import { openCommandLine, type Started } from './program.ts'

const mirror = opened(() => openMirror())
const cli = opened(() => openCommandLine({ DATABASE_URL: mirror.url }))
beforeAll(async () => {
  await harbours(1, 2)
  await mirror.write({ tables: [tableOf('cities', 1, [rowOf('cities', { id: 1, name: 'Brest' })])] })
  await feedSettled(mirror)
})

let minute = 0
/** Writes harbours, and announces it as the program does. */
async function harbours(...ids: readonly number[]): Promise<void> {
  minute += 1
  const rows = ids.map((id) => rowOf('harbours', { id, latitude: '47.12345678901234567' }))
  await mirror.write({ tables: [tableOf('harbours', minute, rows)] })
  await mirror.all(`notify ${changesChannel}`)
}

type Line = { cursor: string; seq: number; stream: string; key: { id: number } }
const linesOf = (text: string): Line[] => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
const printed = (feed: Started, count: number): Promise<Line[]> =>
  vi.waitFor(
    () => {
      const lines = linesOf(feed.text())
      expect(lines.length).toBeGreaterThanOrEqual(count)
      return lines
    },
    { timeout: 60_000, interval: 50 },
  )
const acknowledged = async (name: string): Promise<string | undefined> =>
  (await mirror.all<{ cursor: string }>('select cursor from sync.consumers where name = $1', [name]))[0]?.cursor
const end = async (): Promise<string | undefined> =>
  placeOf((await mirror.all<{ cursor: string }>('select mirror.last_cursor() as cursor'))[0]?.cursor)

it('prints the changes of the streams that are wanted, no digit lost', async () => {
  const { code, stdout } = await cli.run(['feed', '--streams', 'harbours,countries'])
  expect(code).toBe(0)
  expect(
    linesOf(stdout)
      .map(({ stream, key }) => `${stream} ${key.id}`)
      .slice(0, 2),
  ).toEqual(['harbours 1', 'harbours 2'])
  const [change] = await mirror.all<{ seq: string; changed_at: Date }>('select seq, changed_at from mirror.changes')
  expect(stdout.split('\n')[0]).toMatch(
    new RegExp(
      `^{"cursor":"1[.\\da-f-]+","seq":${change?.seq},"stream":"harbours","key":{"id": 1},"operation":"insert","changedAt":"${change?.changed_at.toISOString()}","diff":{.*47\\.12345678901234567`,
    ),
  )
})

it('follows, acknowledges what it reads and what is not wanted, ends with 0 when told to stop, and goes on there', async () => {
  const args = ['feed', '--consumer', 'follower', '--from', 'now', '--streams', 'harbours', '--follow']
  const first = cli.start(args, {}, 'pipe')
  await vi.waitFor(async () => expect(await acknowledged('follower')).toBeDefined(), { timeout: 60_000, interval: 50 })
  await harbours(11, 12)
  const lines = await printed(first, 2)
  expect(lines.map(({ key }) => key.id)).toEqual([11, 12])
  first.process.stdin?.write(`${lines[0]?.cursor}\n`)
  await vi.waitFor(async () => expect(await acknowledged('follower')).toBe(placeOf(lines[0]?.cursor)), {
    timeout: 60_000,
  })
  first.process.kill('SIGTERM')
  expect(await first.ended).toMatchObject({ code: 0, stderr: '' })

  const second = cli.start(args, {}, 'pipe')
  expect((await printed(second, 1)).map(({ key }) => key.id)).toEqual([12])
  await mirror.write({ tables: [tableOf('cities', 1, [rowOf('cities', { id: 2 })])] })
  await vi.waitFor(async () => expect(await end()).not.toBe(placeOf(lines[1]?.cursor)), { timeout: 60_000 })
  second.process.stdin?.write(`${lines[1]?.cursor}\n`)
  await vi.waitFor(async () => expect(await acknowledged('follower')).toBe(await end()), { timeout: 60_000 })
  second.process.stdin?.write('yesterday\n')
  expect(await second.ended).toMatchObject({ code: 1, stderr: expect.stringContaining("The cursor is 'yesterday'") })
})

it('waits at the end for what is acknowledged, or acknowledges what it printed', async () => {
  const args = ['feed', '--streams', 'harbours,cities', '--consumer']
  const all = await mirror.all(`select from mirror.change_log where stream in ('harbours', 'cities')`)
  const waiting = cli.start([...args, 'piped'], {}, 'pipe')
  for (const { cursor } of await printed(waiting, all.length)) waiting.process.stdin?.write(`${cursor}\n`)
  expect((await waiting.ended).code).toBe(0)
  expect(await acknowledged('piped')).toBe(await end())
  expect(linesOf((await cli.run([...args, 'printed', '--ack', 'printed'])).stdout)).toHaveLength(all.length)
  expect(await acknowledged('printed')).toBe(await end())
  expect((await cli.run([...args, 'printed'])).stdout).toBe('')
})

it('ends when its reader goes away, and when it is told to while its reader reads nothing', async () => {
  await mirror.all(
    `insert into mirror.change_log (stream, key, operation, diff)
     select 'x', '{}', 'insert', jsonb_build_object('text', repeat('x', 2000)) from generate_series(1, 3000)`,
  )
  await feedSettled(mirror)
  const left = cli.start(['feed'])
  await once(left.process.stdout ?? left.process, 'data')
  left.process.stdout?.destroy()
  expect((await left.ended).code).toBe(0)
  const stalled = cli.start(['feed', '--follow'])
  await once(stalled.process.stdout ?? stalled.process, 'data')
  stalled.process.stdout?.pause()
  await new Promise((resolve) => setTimeout(resolve, 500)) // it fills the pipe
  stalled.process.kill('SIGINT')
  await once(stalled.process, 'exit')
  expect(stalled.process.exitCode).toBe(0)
})

it.each([
  ['--from', 'yesterday'],
  ['--streams', 'ships'],
  ['--ack', 'printed'],
])('refuses %s %s with 2', async (...args) => expect((await cli.run(['feed', ...args])).code).toBe(2))

describe('docs/feed.md', () => {
  const document = readFileSync(new URL('../../docs/feed.md', import.meta.url), 'utf8')
  const blocks = (language: string): string[] =>
    [...document.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, text = '']) => text)

  it('copies a table and follows it with its statements', async () => {
    const [first = '', again = '', versions = ''] = blocks('sql')
    await mirror.all(first)
    await harbours(101)
    await mirror.write({
      tables: [tableOf('harbours', 1_000, [rowOf('harbours', { id: 1, name: 'Groix' })])],
      tombstones: [{ stream: streamNamed('harbours'), keys: [['2']], source: 'GET /v3/harbours/2', readAt: at(1_000) }],
    })
    await feedSettled(mirror)
    for (let turn = 0; turn < 2; turn++) await mirror.all(again)
    const wanted = await mirror.all('select id, name from mirror.harbours where _deleted_at is null order by id')
    expect(await mirror.all('select id, name from crm.harbours order by id')).toEqual(wanted)
    expect(await acknowledged('crm')).toBe(await end())
    await mirror.all(versions)
  })

  const hasPython = spawnSync('python3', ['--version']).status === 0
  it('follows in Python', async ({ skip }) => {
    if (!hasPython) skip('This machine has no Python.')
    const cache = resolve('node_modules/.cache')
    await mkdir(cache, { recursive: true })
    const folder = await mkdtemp(join(cache, 'feed-'))
    await writeFile(
      join(folder, 'boat-mirror'),
      `#!/bin/sh\nexec ${process.execPath} ${resolve('dist/src/cli/main.js')} "$@"\n`,
    )
    await chmod(join(folder, 'boat-mirror'), 0o755)
    const file = join(folder, 'follow.py')
    await writeFile(file, blocks('python')[0] ?? '')
    await mirror.all(`select mirror.reset_consumer('python', 'now')`)
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, DATABASE_URL: mirror.url }
    const child = spawn('python3', [file], { env, cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    await harbours(202)
    // Acknowledged is what the program has printed, which may be on its way to us.
    await vi.waitFor(
      async () => {
        expect(await acknowledged('python')).toBe(await end())
        expect(text).toBe("insert harbours {'id': 202}\n")
      },
      { timeout: 60_000 },
    )
    child.kill('SIGKILL')
    await once(child, 'close')
    await rm(folder, { recursive: true, force: true })
  })
})
