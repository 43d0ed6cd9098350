// The first sentence of `status` and of the status page: is anything wrong, and what helps?

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AttentionKind, kinds } from '../../src/inspect/attention-kinds.ts'
import type { AttentionItem, StatusFacts } from '../../src/inspect/status.ts'
import type { StreamStatus } from '../../src/inspect/streams.ts'
import { verdictOf } from '../../src/inspect/verdict.ts'
import { statusFacts } from './status-facts.ts'

const now = new Date('2030-01-01T12:00:00Z')

const worker = (isSilent = false): StatusFacts['workers'][number] => ({
  ...{ id: 'boats:7:x', host: 'boats', pid: 7, version: '1.0.0', startedAt: now, seenAt: now },
  ...{ doing: null, isSilent },
})

const stream = (facts: Partial<StreamStatus> = {}): StreamStatus => ({
  ...{ stream: 'rentals', asOf: now, rows: 12, rowsSoFar: null, lastRunId: 1, nextDueAt: now, intervalS: 60 },
  ...{ targetS: 180, countsAsOf: now, hotAsOf: null, state: 'fresh', paused: null, lastRunStatus: null },
  ...facts,
})

const item = (
  kind: AttentionItem['kind'],
  about: readonly string[] = [],
  commands = ['boat-mirror check'],
): AttentionItem => ({ kind, about, since: null, message: 'A text. Of its own.', commands })

const running = { runs: 2, done: 1, all: 9, elapsedS: 30 }
const left = { requestsMade: 1, requestsLeft: 9, perSecond: 1, secondsLeft: 720 }
const held = item('held', ['users'], ['boat-mirror runs show 12', 'boat-mirror runs release 12'])
const unread = stream({ asOf: null, state: 'unknown' })

const cases: readonly {
  readonly name: string
  readonly facts: Partial<StatusFacts>
  readonly tone: string
  readonly says: string
}[] = [
  { name: 'all is fresh', facts: {}, tone: 'ok', says: 'Everything is up to date.' },
  {
    name: 'nobody works',
    facts: { workers: [] },
    tone: 'warn',
    says: 'Everything is up to date, but no worker is running: start one with `boat-mirror worker`.',
  },
  {
    name: 'the worker died and data is late',
    facts: { workers: [worker(true)], attention: [item('late', ['rentals'], ['boat-mirror worker'])] },
    tone: 'warn',
    says: 'Data is older than its target, because no worker is running: start one with `boat-mirror worker`.',
  },
  {
    name: 'nothing was ever read',
    facts: { workers: [], streams: [unread] },
    tone: 'warn',
    says: 'Nothing has been read yet, and no worker is running: start one with `boat-mirror worker`.',
  },
  {
    name: 'nobody works, and there is more',
    facts: { workers: [], attention: [item('late', ['rentals'], ['boat-mirror worker']), held] },
    tone: 'warn',
    says: 'No worker is running, and 1 thing needs your attention: deletions wait for your decision (users); run `boat-mirror runs show 12`, then start `boat-mirror worker`.',
  },
  {
    name: 'one thing needs a decision',
    facts: { attention: [held] },
    tone: 'warn',
    says: '1 thing needs your attention: deletions wait for your decision (users); run `boat-mirror runs show 12`.',
  },
  {
    name: 'the API refuses the credentials, and a sync is running',
    facts: { attention: [item('credentials'), held], backlog: running },
    tone: 'bad',
    says: '2 things need your attention: the API refuses the credentials (401) and deletions wait for your decision (users); start with `boat-mirror check`.',
  },
  {
    name: 'many things are wrong',
    facts: {
      attention: [item('failing', ['a', 'users', 'rentals', 'cities']), held, item('conflict'), item('fields')],
    },
    tone: 'bad',
    says: '4 things need your attention: the last run did not read everything (3 streams), deletions wait for your decision (users) and 2 more; start with `boat-mirror check`.',
  },
  {
    name: 'status itself would be the command',
    facts: { attention: [item('webhook', [], ['boat-mirror status'])] },
    tone: 'warn',
    says: '1 thing needs your attention: the receiver of the webhook does not accept calls; see below.',
  },
  {
    name: 'the first sync is running',
    facts: { streams: [stream(), unread, stream({ state: 'off', asOf: null })], backlog: running, estimate: left },
    tone: 'busy',
    says: 'The first sync is running: 1 of 2 streams complete, about 12 min left.',
  },
  {
    name: 'the first sync runs without a worker',
    facts: { workers: [], streams: [unread], backlog: running },
    tone: 'busy',
    says: 'The first sync is running: 0 of 1 stream complete.',
  },
  {
    name: 'the worker has just started',
    facts: { streams: [unread] },
    tone: 'busy',
    says: 'Not everything has been read yet: the worker reads the rest on schedule.',
  },
  {
    name: 'a worker catches up',
    facts: { streams: [stream({ state: 'reading' }), stream({ state: 'held' })], backlog: running, estimate: left },
    tone: 'busy',
    says: 'Catching up: 1 stream to go, about 12 min left.',
  },
  {
    name: 'everything is paused',
    facts: { streams: [stream({ state: 'off' })] },
    tone: 'warn',
    says: 'Every stream is paused: resume one with `boat-mirror resume STREAM`.',
  },
]

describe('the first sentence', () => {
  for (const { name, facts, tone, says } of cases)
    it(`where ${name}: ${says}`, () =>
      expect(verdictOf(statusFacts({ workers: [worker()], streams: [stream()], ...facts }))).toEqual({
        tone,
        sentence: says,
      }))

  const anyItem = fc
    .record({
      kind: fc.constantFrom(...(Object.keys(kinds) as AttentionKind[])),
      about: fc.array(fc.oneof(fc.constantFrom('rentals', 'users', 'cities'), fc.string()), { maxLength: 5 }),
      commands: fc.array(fc.constantFrom('boat-mirror status', 'boat-mirror runs show 1', 'boat-mirror worker'), {
        maxLength: 3,
      }),
    })
    .map(({ kind, about, commands }) => item(kind, about, commands))
  const anyStream = fc
    .record({
      state: fc.constantFrom('fresh', 'late', 'unknown', 'failing', 'reading', 'off', 'held'),
      asOf: fc.constantFrom(null, now),
    })
    .map(stream)
  const anyFacts = fc.record({
    attention: fc.array(anyItem, { maxLength: 7 }),
    workers: fc.array(fc.boolean().map(worker), { maxLength: 3 }),
    streams: fc.array(anyStream, { maxLength: 6 }),
    backlog: fc.constantFrom(null, running),
    estimate: fc.constantFrom(left, statusFacts().estimate),
  })

  it('is always exactly one, and only good news where nothing needs attention and a worker is there', () =>
    fc.assert(
      fc.property(anyFacts, (facts) => {
        const { tone, sentence } = verdictOf(statusFacts(facts))
        expect(sentence).toMatch(/^[A-Z\d][^.!?\n]*[^.!?\s]\.$/)
        expect(sentence.split('`').length % 2).toBe(1)
        const isQuiet = facts.attention.length === 0 && facts.workers.some(({ isSilent }) => !isSilent)
        if (tone === 'ok') expect(isQuiet || facts.backlog !== null).toBe(true)
        if (facts.attention.length > 0) expect(['warn', 'bad']).toContain(tone)
      }),
    ))

  it('counts what needs attention where a worker is there', () =>
    fc.assert(
      fc.property(fc.array(anyItem, { minLength: 1, maxLength: 9 }), (attention) => {
        const { sentence } = verdictOf(statusFacts({ workers: [worker()], streams: [stream()], attention }))
        const { length } = attention
        expect(sentence.startsWith(`${length} ${length === 1 ? 'thing needs' : 'things need'} your attention: `)).toBe(
          true,
        )
      }),
    ))
})
