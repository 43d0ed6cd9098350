// What is kept beside the mirror: records and their hashes, quarantine, unknown fields, pins, gate, endpoint statistics.

import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { createGateStore } from '../../src/api/admission/gate.ts'
import { createEndpointRecorder } from '../../src/api/admission/traffic.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { keyParts, keyText } from '../../src/catalog/keys.ts'
import { keyTextSql } from '../../src/database/sql.ts'
import { doubtDetails, forgetRecords, type RecordState, saveRecords } from '../../src/mirror/records.ts'
import { entries, listDetected, readEntry, readProfile } from '../../src/profile/profile.ts'
import { failingHotRuns } from '../../src/sync/due/stream-state.ts'
import {
  type BadRecord,
  clearQuarantine,
  getQuarantined,
  listQuarantine,
  quarantineRecords,
  quarantineTotals,
} from '../../src/sync/quarantine.ts'
import { knownRecords } from '../../src/sync/remembered/known-records.ts'
import { insertNewRecords } from '../../src/sync/remembered/new-records.ts'
import { readPayloads } from '../../src/sync/remembered/payloads.ts'
import { listUnknownFields, noteUnknownFields } from '../../src/sync/unknown-fields.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { at, openMirror, quiet, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)

describe('a key as one text', () => {
  it('comes back as its parts, and SQL makes the same text', async () => {
    const part = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter((text) => !text.includes('\0'))
    await fc.assert(
      fc.asyncProperty(part, part, part, async (a, b, c) => {
        const text = keyText([a, b, c])
        expect(keyParts(streamNamed('resource_slot_options'), text)).toEqual([a, b, c])
        expect(keyText([a])).toBe(a)
        const [row] = await mirror.all<{ text: string }>(
          `select ${keyTextSql(['$1::text', '$2::text', '$3::text'])} as text`,
          [a, b, c],
        )
        expect(row?.text).toBe(text)
      }),
      { numRuns: runsOf(50) },
    )
  })
})

it('hot runs count as failing once the last three of a stream all failed', async () => {
  await mirror.db.pool.query(`update sync.streams set hot_interval_s = 60 where stream = 'rentals'`)
  const run = async (status: string): Promise<unknown> => {
    await mirror.db.pool.query(
      `insert into sync.runs (stream, trigger, hot, status, error, finished_at) values ('rentals', 'test', true, $1, $1 || ' it', now())`,
      [status],
    )
    return (await failingHotRuns(mirror.db.pool)).map(({ stream, error }) => [stream, error])
  }
  for (const status of ['done', 'failed', 'failed']) expect(await run(status)).toEqual([])
  expect(await run('partial')).toEqual([['rentals', 'partial it']])
  expect(await run('done')).toEqual([])
})

describe('known records', () => {
  const harbours = streamNamed('harbours')
  const slots = streamNamed('resource_slots')

  it('are told with their row: alive, gone, a stub, or not there', async () => {
    await mirror.write({
      tables: [
        tableOf('harbours', 1, [rowOf('harbours', { id: 1 }), rowOf('harbours', { id: 2 })]),
        tableOf('harbours', 1, [rowOf('harbours', { id: 3 })], {
          mode: 'stub',
          source: 'GET /v3/rentals#departureHarbour',
        }),
      ],
    })
    await mirror.write({ tombstones: [{ stream: harbours, keys: [['2']], source: 'x', readAt: at(2) }] })
    await saveRecords(mirror.db.pool, [
      { stream: 'harbours', key: '1', listHash: 'l', detailReadAt: at(1), projection: 2 },
    ])
    const known = await knownRecords(mirror.db.pool, harbours, ['1', '2', '3', '4', '1'])
    const nothing = { listHash: null, detailHash: null, detailReadAt: null, projection: 0, aged: false }
    expect(Object.fromEntries(known)).toEqual({
      1: {
        key: '1',
        listHash: 'l',
        detailHash: null,
        detailReadAt: at(1),
        projection: 2,
        exists: true,
        alive: true,
        stub: false,
        aged: false,
      },
      2: { key: '2', ...nothing, exists: true, alive: false, stub: false },
      3: { key: '3', ...nothing, exists: true, alive: true, stub: true },
      4: { key: '4', ...nothing, exists: false, alive: false, stub: false },
    })
    const payloads = await readPayloads(mirror.db.pool, harbours, ['1', '2', '3', '4'])
    expect(Object.fromEntries(payloads)).toEqual({ 1: { payload: '{"id": 1}', source: 'GET /v3/harbours' } })
  })

  it('of several key columns are found by their text', async () => {
    const key = ['a/b:c"', 's,1']
    await mirror.write({
      tables: [
        tableOf('resource_slots', 1, [rowOf('resource_slots', { resource_id: key[0] ?? '', id: key[1] ?? '' })]),
      ],
    })
    const known = await knownRecords(mirror.db.pool, slots, [keyText(key)])
    expect(known.get(keyText(key))).toMatchObject({ alive: true })
  })

  it('keep what is left out, and are not written when nothing changes', async () => {
    const pool = mirror.db.pool
    await saveRecords(pool, [{ stream: 'harbours', key: '9', listHash: 'a', detailHash: 'd', projection: 1 }])
    await saveRecords(pool, [
      { stream: 'harbours', key: '9', detailReadAt: at(3) },
      { stream: 'harbours', key: '9', listHash: 'b' },
    ])
    const row = 'select *, xmin::text, ctid::text from sync.records where stream = $1 and key = $2'
    const before = await mirror.all(row, ['harbours', '9'])
    expect(before).toEqual([
      expect.objectContaining({ list_hash: 'b', detail_hash: 'd', detail_read_at: at(3), projection: 1 }),
    ])
    await saveRecords(pool, [{ stream: 'harbours', key: '9', listHash: 'b', detailHash: null, detailReadAt: at(2) }])
    expect(await mirror.all(row, ['harbours', '9'])).toEqual(before)
  })

  it('that are new are copied; all that came with one that is there by now are left to be upserted', async () => {
    const stateOf = (key: string) => ({ stream: 'countries', key, listHash: 'a', projection: 1, changed: true })
    const states = Array.from({ length: 60 }, (_, index) => ({ ...stateOf(`new\t\\${index}`), isNew: true }))
    const others = [{ ...stateOf('twice'), isNew: true }, { ...stateOf('twice'), isNew: true }, stateOf('known')]
    const insert = (given: readonly RecordState[]): Promise<readonly RecordState[]> =>
      mirror.db.transaction(async (client) => {
        const left = await insertNewRecords(client, given)
        await saveRecords(client, left)
        return left
      })
    expect(await insert([...states, ...others])).toEqual(others)
    const later = states.map((state, index) => ({ ...state, key: index === 0 ? state.key : `later ${index}` }))
    expect(await insert(later)).toEqual(later)
    const rows = await mirror.all(
      `select list_hash, projection, count(*)::int as count, bool_and(changed_at > now() - interval '1 minute') as lately
       from sync.records where stream = 'countries' and (key like E'new\t%' or key like 'later %') group by 1, 2`,
    )
    expect(rows).toEqual([{ list_hash: 'a', projection: 1, count: 119, lately: true }])
  })

  it('that changed are due: their time of change moves', async () => {
    const pool = mirror.db.pool
    const changedAt = 'select changed_at::text as changed from sync.records where key = $1'
    await saveRecords(pool, [{ stream: 'harbours', key: '8', listHash: 'a' }])
    const [before] = await mirror.all<{ changed: string }>(changedAt, ['8'])
    await saveRecords(pool, [{ stream: 'harbours', key: '8', listHash: 'a', changed: true }])
    const [after] = await mirror.all<{ changed: string }>(changedAt, ['8'])
    expect(String(after?.changed) > String(before?.changed)).toBe(true)
  })

  it('forget what details said that were read before a change of ours, also where they are saved after it', async () => {
    const { pool } = mirror.db
    const payments = streamNamed('rental_payments')
    const read = (detailHash: string, hours: number) => ({
      stream: payments.name,
      key: '7',
      detailHash,
      detailReadAt: new Date(Date.now() + hours * 3_600_000),
    })
    const hash = async () =>
      (await mirror.all<{ hash: string | null }>(`select detail_hash as hash from sync.records where key = '7'`))[0]
        ?.hash
    await doubtDetails(pool, [{ stream: payments.name, key: '7' }])
    await saveRecords(pool, [read('before', -1)])
    expect(await hash()).toBeNull()
    await saveRecords(pool, [read('after', 1)])
    expect(await hash()).toBe('after')
    await doubtDetails(pool, [{ stream: payments.name, key: '7' }])
    expect(await hash()).toBeNull()
  })

  it('with a key too long for an index are not remembered', async () => {
    await expect(
      saveRecords(mirror.db.pool, [{ stream: 'resources', key: 'x'.repeat(9_000), listHash: 'a' }]),
    ).resolves.toBeUndefined()
  })

  it('that are gone are forgotten with everything below them', async () => {
    const pool = mirror.db.pool
    await saveRecords(pool, [
      { stream: 'resources', key: 'a', listHash: 'x' },
      { stream: 'resource_options', key: 'a', detailHash: 'x' },
      { stream: 'resource_slot_tides', key: keyText(['a', 's1']), detailHash: 'x' },
      { stream: 'resource_slot_tides', key: keyText(['ab', 's1']), detailHash: 'x' },
      { stream: 'resources', key: 'ab', listHash: 'x' },
    ])
    await forgetRecords(pool, [{ stream: streamNamed('resources'), keys: [['a']] }])
    const left = await mirror.all(
      `select stream, key from sync.records
       where stream like 'resource%' and coalesce(list_hash, detail_hash) is not null order by stream`,
    )
    expect(left).toEqual([
      { stream: 'resource_slot_tides', key: '["ab","s1"]' },
      { stream: 'resources', key: 'ab' },
    ])
  })
})

describe('quarantine', () => {
  beforeEach(async () => {
    await mirror.db.pool.query('delete from sync.quarantine')
  })
  const bad = (key: string, payload: string): BadRecord => ({
    stream: 'rentals',
    key,
    endpoint: 'GET /v3/rentals',
    payload,
    reason: 'totalPaid: expected a decimal number, got "x".',
    request: { resource_id: 'a' },
  })
  const put = (...records: BadRecord[]): Promise<void> =>
    mirror.db.transaction((client) => quarantineRecords(client, records))

  it('holds a record whole with its reason, counts repetitions, and is cleared by a good version', async () => {
    await put(bad('1', '{"id":1,"price":0.10000000000000000000001}'), bad('2', '{"id":2}'))
    await put(bad('1', '{"id":1,"again":true}'))
    const [first, second] = await listQuarantine(mirror.db.pool, { limit: 10 })
    expect(first).toMatchObject({
      key: '1',
      times: 2,
      payload: '{"id": 1, "again": true}',
      request: '{"resource_id": "a"}',
    })
    expect(second).toMatchObject({ key: '2', times: 1 })
    expect(await quarantineTotals(mirror.db.pool)).toEqual({ rentals: 2 })
    expect(await getQuarantined(mirror.db.pool, String(first?.id ?? 0))).toEqual(first)
    await clearQuarantine(mirror.db.pool, [{ stream: 'rentals', keys: ['1'] }])
    expect(await listQuarantine(mirror.db.pool, { stream: 'rentals', limit: 10 })).toEqual([second])
    expect(await getQuarantined(mirror.db.pool, String(first?.id ?? 0))).toBeNull()
  })

  it('holds what jsonb cannot hold as text, and its neighbours as they are', async () => {
    await put(bad('3', '{"id":3,"x":1e200000}'), bad('4', '{"id":4,"x":0.123456789012345678901234567890}'))
    const [three, four] = await listQuarantine(mirror.db.pool, { limit: 10 })
    expect(JSON.parse(three?.payload ?? '')).toBe('{"id":3,"x":1e200000}')
    expect(four?.payload).toContain('0.123456789012345678901234567890')
  })

  it('takes the same record twice in one batch, and keys of any length', async () => {
    const long = 'ü'.repeat(9_000)
    await put(bad('5', '{"n":1}'), bad('5', '{"n":2}'), bad(long, '{}'))
    expect(await quarantineTotals(mirror.db.pool)).toEqual({ rentals: 2 })
    await clearQuarantine(mirror.db.pool, [{ stream: 'rentals', keys: ['5', long] }])
    expect(await quarantineTotals(mirror.db.pool)).toEqual({})
  })
})

describe('unknown fields', () => {
  it('are counted, with a sample where no person is concerned', async () => {
    const pool = mirror.db.pool
    const field = (stream: string, sample: string, times = 1) => ({ stream, path: 'x', sample, times })
    await noteUnknownFields(pool, [
      field('harbours', '"Brest"'),
      field('harbours', '"Lorient"', 2),
      field('users', '"Ada"'),
    ])
    await noteUnknownFields(pool, [field('harbours', '{"half":"\ud83d')])
    expect(await listUnknownFields(pool)).toEqual([
      expect.objectContaining({ stream: 'harbours', path: 'x', times: 4, sample: '{"half":"\ufffd' }),
      expect.objectContaining({ stream: 'users', path: 'x', times: 1, sample: 'text' }),
    ])
  })
})

describe('pins', () => {
  it('are relied on until they are contradicted, and again when they were probed anew', async () => {
    const pool = mirror.db.pool
    const { pageBase } = entries
    const profile = await readProfile(pool)
    const known = async () => [profile.value(pageBase), await readEntry(pool, pageBase)]
    expect(await known()).toEqual([undefined, undefined])
    await profile.contradict(pageBase, '', 'There is nothing to contradict.')
    await profile.found(pageBase, '', 1)
    expect(await known()).toEqual([1, 1])
    await profile.contradict(pageBase, '', 'Page 0 had records.')
    expect(await known()).toEqual([undefined, undefined])
    await profile.found(pageBase, '', 0)
    expect(await known()).toEqual([0, 0])
    expect(await listDetected(pool, 'page_base')).toMatchObject([
      { key: 'page_base', value: 0, contradiction: 'Page 0 had records.' },
    ])
  })

  it('are relied on, or contradicted, by what came last, also where the clock went back between the two', async () => {
    const pool = mirror.db.pool
    const profile = await readProfile(pool)
    const known = () => readEntry(pool, entries.notFound, 'users')
    await profile.found(entries.notFound, 'users', 'empty')
    await pool.query(`update sync.pinned set probed_at = probed_at + interval '1 hour' where key = 'not_found:users'`)
    await profile.contradict(entries.notFound, 'users', 'It answered with an empty list.')
    expect(await known()).toBeUndefined()
    await profile.found(entries.notFound, 'users', 'absent')
    expect(await known()).toBe('absent')
  })

  it('are trusted for a time, and stored anew only where they are not the same', async () => {
    const pool = mirror.db.pool
    let passed = 0
    const profile = await readProfile(pool, { now: () => new Date(Date.now() + passed) })
    const { windows } = entries
    const probedAt = async () => (await listDetected(pool, 'windows:rentals'))[0]?.probedAt
    await profile.found(windows, 'rentals', { honoured: true })
    const first = await probedAt()
    await profile.found(windows, 'rentals', { honoured: true })
    expect(await probedAt()).toEqual(first)
    passed = 25 * 3_600_000
    expect(profile.isTrusted(windows, 'rentals')).toBe(false)
    await profile.found(windows, 'rentals', { honoured: true })
    expect(await probedAt()).not.toEqual(first)
    await profile.found(windows, 'rentals', { honoured: false, reason: 'It was not ordered.' })
    expect(await readEntry(pool, windows, 'rentals')).toMatchObject({ honoured: false })
  })
})

describe('the gate store', () => {
  const state = { pausedUntil: 0, opened: 0, probeAt: 0, changedAt: 0 }

  it('keeps the newer breaker and the longer pause, whoever stores last', async () => {
    const store = createGateStore(mirror.db.pool, 'http://127.0.0.1')
    expect(await store.load()).toBeNull()
    await store.save({ ...state, opened: 2, probeAt: 9, changedAt: 10 })
    await store.save({ ...state, pausedUntil: 50, changedAt: 5 })
    expect(await store.load()).toEqual({ pausedUntil: 50, opened: 2, probeAt: 9, changedAt: 10 })
    await store.save({ ...state, changedAt: 11 })
    expect(await store.load()).toEqual({ ...state, pausedUntil: 50, changedAt: 11 })
  })

  it('knows nothing of a state it cannot read', async () => {
    await mirror.db.pool.query(`insert into sync.gate (id, state) values ('odd', '{"opened": "x"}')`)
    expect(await createGateStore(mirror.db.pool, 'odd').load()).toBeNull()
  })
})

describe('endpoint statistics', () => {
  const endpoint = 'GET /v3/harbours'
  const call = (minute: number, status: number | null, error: Error | null = null) => ({
    endpoint,
    status,
    startedAt: at(minute),
    error,
  })

  it('add up calls and failures; the latest call says status and error', async () => {
    const recorder = createEndpointRecorder(mirror.db.pool, quiet)
    recorder.record(call(3, 200))
    recorder.record(call(1, 503, new Error('busy')))
    recorder.record(call(2, 404, new Error('not there')))
    recorder.record({ ...call(1, 201), endpoint: 'POST /v3/rentals' })
    await recorder.flush()
    const read = `select calls, failures, last_status, last_called_at, last_error from sync.endpoints where endpoint = $1`
    expect(await mirror.all(read, [endpoint])).toEqual([
      { calls: '3', failures: '1', last_status: 200, last_called_at: at(3), last_error: null },
    ])
    recorder.record(call(4, null, new Error('refused')))
    await recorder.flush()
    expect(await mirror.all(read, [endpoint])).toEqual([
      { calls: '4', failures: '2', last_status: null, last_called_at: at(4), last_error: 'refused' },
    ])
    expect(await mirror.all(read, ['POST /v3/rentals'])).toEqual([])
  })

  it('say since when calls have had the status of the last one', async () => {
    const recorder = createEndpointRecorder(mirror.db.pool, quiet)
    const since = async (...calls: readonly ReturnType<typeof call>[]): Promise<unknown> => {
      for (const each of calls) recorder.record({ ...each, endpoint: 'GET /v3/types' })
      await recorder.flush()
      const rows = await mirror.all(
        `select last_status_since as at from sync.endpoints where endpoint = 'GET /v3/types'`,
      )
      return rows[0]?.at
    }
    expect(await since(call(1, 200), call(2, 200))).toEqual(at(1))
    expect(await since(call(3, 200))).toEqual(at(1))
    expect(await since(call(4, 200), call(5, 401), call(6, 401))).toEqual(at(5))
    expect(await since(call(7, 401), call(9, 401), call(8, 401))).toEqual(at(5))
    expect(await since(call(10, 200), call(11, 401))).toEqual(at(11))
    expect(await since(call(2, 200))).toEqual(at(11))
  })

  it('are kept while the database is away', async () => {
    let away = true
    const query: typeof mirror.db.pool.query = ((...args: Parameters<typeof mirror.db.pool.query>) =>
      away ? Promise.reject(new Error('away')) : mirror.db.pool.query(...args)) as typeof mirror.db.pool.query
    const recorder = createEndpointRecorder({ query }, quiet)
    recorder.record({ ...call(1, 200), endpoint: 'GET /v3/cities' })
    await recorder.flush()
    away = false
    recorder.record({ ...call(2, 200), endpoint: 'GET /v3/cities' })
    await recorder.flush()
    expect(await mirror.all(`select calls from sync.endpoints where endpoint = 'GET /v3/cities'`)).toEqual([
      { calls: '2' },
    ])
  })
})
