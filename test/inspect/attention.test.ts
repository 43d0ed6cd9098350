// What waits for a person comes with commands that can be typed as they stand.

import { describe, expect, it } from 'vitest'
import { whatNeedsPeople } from '../../src/inspect/attention.ts'
import { statusFacts } from './status-facts.ts'

const commandsOf = (facts: Parameters<typeof statusFacts>[0]): readonly string[] =>
  whatNeedsPeople(statusFacts(facts), []).flatMap(({ commands }) => commands)

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

  it('are none where nothing waits', () => {
    expect(commandsOf({ outbox: { done: 9, oldestQueuedAt: null }, firstChanges: { done: 1 } })).toEqual([])
  })
})
