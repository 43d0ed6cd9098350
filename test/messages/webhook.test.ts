// Webhooks end to end: what a receiver gets, in which order, and what happens when it fails, hangs, redirects or is gone,
// when a person is erased meanwhile, and when a worker dies.

import type { PoolClient } from 'pg'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { systemClock, within } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import type { Database } from '../../src/database/database.ts'
import { takeLease } from '../../src/database/senders.ts'
import { whatNeedsPeople } from '../../src/inspect/attention.ts'
import { consumerStatus, webhookConsumer } from '../../src/inspect/feed.ts'
import { webhookStatus } from '../../src/inspect/receivers.ts'
import { batchOf, type ReadEntry, selectionOf } from '../../src/messages/webhook/batch.ts'
import { nextBatch } from '../../src/messages/webhook/batch-store.ts'
import { replayFrom } from '../../src/messages/webhook/replay.ts'
import { startWebhook } from '../../src/messages/webhook/webhook.ts'
import { changesChannel } from '../../src/mirror/change-notifier.ts'
import { pruneHistory } from '../../src/mirror/history.ts'
import { listDeliveries } from '../../src/mirror/webhook-deliveries.ts'
import { buildProgram, startProgram } from '../helpers/child-program.ts'
import { isFull, isQuick } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { at, feedSettled, openMirror, placeOf, quiet, rowOf, tableOf } from '../helpers/rows.ts'
import { statusFacts } from '../inspect/status-facts.ts'
import { expectDocumented } from './body-schema.ts'
import { openReceiver, type Received, type Receiver } from './receiver.ts'
import type { WebhookProcessOptions } from './webhook-process.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
/** What `secret` is replaced by in a rotation. */
const newSecret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const [size, wantedKills] = isFull ? [20_000, 20] : [600, 3]

let receiver: Receiver
let running: { stop(): Promise<void> }[] = []

const mirror = opened(() => openMirror())
beforeEach(async () => {
  await mirror.all(
    'truncate mirror.change_log, sync.consumer_positions, sync.senders, sync.webhook_batch, sync.webhook_deliveries',
  )
  receiver = await openReceiver()
})
afterEach(async () => {
  await Promise.all(running.map((webhook) => webhook.stop()))
  running = []
  await receiver[Symbol.asyncDispose]()
})

const patience = { timeout: 60_000 }
/** For a receiver that hangs; others may take their time. */
const impatientMs = 2_000

const start = (streams: readonly string[] | null = null, timeLimitMs = 20_000) => {
  const { proxies } = readConfig({}, '/nonexistent').api
  const options = {
    url: receiver.url,
    secrets: [secret, newSecret],
    streams,
    proxies,
    database: mirror.db,
    listenUrl: mirror.url,
  }
  const webhook = startWebhook({ ...options, clock: systemClock, log: quiet, timeLimitMs })
  running.push(webhook)
  return webhook
}

/** A webhook that is known already: what is written from now on is for it. */
const begin = () => mirror.all(`select mirror.reset_consumer($1, 'now')`, [webhookConsumer])

const log = async (ids: readonly number[], stream = 'harbours'): Promise<void> => {
  await mirror.all(
    `insert into mirror.change_log (stream, key, operation, diff)
     select $2, jsonb_build_object('id', n), 'update', jsonb_build_object('name', jsonb_build_array(null, n::text)) from unnest($1::int[]) n`,
    [ids, stream],
  )
  await feedSettled(mirror)
  await mirror.all(`notify ${changesChannel}`) // as after each commit of a sync
}

type Change = {
  readonly cursor: string
  readonly stream: string
  readonly key: { readonly id: number }
  readonly diff: object
  readonly seq: number
}
const changesIn = ({ body }: Received): readonly Change[] => JSON.parse(body).data.changes
const told = (): readonly number[] => receiver.received.flatMap(changesIn).map(({ key }) => key.id)
const idOf = ({ headers }: Received): unknown => headers['webhook-id']
/** Every message is right for the reference verifier by each secret, and as its schema says. */
const verify = (): void => {
  for (const { body, headers } of receiver.received) {
    for (const each of [secret, newSecret])
      new Webhook(each).verify(body, headers as Record<string, string>, { jsonParse: false })
    expectDocumented(body)
  }
}
/** Waits for so many requests, and for what else must be true; what waits for its next attempt is sent at once. */
const calls = (count: number, isEnough: () => boolean | Promise<boolean> = () => true): Promise<void> =>
  vi.waitFor(
    async () => {
      await mirror.all('update sync.senders set next_attempt_at = null where next_attempt_at is not null')
      expect(receiver.received.length).toBeGreaterThanOrEqual(count)
      expect(await isEnough()).toBe(true)
    },
    { timeout: isFull ? 500_000 : 60_000, interval: 20 },
  )
const acknowledged = (): Promise<void> =>
  vi.waitFor(
    async () => expect(await mirror.all('select * from mirror.next_changes($1)', [webhookConsumer])).toEqual([]),
    {
      timeout: 60_000,
      interval: 20,
    },
  )
const config = () => readConfig({ WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: secret }, '/nonexistent')
const status = async () =>
  await webhookStatus(mirror.db.pool, config(), await consumerStatus(mirror.db.pool, config().historyDays))

describe('a webhook', () => {
  it('begins when it is first configured, and then tells every change once, in order, signed', async () => {
    await log([1, 2])
    expect(await status()).toMatchObject({ state: 'waiting' })
    start()
    await vi.waitFor(async () => expect((await status())?.state).toBe('following'), patience)
    const ids = Array.from({ length: 1_200 }, (_, n) => n + 3)
    await log(ids)
    await acknowledged()
    expect(told()).toEqual(ids)
    expect(receiver.received.map((call) => changesIn(call).length)).toEqual(new Array(12).fill(100))
    verify()
    expect(receiver.received[0]).toMatchObject({
      path: '/hook/secret-path?token=secret',
      headers: { 'content-type': 'application/json', 'user-agent': expect.stringMatching(/^boat-mirror\/\d/) },
    })
    expect(await status()).toMatchObject({
      url: new URL(receiver.url).origin,
      state: 'following',
      behindS: 0,
      delivered: 1_200,
      lastError: null,
    })
  })

  it('leaves out persons and documents unless their stream is named, and then all else', async () => {
    await begin()
    const rows = [
      tableOf('users', 1, [rowOf('users', { id: 1, first_name: 'Zaphod', language_code: 'fr' })]),
      tableOf('user_licenses', 1, [rowOf('user_licenses', { user_id: 1, number: 'Zaphod-7', year: 1999 })]),
      tableOf('harbours', 1, [rowOf('harbours', { id: 9, name: 'Brest' })]),
    ]
    await mirror.write({ tables: rows })
    await feedSettled(mirror)
    const webhook = start()
    await acknowledged()
    expect(receiver.received.flatMap(changesIn).map(({ stream, diff }) => [stream, diff])).toEqual([
      ['harbours', { id: [null, 9], name: [null, 'Brest'] }],
      ['users', { id: [null, 1], language_code: [null, 'fr'] }],
    ])
    await webhook.stop()
    await mirror.all('select mirror.reset_consumer($1)', [webhookConsumer])
    start(['users', 'user_licenses'])
    await acknowledged()
    const named = receiver.received.slice(1).flatMap(changesIn)
    expect(named.map(({ stream }) => stream)).toEqual(['users', 'user_licenses'])
    expect(JSON.stringify(named)).toMatch(/"first_name":\[null,"Zaphod"\].*Zaphod-7/)
  })

  it('is tried at once by a worker that starts, however long the one before would have waited', async () => {
    await begin()
    receiver.otherwise = () => 503
    await log([1])
    const before = start()
    await vi.waitFor(async () => expect((await status())?.state).toBe('retrying'), patience)
    await before.stop()
    await mirror.all(`update sync.senders set next_attempt_at = now() + interval '1 h'`)
    receiver.otherwise = () => 200
    start()
    await acknowledged()
    expect(new Set(receiver.received.map(idOf)).size).toBe(1)
    expect((await status())?.state).toBe('following')
  })

  it('begins after the first sync where its consumer is reset to now: the receiver gets nothing of what was before', async () => {
    receiver.otherwise = () => 503
    await begin()
    await log([1, 2, 3])
    start()
    await vi.waitFor(async () => {
      const waits = `update sync.senders set next_attempt_at = now() + interval '1 h' where next_attempt_at is not null returning name`
      expect(await mirror.all(waits)).toHaveLength(1)
    }, patience)
    const refused = receiver.received.length
    await mirror.all(`select mirror.reset_consumer('boat-mirror.webhook', 'now')`)
    receiver.otherwise = () => 200
    await log([4, 5])
    await mirror.all('update sync.senders set next_attempt_at = null')
    await acknowledged()
    expect(told().slice(refused * 3)).toEqual([4, 5])
  })

  it('repeats the same message, whatever comes, until it is taken; and nothing overtakes it', async () => {
    await begin()
    receiver.answers = [
      503,
      'hang',
      'drop',
      { status: 302, headers: { location: `${receiver.url}/elsewhere` } },
      429,
      410,
    ]
    await log([1])
    start(null, impatientMs)
    await calls(1)
    await log([2])
    await calls(5)
    await calls(6)
    await vi.waitFor(
      async () =>
        expect((await status())?.lastError).toBe(
          'the receiver answered 410. It accepts no more messages: remove the setting, or set its new address.',
        ),
      patience,
    )
    await calls(8)
    await acknowledged()
    expect(new Set(receiver.received.slice(0, 7).map((call) => `${String(idOf(call))} ${call.body}`)).size).toBe(1)
    expect(receiver.received.map((call) => call.path)).toEqual(new Array(8).fill('/hook/secret-path?token=secret'))
    expect(told()).toEqual([1, 1, 1, 1, 1, 1, 1, 2])
    verify()
    expect(await status()).toMatchObject({ state: 'following', delivered: 2, attempts: 0, failingSince: null })
  })

  it('that is not taken for two minutes needs a person, and says why in words of its own', async () => {
    await begin()
    receiver.otherwise = () => ({ status: 503, headers: { 'retry-after': '1800' } })
    await log([1])
    start()
    await vi.waitFor(
      async () => expect(await status()).toMatchObject({ state: 'retrying', lastError: 'the receiver answered 503.' }),
      patience,
    )
    const asked = (await status())?.nextAttemptAt?.getTime() ?? 0
    expect(asked - Date.now()).toBeGreaterThan(1_700_000)
    await mirror.all(`update sync.senders set failing_since = clock_timestamp() - interval '121 s'`)
    const webhook = await status()
    expect(whatNeedsPeople(statusFacts({ webhook }), [])).toEqual([
      {
        kind: 'webhook',
        about: [],
        text: `The webhook receiver at ${new URL(receiver.url).origin} accepts nothing: the receiver answered 503.`,
        since: webhook?.failingSince,
        commands: ['status'],
      },
    ])
    expect(JSON.stringify(webhook)).not.toMatch(/secret|what a receiver says/)
  })

  it('sends less at once to who finds it too large', async () => {
    await begin()
    receiver.otherwise = (call) => (changesIn(call).length > 3 ? 413 : 200)
    const ids = Array.from({ length: 10 }, (_, n) => n)
    await log(ids)
    start()
    await acknowledged()
    const taken = receiver.received.filter((call) => changesIn(call).length <= 3)
    expect(taken.flatMap(changesIn).map(({ key }) => key.id)).toEqual(ids)
  })
})

describe('a batch that is stored', () => {
  it('is sent as it is, whatever limits hold now', async () => {
    await begin()
    const ids = Array.from({ length: 300 }, (_, n) => n)
    await log(ids)
    const entries = await mirror.all<ReadEntry>(
      `select cursor, seq, stream, key::text, operation, changed_at as "changedAt", diff::text from mirror.next_changes($1)`,
      [webhookConsumer],
    )
    const { body, endCursor } = batchOf(entries.slice(0, 250), new Date())
    await mirror.all(
      `insert into sync.webhook_batch (id, after_cursor, end_cursor, changes, body)
       select 'msg_stored', cursor, $2, 250, $3 from sync.consumers where name = $1`,
      [webhookConsumer, endCursor, body],
    )
    start()
    await acknowledged()
    expect(receiver.received[0]?.body).toBe(body)
    expect(receiver.received.map((call) => changesIn(call).length)).toEqual([250, 50])
    expect(told()).toEqual(ids)
  })

  it('and was made while the consumer was set back does not pass for one of the new place', async () => {
    await begin()
    const [former] = await mirror.all<{ cursor: string }>('select cursor from sync.consumers')
    await log([1])
    await mirror.all('select mirror.ack_changes($1, mirror.last_cursor())', [webhookConsumer])
    await log([2])
    let reset: Promise<unknown> = Promise.resolve()
    /** Sets the consumer back when the log has been read, and waits for that as long as it is not kept waiting. */
    const meddling = (client: PoolClient): PoolClient =>
      Object.assign(Object.create(client), {
        query: async (text: string, values?: unknown[]) => {
          const result = await client.query(text, values)
          if (!text.includes('next_changes')) return result
          reset = mirror.all('select mirror.reset_consumer($1, $2)', [webhookConsumer, former?.cursor])
          await within(200, reset)
          return result
        },
      })
    const database: Database = {
      ...mirror.db,
      transaction: (work) => mirror.db.transaction((each) => work(meddling(each))),
    }
    const lease = await takeLease(mirror.db.pool, 'webhook', { owner: 'test', address: 'x' })
    if (lease === null) throw new Error('another test holds the lease')
    await nextBatch(database, lease, { selection: selectionOf(null) })
    await reset
    const next = await nextBatch(mirror.db, lease, { selection: selectionOf(null) })
    expect(next).toMatchObject({ kind: 'batch', batch: { changes: 2 } })
  })
})

it('every attempt is listed with what came of it, and nothing that the receiver said', async () => {
  await begin()
  const [place] = await mirror.all<{ cursor: string }>('select cursor from sync.consumers')
  receiver.answers = [503, 'hang']
  await log([1, 2])
  start(null, impatientMs)
  await calls(3)
  await acknowledged()
  const [last, hung, first, ...more] = await listDeliveries(mirror.db.pool, 1_000)
  const call = { id: idOf(receiver.received[0] as Received), changes: 2, afterCursor: place?.cursor }
  const { origin } = new URL(receiver.url)
  expect(first).toMatchObject({ ...call, status: 503, error: 'the receiver answered 503.' })
  expect(hung).toMatchObject({
    ...call,
    status: null,
    error: `${origin} did not answer within ${impatientMs / 1_000} s.`,
  })
  expect(last).toMatchObject({ ...call, status: 200, error: null })
  expect(more).toEqual([])
  const started = [first, hung, last].map((each) => each?.sentAt.getTime() ?? 0)
  expect(started).toEqual([...started].sort())
})

describe('a replay', () => {
  const cursorOf = (id: number): string =>
    receiver.received.flatMap(changesIn).find(({ key }) => key.id === id)?.cursor ?? ''
  const replay = (place: string): Promise<string | null> => replayFrom(mirror.db, place)

  it('sends everything after a cursor again, in order, when the call that is on its way has ended', async () => {
    await begin()
    await log([1, 2, 3])
    start()
    await acknowledged()
    receiver.answers = ['hang']
    await log([4])
    await calls(2)
    expect(await replay(cursorOf(1))).toBe(cursorOf(1))
    await log([5])
    expect(receiver.received).toHaveLength(2)
    receiver.release(200)
    await acknowledged()
    expect(told()).toEqual([1, 2, 3, 4, 2, 3, 4, 5])
    expect(new Set(receiver.received.map(idOf)).size).toBe(3)
    expect(receiver.mostAtOnce()).toBe(1)
  })

  it('begins with a call by its id, or with the start of the log', async () => {
    await begin()
    start()
    for (const id of [1, 2, 3]) {
      await log([id])
      await acknowledged()
    }
    const calls = receiver.received.map((call) => String(idOf(call)))
    expect(await replay(calls[1] ?? '')).toBe(placeOf(cursorOf(1)))
    await acknowledged()
    expect(told()).toEqual([1, 2, 3, 2, 3])
    expect(await replay('start')).toBe(null)
    await acknowledged()
    expect(told()).toEqual([1, 2, 3, 2, 3, 1, 2, 3])
  })

  it('is refused where nothing was sent, for what is not kept, and for what lies ahead', async () => {
    await expect(replay('start')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'The webhook has not sent any calls yet.',
    })
    await begin()
    await log([1])
    const [ahead] = await mirror.all<{ cursor: string }>('select mirror.last_cursor() as cursor')
    await expect(replay(ahead?.cursor ?? '')).rejects.toMatchObject({
      code: 'USAGE',
      message: `The webhook has not sent the changes after ${ahead?.cursor} yet.`,
    })
    await expect(replay('msg_unknown')).rejects.toMatchObject({ code: 'NOT_FOUND', message: /no call msg_unknown/ })
    await expect(replay('1.2.3.4')).rejects.toMatchObject({ code: 'USAGE', message: /one that this log gave/ })
    start()
    await acknowledged()
    expect(told()).toEqual([1])
  })

  it('is a way to begin again for a webhook that has lost changes', async () => {
    await begin()
    await log([1])
    await mirror.all('update sync.consumer_positions set lost = true')
    const [place] = await mirror.all<{ cursor: string }>('select mirror.last_cursor() as cursor')
    await log([2])
    await replay(place?.cursor ?? '')
    start()
    await acknowledged()
    expect(told()).toEqual([2])
  })
})

describe('a message on its way', () => {
  it('is given up when a person is erased, and its changes come again without the person', async () => {
    await begin()
    await mirror.write({
      tables: [tableOf('users', 1, [rowOf('users', { id: 71, first_name: 'Ford', language_code: 'fr' })])],
    })
    await feedSettled(mirror)
    receiver.answers = [500]
    start(['users'])
    await calls(1)
    expect(receiver.received[0]?.body).toContain('Ford')
    receiver.otherwise = (call) => (call.body.includes('Ford') ? 'hang' : 200)
    await calls(2)
    await mirror.write({
      tombstones: [{ stream: streamNamed('users'), keys: [['71']], source: 'GET /v3/users/{userId}', readAt: at(2) }],
    })
    expect(await mirror.all('select from sync.webhook_batch')).toEqual([])
    // Accepted after all: its content is sent again all the same.
    receiver.release(200)
    await feedSettled(mirror)
    await acknowledged()
    const [first, second, ...later] = receiver.received
    expect(first && idOf(first)).toBe(second && idOf(second))
    expect(later.map(({ body }) => body).join()).not.toContain('Ford')
    expect(later.flatMap(changesIn).map(({ key }) => key.id)).toEqual([71, 71])
    expect(new Set(receiver.received.map(idOf)).size).toBeGreaterThan(1)
  })

  it('is the same for the worker that takes over, and what its predecessor still hears changes nothing', async () => {
    await begin()
    receiver.answers = ['hang']
    await log([1])
    start()
    await calls(1)
    const [first] = await mirror.all(
      `update sync.senders set lease_until = clock_timestamp() - interval '1 s' returning fence`,
    )
    start()
    await calls(2)
    await acknowledged()
    receiver.release(200)
    await log([2])
    await acknowledged()
    expect(told()).toEqual([1, 1, 2])
    const [hung, again, next] = receiver.received.map(idOf)
    expect(again).toBe(hung)
    expect(next).not.toBe(hung)
    const [last] = await mirror.all('select delivered::int, fence from sync.senders')
    expect(last).toMatchObject({ delivered: 2 })
    expect(last?.fence).not.toBe(first?.fence)
  })

  it('ends with the place it belongs to: a reset consumer is told from there', async () => {
    await begin()
    receiver.otherwise = () => 500
    await log([1, 2])
    start()
    await calls(1)
    await begin()
    await log([3])
    receiver.otherwise = () => 200
    await calls(2)
    await acknowledged()
    expect(changesIn(receiver.received.at(-1) as Received).map(({ key }) => key.id)).toEqual([3])
  })
})

it('what has lost changes to retention stops, says so, and goes on after a reset', async () => {
  await begin()
  await mirror.all(
    `insert into mirror.change_log (stream, key, operation, diff, changed_at) values ('harbours', '{"id": 1}', 'update', '{}', now() - interval '40 days')`,
  )
  await feedSettled(mirror)
  await pruneHistory(mirror.db.pool, { historyDays: 30 })
  start()
  await vi.waitFor(async () => expect((await status())?.state).toBe('lost'), patience)
  await begin()
  await log([2])
  await acknowledged()
  expect(told()).toEqual([2])
})

// Not with `npm test`: each of these faults has its own test above; with all of them at once, whole workers are started and killed.
it.skipIf(isQuick)(
  'a receiver that fails, hangs and drops, and workers killed with SIGKILL miss and reorder nothing',
  async () => {
    await begin()
    let turn = 0
    receiver.otherwise = () => {
      turn += 1
      return turn % 7 === 2 ? 503 : turn % 7 === 4 ? 'drop' : turn % 11 === 5 ? 'hang' : 200
    }
    /** Ten changes at a time, of which each fifth time nothing comes. */
    const writer = async (number: number, count: number): Promise<void> => {
      for (let n = 1; n <= count; n++)
        await mirror.db
          .transaction(async (client) => {
            await client.query(
              `insert into mirror.change_log (stream, key, operation, diff)
             select 'harbours', jsonb_build_object('id', $1::int), 'update', jsonb_build_object('n', jsonb_build_array(null, $2::int * 10 + i)) from generate_series(0, 9) i`,
              [number, n],
            )
            if (n % 5 === 0) throw new Error('rolled back')
          })
          .catch(() => undefined)
    }
    await using program = await buildProgram('test/messages/webhook-process.ts')
    const options: WebhookProcessOptions = {
      databaseUrl: mirror.url,
      url: receiver.url,
      secrets: [secret, newSecret],
      timeLimitMs: 300,
    }
    /** A worker that is killed as soon as it has sent something: nobody hears the answer. */
    const killed = async (): Promise<void> => {
      const worker = startProgram(program.file, [JSON.stringify(options)])
      const seen = receiver.received.length
      try {
        await worker.nextLine()
        await calls(seen + 1)
      } finally {
        expect(await worker.end('SIGKILL')).toBe('SIGKILL')
      }
      // A minute passes: its lease expires.
      await mirror.all('update sync.senders set lease_until = clock_timestamp()')
    }
    for (let kill = 0; kill < wantedKills; kill++)
      await Promise.all([killed(), ...[1, 2, 3, 4].map((number) => writer(number, size / 40 / wantedKills))])
    await log([0])
    start(null, 300)
    await calls(1, async () => {
      const [next] = await mirror.all('select from mirror.next_changes($1, 1)', [webhookConsumer])
      return next === undefined
    })
    verify()
    // A message that comes again is dropped by its id, as the documentation asks of receivers.
    const messages = [...new Map(receiver.received.map((call) => [idOf(call), call])).values()]
    const seqs = messages.flatMap(changesIn).map(({ seq }) => seq)
    const written = await mirror.all<{ seq: string }>('select seq from mirror.change_log order by xid, seq')
    expect(seqs).toEqual(written.map(({ seq }) => Number(seq)))
    expect(seqs).toHaveLength(size * 0.8 + 1)
    for (const message of messages)
      for (const repeat of receiver.received.filter((call) => idOf(call) === idOf(message)))
        expect(repeat.body).toBe(message.body)
  },
)
