// `webhook` and `alert`: try the receivers, show what was sent to the webhook, and send it again.

import type { Config } from '../../config.ts'
import { hurrySender, type SenderName } from '../../database/senders.ts'
import { BoatMirrorError, messageOf } from '../../errors.ts'
import { instant } from '../../format.ts'
import { bodyFor, testMessage } from '../../messages/alerts/message.ts'
import { createPost, fingerprint } from '../../messages/post.ts'
import { signedHeaders, testBody } from '../../messages/webhook/batch.ts'
import { newMessageId } from '../../messages/webhook/batch-store.ts'
import { replayFrom } from '../../messages/webhook/replay.ts'
import { listDeliveries } from '../../mirror/webhook-deliveries.ts'
import { shownReceiver } from '../../text.ts'
import type { CommandContext, Json } from '../context.ts'
import { print, printJson, table } from '../terminal/output.ts'

/** Where the webhook goes, and what signs it. @throws BoatMirrorError USAGE when there is none */
function receiverOf({ webhookUrl: address, webhookSecrets: secrets }: Config) {
  if (address !== null && secrets !== null) return { address, secrets }
  throw new BoatMirrorError('USAGE', 'WEBHOOK_URL is not set.', {
    remedy: 'Set WEBHOOK_URL and WEBHOOK_SECRET; docs/feed.md shows a receiver.',
  })
}

/** A worker that waits before it tries the receiver again tries now. The test is as good without a database. */
async function hurry(context: CommandContext, name: SenderName, address: string): Promise<void> {
  try {
    await using opened = await context.openDatabase()
    await hurrySender(opened.database.pool, name, fingerprint(address))
  } catch (error) {
    context.log.debug({ event: 'sender_not_hurried', sender: name, reason: messageOf(error) })
  }
}

export async function runTest(context: CommandContext, { json }: Json): Promise<void> {
  const { config, signal } = context
  const { address, secrets } = receiverOf(config)
  const post = createPost({ variable: 'WEBHOOK_URL', address, proxies: config.api.proxies })
  const call = { id: newMessageId(), body: testBody(new Date()) }
  try {
    const began = performance.now()
    const result = await post.send(call.body, signedHeaders(secrets, call, new Date()), signal)
    const durationMs = Math.round(performance.now() - began)
    if (result.kind === 'failed')
      throw new BoatMirrorError('MESSAGE_REFUSED', `The receiver did not accept the test: ${result.error}`)
    await hurry(context, 'webhook', address)
    const { status } = result
    if (json) return printJson({ id: call.id, url: shownReceiver(address), status, durationMs })
    print(`${shownReceiver(address)} accepted the test ${call.id}: ${status} after ${durationMs} ms.`)
  } finally {
    await post.close()
  }
}

export async function runDeliveries(
  context: CommandContext,
  { limit, json }: Json & { readonly limit: number },
): Promise<void> {
  await using opened = await context.openDatabase()
  const deliveries = await listDeliveries(opened.database.pool, limit)
  if (json) return printJson(deliveries)
  if (deliveries.length === 0) return print('No webhook call was sent in the last week.')
  print(
    table(
      ['TIME (UTC)', 'ID', 'CHANGES', 'STATUS', 'MS', 'ERROR'],
      deliveries.map(({ sentAt, id, changes, status, durationMs, error }) => [
        instant(sentAt),
        id,
        changes,
        status,
        durationMs,
        error ?? '',
      ]),
    ),
  )
}

export async function runReplay(
  context: CommandContext,
  { from, json }: Json & { readonly from: string },
): Promise<void> {
  await using opened = await context.openDatabase()
  const cursor = await replayFrom(opened.database, from)
  if (json) return printJson({ from: cursor })
  const place = cursor === null ? 'all changes in the log' : `all changes after ${cursor}`
  print(`The worker sends ${place} to the webhook again, as new calls.`)
}

export async function runAlert(context: CommandContext): Promise<void> {
  const { config, signal } = context
  const { alertUrl: address, api } = config
  if (address === null)
    throw new BoatMirrorError('USAGE', 'ALERT_URL is not set, so there is no receiver.', {
      remedy:
        'Set it to the address of an incoming webhook of Slack or Mattermost, a workflow of Teams, or your own receiver.',
    })
  const post = createPost({ variable: 'ALERT_URL', address, proxies: api.proxies })
  const place = api.baseUrl === null ? 'the sandbox' : new URL(api.baseUrl).host
  try {
    const result = await post.send(bodyFor(address, testMessage(place, new Date())), {}, signal)
    if (result.kind !== 'accepted')
      throw new BoatMirrorError('MESSAGE_REFUSED', `The receiver did not accept the message: ${result.error}`)
    await hurry(context, 'alert', address)
    print(`${shownReceiver(address)} accepted the message.`)
  } finally {
    await post.close()
  }
}
