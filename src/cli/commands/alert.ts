// `alert --test`: a message to ALERT_URL, to see that it arrives.

import { BoatMirrorError } from '../../errors.ts'
import { bodyFor, testMessage } from '../../messages/alerts/message.ts'
import { createPost } from '../../messages/post.ts'
import { shownReceiver } from '../../text.ts'
import type { CommandContext } from '../context.ts'
import { print } from '../terminal/output.ts'
import { hurry } from './webhook.ts'

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
