// Nothing that identifies a person reaches the disk or the log if it must be hashed or dropped.

import { beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../sandbox/index.ts'
import { systemClock } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/database/database.ts'
import { webhookConsumer } from '../../src/inspect/feed.ts'
import { startWebhook } from '../../src/messages/webhook/webhook.ts'
import type { CommandLine } from '../cli/program.ts'
import type { TestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { quiet } from '../helpers/rows.ts'
import { openReceiver } from '../messages/receiver.ts'
import { markEverybody, marker, openPeople, tablesWith } from './markers.ts'

const people = ['user_identities', 'user_licenses', 'rental_crew_members']
const key = 'a key for tests, and nothing else'

describe('what is searched for', () => {
  it('is found where values are kept', async () => {
    await using people = await openPeople(2)
    const { sandbox, database, command } = people
    markEverybody(sandbox)
    await command.run(['sync', 'rentals'])
    expect(Object.keys(await tablesWith(database.pool, marker))).toEqual(
      expect.arrayContaining(['mirror.rentals', 'mirror.users']),
    )
  })
})

describe.each([
  { mode: 'hash', env: { PERSONAL_DATA: 'hash', PERSONAL_DATA_KEY: key } },
  { mode: 'drop', env: { PERSONAL_DATA: 'drop' } },
])('with PERSONAL_DATA=$mode', ({ mode, env }) => {
  const mirrored = opened(() => openPeople(6, { LOG_LEVEL: 'trace', ...env }))
  let sandbox: Sandbox
  let database: TestDatabase
  let command: CommandLine
  let log = ''

  beforeAll(async () => {
    ;({ sandbox, database, command } = mirrored)
    expect(markEverybody(sandbox)).toBeGreaterThan(10)
    // A person of another shape, a record that is none, and a person in a record of something else.
    const [first, second, third] = sandbox.truth({ only: ['users'] }).users ?? []
    sandbox.mutate([
      { record: 'users', op: 'update', id: String(first?.key.id), set: { deactivated: `${marker} is no boolean` } },
      {
        record: 'users',
        op: 'update',
        id: String(second?.key.id),
        set: { firstName: { given: marker }, email: [marker] },
      },
      {
        record: 'users',
        op: 'update',
        id: String(third?.key.id),
        set: { nationality: marker, addressCountry: { code: marker, name: marker } },
      },
    ])
    for (const round of ['', ' again']) {
      if (round !== '') markEverybody(sandbox, round)
      const { code, stderr } = await command.run(['sync', ...people, '--full'])
      expect(code, stderr.slice(-2_000)).toBe(3) // one record is in quarantine
      log += stderr
    }
  })

  it('stores no value of a person in any table', async () => {
    expect(await tablesWith(database.pool, marker)).toEqual({})
  })

  it('logs no value of a person at any level', () => {
    expect(log).toContain('"level":"debug"')
    expect(log.toLowerCase()).not.toContain(marker.toLowerCase())
  })

  it('keeps what can be counted and joined, and nothing else', async () => {
    const { rows } = await database.pool.query(
      `select count(*)::int as users, count(u.email)::int as emails, count(u.birth_date)::int as births,
         bool_and(u.email ~ '^bmh1:[A-Za-z0-9_-]{43}$') as hashed, bool_and(u._payload ->> 'email' = u.email) as same,
         bool_and(r._payload #>> '{user,email}' = u.email) as joined, count(r.id)::int as rentals
       from mirror.users u left join mirror.rentals r on r.user_id = u.id
       where u._payload ? 'email' = (u.email is not null)`,
    )
    expect(rows[0].users).toBeGreaterThan(2)
    expect(rows[0].births).toBe(0)
    if (mode === 'drop') expect(rows[0]).toMatchObject({ emails: 0 })
    else expect(rows[0]).toMatchObject({ hashed: true, same: true, joined: true })
  })

  it('tells history, feed and the receiver of a webhook nothing else', async () => {
    const { rows: history } = await database.pool.query(
      `select h.* from mirror.users u, mirror.history('users', jsonb_build_object('id', u.id)) h`,
    )
    const { rows: changes } = await database.pool.query(`select * from mirror.changes_since(null, 100000)`)
    await using receiver = await openReceiver()
    await database.pool.query('select mirror.reset_consumer($1)', [webhookConsumer])
    const db = openDatabase({ url: database.url, applicationName: 'test', max: 2, log: quiet })
    const webhook = startWebhook({
      url: receiver.url,
      secrets: [`whsec_${Buffer.alloc(32, 7).toString('base64')}`],
      streams: ['users', 'rentals'],
      proxies: readConfig({}, '/nonexistent').api.proxies,
      database: db,
      listenUrl: database.url,
      clock: systemClock,
      log: quiet,
    })
    const updates = () => receiver.received.filter(({ body }) => body.includes('"operation":"update"'))
    await expect.poll(() => updates().length).toBeGreaterThan(0)
    await webhook.stop()
    await db.close()
    for (const told of [history, changes, receiver.received.map(({ body }) => body)]) {
      expect(told.length).toBeGreaterThan(0)
      const text = JSON.stringify(told)
      expect(text.toLowerCase()).not.toContain(marker.toLowerCase())
      expect(text.includes('bmh1:')).toBe(mode === 'hash')
    }
  })

  it('refuses a process with other settings, and says what differs', async () => {
    const other = mode === 'hash' ? { PERSONAL_DATA_KEY: 'another key for the tests' } : { PERSONAL_DATA: 'keep' }
    const { code, stderr } = await command.run(['sync', 'countries'], other)
    expect(code).toBe(1)
    expect(stderr).toContain('PRIVACY_DIFFERS')
    expect(stderr).toContain(
      mode === 'hash' ? 'another PERSONAL_DATA_KEY' : 'PERSONAL_DATA is drop in the database and keep here',
    )
  })
})
