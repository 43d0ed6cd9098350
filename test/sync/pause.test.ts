// A stream that is paused: nothing of it is read, it is never late, and every request for it is answered so.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { instant } from '../../src/format.ts'
import { readStatus } from '../../src/inspect/read-status.ts'
import type { StatusFacts } from '../../src/inspect/status.ts'
import { requestFirstSync, tick } from '../../src/jobs/schedule.ts'
import { openMirror } from '../../src/library.ts'
import { createLogger } from '../../src/log.ts'
import { decideStream } from '../../src/sync/decisions.ts'
import { askRefresh } from '../../src/sync/due/refreshes.ts'
import { createRequest, openStreams } from '../../src/sync/due/requests.ts'
import { overdueTurns, pausedStreams } from '../../src/sync/due/stream-state.ts'
import { pausedText, withoutPaused } from '../../src/sync/plan.ts'
import { errorOf, openCommandLine } from '../cli/program.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

const log = createLogger('silent')
const by = { via: 'command' } as const
const streams = ['users', 'harbours']

const mirror = opened(() => openTestMirror({ size: 10 }, { MIRROR_DOCUMENTS: 'on' }))
beforeAll(async () => {
  await mirror.sync({ streams })
})

const pool = () => mirror.app.database.pool
const status = (): Promise<StatusFacts> =>
  readStatus(mirror.config, { database: mirror.app.database, url: mirror.app.databaseUrl }, mirror.sandbox.url)

/** Everything is due, and older than its target. */
const makeOverdue = (): Promise<unknown> =>
  pool().query(`update sync.streams set interval_s = 60, hot_interval_s = 60, target_s = 1,
    next_due_at = now() - interval '1 h', hot_next_due_at = now() - interval '1 h', as_of = now() - interval '1 h'
    where stream in ('users', 'user_identities', 'user_licenses', 'harbours')`)

const readsOf = (path: string): number => mirror.sandbox.requests().filter((request) => request.path === path).length

describe('a paused stream', () => {
  beforeEach(async () => {
    await pool().query('update sync.streams set paused_by = null; delete from sync.decisions')
    await makeOverdue()
    await decideStream(pool(), 'pause', 'users', by)
  })

  it('is on no turn of the schedule, with what hangs below it', async () => {
    expect(await overdueTurns(pool(), 0)).toContain('harbours')
    expect((await overdueTurns(pool(), 0)).filter((turn) => turn.startsWith('user'))).toEqual([])
    for (const turn of ['users', 'users.hot', 'user_identities'])
      expect(await tick({ ...mirror.app.syncContext, onTasks: () => {} }, turn, log)).toMatch(/^(early|waiting)$/)
    await pool().query(`update sync.streams set as_of = null, last_run_id = null where stream = 'users'`)
    expect(await requestFirstSync(mirror.app.database, ['users'])).toBe(false)
  })

  it('is off, paused and never late, and nobody is alarmed', async () => {
    const { streams: known, attention } = await status()
    const [{ who = '' } = {}] = await pausedStreams(pool())
    for (const stream of ['users', 'user_identities'])
      expect(known.find((each) => each.stream === stream)).toMatchObject({
        ...{ state: 'off', nextDueAt: null },
        paused: { since: expect.any(Date), who },
      })
    const late = attention.filter(({ kind }) => kind === 'late').flatMap(({ about }) => about)
    expect(late).toContain('harbours')
    expect(late).not.toContain('users')
    const { rows } = await pool().query(`select state from report.freshness where stream = 'users'`)
    expect(rows).toEqual([{ state: 'off' }])
  })

  it('is left out of what is asked for, also of what was asked for before, and refused where nothing else is', async () => {
    const before = readsOf('/v3/users')
    const runs = await mirror.sync({ streams: ['users', 'harbours'] })
    expect(runs.map(({ stream }) => stream)).toEqual(['harbours'])
    expect(readsOf('/v3/users')).toBe(before)
    const paused = await pausedStreams(pool())
    expect(withoutPaused(['users', 'harbours'], paused)).toEqual(['harbours'])
    expect(pausedText(['users', 'harbours'], paused)).toMatch(/^users has been paused since .* UTC, by \w+$/)
    expect(() => withoutPaused(['users'], paused)).toThrow('Nothing was read: users has been paused since')
    for (const key of [null, { id: 1 }])
      await expect(askRefresh(pool(), 'users', key)).rejects.toMatchObject({
        ...{ code: 'USAGE', message: 'users is paused: resume it first.' },
      })
  })

  it('is not started by a request that comes after those before it were dropped', async () => {
    const client = await pool().connect()
    try {
      await client.query('begin')
      await createRequest(client, { trigger: 'test', streams, full: false })
      expect((await openStreams(client)).map(({ stream }) => stream)).toEqual(['harbours'])
    } finally {
      client.release(true)
    }
  })

  it('is paused and resumed by a program and by commands, too', async () => {
    await using line = await openCommandLine({
      ...{ DATABASE_URL: mirror.app.databaseUrl, API_BASE_URL: mirror.sandbox.url, API_AUTH: 'none' },
    })
    const printed = async (...args: string[]): Promise<string> => (await line.run(args)).stdout
    const { databaseUrl } = mirror.app
    const program = await openMirror({ databaseUrl, apiBaseUrl: mirror.sandbox.url, apiAuth: 'none' })
    try {
      await program.pause('harbours')
      await expect(program.pause('harbours')).rejects.toMatchObject({ code: 'USAGE' })
      await expect(program.resume('harbours', { expected: 'another' })).rejects.toMatchObject({ code: 'PLAN_CHANGED' })
      await expect(program.sync({ streams: ['harbours'] })).rejects.toThrow(
        'Nothing was read: harbours has been paused since',
      )
      expect(await printed('resume', 'harbours')).toBe('harbours is read again.\n')
      expect(await printed('pause', 'harbours')).toBe('harbours is paused. Resume with: boat-mirror resume harbours\n')
      expect(await printed('status')).toMatch(/harbours .*off, paused/)
      expect((await line.run(['sync', 'harbours'])).stderr).toContain(
        'Nothing was read: harbours has been paused since',
      )
      await program.resume('harbours')
    } finally {
      await program.close()
    }
    const { rows } = await pool().query(
      `select what, via from sync.decisions where target = 'stream:harbours' order by id`,
    )
    expect(rows.map(({ what, via }) => `${what} ${via}`)).toEqual([
      'pause library',
      'resume command',
      'pause command',
      'resume library',
    ])
  })

  it('is decided by the plan that a dry run prints, and not once that has changed', async () => {
    await using line = await openCommandLine({ DATABASE_URL: mirror.app.databaseUrl })
    const planOf = async (what: 'pause' | 'resume'): Promise<string> => {
      const { stdout } = await line.run([what, 'users', '--dry-run'])
      expect(stdout).toMatch(new RegExp(`^Would ${what} users, user_identities, user_licenses\\.\nPlan: \\w+\n$`))
      const { plan } = JSON.parse((await line.run([what, 'users', '--dry-run', '--json'])).stdout)
      expect(stdout).toContain(plan)
      return plan
    }
    const noted = async (): Promise<number> => (await pool().query('select from sync.decisions')).rows.length
    const seen = await planOf('resume')
    expect([await noted(), (await pausedStreams(pool())).length]).toEqual([1, 3])
    expect((await line.run(['resume', 'users', '--expected', seen])).code).toBe(0)
    expect((await line.run(['pause', 'users', '--expected', await planOf('pause')])).code).toBe(0)
    const late = await line.run(['resume', 'users', '--expected', seen])
    expect(late.code).toBe(1)
    expect(errorOf(late)).toBe(
      `Stream users has changed since you reviewed it: its plan is no longer ${seen}. [PLAN_CHANGED]\n` +
        'See the new plan with: boat-mirror resume users --dry-run, or in sync.stream_plans. Then decide again.',
    )
    expect([await noted(), (await pausedStreams(pool())).length]).toEqual([3, 3])
  })

  it('is named by explain for each record that it brings, since when and by whom', async () => {
    await using line = await openCommandLine({ DATABASE_URL: mirror.app.databaseUrl })
    const { rows } = await pool().query<{ id: string }>('select min(id)::text as id from mirror.users')
    const [{ id = '' } = {}] = rows
    const [paused] = (await pausedStreams(pool())).filter(({ stream }) => stream === 'users')
    const { stdout } = await line.run(['explain', 'users', id])
    expect(stdout).toContain(
      `\nPaused   users has been paused since ${instant(paused?.since ?? null)} UTC, by ${paused?.who}: it is not read until you resume it.\n`,
    )
    const explained = async (): Promise<unknown> =>
      JSON.parse((await line.run(['explain', 'users', id, '--json'])).stdout).paused
    expect(await explained()).toEqual({ ...paused, since: paused?.since.toISOString() })
    await decideStream(pool(), 'resume', 'users', by)
    expect(await explained()).toBeNull()
    expect((await line.run(['explain', 'users', id])).stdout).not.toContain('Paused')
  })

  it('is read again at once after it is resumed; what was paused by itself stays so', async () => {
    await decideStream(pool(), 'resume', 'users', by)
    expect(await pausedStreams(pool())).toEqual([])
    await makeOverdue()
    expect(await overdueTurns(pool(), 0)).toEqual(expect.arrayContaining(['users', 'user_identities']))
    expect((await mirror.sync({ streams: ['users'] })).map(({ stream }) => stream)).toEqual(['users'])

    await decideStream(pool(), 'pause', 'user_licenses', by)
    await decideStream(pool(), 'pause', 'users', by)
    await decideStream(pool(), 'resume', 'users', by)
    expect((await pausedStreams(pool())).map(({ stream }) => stream)).toEqual(['user_licenses'])
  })
})
