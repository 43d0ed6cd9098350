// The state machine of a change: what may follow what, held for any sequence of events.

import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Event, inStates, type Status, stateDiagram, stateSets, transition } from '../../src/outbox/states.ts'

const events =
  'claimed retry-later verify-later succeeded refused conflicted undecidable too-late cause-failed cause-done canceled retried resolved-done resolved-again'.split(
    ' ',
  ) as Event[]
const settled: readonly Status[] = ['done', 'failed', 'conflict', 'expired', 'canceled', 'unknown']
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

describe('a change', () => {
  it('never leaves done', () => {
    expect(events.map((event) => transition('done', event)).filter((state) => state !== null)).toEqual([])
  })

  it('leaves a settled state only by a person', () => {
    fc.assert(
      fc.property(anyEvents, (sequence) => {
        for (const { from, event } of walk(sequence)) if (settled.includes(from)) expect(byPerson).toContain(event)
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
})

describe('a set of states', () => {
  const sets: typeof stateSets = {
    claimable: ['queued', 'sending'],
    waiting: ['queued', 'blocked'],
    holding: ['queued', 'sending', 'conflict', 'unknown'],
    dead: ['failed', 'expired', 'canceled', 'blocked'],
    person: ['conflict', 'unknown'],
    final: ['done', 'failed', 'expired', 'canceled'],
    unsettled: ['queued', 'sending', 'conflict', 'unknown', 'blocked'],
  }
  it('is what the table says', () => expect(stateSets).toEqual(sets))

  it('becomes a condition of SQL', () => {
    expect(inStates('q.status', 'claimable')).toBe("q.status in ('queued', 'sending')")
  })

  const texts = readdirSync('src/outbox', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && name !== 'states.ts')
    .map((name) => [name, readFileSync(`src/outbox/${name}`, 'utf8')] as const)
  it.each(texts)('is written by hand nowhere in %s', (_, text) => {
    expect(text.match(/status\s+(not\s+)?in\s*\('|\[\s*'(queued|failed|done|conflict)'/g)).toBeNull()
  })
})

// It names every move, so that none changes unseen.
it('the diagram in docs/outbox.md is that of the table', () => {
  const [, drawn] = /```mermaid\n([\s\S]*?)\n```/.exec(readFileSync('docs/outbox.md', 'utf8')) ?? []
  expect(drawn).toBe(stateDiagram())
})
