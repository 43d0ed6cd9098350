// Alerts end to end: the sandbox drives a mirror into everything that needs a person, and out of it; the receiver is told each
// once as begun and once as over, across receivers that fail, restarts and other workers.

import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/database/database.ts'
import { itemOf, whatNeedsPeople } from '../../src/inspect/attention.ts'
import { freshnessFacts } from '../../src/inspect/page-queries.ts'
import { readStatus } from '../../src/inspect/read-status.ts'
import type { StatusFacts } from '../../src/inspect/status.ts'
import { startAlerts } from '../../src/messages/alerts/alerts.ts'
import { alertKinds } from '../../src/messages/alerts/kinds.ts'
import { createGateStore } from '../../src/state/gate-store.ts'
import { type CommandLine, errorOf, openCommandLine } from '../cli/program.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { quiet } from '../helpers/rows.ts'
import { openTcpProxy } from '../helpers/tcp-proxy.ts'
import { openReceiver, type Receiver } from './receiver.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let mirror: TestMirror
let receiver: Receiver
let cli: CommandLine
const running: { stop(): Promise<void> }[] = []
let looks = 0
let queueIsUp = true
let wish: (status: StatusFacts) => StatusFacts = (status) => status

beforeAll(async () => {
  mirror = await openTestMirror({ size: 20 })
  cli = await openCommandLine()
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await mirror[Symbol.asyncDispose]()
})
beforeEach(async () => {
  receiver = await openReceiver()
})
afterEach(async () => {
  await Promise.all(running.splice(0).map((alerts) => alerts.stop()))
  await receiver[Symbol.asyncDispose]()
  await query('truncate sync.alerts, sync.senders')
})

const query = async <R extends object>(sql: string): Promise<R[]> => (await mirror.app.database.pool.query<R>(sql)).rows
const config = () =>
  readConfig(
    {
      DATABASE_URL: mirror.app.databaseUrl,
      API_BASE_URL: mirror.sandbox.url,
      API_AUTH: 'none',
      ALERT_URL: receiver.url,
      WEBHOOK_URL: receiver.url,
      WEBHOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}`,
    },
    '/nonexistent',
  )
const status = () =>
  readStatus(config(), { database: mirror.app.database, url: mirror.app.databaseUrl }, mirror.sandbox.url)

const start = (database = mirror.app.database) => {
  const alerts = startAlerts({
    url: receiver.url,
    place: 'api.test',
    proxies: config().api.proxies,
    database,
    readStatus: async () => {
      // Through the database that may be out.
      await database.pool.query('select 1')
      looks += 1
      const wished = wish(await status())
      const { pool } = mirror.app.database
      return { ...wished, attention: whatNeedsPeople(wished, await freshnessFacts(pool)).map(itemOf) }
    },
    queueIsUp: async () => queueIsUp,
    log: quiet,
    lookEveryMs: 100,
  })
  running.push(alerts)
  return alerts
}

/** Waits for so many looks that begin from now on to be through. */
const looked = async (count = 1): Promise<void> => {
  const from = looks
  await vi.waitFor(() => expect(looks).toBeGreaterThan(from + count), { timeout: 30_000, interval: 20 })
}
/** Two minutes pass for what is known, and what waits for its next attempt is sent. */
const twoMinutes = async (): Promise<void> => {
  await looked()
  await query(`update sync.alerts set since = since - interval '2 min', gone_since = gone_since - interval '2 min'`)
  await query('update sync.senders set next_attempt_at = null')
  await looked(2)
}
type Message = {
  text: string
  kind: string
  state: string
  stream: string | null
  details: { about: string[]; commands: string[] }
}
const messages = (): readonly Message[] => receiver.received.map(({ body }) => JSON.parse(body))
const told = (state: string): readonly string[] =>
  messages()
    .filter((each) => each.state === state)
    .map(({ kind }) => kind)
const of = (kind: string): Message | undefined => messages().find((each) => each.kind === kind)
const one = async (table: string): Promise<string> =>
  (
    await query<{ id: string }>(`select id::text from mirror.${table} where _source not like '%#%' order by id limit 1`)
  )[0]?.id ?? ''

it('tells everything that needs a person once as begun and once as over', async () => {
  const lists = ['harbours', 'equipments', 'types', 'cities', 'companies', 'rentals']
  await mirror.sync({ streams: lists })
  start()
  await twoMinutes()
  expect(messages()).toEqual([])

  // Into everything.
  const { sandbox } = mirror
  const enqueue = `select outbox.enqueue('rental.update', '{"rentalId": ${await one('rentals')}}', '{"orderLink": "x"}') as id`
  for (const state of ['conflict', 'unknown', 'failed']) {
    const [change] = await query<{ id: string }>(enqueue)
    await query(`update outbox.queue set status = '${state}', settled_at = now() where id = ${change?.id}`)
  }
  sandbox.raw({ record: 'harbours', id: 990_001 }, '{"id":990001,"name":"x","latitude":"no number"}')
  sandbox.mutate([{ record: 'cities', op: 'update', id: await one('cities'), set: { 'Zaphod Beeblebrox': 1 } }])
  sandbox.fault({ op: 'GET /v3/equipments', respond: 'forbidden' })
  sandbox.fault({ op: 'GET /v3/companies', respond: 'empty' })
  await mirror.sync({ streams: ['harbours', 'equipments', 'cities', 'companies'], full: true })
  await query(`update sync.streams set target_s = 0.001 where stream = 'rentals'`)
  await query(`select mirror.reset_consumer('crm')`)
  await query(
    `insert into mirror.change_log (epoch, xid, stream, key, operation, diff, changed_at)
     values (0, '3', 'harbours', '{"id": 1}', 'update', '{}', now() - interval '250 days')`,
  )
  await query(`select mirror.reset_consumer('boat-mirror.webhook', 'now')`)
  await query(
    `insert into sync.senders (name, failing_since, last_error) values ('webhook', now() - interval '3 min', 'the receiver answered 500.')`,
  )
  const holder = { pid: 4711, gid: null, application: 'Zaphod', user: 'Zaphod', database: 'boats', since: new Date() }
  wish = (facts) => ({ ...facts, feedHeldBy: [holder] })
  queueIsUp = false
  sandbox.fault({ op: 'GET /v3/types', respond: { status: 401, body: { message: 'Zaphod' } } })
  await mirror.sync({ streams: ['types'] })
  const called = async () => (await status()).endpoints.find(({ endpoint }) => endpoint === 'GET /v3/types')?.lastStatus
  await vi.waitFor(async () => expect(await called()).toBe(401), { timeout: 15_000 })
  const gate = createGateStore(mirror.app.database.pool, sandbox.url)
  await gate.save({ pausedUntil: 0, opened: 2, probeAt: Date.now() + 60_000, changedAt: Date.now() })

  await looked(2)
  expect(messages()).toEqual([])
  receiver.answers = [503]
  await twoMinutes()
  // The first one was not taken: the rest waits for it.
  await twoMinutes()
  const [, ...taken] = messages()
  expect(taken.map(({ kind }) => kind).sort()).toEqual(alertKinds.filter((kind) => kind !== 'database').sort())
  expect(new Set(taken.map((each) => each.state))).toEqual(new Set(['begun']))
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
  await running.shift()?.stop()
  start()
  start()
  await twoMinutes()
  expect(messages()).toHaveLength(alertKinds.length)

  // Out of everything.
  sandbox.clearFaults()
  wish = (facts) => facts
  queueIsUp = true
  await query('delete from sync.gate')
  await query('delete from outbox.queue')
  await query(`delete from sync.senders where name = 'webhook'`)
  await query(`select mirror.drop_consumer('crm'), mirror.drop_consumer('boat-mirror.webhook')`)
  await query(`delete from mirror.change_log where xid = '3'`)
  await query('update sync.streams set target_s = 3600')
  await query(`update sync.unknown_fields set first_seen_at = now() - interval '8 days'`)
  sandbox.mutate([{ record: 'harbours', op: 'delete', id: '990001' }])
  await query('delete from sync.quarantine')
  await mirror.sync({ streams: lists, full: true })
  await vi.waitFor(async () => expect(await called()).toBe(200), { timeout: 15_000 })
  await looked(2)
  expect(told('over')).toEqual([])
  await twoMinutes()
  expect([...told('over')].sort()).toEqual(alertKinds.filter((kind) => kind !== 'database' && kind !== 'fields').sort())
  expect(await query('select kind from sync.alerts where told')).toEqual([])
  expect(await status()).toMatchObject({ alerts: { open: 0, url: new URL(receiver.url).origin, failingSince: null } })
})

it('tells that its database is out, and that it is back', async () => {
  const address = new URL(mirror.app.databaseUrl)
  const proxy = await openTcpProxy(Number(address.port))
  address.port = String(proxy.port)
  const database = openDatabase({ url: address.href, applicationName: 'test', max: 2, log: quiet })
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    start(database)
    await looked()
    await proxy.refuse()
    /** The next looks find the same two minutes later. */
    const later = async (count: number): Promise<void> => {
      await vi.waitFor(
        () => {
          vi.setSystemTime(Date.now() + 30_000)
          expect(messages()).toHaveLength(count)
        },
        { timeout: 30_000, interval: 300 },
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
    await running.shift()?.stop()
    await database.close()
    await proxy.close()
  }
})

it('is tried by `alert --test`, which shows of the address no more than scheme and host', async () => {
  const run = (...args: readonly string[]) => cli.run(['alert', ...args], { ALERT_URL: receiver.url })
  expect(await run('--test')).toEqual({ code: 0, stdout: `Taken by ${new URL(receiver.url).origin}.\n`, stderr: '' })
  expect(messages()).toMatchObject([{ kind: 'test', state: 'begun', text: expect.stringContaining('a test.') }])
  receiver.answers = [404]
  const refused = await run('--test')
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(errorOf(refused)).toContain(
    'The message was not taken: the receiver answered 404. See whether the address is the right one. [MESSAGE_REFUSED]',
  )
  expect(refused.stderr).not.toContain('secret')
  expect((await run()).code).toBe(2)
  expect(await cli.run(['alert', '--test'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('ALERT_URL is not set'),
  })
})
