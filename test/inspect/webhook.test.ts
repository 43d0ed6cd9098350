// What status and page both say about the webhook, in each of its states.

import { describe, expect, it } from 'vitest'
import { connectionsOf } from '../../src/inspect/connections.ts'
import { type WebhookStatus, webhookText } from '../../src/inspect/receivers.ts'
import { statusFacts } from './status-facts.ts'

const now = new Date('2030-01-01T12:00:00Z')
const webhook = (facts: Partial<WebhookStatus>): WebhookStatus => ({
  url: 'https://hooks.test',
  state: 'following',
  behindS: 0,
  delivered: 1_200,
  deliveredAt: now,
  failingSince: null,
  nextAttemptAt: null,
  attempts: 0,
  lastError: null,
  ...facts,
})

const failed = { lastError: 'the receiver answered 500.', behindS: 90, nextAttemptAt: new Date(now.getTime() + 20_000) }
const cases: readonly { readonly facts: Partial<WebhookStatus>; readonly says: string }[] = [
  { facts: { state: 'waiting', delivered: 0 }, says: 'starts with the next worker' },
  { facts: {}, says: 'up to date; 1,200 changes sent' },
  { facts: { behindS: 90 }, says: '1 min 30 s behind; 1,200 changes sent' },
  {
    facts: { state: 'retrying', ...failed },
    says: 'failing: the receiver answered 500. Next attempt in 20 s; 1 min 30 s behind; 1,200 changes sent',
  },
  { facts: { state: 'lost' }, says: 'lost changes; 1,200 changes sent' },
]

describe('a webhook', () => {
  for (const { facts, says } of cases)
    it(`that is ${facts.state ?? 'following'}: ${says}`, () => {
      expect(webhookText(webhook(facts), now)).toBe(says)
      expect(connectionsOf(statusFacts({ webhook: webhook(facts) }), now)).toContainEqual({
        name: 'Webhook',
        what: 'https://hooks.test',
        state: says,
      })
    })

  it('that is not configured is not spoken of', () =>
    expect(connectionsOf(statusFacts(), now).map(({ name }) => name)).not.toContain('Webhook'))
})
