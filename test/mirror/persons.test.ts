// A user who is gone upstream leaves a key and no trace: every column, payload, diff, quarantined copy and sample.

import { beforeAll, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { saveRecords } from '../../src/mirror/records.ts'
import { tombstonedUsers } from '../../src/mirror/redact.ts'
import { personRedaction } from '../../src/sync/details/embeds.ts'
import { quarantineRecords } from '../../src/sync/quarantine.ts'
import { knownRecords } from '../../src/sync/remembered/known-records.ts'
import { noteUnknownFields } from '../../src/sync/unknown-fields.ts'
import { opened } from '../helpers/opened.ts'
import { at, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)

/** Stands in every place where something about the person could be. */
const canary = 'Zaphod Beeblebrox'

const user = (id: number, name: string) =>
  rowOf(
    'users',
    { id, first_name: name, email: `${name}@example.invalid`, birth_date: '1980-02-29', language_code: 'fr' },
    {
      id,
      firstName: name,
      note: name,
    },
  )

const rental = (id: number, userId: number, name: string, message: string | null) =>
  rowOf(
    'rentals',
    { id, user_id: userId, message, status: 'VALIDATED' },
    {
      id,
      status: 'VALIDATED',
      message,
      user: { id: userId, firstName: name },
    },
  )

const goneUser = (id: number, minute: number) => ({
  tombstones: [
    { stream: streamNamed('users'), keys: [[String(id)]], source: 'GET /v3/users/{userId}', readAt: at(minute) },
  ],
})

/** How often a text occurs anywhere in our schemas. */
async function occurrences(text: string): Promise<Record<string, number>> {
  const tables = await mirror.all<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('mirror', 'sync', 'outbox')`,
  )
  const found: Record<string, number> = {}
  for (const { name } of tables) {
    const [row] = await mirror.all<{ count: number }>(
      `select count(*)::int as count from ${name} t where t::text like '%' || $1 || '%'`,
      [text],
    )
    if (row !== undefined && row.count > 0) found[name] = row.count
  }
  return found
}

describe('a user who is gone', () => {
  beforeAll(async () => {
    await mirror.write({
      tables: [
        tableOf('users', 1, [user(1, canary), user(2, 'Trillian')]),
        tableOf('user_identities', 1, [rowOf('user_identities', { user_id: 1, number: canary, type: 'PASSPORT' })]),
        tableOf('user_licenses', 1, [rowOf('user_licenses', { user_id: 1, number: canary, year: 1999 })]),
        tableOf('rentals', 1, [
          rental(10, 1, canary, `Call ${canary}`),
          rental(11, 2, 'Trillian', 'Two life jackets, please'),
          rental(12, 1, canary, null),
          rental(14, 1, canary, `Call ${canary} back`),
        ]),
      ],
    })
    await mirror.write({
      tombstones: [
        { stream: streamNamed('rentals'), keys: [['14']], source: 'GET /v3/rentals/{rentalId}', readAt: at(2) },
      ],
    })
    // Rental 12 once belonged to the person, with a change that only the payload shows; then it went to another person.
    const changed = rental(12, 1, canary, null)
    await mirror.write({
      tables: [tableOf('rentals', 2, [{ ...changed, payload: changed.payload.replace('}', ',"phone":1}') }])],
    })
    await mirror.write({ tables: [tableOf('rentals', 3, [rental(12, 2, 'Trillian', null)])] })
    await mirror.write({ tables: [tableOf('users', 2, [user(1, `${canary} II`)])] })
    await mirror.db.transaction(async (client) => {
      const bad = { endpoint: 'GET /v3/users', request: {}, reason: `birthDate: expected a date, got "${canary}".` }
      await quarantineRecords(client, [
        { ...bad, stream: 'users', key: '1', payload: JSON.stringify({ id: 1, firstName: canary }) },
        { ...bad, stream: 'user_licenses', key: '1', payload: JSON.stringify({ number: canary }) },
        {
          ...bad,
          stream: 'rentals',
          key: '13',
          payload: JSON.stringify({ id: 13, totalPaid: 'x', message: canary, user: { id: 1, firstName: canary } }),
          reason: `message: expected text, got ["${canary}"].`,
        },
        { ...bad, stream: 'rentals', key: '10', payload: `{"id":1e200000,"user":{"id":1,"firstName":"${canary}"}}` },
      ])
      await noteUnknownFields(client, [
        { stream: 'users', path: 'note', sample: `"${canary}"`, times: 1 },
        { stream: 'rentals', path: 'user.nickname', sample: `"${canary}"`, times: 1 },
      ])
      await saveRecords(client, [
        { stream: 'users', key: '1', listHash: 'h' },
        { stream: 'users', key: '2', listHash: 'h' },
      ])
    })
    expect(Object.keys(await occurrences(canary)).length).toBeGreaterThan(4)
    await mirror.write(goneUser(1, 5))
  })

  it('is found nowhere any more', async () => {
    expect(await occurrences(canary)).toEqual({})
  })

  it('leaves tombstones with their keys and what is not personal', async () => {
    expect(
      await mirror.all(
        'select id, first_name, birth_date, language_code, _payload, _deleted_at is null as alive from mirror.users where id = 1',
      ),
    ).toEqual([{ id: '1', first_name: null, birth_date: null, language_code: 'fr', _payload: { id: 1 }, alive: false }])
    expect(
      await mirror.all(
        'select user_id, number, type, _payload, _deleted_at is null as alive from mirror.user_identities',
      ),
    ).toEqual([{ user_id: '1', number: null, type: null, _payload: {}, alive: false }])
  })

  it('leaves rentals alive with an id, and other persons untouched', async () => {
    expect(
      await mirror.all(
        'select id, message, user_id, _payload, _deleted_at from mirror.rentals where _deleted_at is null order by id',
      ),
    ).toEqual([
      {
        id: '10',
        message: null,
        user_id: '1',
        _payload: { id: 10, status: 'VALIDATED', user: { id: 1 } },
        _deleted_at: null,
      },
      expect.objectContaining({ id: '11', message: 'Two life jackets, please' }),
      expect.objectContaining({ id: '12', user_id: '2' }),
    ])
    expect(Object.keys(await occurrences('Trillian'))).toContain('mirror.users')
  })

  it('keeps in the change log what is not personal', async () => {
    const log = await mirror.all<{ operation: string; diff: Record<string, unknown> }>(
      `select operation, diff from mirror.changes where stream = 'users' and key = '{"id": 1}' order by seq`,
    )
    expect(log.map(({ operation }) => operation)).toEqual(['insert', 'update', 'delete'])
    expect(log[0]?.diff).toEqual({ id: [null, 1], language_code: [null, 'fr'] })
  })

  it('tells those who follow the log that the rental lost its message, without quoting it', async () => {
    const [last] = await mirror.all<{ diff: unknown }>(
      `select diff from mirror.changes where stream = 'rentals' and key = '{"id": 10}' order by seq desc limit 1`,
    )
    expect(last?.diff).toEqual({ message: [null, null] })
  })

  it('leaves of a rental that is gone an id, and says nothing of it in the log, or it would come back', async () => {
    expect(
      await mirror.all(
        'select message, _payload, _deleted_at is null as alive from mirror.rentals where _deleted_at is not null',
      ),
    ).toEqual([{ message: null, _payload: { id: 14, status: 'VALIDATED', user: { id: 1 } }, alive: false }])
    const log = await mirror.all<{ operation: string }>(
      `select operation from mirror.change_log where stream = 'rentals' and key = '{"id": 14}' order by seq`,
    )
    expect(log.map(({ operation }) => operation)).toEqual(['insert', 'delete'])
  })

  it('keeps quarantined rentals, without the person', async () => {
    const rows = await mirror.all(`select stream, key, payload, reason from sync.quarantine order by key`)
    expect(rows).toEqual([
      { stream: 'rentals', key: '10', payload: {}, reason: 'birthDate: expected a date' },
      {
        stream: 'rentals',
        key: '13',
        payload: { id: 13, totalPaid: 'x', user: { id: 1 } },
        reason: 'message: expected text',
      },
    ])
  })

  it('is known as gone, and no stub brings them back', async () => {
    expect(await tombstonedUsers(mirror.db.pool, ['1', '2', '3'])).toEqual(new Set(['1']))
    const known = await knownRecords(mirror.db.pool, streamNamed('users'), ['1', '2'])
    expect(known.get('1')).toMatchObject({ alive: false, exists: true, listHash: null })
    expect(known.get('2')).toMatchObject({ alive: true, listHash: 'h' })
    await mirror.write({
      tables: [tableOf('users', 9, [user(1, canary)], { mode: 'stub', source: 'GET /v3/rentals#user' })],
    })
    expect(await occurrences(canary)).toEqual({})
  })

  it('does not get documents back by an answer that was under way', async () => {
    await mirror.write({
      tables: [tableOf('user_licenses', 4, [rowOf('user_licenses', { user_id: 1, number: canary })])],
    })
    expect(await occurrences(canary)).toEqual({})
  })
})

it('whose id alone stands in a rental leaves that id there, and nothing else', async () => {
  const given = (id: number, shown: unknown) =>
    rowOf('rentals', { id, user_id: 50, message: canary }, { id, user: shown, message: canary })
  await mirror.write({ tables: [tableOf('users', 5, [user(50, 'Marvin')])] })
  await mirror.write({
    tables: [tableOf('rentals', 5, [given(51, 50), given(52, '50'), given(53, { id: 50, name: canary })])],
  })
  const payload = JSON.stringify({ id: 54, user: 50, message: canary })
  const bad = {
    stream: 'rentals',
    key: '54',
    endpoint: 'GET /v3/rentals',
    payload,
    reason: `x, got "${canary}".`,
    request: {},
  }
  await mirror.db.transaction((client) => quarantineRecords(client, [bad]))
  await mirror.write(goneUser(50, 6))
  expect(
    await mirror.all(
      'select user_id::int, message, _payload as payload from mirror.rentals where user_id = 50 order by id',
    ),
  ).toEqual([
    { user_id: 50, message: null, payload: { id: 51, user: { id: 50 } } },
    { user_id: 50, message: null, payload: { id: 52, user: { id: '50' } } },
    { user_id: 50, message: null, payload: { id: 53, user: { id: 50 } } },
  ])
  expect(await occurrences(canary)).toEqual({})
  // A later read of this rental brings back neither the text nor the person.
  const redact = await personRedaction(mirror.db.pool, streamNamed('rentals'), [
    { record: { user: 50 } },
    { record: { user: '50' } },
  ])
  expect(redact({ id: 51, user: 50, message: canary })).toEqual({ id: 51, user: 50, message: null })
  expect(redact({ id: 51, user: { id: '50', name: canary } })).toEqual({ id: 51, user: { id: '50' }, message: null })
  await mirror.all('delete from mirror.rentals where user_id = 50') // others check all rentals
  await mirror.all(`delete from sync.quarantine where key = '54'`)
})
