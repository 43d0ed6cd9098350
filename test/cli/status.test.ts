// What `status` says in words: a sync under way, how late a stream is, what the API is doing, what needs attention.

import { describe, expect, it } from 'vitest'
import { createGateStore } from '../../src/api/admission/gate.ts'
import { describe as describeStatus } from '../../src/cli/commands/status.ts'
import { readConfig } from '../../src/config.ts'
import { readStatus } from '../../src/inspect/read-status.ts'
import type { Backlog } from '../../src/inspect/runs.ts'
import type { StatusFacts } from '../../src/inspect/status.ts'
import type { StreamStatus } from '../../src/inspect/streams.ts'
import { openMirror } from '../helpers/rows.ts'
import { statusFacts } from '../inspect/status-facts.ts'

const now = new Date('2030-01-01T12:00:00Z')
const inSeconds = (seconds: number): Date => new Date(now.getTime() + seconds * 1_000)
const ago = (seconds: number): Date => inSeconds(-seconds)

const stream = (facts: Partial<StreamStatus>): StreamStatus => ({
  stream: 'rentals',
  asOf: ago(60),
  rows: 1_200,
  rowsSoFar: null,
  lastRunId: null,
  nextDueAt: inSeconds(30),
  intervalS: 60,
  targetS: 180,
  countsAsOf: ago(60),
  hotAsOf: null,
  state: 'fresh',
  paused: null,
  lastRunStatus: null,
  ...facts,
})

const text = (wishes: Partial<StatusFacts>): string => describeStatus(statusFacts(wishes), { now, allEndpoints: false })

const lineOf = (all: string, start: string): string => all.split('\n').find((line) => line.startsWith(start)) ?? ''

describe('a sync under way', () => {
  const work: Backlog = { runs: 3, done: 250, all: 1_000, elapsedS: 90 }

  it('is told with what is done, what is left, and how long that takes', () => {
    const estimate = { requestsMade: 900, requestsLeft: 2_700, perSecond: 10, secondsLeft: 270 }
    expect(lineOf(text({ backlog: work, estimate }), 'Running')).toBe(
      'Running: 3 streams, 250 of 1,000 tasks done in 1 min 30 s; 2,700 requests left at 10 a second, about 5 min left.',
    )
  })

  it('has no estimate before that is known', () => {
    const estimate = { requestsMade: 1, requestsLeft: null, perSecond: null, secondsLeft: null }
    expect(lineOf(text({ backlog: { ...work, done: 0 }, estimate }), 'Running')).toBe(
      'Running: 3 streams, 0 of 1,000 tasks done in 1 min 30 s.',
    )
  })

  it('that is the first says what can be queried already, and shows the rows so far', () => {
    const estimate = { requestsMade: 3_400, requestsLeft: 6_600, perSecond: 10, secondsLeft: 660 }
    const streams = [
      stream({ rows: 0, rowsSoFar: 19_898, asOf: null, lastRunStatus: 'running' }),
      stream({ stream: 'users', rows: 12 }),
    ]
    const all = text({ backlog: work, estimate, streams })
    expect(lineOf(all, 'First sync')).toBe(
      'First sync: rentals 19,898 listed, 34 % of the requests made, about 11 min left; you can query now.',
    )
    expect(lineOf(all, 'rentals')).toMatch(/^rentals +19,898 /)
    expect(text({ backlog: work, estimate, streams: [stream({})] })).not.toContain('First sync')
  })

  it('is not mentioned when there is none', () => expect(text({})).not.toContain('Running'))
})

describe('a stream', () => {
  const cases: readonly { readonly name: string; readonly state: Partial<StreamStatus>; readonly says: RegExp }[] = [
    { name: 'in time', state: {}, says: /1,200 +1 min ago +– +in 30 s +1 min +fresh +–$/ },
    {
      name: 'late by its intervals',
      state: { asOf: ago(400), countsAsOf: ago(400), state: 'late' },
      says: / late by 3 min 40 s +–$/,
    },
    {
      name: 'late by its own target',
      state: { asOf: ago(400), countsAsOf: ago(400), targetS: 30, state: 'late' },
      says: / late by 6 min 10 s +–$/,
    },
    {
      name: 'never read',
      state: { asOf: null, nextDueAt: ago(1), state: 'unknown' },
      says: / never +– +due +1 min +never read +–$/,
    },
    {
      name: 'off the schedule',
      state: { intervalS: null, nextDueAt: null, targetS: null, state: 'unknown' },
      says: / no target +–$/,
    },
    { name: 'with a hot window', state: { hotAsOf: ago(20) }, says: /1,200 +1 min ago, hot 20 s ago +–/ },
    { name: 'that failed', state: { state: 'failing' }, says: / failing +–$/ },
  ]
  for (const { name, state, says } of cases)
    it(`${name}: ${says.source}`, () => expect(lineOf(text({ streams: [stream(state)] }), 'rentals')).toMatch(says))

  it('shows how many of its records cannot be mirrored', () => {
    const all = text({ streams: [stream({})], quarantine: { total: 2, since: null, byStream: { rentals: 2 } } })
    expect(lineOf(all, 'rentals')).toMatch(/ 2$/)
  })
})

describe('the API', () => {
  const cases: readonly { readonly name: string; readonly api: Partial<StatusFacts['api']>; readonly says: string }[] =
    [
      { name: 'that answers', api: {}, says: 'https://api.test' },
      {
        name: 'that asked to wait',
        api: { pausedUntil: inSeconds(20) },
        says: 'https://api.test – asked us to wait; resumes in 20 s',
      },
      {
        name: 'that is down',
        api: { breaker: 'open', nextProbeAt: inSeconds(5), pausedUntil: inSeconds(9) },
        says: 'https://api.test – down; next attempt in 5 s',
      },
      {
        name: 'that was down when somebody last called it',
        api: { breaker: 'open', nextProbeAt: ago(90_000) },
        says: 'https://api.test – down; next attempt with the next request',
      },
      { name: 'that is the sandbox', api: { sandbox: true }, says: 'https://api.test (the built-in sandbox)' },
      { name: 'that is not there yet', api: { url: '', sandbox: true }, says: 'the built-in sandbox, not started yet' },
    ]
  for (const { name, api, says } of cases)
    it(name, () => expect(lineOf(text({ api: { ...statusFacts().api, ...api } }), 'API')).toBe(`API       ${says}`))

  it('is known to be down, or to want a pause, from what the workers share', async () => {
    await using mirror = await openMirror()
    const baseUrl = 'https://user:secret@api.test'
    const config = readConfig({ DATABASE_URL: mirror.url, API_BASE_URL: baseUrl }, '/nonexistent')
    const api = async () => (await readStatus(config, { database: mirror.db, url: mirror.url }, null)).api
    expect(await api()).toMatchObject({ breaker: 'closed', pausedUntil: null, nextProbeAt: null })

    const [future, past] = [Date.now() + 60_000, Date.now() - 60_000]
    const store = createGateStore(mirror.db.pool, String(config.api.baseUrl))
    await store.save({ pausedUntil: future, opened: 0, probeAt: 0, changedAt: 1 })
    const shown = { url: 'https://api.test', sandbox: false, mirrored: null }
    expect(await api()).toEqual({ ...shown, breaker: 'closed', pausedUntil: new Date(future), nextProbeAt: null })
    await mirror.db.pool.query('delete from sync.gate')
    await store.save({ pausedUntil: past, opened: 2, probeAt: future, changedAt: 2 })
    expect(await api()).toEqual({ ...shown, breaker: 'open', pausedUntil: null, nextProbeAt: new Date(future) })
  })
})

describe('what waits', () => {
  it('is named with the command that helps', () => {
    const commands = ['boat-mirror runs show 12', 'boat-mirror runs release 12']
    const held = {
      kind: 'held',
      stream: 'users',
      id: 12,
      since: ago(60),
      about: ['users'],
      message: 'users: 1,400 records.',
      commands,
    } as const
    const all = text({ outbox: { queued: 3, conflict: 1, done: 0, oldestQueuedAt: ago(60) }, attention: [held] })
    expect(all).toContain('Outbox: 3 queued, 1 conflict.')
    expect(all).toContain(
      'Needs attention:\n- users: 1,400 records.\n    boat-mirror runs show 12\n    boat-mirror runs release 12',
    )
  })

  it('and needs nobody is only counted', () => {
    expect(lineOf(text({ outbox: { queued: 3, oldestQueuedAt: ago(60) } }), 'Outbox')).toBe('Outbox: 3 queued.')
  })
})

describe('endpoints', () => {
  it('are listed when their last call failed', () => {
    const endpoint = {
      endpoint: 'GET /v3/types',
      calls: 3,
      failures: 0,
      lastStatus: 200,
      lastStatusSince: ago(60),
      lastCalledAt: ago(5),
      lastError: null,
    }
    const broken = { ...endpoint, endpoint: 'GET /v3/users', failures: 3, lastStatus: 500, lastError: 'no\nanswer' }
    const all = text({ endpoints: [endpoint, broken] })
    expect(all).toContain('1 of 2 read endpoints answered successfully.')
    expect(lineOf(all, 'GET /v3/users')).toMatch(/ 3 +3 +500 +5 s ago +no answer$/)
    expect(lineOf(all, 'GET /v3/types')).toBe('')
  })
})
