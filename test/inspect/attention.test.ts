// What needs attention comes with commands that can be typed as shown.

import { describe, expect, it } from 'vitest'
import { whatNeedsPeople } from '../../src/inspect/attention.ts'
import type { StatusFacts } from '../../src/inspect/status.ts'
import { statusFacts } from './status-facts.ts'

const commandsOf = (facts: Parameters<typeof statusFacts>[0]): readonly string[] =>
  whatNeedsPeople(statusFacts(facts), []).flatMap(({ commands }) => commands)

const worker = { id: '1', host: 'h', pid: 1, version: '1', startedAt: new Date(0), seenAt: new Date(0), doing: null }

describe('the commands beside what waits for a person', () => {
  it('name the oldest change of those that wait', () => {
    const outbox = { conflict: 2, unknown: 1, failed: 3, done: 9, oldestQueuedAt: null }
    expect(commandsOf({ outbox, firstChanges: { conflict: 17, unknown: 21, failed: 5, done: 1 } })).toEqual([
      'changes list --status conflict',
      'changes show 17',
      'changes resolve 17 --take local',
      'changes list --status unknown',
      'changes show 21',
      'changes resolve 21 --took-effect',
      'changes list --status failed',
      'changes show 5',
      'changes retry 5',
    ])
  })

  it('name the run whose deletions wait', () => {
    const held = { id: 42, stream: 'rentals', held: 30, startedAt: new Date(), plan: null }
    expect(commandsOf({ heldRuns: [held] })).toEqual(['runs show 42', 'runs release 42'])
  })

  it('list double bookings, with how many boats they are of, and name rentals without an end', () => {
    const since = new Date('2026-05-01T12:00:00Z')
    const { overlaps } = statusFacts()
    const open = { withoutArrival: ['7', '20001'], withoutArrivalSince: since }
    const told = whatNeedsPeople(statusFacts({ overlaps: { ...overlaps, rentals: 2, boats: 1, since, ...open } }), [])
    expect(told).toMatchObject([
      {
        ...{ kind: 'overlap', since, commands: ['report overlaps'] },
        text: '2 rentals overlap with another rental or an unavailability of the same boat (1 boat).',
      },
      { kind: 'arrival', since, text: 'Rentals 7, 20001 have no arrival.', commands: ['explain rentals 7'] },
    ])
  })

  it('lead to the database for a consumer that is late or lost, whose statement the text has', () => {
    const consumer = { registeredAt: new Date(), ackedAt: null, behindS: 201 * 86_400 }
    const consumers = (['following', 'late', 'lost'] as const).map((state) => ({ ...consumer, name: state, state }))
    const told = whatNeedsPeople(statusFacts({ consumers }), [])
    expect(told.map(({ commands }) => commands)).toEqual([['db psql'], ['db psql']])
    expect(told[0]?.text).toMatch(
      /late has not acknowledged changes for 201 d.*select mirror\.drop_consumer\('late'\)\.$/,
    )
    expect(told[1]?.text).toContain(`select mirror.reset_consumer('lost', 'now')`)
  })

  it('are one for refused credentials, as the last call tells, whatever fails because of them', () => {
    const call = {
      endpoint: 'GET /v3/types',
      calls: 9,
      failures: 1,
      lastStatus: 401,
      lastStatusSince: null,
      lastError: 'no',
    }
    const earlier = { ...call, endpoint: 'GET /v3/cities', lastStatus: 200, lastCalledAt: new Date(1_000) }
    const failing = (stream: string, lastError: string) =>
      ({ stream, state: 'failing', targetS: null, lastRunStatus: 'failed', lastError }) as const
    const freshness = [failing('types', 'answered 401'), failing('users', 'answered 401'), failing('cities', 'no list')]
    const told = (endpoints: StatusFacts['endpoints']) =>
      whatNeedsPeople(statusFacts({ endpoints }), freshness).map(({ kind, about }) => [kind, ...about])
    expect(told([earlier, { ...call, lastCalledAt: new Date(2_000) }])).toEqual([
      ['credentials'],
      ['failing', 'cities'],
    ])
    expect(told([{ ...call, lastCalledAt: new Date(500) }, earlier])).toEqual([
      ['failing', 'types', 'users'],
      ['failing', 'cities'],
    ])
  })

  it('are those of the last hot run where hot runs fail, unless the stream fails altogether', () => {
    const failingHotRuns = ['rentals', 'users'].map((stream) => ({ stream, runId: 7, error: 'answered 500' }))
    const freshness = [
      { stream: 'users', state: 'failing', targetS: null, lastRunStatus: 'failed', lastError: 'no list' } as const,
    ]
    const told = whatNeedsPeople(statusFacts({ failingHotRuns }), freshness)
    expect(told.map(({ about, commands }) => [...about, ...commands])).toEqual([
      ['users', 'runs users', 'check'],
      ['rentals', 'runs show 7', 'check'],
    ])
    expect(told[1]?.text).toMatch(/ records of rentals .*hot runs failed: answered 500$/)
  })

  it('are one for all late streams, and for fields that are new', () => {
    const late = ['rentals', 'users'].map(
      (stream) => ({ stream, state: 'late', targetS: 60, lastRunStatus: 'done', lastError: null }) as const,
    )
    const field = { stream: 'users', firstSeenAt: new Date(), lastSeenAt: new Date(), times: 1, sample: 'Zaphod' }
    const unknownFields = [
      { ...field, path: 'shoeSize', isNew: true },
      { ...field, path: 'hatSize', isNew: false },
    ]
    expect(whatNeedsPeople(statusFacts({ unknownFields, workers: [{ ...worker, isSilent: false }] }), late)).toEqual([
      {
        kind: 'late',
        about: ['rentals', 'users'],
        text: 'rentals, users are older than their target.',
        since: null,
        commands: ['status', 'schedule'],
      },
      {
        kind: 'fields',
        about: ['users.shoeSize'],
        text: 'The API shows 1 field that this version does not know, new in the last 7 days (users). Its values are kept in _payload.',
        since: field.firstSeenAt,
        commands: ['drift', 'drift acknowledge users'],
      },
    ])
  })

  it('say since when: of the first record, change and refusal, and of the last that was acknowledged or taken', () => {
    const on = (day: number): Date => new Date(Date.UTC(2030, 0, day))
    const call = { endpoint: 'GET /v3/types', calls: 9, failures: 1, lastStatus: 401, lastError: 'no' }
    const consumer = { name: 'crm', registeredAt: on(1), behindS: 201 * 86_400, state: 'late' } as const
    const facts = statusFacts({
      endpoints: [
        { ...call, lastStatusSince: on(9), lastCalledAt: on(10) },
        { ...call, lastStatusSince: on(8), lastCalledAt: on(8) },
        { ...call, lastStatus: 200, lastStatusSince: on(1), lastCalledAt: on(7) },
        { ...call, lastStatusSince: on(6), lastCalledAt: on(6) },
        { ...call, lastStatus: null, lastStatusSince: on(9), lastCalledAt: on(9) },
      ],
      outbox: { conflict: 1, unknown: 1, failed: 2, oldestQueuedAt: null },
      firstChanges: { conflict: 1, unknown: 2, failed: 3 },
      settledSince: { conflict: on(2), unknown: on(3), failed: on(4), done: on(1) },
      quarantine: { total: 2, since: on(5), byStream: { rentals: 2 } },
      consumers: [
        { ...consumer, ackedAt: on(2) },
        { ...consumer, ackedAt: null },
      ],
    })
    expect(whatNeedsPeople(facts, []).map(({ kind, since }) => [kind, since])).toEqual([
      ['credentials', on(8)],
      ['consumer', on(2)],
      ['consumer', on(1)],
      ['conflict', on(2)],
      ['unknown', on(3)],
      ['failed', on(4)],
      ['quarantine', on(5)],
    ])
  })

  it('are none where nothing waits', () => {
    expect(commandsOf({ outbox: { done: 9, oldestQueuedAt: null }, firstChanges: { done: 1 } })).toEqual([])
  })
})

describe('late streams', () => {
  const late = (['types', 'rentals'] as const).map(
    (stream) => ({ stream, state: 'late', targetS: 60, lastRunStatus: 'done', lastError: null }) as const,
  )
  const told = (wishes: Partial<StatusFacts>, freshness: Parameters<typeof whatNeedsPeople>[1] = late) =>
    whatNeedsPeople(statusFacts({ api: { ...statusFacts().api, breaker: 'open' }, ...wishes }), freshness)
  it('come first, with their cause, while no worker runs', () => {
    const [first, second] = told({ lastWorkerAt: new Date('2030-05-01T12:00:00Z') })
    expect(first).toMatchObject({
      kind: 'late',
      about: ['types', 'rentals'],
      text: 'No worker has run since 2030-05-01 12:00:00 UTC. 2 streams are older than their target: types, rentals.',
      commands: ['worker'],
    })
    expect(second?.kind).toBe('breaker')
    expect(told({ workers: [{ ...worker, isSilent: true }] })[0]?.text).toMatch(/^No worker has run yet\. 2 streams/)
  })
  it('come as what they are while one runs', () => {
    const [first, second] = told({ workers: [{ ...worker, isSilent: false }] })
    expect([first?.kind, second?.kind]).toEqual(['breaker', 'late'])
    expect(second).toMatchObject({
      text: 'types, rentals are older than their target.',
      commands: ['status', 'schedule'],
    })
  })
  it('are none while a worker catches up with them', () => {
    const reading = late.map((each) => ({ ...each, state: 'reading' as const }))
    expect(told({ workers: [{ ...worker, isSilent: false }] }, reading).map(({ kind }) => kind)).toEqual(['breaker'])
  })
})
