// The programs in `examples` run, and print what happens.

import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import { expect, it } from 'vitest'
import { systemClock } from '../src/clock.ts'
import { readConfig } from '../src/config.ts'
import { webhookConsumer } from '../src/inspect/feed.ts'
import { startWebhook } from '../src/messages/webhook/webhook.ts'
import { wrongTokenLimit } from '../src/serve/access/limit.ts'
import { createCalendarKey, revokeCalendarKey } from '../src/serve/access/secrets.ts'
import { registerCalendars } from '../src/serve/calendars/calendars.ts'
import { startProgram } from './helpers/child-program.ts'
import { opened } from './helpers/opened.ts'
import { feedSettled, openMirror, quiet, rowOf, tableOf } from './helpers/rows.ts'

const mirror = opened(() => openMirror())

const start = (file: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) =>
  startProgram(`examples/${file}`, args, { env })

const write = async (...ids: readonly number[]): Promise<void> => {
  const rows = ids.map((id) => rowOf('harbours', { id }))
  await mirror.write({ tables: [tableOf('harbours', 1, rows)] })
  await feedSettled(mirror)
}

it('the consumer prints each change once, also after it was killed', async () => {
  const consume = () => start('consumer.mjs', [], { DATABASE_URL: mirror.url })
  await feedSettled(mirror)
  await mirror.all(`select mirror.reset_consumer('node', 'now')`)
  await write(1)
  const first = consume()
  expect(await first.nextLine()).toBe('insert harbours {"id":1}')
  await write(2)
  await mirror.all('notify boat_mirror_changes')
  expect(await first.nextLine()).toBe('insert harbours {"id":2}')
  await expect.poll(() => mirror.all(`select from sync.consumers where name = 'node' and behind = '0'`)).toHaveLength(1)
  await first.end('SIGKILL')
  await write(3)
  const second = consume()
  expect(await second.nextLine()).toBe('insert harbours {"id":3}')
  await second.end('SIGKILL')
})

it('the receiver of the webhook takes what the worker signed, once, and nothing else', async () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const receiver = start('webhook-receiver.mjs', [], { WEBHOOK_SECRET: secret, PORT: '0' })
  const [, port] = /^port (\d+)$/.exec(await receiver.nextLine()) ?? []
  const url = `http://127.0.0.1:${port}/`
  const body = '{"type":"mirror.changed","data":{"changes":[{"operation":"delete","stream":"none","key":{}}]}}'
  const unsigned = await fetch(url, { method: 'POST', body })
  expect(unsigned.status).toBe(400)
  await feedSettled(mirror)
  await mirror.all(`select mirror.reset_consumer($1, 'now')`, [webhookConsumer])
  const { proxies } = readConfig({}, '/nonexistent').api
  const webhook = startWebhook({
    ...{ url, secrets: [secret], streams: null, proxies, database: mirror.db, listenUrl: null },
    ...{ clock: systemClock, log: quiet },
  })
  await write(11)
  expect(await receiver.nextLine()).toBe('insert harbours {"id":11}')
  await webhook.stop()
  await receiver.end('SIGKILL')
})

it('the subscriber of a calendar prints it again when it has changed, until its key is revoked', async () => {
  const year = new Date().getUTCFullYear() + 1
  const calendar = (days: string) =>
    mirror.write({
      tables: [
        tableOf('resources', 1, [rowOf('resources', { id: 'a', name: 'Aurora' })]),
        tableOf('resource_availability_years', 1, [
          rowOf('resource_availability_years', { resource_id: 'a', year, days }),
        ]),
      ],
    })
  await calendar('01'.padEnd(365, '0'))
  await mirror.all('update sync.streams set as_of = now()')
  const app = Fastify()
  const settings = { timeZone: 'UTC', calendarYears: 2, serveRateLimit: null }
  registerCalendars(app, {
    sync: { database: mirror.db, clock: systemClock },
    wrongTokens: wrongTokenLimit(),
    settings,
  })
  const key = await createCalendarKey(mirror.db.pool, 'a')
  const subscriber = start('calendar.mjs', [
    `${await app.listen({ port: 0, host: '127.0.0.1' })}/calendars/a.ics?key=${key}`,
    '0.05',
  ])
  const next = async (wanted: string): Promise<void> => {
    for (let line = ''; line !== wanted; line = await subscriber.nextLine());
  }
  await next(`${year}0102 ${year}0103 Not available`)
  await mirror.all(`update mirror.resource_availability_years set days = $1`, ['001'.padEnd(365, '0')])
  await next(`${year}0103 ${year}0104 Not available`)
  await revokeCalendarKey(mirror.db.pool, 'a')
  expect(await subscriber.end()).toBe(1)
  await app.close()
})

it('the end of a month in SQL keeps the month, adds it up, and says what has changed since the close before', async () => {
  const script = readFileSync('examples/months-end.sql', 'utf8')
  const month = (back: number): string => {
    const now = new Date()
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 10)
  }
  const keep = (minute: number, ...amounts: readonly (readonly [id: number, amount: string])[]) => {
    const known = { status: 'VALIDATED', total_paid: '0', departure_datetime: `${month(0)}T09:00:00Z` }
    const rows = amounts.map(([id, amount]) => rowOf('rentals', { ...known, id, total_to_pay: amount }))
    return mirror.write({ tables: [tableOf('rentals', minute, rows)] })
  }
  await keep(2, [1, '100.10'], [2, '50'])
  await mirror.all('select * from report.close($1)', [month(2).slice(0, 7)])
  await keep(3, [1, '99.95'], [3, '7'])
  const payment = rowOf('rental_payments', { rental_id: 1, id: 9, price: '20.5', currency: '"EUR"' })
  await mirror.write({ tables: [tableOf('rental_payments', 3, [payment])] })
  await mirror.all(`update mirror.change_log set changed_at = $1 where stream = 'rental_payments'`, [
    `${month(1)}T12:00:00Z`,
  ])
  const run = async (): Promise<readonly (readonly Record<string, unknown>[])[]> =>
    ((await mirror.db.pool.query(script)) as unknown as { rows: Record<string, unknown>[] }[]).map(({ rows }) => rows)
  const [closed, totals, changes, receipts] = await run()
  expect(closed).toMatchObject([{ name: month(1).slice(0, 7), rentals: '3' }])
  expect(totals).toEqual([
    { company_id: null, currency: null, rentals: '2', amount: '57', paid: '0', due: '57' },
    { company_id: null, currency: 'EUR', rentals: '1', amount: '99.95', paid: '0', due: '99.95' },
  ])
  expect(changes).toMatchObject([
    { what: 'changed', rental_id: '1' },
    { what: 'changed', rental_id: '1' },
    { what: 'new', rental_id: '3', amount_now: '7' },
  ])
  expect(receipts).toEqual([{ day: month(1), currency: 'EUR', method: null, vat_rate: null, amount: '20.5' }])
  expect((await run())[0]).toEqual(closed)
})
