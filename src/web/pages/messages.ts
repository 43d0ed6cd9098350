// Section of the status page about messages that the worker sends of itself: the webhook, and alerts. Pure.

import { alertsText } from '../../inspect/alerts.ts'
import { webhookText } from '../../inspect/webhook.ts'
import type { PageFacts } from '../page-facts.ts'
import { type Html, html } from '../parts/html.ts'

/** How webhook and alerts are doing; nothing where neither is configured. */
export function messagesSection({ status: { webhook, alerts }, now }: PageFacts): Html {
  if (webhook === null && alerts === null) return html``
  return html`<section aria-labelledby="messages"><h2 id="messages">Messages</h2>
${webhook !== null && html`<p class="note">Webhook to ${webhook.url}: ${webhookText(webhook, now)} · <a href="/webhook">Deliveries</a></p>`}
${alerts !== null && html`<p class="note">Alerts to ${alerts.url}: ${alertsText(alerts, now)}</p>`}</section>`
}
