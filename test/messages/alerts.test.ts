// Alerts end to end: the sandbox drives a mirror into everything that needs attention, and out of it; the receiver gets
// one message when each starts and one when it ends, across receivers that fail, restarts and other workers. A transaction that
// holds the feed back takes a minute to be one: test/inspect/feed-holders.test.ts covers it.

import { expect, it, vi } from 'vitest'
import { failuresToOpen } from '../../src/api/admission/gate.ts'
import { systemClock } from '../../src/clock.ts'
import { openDatabase } from '../../src/database/database.ts'
import { alertKinds } from '../../src/inspect/attention-kinds.ts'
import { openBackend } from '../../src/jobs/backend.ts'
import { startWebhook } from '../../src/messages/webhook/webhook.ts'
import { carryOutDecision, decideChange } from '../../src/outbox/decisions.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { probe } from '../../src/web/health.ts'
import { errorOf, openCommandLine } from '../cli/program.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'
import { findOnPath, startRedis } from '../helpers/redis-server.ts'
import { feedSettled, quiet } from '../helpers/rows.ts'
import { openTcpProxy } from '../helpers/tcp-proxy.ts'
import { Planner } from '../outbox/plans.ts'
import { contextFor } from '../outbox/rig.ts'
import { type AlertsRig, type Message, openAlerts } from './alerts-rig.ts'
import { openReceiver } from './receiver.ts'

vi.setConfig({ testTimeout: 900_000 })

const mirror = opened(() => openTestMirror({ size: 10 }))
const cli = opened(() => openCommandLine())

const query = async <R extends object>(sql: string): Promise<R[]> => (await mirror.app.database.pool.query<R>(sql)).rows
const one = async (table: string): Promise<string> =>
  (
    await query<{ id: string }>(`select id::text from mirror.${table} where _source not like '%#%' order by id limit 1`)
  )[0]?.id ?? ''

/**
 * Three changes that a person has to decide: one whose field was changed upstream as well, one that the API refuses, and a
 * payment whose answer was lost and that may be either of two. Returns how the person decides.
 */
async function leaveChangesToAPerson(): Promise<() => Promise<void>> {
  const { sandbox } = mirror
  const { database } = mirror.app
  const planner = new Planner(sandbox)
  const settings = { showDelayMs: 100 }
  const { context, close } = contextFor({ database, sandbox }, { timeoutMs: 400, settings })
  const pusher = createPusher(context)
  const push = () => pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
  const queue = async (operation: string, rentalId: number, body: object): Promise<string> => {
    const values = [operation, JSON.stringify({ rentalId }), JSON.stringify(body)]
    const { rows } = await database.pool.query('select outbox.enqueue($1, $2, $3) as id', values)
    return String(rows[0].id)
  }

  const [both, refused, lost] = [planner.rental(), planner.rental(), planner.rental()]
  const conflict = await queue('rental.update', both, { orderLink: 'https://example.com/ours' })
  const set = { orderLink: 'https://example.com/Zaphod' }
  sandbox.mutate([{ record: 'rentals', op: 'update', id: String(both), set }])
  await push()
  const failed = await queue('rental.update', refused, { orderLink: 'https://example.com/ours' })
  const respond = { status: 422, body: { message: 'Zaphod' } }
  sandbox.fault({ op: 'PUT /v3/rentals/{rentalId}', times: 1, respond })
  await push()
  const payment = { currency: 'EUR', method: { id: 1 }, price: 10, reference: 'twin' }
  const unknown = await queue('rental_payment.add', lost, payment)
  sandbox.fault({ op: 'POST /v3/rentals/{rentalId}/payments', times: 1, respond: 'dropAfterEffect' })
  await pusher.runOnce(AbortSignal.timeout(100_000))
  const made = sandbox.truth({ only: ['rental_payments'] }).rental_payments ?? []
  const twin = made.find(({ record }) => record.reference === 'twin')
  const double = { ...twin?.record, id: 990_001 }
  sandbox.mutate([{ record: 'rental_payments', op: 'insert', parent: String(lost), set: double }])
  await push()
  expect(await query('select id::text, status from outbox.queue order by id')).toEqual([
    { id: conflict, status: 'conflict' },
    { id: failed, status: 'failed' },
    { id: unknown, status: 'unknown' },
  ])

  return async () => {
    for (const wish of [
      { what: 'remote', id: conflict },
      { what: 'cancel', id: failed },
      { what: 'took_effect', id: unknown, resultId: String(twin?.key.id) },
    ] as const) {
      const decision = await decideChange(database.pool, wish, { via: 'command' })
      await carryOutDecision(context, decision, AbortSignal.timeout(100_000))
    }
    await push()
    await pusher.close()
    await close()
  }
}

const secret = `whsec_${Buffer.alloc(32).toString('base64')}`
/** The alerts of this mirror, and whatever differs. */
const open = (wishes: { webhookUrl?: string; queueIsUp?: () => Promise<boolean> } = {}): Promise<AlertsRig> =>
  openAlerts({
    database: mirror.app.database,
    databaseUrl: mirror.app.databaseUrl,
    apiUrl: mirror.sandbox.url,
    ...(wishes.webhookUrl && {
      env: { WEBHOOK_URL: wishes.webhookUrl, WEBHOOK_SECRET: secret, API_QUOTA: '1000/day' },
    }),
    ...(wishes.queueIsUp && { queueIsUp: wishes.queueIsUp }),
  })

/** What this test sends, and what the other tests send. */
const elsewhere = new Set(['database', 'queue', 'breaker', 'feed'])
const kinds = Object.keys(alertKinds)
  .filter((kind) => !elsewhere.has(kind))
  .sort()

// With `npm test`, `verdict.test.ts` shows what needs attention, and the tests below how it is sent.
it.skipIf(isQuick)('tells everything that needs a person once as begun and once as over', async () => {
  const lists = ['harbours', 'equipments', 'types', 'cities', 'companies', 'rentals']
  await query(`select mirror.reset_consumer('crm')`)
  await mirror.sync({ streams: lists })
  await using partner = await openReceiver()
  await using alerts = await open({ webhookUrl: partner.url })
  const { receiver, status, looked, twoMinutes, messages } = alerts
  const of = (kind: string): Message | undefined => messages().find((each) => each.kind === kind)
  const first = alerts.start()
  await twoMinutes()
  expect(messages()).toEqual([])

  // Into everything.
  const { sandbox } = mirror
  const decide = await leaveChangesToAPerson()
  await query(`insert into sync.request_counts values (date_trunc('minute', now()), 850)`)
  await query(`insert into mirror.resources (id, _payload, _source, _read_at) values ('twice', '{}', 'GET', now())`)
  await query(`insert into mirror.rentals (id, resource_id, status, departure_datetime, arrival_datetime, _payload, _source, _read_at)
    select id, 'twice', 'VALIDATED', now(), case when id < 990004 then now() + interval '2 days' end, '{}', 'GET', now() from generate_series(990002, 990004) id`)
  await query(`insert into sync.partners (partner, name, gone_at) values ('gone', 'gone', now())`)
  await query(`with copied as (update outbox.installation set undecided = true)
    insert into outbox.queue (operation, target, body, aggregate, enqueued_by, epoch)
    values ('rental.update', '{"rentalId": 990002}', '{"referenceId": "x"}', 'rental:990002', current_user, 1)`)
  await query(`update sync.consumer_positions set role = 'gone' where name = 'crm'`)
  // A consumer that took nothing for 250 days, and a receiver that takes nothing of what comes now.
  await feedSettled({ all: query }) // what is not shown yet would not be behind the webhook's place
  await query(`update mirror.change_log set changed_at = changed_at - interval '250 days'`)
  await query(`select mirror.reset_consumer('boat-mirror.webhook', 'now')`)
  partner.otherwise = () => 500
  const { webhookUrl: url, api } = alerts.config
  const { database } = mirror.app
  const options = {
    url: url ?? '',
    secrets: [secret],
    listenUrl: null,
    streams: null,
    proxies: api.proxies,
    database,
    clock: systemClock,
    log: quiet,
  }
  const webhook = startWebhook(options)
  await using _stopped = { [Symbol.asyncDispose]: () => webhook.stop() }
  sandbox.raw({ record: 'harbours', id: 990_001 }, '{"id":990001,"name":"x","latitude":"no number"}')
  sandbox.mutate([{ record: 'cities', op: 'update', id: await one('cities'), set: { 'Zaphod Beeblebrox': 1 } }])
  sandbox.mutate([{ record: 'harbours', op: 'update', id: await one('harbours'), set: { name: 'Magrathea' } }])
  sandbox.fault({ op: 'GET /v3/equipments', respond: 'forbidden' })
  sandbox.fault({ op: 'GET /v3/companies', respond: 'empty' })
  await mirror.sync({ streams: ['harbours', 'equipments', 'cities', 'companies'], full: true })
  await query(`update sync.streams set target_s = 0.001 where stream = 'rentals'`)
  sandbox.fault({ op: 'GET /v3/types', respond: { status: 401, body: { message: 'Zaphod' } } })
  await mirror.sync({ streams: ['types'] })
  const called = async () => (await status()).endpoints.find(({ endpoint }) => endpoint === 'GET /v3/types')?.lastStatus
  await vi.waitFor(async () => expect(await called()).toBe(401), { timeout: 60_000 })
  await vi.waitFor(async () => expect((await status()).webhook?.state).toBe('retrying'), { timeout: 60_000 })

  await looked(2)
  expect(messages()).toEqual([])
  receiver.answers = [503]
  await twoMinutes()
  // The first one was not taken: the rest waits for it. The receiver of the webhook has been failing for two minutes by now.
  await twoMinutes()
  const taken = (): readonly Message[] => messages().slice(1)
  expect(
    taken()
      .map(({ kind }) => kind)
      .sort(),
  ).toEqual(kinds)
  expect(new Set(taken().map((each) => each.state))).toEqual(new Set(['begun']))
  expect(of('failing')).toMatchObject({
    stream: 'equipments',
    details: { commands: ['boat-mirror runs equipments', 'boat-mirror check'] },
  })
  expect(of('held')).toMatchObject({ stream: 'companies' })
  expect(of('consumer')).toMatchObject({ stream: null, details: { about: ['crm'] } })
  expect(of('fields')?.details.about).toEqual(['cities', 'harbours'])
  expect(of('conflict')?.details.commands).toContainEqual(
    expect.stringMatching(/^boat-mirror changes resolve \d+ --take local$/),
  )
  for (const { headers, body } of receiver.received) {
    expect(headers['content-type']).toBe('application/json')
    expect(body).not.toMatch(/Zaphod|secret/)
  }

  // A restarted worker, and another one, repeat nothing.
  await first.stop()
  alerts.start()
  alerts.start()
  await twoMinutes()
  expect(taken()).toHaveLength(kinds.length)

  // Out of everything.
  sandbox.clearFaults()
  partner.otherwise = () => 200
  await query(`update sync.senders set next_attempt_at = null where name = 'webhook'`)
  await vi.waitFor(async () => expect((await status()).webhook?.state).toBe('following'), { timeout: 60_000 })
  await query(`update mirror.change_log set changed_at = changed_at + interval '249 days'
    where changed_at < now() - interval '200 days'`)
  await query('truncate sync.request_counts; truncate sync.partners')
  await query(
    `with decided as (update outbox.installation set undecided = false) delete from outbox.queue where epoch = 1`,
  )
  await query(`delete from mirror.rentals where resource_id = 'twice'; delete from mirror.resources where id = 'twice'`)
  await decide()
  await query('update sync.streams set target_s = 3600')
  await query(`update sync.unknown_fields set first_seen_at = now() - interval '8 days'`)
  sandbox.mutate([{ record: 'harbours', op: 'delete', id: '990001' }])
  await query('delete from sync.quarantine')
  await mirror.sync({ streams: lists, full: true })
  await vi.waitFor(async () => expect(await called()).toBe(200), { timeout: 60_000 })
  await looked(2)
  expect(alerts.told('over')).toEqual([])
  await twoMinutes()
  expect(alerts.told('over')).toEqual(kinds.filter((kind) => kind !== 'fields'))
  expect(await query('select kind from sync.alerts where told')).toEqual([])
  expect(await status()).toMatchObject({ alerts: { open: 0, url: new URL(receiver.url).origin, failingSince: null } })
  await webhook.stop()
  await query(`select mirror.drop_consumer('crm'), mirror.drop_consumer('boat-mirror.webhook')`)
})

// Not with `npm test`, like the next: most of a minute of waiting until the breaker opens and closes.
it.skipIf(isQuick)('tells that the API failed until requests wait, and that it answers again', async () => {
  const { sandbox } = mirror
  await using alerts = await open()
  alerts.start()
  sandbox.fault({ op: 'GET /v3/rentals', respond: { status: 500 } })
  // A read is given up after some attempts; the breaker counts on over the runs.
  for (let run = 0; run < failuresToOpen && (await alerts.status()).api.breaker === 'closed'; run++)
    await mirror.sync({ streams: ['rentals'], full: true })
  await alerts.twoMinutes()
  await alerts.twoMinutes()
  expect(alerts.told('begun')).toContain('breaker')
  expect(alerts.messages().find(({ kind }) => kind === 'breaker')?.details.commands).toEqual(['boat-mirror check'])
  sandbox.clearFaults()
  await vi.waitFor(
    async () => {
      await mirror.sync({ streams: ['rentals'], full: true })
      expect((await alerts.status()).api.breaker).toBe('closed')
    },
    { timeout: 90_000 },
  )
  await alerts.twoMinutes()
  await alerts.twoMinutes()
  expect(alerts.told('over')).toEqual(alerts.told('begun'))
})

// Not with `npm test`: it starts, stops and starts a Redis.
it.skipIf(isQuick)('tells that the queue is out, and that it is back', async (test) => {
  const program = findOnPath('redis-server')
  if (program === undefined) return test.skip('there is no redis-server')
  const redis = await startRedis(program, cli.folder)
  const way = await openTcpProxy(Number(new URL(redis.url).port))
  const stopping = new AbortController()
  const { databaseUrl } = mirror.app
  const backend = openBackend({
    ...{ databaseUrl, redisUrl: `redis://127.0.0.1:${way.port}`, prefix: 'alerts', log: quiet },
    ...{ patienceMs: 1_000, signal: stopping.signal },
  })
  const alerts = await open({ queueIsUp: async () => (await probe(() => backend.ping(), 'QUEUE_UNREACHABLE')).ok })
  try {
    alerts.start()
    await alerts.twoMinutes()
    expect(alerts.messages()).toEqual([])
    await way.refuse()
    await alerts.twoMinutes()
    await alerts.twoMinutes()
    expect(alerts.told('begun')).toEqual(['queue'])
    await way.pass()
    await vi.waitFor(() => backend.ping(), { timeout: 60_000 })
    await alerts.twoMinutes()
    await alerts.twoMinutes()
    expect(alerts.told('over')).toEqual(['queue'])
  } finally {
    await alerts[Symbol.asyncDispose]()
    stopping.abort()
    await backend.close()
    await way.close()
    await redis.close()
  }
})

it('tells that its database is out, and that it is back', async () => {
  const address = new URL(mirror.app.databaseUrl)
  const proxy = await openTcpProxy(Number(address.port))
  address.port = String(proxy.port)
  const database = openDatabase({ url: address.href, applicationName: 'test', max: 2, log: quiet })
  const alerts = await open()
  const { messages } = alerts
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    alerts.start(database)
    await alerts.looked()
    await proxy.refuse()
    /** The next looks find the same two minutes later. */
    const later = async (count: number): Promise<void> => {
      await vi.waitFor(
        () => {
          vi.setSystemTime(Date.now() + 30_000)
          expect(messages()).toHaveLength(count)
        },
        { timeout: 60_000, interval: 300 },
      )
    }
    await later(1)
    await proxy.pass()
    await later(2)
    expect(messages()).toMatchObject([
      { kind: 'database', state: 'begun', stream: null, details: { commands: ['boat-mirror check'] } },
      { kind: 'database', state: 'over' },
    ])
  } finally {
    vi.useRealTimers()
    await alerts[Symbol.asyncDispose]()
    await database.close()
    await proxy.close()
  }
})

it('is tried by `alert --test`, which shows of the address no more than scheme and host', async () => {
  await using alerts = await open()
  const { receiver, messages } = alerts
  const run = (...args: readonly string[]) => cli.run(['alert', ...args], { ALERT_URL: receiver.url })
  expect(await run('--test')).toEqual({
    code: 0,
    stdout: `${new URL(receiver.url).origin} accepted the message.\n`,
    stderr: '',
  })
  expect(messages()).toMatchObject([{ kind: 'test', state: 'begun', text: expect.stringContaining('a test.') }])
  receiver.answers = [404]
  const refused = await run('--test')
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(errorOf(refused)).toContain(
    'The receiver did not accept the message: the receiver answered 404. Check the address. [MESSAGE_REFUSED]',
  )
  expect(refused.stderr).not.toContain('secret')
  expect((await run()).code).toBe(2)
  expect(await cli.run(['alert', '--test'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('ALERT_URL is not set'),
  })
})
