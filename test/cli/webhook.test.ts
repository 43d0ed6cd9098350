// `webhook test`, `deliveries` and `replay`: what they print, send and end with.

import { Webhook } from 'standardwebhooks'
import { beforeEach, expect, it } from 'vitest'
import { webhookConsumer } from '../../src/inspect/feed.ts'
import { fingerprint } from '../../src/messages/post.ts'
import { noteDelivery } from '../../src/mirror/webhook-deliveries.ts'
import { opened } from '../helpers/opened.ts'
import { feedSettled, openMirror } from '../helpers/rows.ts'
import { expectDocumented } from '../messages/body-schema.ts'
import { openReceiver } from '../messages/receiver.ts'
import { errorOf, openCommandLine } from './program.ts'

const secrets = [7, 9].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`)

const mirror = opened(() => openMirror())
const receiver = opened(() => openReceiver())
const cli = opened(() =>
  openCommandLine({
    DATABASE_URL: mirror.url,
    WEBHOOK_URL: receiver.url,
    WEBHOOK_SECRET: secrets.join(' '),
  }),
)
beforeEach(() => mirror.all('truncate sync.webhook_deliveries, sync.consumer_positions'))

const printed = async (...args: readonly string[]): Promise<string> => {
  const ended = await cli.run(['webhook', ...args])
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  return ended.stdout
}

it('test sends a call without changes that each secret signs, and shows of the address no more than scheme and host', async () => {
  const { origin } = new URL(receiver.url)
  expect(await printed('test')).toMatch(
    new RegExp(`^${origin} accepted the test msg_[0-9a-f]{32}: 200 after \\d+ ms\\.\n$`),
  )
  const [call] = receiver.received
  for (const secret of secrets) new Webhook(secret).verify(call?.body ?? '', call?.headers as Record<string, string>)
  expectDocumented(call?.body ?? '')
  expect(JSON.parse(call?.body ?? '')).toMatchObject({ type: 'mirror.test', data: { changes: [] } })
  expect(JSON.parse(await printed('test', '--json'))).toMatchObject({ url: origin, status: 200 })

  receiver.answers = [400]
  const refused = await cli.run(['webhook', 'test'])
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(errorOf(refused)).toContain(
    'The receiver did not accept the test: the receiver answered 400. [MESSAGE_REFUSED]',
  )
  expect(refused.stderr).not.toContain('secret')
  expect(await cli.run(['webhook', 'test'], { WEBHOOK_URL: '' })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('WEBHOOK_URL is not set.'),
  })
})

it('test lets the worker try a receiver that is well at once, and one that is not later', async () => {
  const left = async (): Promise<number> =>
    (await mirror.all('select from sync.senders where next_attempt_at > now()')).length
  const wait = (address: string) =>
    mirror.all(
      `insert into sync.senders (name, address, attempts, next_attempt_at) values ('webhook', $1, 9, now() + interval '1 h')
       on conflict (name) do update set address = $1, next_attempt_at = excluded.next_attempt_at`,
      [fingerprint(address)],
    )
  await wait(receiver.url)
  receiver.answers = [503]
  expect((await cli.run(['webhook', 'test'])).code).toBe(1)
  expect(await left()).toBe(1)
  await printed('test')
  expect(await left()).toBe(0)
  await wait('https://elsewhere.example.com')
  await printed('test')
  expect(await left(), 'another receiver').toBe(1)
  const without = await cli.run(['webhook', 'test'], { DATABASE_URL: 'postgres://127.0.0.1:1/none' })
  expect(without).toMatchObject({ code: 0, stdout: expect.stringContaining('accepted the test') })
})

it('deliveries lists attempts, newest first', async () => {
  expect(await printed()).toBe('No webhook call was sent in the last week.\n')
  const sent = { id: `msg_${'a'.repeat(32)}`, changes: 100, durationMs: 35, afterCursor: '1.2.3.4' }
  await noteDelivery(mirror.db.pool, { ...sent, status: null, error: 'the receiver hung up.' })
  await noteDelivery(mirror.db.pool, { ...sent, status: 204, error: null })
  const [head, last, first] = (await printed('deliveries')).split('\n')
  expect(head).toMatch(/^TIME \(UTC\) +ID +CHANGES +STATUS +MS +ERROR$/)
  expect(last).toMatch(/ msg_a{32} +100 +204 +35$/)
  expect(first).toMatch(/ msg_a{32} +100 +– +35 +the receiver hung up\.$/)
  expect(JSON.parse(await printed('deliveries', '--limit', '1', '--json'))).toEqual([
    { ...sent, status: 204, error: null, sentAt: expect.any(String) },
  ])
})

it('replay sets the consumer back and says from where', async () => {
  await mirror.all(
    `insert into mirror.change_log (stream, key, operation, diff)
     select 'harbours', jsonb_build_object('id', n), 'update', '{}' from generate_series(1, 3) n`,
  )
  await feedSettled(mirror)
  const [first, , last] = await mirror.all<{ cursor: string }>('select cursor from mirror.changes_since()')
  await mirror.all('select mirror.reset_consumer($1, $2)', [webhookConsumer, last?.cursor])
  const place = async (): Promise<unknown> => (await mirror.all('select cursor from sync.consumers'))[0]?.cursor
  expect(await printed('replay', '--from', first?.cursor ?? '')).toBe(
    `The worker sends all changes after ${first?.cursor} to the webhook again, as new calls.\n`,
  )
  // A position has no mark of its entry.
  expect(await place()).toBe(first?.cursor.split('.').slice(0, 4).join('.'))
  const ahead = await cli.run(['webhook', 'replay', '--from', last?.cursor ?? ''])
  expect(ahead.code).toBe(2)
  expect(errorOf(ahead)).toContain(`The webhook has not sent the changes after ${last?.cursor} yet. [USAGE]`)
  expect(JSON.parse(await printed('replay', '--from', 'start', '--json'))).toEqual({ from: null })
  expect(await place()).toBe(null)
  for (const wrong of ['now', '1.2', 'msg_1'])
    expect((await cli.run(['webhook', 'replay', '--from', wrong])).code).toBe(2)
})
