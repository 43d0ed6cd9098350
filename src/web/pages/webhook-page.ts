// The page of the webhook: whether the receiver accepts calls, and the last attempts to deliver one. Pure.

import { count, counted, duration, instant, relative } from '../../format.ts'
import { type WebhookStatus, webhookText } from '../../inspect/receivers.ts'
import type { ListedDelivery } from '../../mirror/webhook-deliveries.ts'
import {
  type Columns,
  commandRow,
  frame,
  headline,
  listing,
  type PageContext,
  stateBadge,
  type Tone,
} from '../parts/frame.ts'
import { type Html, html } from '../parts/html.ts'

const tones: Readonly<Record<WebhookStatus['state'], Tone>> = {
  waiting: 'mute',
  following: 'ok',
  retrying: 'warn',
  failing: 'bad',
  lost: 'bad',
}

function summary(webhook: WebhookStatus | null, now: Date): Html {
  if (webhook === null)
    return headline({
      tone: 'mute',
      title: 'Webhook',
      detail: 'Nothing is sent because WEBHOOK_URL is not set.',
      facts: [],
    })
  const { url, state, behindS, delivered, deliveredAt, failingSince, attempts } = webhook
  return headline({
    tone: tones[state],
    title: 'Webhook',
    detail: `${state} · ${webhookText(webhook, now)}`,
    facts: [
      ['Receiver', url],
      ['Behind', behindS === 0 ? 'up to date' : duration(behindS)],
      ['Accepted', counted(delivered, 'change')],
      ['Last accepted', relative(deliveredAt, now)],
      [
        'Failing',
        failingSince === null
          ? null
          : `${counted(attempts, 'attempt')} in ${duration((now.getTime() - failingSince.getTime()) / 1_000)}`,
      ],
    ],
  })
}

const whole = (text: string): Html => html`<span class="whole">${text}</span>`

const columns: Columns<ListedDelivery> = {
  'Time (UTC)': ({ sentAt }) => whole(instant(sentAt) ?? ''),
  State: ({ error }) => (error === null ? stateBadge('ok', 'accepted') : stateBadge('bad', 'failed')),
  Status: ({ status }) => (status === null ? whole('no answer') : String(status)),
  Changes: ({ changes }) => changes,
  Took: ({ durationMs }) => whole(`${count(durationMs)} ms`),
  Error: ({ error }) => error ?? '',
  Id: ({ id }) => html`<code class="whole">${id}</code>`,
}

type WebhookFacts = {
  /** null: none is configured. */
  readonly webhook: WebhookStatus | null
  /** Newest first. */
  readonly deliveries: readonly ListedDelivery[]
}

export const renderWebhookPage = (
  { webhook, deliveries }: WebhookFacts,
  { now, version }: Omit<PageContext, 'decides'>,
): string =>
  frame({
    title: 'Webhook',
    at: '/webhook',
    now,
    version,
    sections: [
      summary(webhook, now),
      html`<section aria-labelledby="commands"><h2 id="commands">Commands</h2>${commandRow([
        'webhook test',
        'webhook deliveries',
        'webhook replay --help',
      ])}</section>`,
      listing({
        id: 'deliveries',
        title: 'Deliveries',
        columns,
        rows: deliveries,
        none: 'No calls were sent in the last 7 days.',
      }),
    ],
  })
