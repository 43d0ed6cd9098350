// The state machine of a change: what may follow what, held for any sequence of events.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  blocksDependants,
  type Event,
  holdsAggregate,
  isSettled,
  needsPerson,
  type Status,
  statesBefore,
  statuses,
  transition,
} from '../../src/outbox/transitions.ts'

const events: readonly Event[] = [
  'claimed',
  'retry-later',
  'look-later',
  'succeeded',
  'refused',
  'conflicted',
  'undecidable',
  'too-late',
  'cause-failed',
  'cause-done',
  'canceled',
  'retried',
  'resolved-done',
  'resolved-again',
]
const byPerson: readonly Event[] = ['canceled', 'retried', 'resolved-done', 'resolved-again']
const anyEvents = fc.array(fc.constantFrom(...events), { maxLength: 40 })

const walk = (sequence: readonly Event[]): readonly { from: Status; event: Event; to: Status }[] => {
  const steps: { from: Status; event: Event; to: Status }[] = []
  let state: Status = 'queued'
  for (const event of sequence) {
    const to = transition(state, event)
    if (to === null) continue
    steps.push({ from: state, event, to })
    state = to
  }
  return steps
}

const statusesAfter = (event: Event): Readonly<Record<string, Status | null>> =>
  Object.fromEntries(statesBefore(event).map((from) => [from, transition(from, event)]))

describe('a change', () => {
  it('never leaves done', () => {
    expect(events.map((event) => transition('done', event)).filter((state) => state !== null)).toEqual([])
  })

  it('leaves a settled state only by a person', () => {
    fc.assert(
      fc.property(anyEvents, (sequence) => {
        for (const { from, event } of walk(sequence)) if (isSettled(from)) expect(byPerson).toContain(event)
      }),
    )
  })

  it('becomes done only from sending, or on the word of a person', () => {
    fc.assert(
      fc.property(anyEvents, (sequence) => {
        for (const { from, event, to } of walk(sequence))
          if (to === 'done') expect(from === 'sending' || event === 'resolved-done').toBe(true)
      }),
    )
  })

  it('is sent only from queued, and from sending only to be reconciled', () => {
    expect(statesBefore('claimed')).toEqual(['queued', 'sending'])
  })

  it('can’t be canceled while it is on its way, or while nobody knows whether it took effect', () => {
    expect(statesBefore('canceled')).toEqual(['queued', 'failed', 'conflict', 'expired', 'blocked'])
  })

  it('that nobody can prove goes again only when a person says that it had no effect', () => {
    expect(events.filter((event) => transition('unknown', event) === 'queued')).toEqual(['resolved-again'])
  })
})

describe('a change that is on its way', () => {
  const outcomes: readonly [Event, Status][] = [
    ['claimed', 'sending'],
    ['retry-later', 'queued'],
    ['look-later', 'sending'],
    ['succeeded', 'done'],
    ['refused', 'failed'],
    ['conflicted', 'conflict'],
    ['undecidable', 'unknown'],
    ['too-late', 'expired'],
  ]
  for (const [event, state] of outcomes)
    it(`is ${state} after ${event}`, () => expect(transition('sending', event)).toBe(state))
})

describe('a person', () => {
  it('queues again what failed, came too late, was canceled or is in conflict', () => {
    expect(statuses.filter((from) => transition(from, 'retried') === 'queued')).toEqual([
      'failed',
      'conflict',
      'expired',
      'canceled',
    ])
  })

  it('ends a conflict or a doubt either way', () => {
    const decided = (event: Event, to: Status) => statuses.filter((from) => transition(from, event) === to)
    expect(decided('resolved-done', 'done')).toEqual(['conflict', 'unknown'])
    expect(decided('resolved-again', 'queued')).toEqual(['conflict', 'unknown'])
  })
})

describe('what a change builds on', () => {
  it('blocks it by failing and queues it by succeeding', () => {
    expect(transition('queued', 'cause-failed')).toBe('blocked')
    expect(transition('blocked', 'cause-done')).toBe('queued')
  })

  it('may come too late for it', () => {
    expect(statusesAfter('too-late')).toEqual({ queued: 'expired', sending: 'expired', blocked: 'expired' })
  })
})

describe('a state', () => {
  it('is settled when nothing happens any more without a person', () => {
    expect(statuses.filter(isSettled)).toEqual(['done', 'failed', 'conflict', 'expired', 'canceled', 'unknown'])
  })

  it('holds its aggregate as long as something may still happen to the record', () => {
    expect(statuses.filter(holdsAggregate)).toEqual(['queued', 'sending', 'conflict', 'unknown'])
  })

  it('blocks what refers to it when it did not succeed', () => {
    expect(statuses.filter(blocksDependants)).toEqual(['failed', 'expired', 'canceled', 'blocked'])
  })

  it('needs a person when it is a conflict or unknown', () => {
    expect(statuses.filter(needsPerson)).toEqual(['conflict', 'unknown'])
  })

  it('can always be left, but for done', () => {
    const stuck = statuses.filter((status) => events.every((event) => transition(status, event) === null))
    expect(stuck).toEqual(['done'])
  })
})
