// What a write does to a row: insert, update, nothing; columns, payload, change log, counts.

import { describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { mostSentRows } from '../../src/mirror/staging.ts'
import { applyWrites, DataRefused, findRefusedRows } from '../../src/mirror/writer.ts'
import { opened } from '../helpers/opened.ts'
import { at, changeLog, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)

const harbour = (id: number, name: string | null, payload?: unknown) => rowOf('harbours', { id, name }, payload)

const logOf = async (id: number) => (await changeLog(mirror)).filter(({ key }) => key.id === id)

describe('a record', () => {
  it('that is new is inserted with its columns, payload, source and reading time', async () => {
    const rental = rowOf(
      'rentals',
      {
        id: '9007199254740993',
        creation_datetime: '2026-07-14 09:00:00+02',
        deposit_price: '0.123456789012345678901234567890',
        deposit_currency: '{"code":"EUR"}',
        status: 'VALI\tDATED\\N\r\n',
        crew_adults: '2',
      },
      '{"id":9007199254740993,"depositPrice":0.123456789012345678901234567890,"odd":"\\\\N \\t 👍 مرحبا"}',
    )
    const counts = await mirror.write({ tables: [tableOf('rentals', 1, [rental])] })
    expect(counts.get('rentals')).toEqual({ inserted: 1, updated: 0, unchanged: 0, deleted: 0 })
    const [row] = await mirror.all(
      `select id, creation_datetime, deposit_price, deposit_currency, status, crew_adults, message, _payload::text as payload,
         _source, _read_at, _deleted_at from mirror.rentals where id = 9007199254740993`,
    )
    expect(row).toEqual({
      id: '9007199254740993',
      creation_datetime: new Date('2026-07-14T07:00:00Z'),
      deposit_price: '0.123456789012345678901234567890',
      deposit_currency: { code: 'EUR' },
      status: 'VALI\tDATED\\N\r\n',
      crew_adults: '2',
      message: null,
      payload:
        '{"id": 9007199254740993, "odd": "\\\\N \\t 👍 مرحبا", "depositPrice": 0.123456789012345678901234567890}',
      _source: 'GET /v3/rentals',
      _read_at: at(1),
      _deleted_at: null,
    })
    const [logged] = await mirror.all<{ key: string; diff: string }>(
      `select key::text as key, diff::text as diff from mirror.changes where stream = 'rentals'
         and key = '{"id": 9007199254740993}'`,
    )
    expect(logged?.key).toBe('{"id": 9007199254740993}')
    expect(logged?.diff).toContain('"deposit_price": [null, 0.123456789012345678901234567890]')
    expect(logged?.diff).toContain('"creation_datetime": [null, "2026-07-14T07:00:00+00:00"]')
    expect(logged?.diff).not.toContain('message')
  })

  it('that is thought to be new is inserted directly, and leaves the same row and the same log', async () => {
    const [direct, merged] = [harbour(61, 'Le Palais \\N\t👍'), harbour(62, 'Le Palais \\N\t👍')]
    const counts = await mirror.write({ tables: [tableOf('harbours', 1, [direct], { newKeys: true })] })
    await mirror.write({ tables: [tableOf('harbours', 1, [merged])] })
    expect(counts.get('harbours')).toEqual({ inserted: 1, updated: 0, unchanged: 0, deleted: 0 })
    const rows = await mirror.all(
      `select name, _payload - 'id' as payload, _source, _read_at, _deleted_at from mirror.harbours where id in (61, 62) order by id`,
    )
    expect(rows).toHaveLength(2)
    expect(rows[0]).toEqual(rows[1])
    const [one, two] = [(await logOf(61))[0], (await logOf(62))[0]]
    expect({ ...one, key: null, diff: { ...one?.diff, id: null } }).toEqual({
      ...two,
      key: null,
      diff: { ...two?.diff, id: null },
    })
  })

  it('that is thought to be new and is there by now is merged, and so are those with it', async () => {
    await mirror.write({ tables: [tableOf('harbours', 5, [harbour(71, 'here already')])] })
    const guessed = [harbour(71, 'read earlier'), harbour(72, 'really new')]
    const counts = await mirror.write({ tables: [tableOf('harbours', 3, guessed, { newKeys: true })] })
    expect(counts.get('harbours')).toEqual({ inserted: 1, updated: 0, unchanged: 1, deleted: 0 })
    const rows = await mirror.all(`select id, name from mirror.harbours where id in (71, 72) order by id`)
    expect(rows.map(({ name }) => name)).toEqual(['here already', 'really new'])
    expect([(await logOf(71)).length, (await logOf(72)).length]).toEqual([1, 1])
  })

  it('that is refused by Postgres is found, however new it is', async () => {
    const write = tableOf('harbours', 1, [harbour(81, 'fine'), harbour(82, 'bad \u0000')], { newKeys: true })
    await expect(mirror.write({ tables: [write] })).rejects.toBeInstanceOf(DataRefused)
    expect((await findRefusedRows(mirror.db, write)).map(({ row }) => row.key)).toEqual([['82']])
  })

  it('of which only the payload differs is updated, and the log shows both payloads', async () => {
    await mirror.write({ tables: [tableOf('harbours', 1, [harbour(2, 'Brest', { id: 2, extra: 1 })])] })
    await mirror.write({ tables: [tableOf('harbours', 2, [harbour(2, 'Brest', { id: 2, extra: 2 })])] })
    expect((await logOf(2))[1]?.diff).toEqual({
      _payload: [
        { id: 2, extra: 1 },
        { id: 2, extra: 2 },
      ],
    })
  })

  it('that comes twice in one batch is written once, its latest read stands, and the other counts as unchanged', async () => {
    const rows = [
      { ...harbour(4, 'first'), readAt: at(1) },
      { ...harbour(4, 'second'), readAt: at(2), source: 'GET /v3/harbours/{harbourId}' },
    ]
    const counts = await mirror.write({ tables: [tableOf('harbours', 3, [...rows].reverse())] })
    expect(counts.get('harbours')).toEqual({ inserted: 1, updated: 0, unchanged: 1, deleted: 0 })
    expect(await mirror.all('select name, _source from mirror.harbours where id = 4')).toEqual([
      { name: 'second', _source: 'GET /v3/harbours/{harbourId}' },
    ])
  })

  it('keeps what differs between null and absent in the payload, not in the columns', async () => {
    await mirror.write({
      tables: [tableOf('harbours', 1, [harbour(5, null, { id: 5, name: null }), harbour(6, null, { id: 6 })])],
    })
    expect(await mirror.all('select name, _payload from mirror.harbours where id in (5, 6) order by id')).toEqual([
      { name: null, _payload: { id: 5, name: null } },
      { name: null, _payload: { id: 6 } },
    ])
  })
})

describe('few rows and many', () => {
  const odd = [
    rowOf('rentals', {
      id: '9223372036854775807',
      creation_datetime: '2026-07-14 09:00:00.123456 Europe/Paris',
      deposit_price: '1e300',
      deposit_currency: '{"a":1.10,"b":"\\u0001 \\\\"}',
      message: '\\N \\. "quoted" {"json":1} \t\r\n \u0001 👍 \uFFFD',
    }),
    rowOf('rentals', { id: 9_000_002, deposit_price: '0.10', message: '' }, '{"b":1.0,"a":[1e2,"\\\\N"]}'),
  ]
  const changed = odd.map((row) => ({ ...row, payload: '{"changed":12345678901234567890.10}' }))
  const options = [rowOf('rental_options', { rental_id: 9_000_002, id: 1 })]
  const others = Array.from({ length: mostSentRows }, (_, index) => harbour(500_000 + index, 'other'))

  /** What three writes leave in the tables and in the log, together with so many rows of another table. */
  async function left(also: typeof others): Promise<unknown> {
    const scope = { columns: ['rental_id'], values: ['9000002'] }
    const writes = [
      [tableOf('rentals', 1, odd), tableOf('rental_options', 1, options, { replace: [scope] })],
      [tableOf('rentals', 2, changed, { mode: 'stub' }), tableOf('rentals', 2, changed)],
      [tableOf('rental_options', 3, [], { replace: [scope] })],
    ]
    try {
      return await mirror.db.transaction(async (client) => {
        const counts: unknown[] = []
        for (const tables of writes) {
          const { counts: found } = await applyWrites(client, { tables: [...tables, tableOf('harbours', 1, also)] })
          counts.push([...found].filter(([name]) => name !== 'harbours'))
        }
        const { rows } = await client.query<{ row: string }>(
          `select (to_jsonb(r) - '_changed_at')::text || r._payload::text as row from mirror.rentals r where id > 9000000
           union all select (to_jsonb(r) - array['_changed_at', '_deleted_at'])::text from mirror.rental_options r where rental_id = 9000002
           union all select key::text || operation || (diff - '_deleted_at')::text from mirror.change_log
             where stream <> 'harbours' and xid = pg_current_xact_id() order by 1`,
        )
        throw Object.assign(new Error('rolled back'), { counts, rows })
      })
    } catch (error) {
      if (!(error instanceof Error && 'rows' in error)) throw error
      return error
    }
  }

  it('are sent in different ways, and leave the same columns, digits, log and counts', async () => {
    const [few, many] = [await left([]), await left(others)]
    expect(few).toMatchObject({ rows: expect.arrayContaining([expect.anything()]) })
    expect(few).toEqual(many)
    expect({ ...(few as object) }).toEqual({ ...(many as object) })
  })
})

describe('equal rows', () => {
  /** Tuples written and row locks taken, from Postgres's own statistics of the transaction. */
  const written = `select sum(n_tup_ins + n_tup_upd + n_tup_del)::int as tuples from pg_stat_xact_user_tables
    where schemaname = 'mirror'`

  it('write nothing, lock nothing and log nothing, whatever the order of members and the number of zeros', async () => {
    const rows = Array.from({ length: 300 }, (_, index) => {
      const id = 1_000 + index
      return rowOf('harbours', { id, name: `H${id}`, latitude: '1.50' }, `{"id":${id},"latitude":1.50,"name":"H${id}"}`)
    })
    await mirror.write({ tables: [tableOf('harbours', 1, rows)] })
    const reordered = rows.map((row) => ({
      ...row,
      payload: `{"name":"H${row.key[0]}","latitude":1.5,"id":${row.key[0]}}`,
    }))
    await mirror.db.transaction(async (client) => {
      const before = await client.query(written)
      const { counts } = await applyWrites(client, { tables: [tableOf('harbours', 2, reordered)] })
      expect(counts.get('harbours')).toEqual({ inserted: 0, updated: 0, unchanged: 300, deleted: 0 })
      expect((await client.query(written)).rows).toEqual(before.rows)
      const { rows: locked } = await client.query(
        `select count(*)::int as rows from mirror.harbours where id between 1000 and 1299 and xmax::text <> '0'`,
      )
      expect(locked).toEqual([{ rows: 0 }])
    })
  })
})

it('the worked example of the merge comes out as its header says', async () => {
  const source = 'GET /v3/rentals#departureHarbour'
  await mirror.write({
    tables: [
      tableOf('harbours', 0, [harbour(901, 'Brest'), harbour(903, 'Houat')]),
      tableOf('harbours', 0, [harbour(902, 'Sauzon')], { mode: 'stub', source }),
      tableOf('harbours', 10, [harbour(904, 'Étel')]),
    ],
  })
  await mirror.write({
    tombstones: [
      { stream: streamNamed('harbours'), keys: [['903']], source: 'GET /v3/harbours/{harbourId}', readAt: at(0) },
    ],
  })
  const before = (await changeLog(mirror)).length
  const answered = ['Lorient', 'Sauzon', 'Houat', 'Etel', 'Groix'].map((name, index) => harbour(901 + index, name))
  const counts = await mirror.write({ tables: [tableOf('harbours', 5, answered)] })
  expect(counts.get('harbours')).toEqual({ inserted: 2, updated: 2, unchanged: 1, deleted: 0 })
  const logged = (await changeLog(mirror)).slice(before).sort((a, b) => Number(a.key.id) - Number(b.key.id))
  expect(logged.map(({ key, operation, diff }) => [key.id, operation, diff])).toEqual([
    [901, 'update', { name: ['Brest', 'Lorient'] }],
    [902, 'update', { _source: [source, 'GET /v3/harbours'] }],
    [903, 'insert', { id: [null, 903], name: [null, 'Houat'] }],
    [905, 'insert', { id: [null, 905], name: [null, 'Groix'] }],
  ])
  expect(await mirror.all('select name, _read_at from mirror.harbours where id = 904')).toEqual([
    { name: 'Étel', _read_at: at(10) },
  ])
})

describe('a stub', () => {
  const stub = { mode: 'stub', source: 'GET /v3/rentals#departureHarbour' } as const

  it('is inserted when the record is unknown, and refreshed by a later stub', async () => {
    await mirror.write({ tables: [tableOf('harbours', 1, [harbour(20, 'a')], stub)] })
    await mirror.write({ tables: [tableOf('harbours', 3, [harbour(20, 'c')], stub)] })
    await mirror.write({ tables: [tableOf('harbours', 2, [harbour(20, 'b')], stub)] })
    expect(await mirror.all('select name, _source from mirror.harbours where id = 20')).toEqual([
      { name: 'c', _source: 'GET /v3/rentals#departureHarbour' },
    ])
  })
})

describe('columns that another read fills', () => {
  const stream = streamNamed('rentals')
  const fill = (id: string, resource: string, company: string) => ({
    filled: [{ stream, readAt: at(1), rows: [{ key: [id], values: { resource_id: resource, company_id: company } }] }],
  })

  it('are set on the living row, logged, and left alone by the record itself', async () => {
    const rental = (status: string) => rowOf('rentals', { id: 30, status })
    await mirror.write({ tables: [tableOf('rentals', 1, [rental('PENDING')])] })
    const counts = await mirror.write(fill('30', 'boat-7', '12'))
    expect(counts.get('rentals')?.updated).toBe(1)
    await mirror.write({ tables: [tableOf('rentals', 2, [rental('VALIDATED')])] })
    expect(await mirror.all('select resource_id, company_id, status from mirror.rentals where id = 30')).toEqual([
      { resource_id: 'boat-7', company_id: '12', status: 'VALIDATED' },
    ])
    expect((await logOf(30))[1]).toMatchObject({
      operation: 'update',
      diff: { resource_id: [null, 'boat-7'], company_id: [null, 12] },
    })
  })

  it('write nothing when they are so already, or when the row is not there', async () => {
    await mirror.write({ tables: [tableOf('rentals', 1, [rowOf('rentals', { id: 31 })])] })
    await mirror.write(fill('31', 'boat-7', '12'))
    for (const id of ['31', '999']) {
      const counts = await mirror.write(fill(id, 'boat-7', '12'))
      expect(counts.get('rentals')).toEqual({ inserted: 0, updated: 0, unchanged: 0, deleted: 0 })
    }
    expect(await logOf(31)).toHaveLength(2)
  })
})

describe('data that Postgres refuses', () => {
  const bad = [
    { name: 'a text where a number belongs', row: rowOf('harbours', { id: 41, latitude: 'north' }) },
    { name: 'a payload that is no JSON', row: rowOf('harbours', { id: 42 }, '{"id":42') },
    { name: 'a number no numeric can hold', row: rowOf('harbours', { id: 43 }, '{"id":43,"x":1e200000}') },
    { name: 'a key that no index can hold', row: rowOf('resources', { id: longKey() }) },
  ]
  for (const { name, row } of bad)
    it(`${name}: is reported with its stream, and found among its neighbours`, async () => {
      const stream = row.values.length === streamNamed('harbours').columns.length ? 'harbours' : 'resources'
      const neighbours = Array.from({ length: 7 }, (_, index) => rowOf(stream, { id: 400 + index }))
      const write = tableOf(stream, 1, [...neighbours.slice(0, 5), row, ...neighbours.slice(5)])
      const failure = await mirror.write({ tables: [write] }).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(DataRefused)
      expect(failure).toMatchObject({ stream, kind: 'skip', code: 'DATA_REFUSED' })
      const found = await findRefusedRows(mirror.db, write)
      expect(found.map((each) => each.row)).toEqual([row])
      expect(found[0]?.reason).not.toBe('')
      expect(await mirror.all(`select count(*)::int as rows from mirror.${stream} where id::text like '40_'`)).toEqual([
        { rows: 0 },
      ])
    })

  it('rows that are fine are not found', async () => {
    expect(await findRefusedRows(mirror.db, tableOf('harbours', 1, [harbour(450, 'fine')]))).toEqual([])
  })
})

/** 9,000 characters that do not compress. */
function longKey(): string {
  return Array.from({ length: 300 }, (_, index) =>
    Math.sin(index + 1)
      .toString(36)
      .slice(2, 12),
  ).join('-')
}

describe('ten thousand rows of several key columns', () => {
  const prices = (price: number) =>
    Array.from({ length: 10_000 }, (_, index) =>
      rowOf('resource_pricetable', {
        resource_id: `large-${index % 50}`,
        date: new Date(Date.UTC(2027, 0, 1 + Math.floor(index / 50))).toISOString().slice(0, 10),
        duration: 'DAYS,1',
        base_price: price,
      }),
    )

  // Compared each with each they would take longer than any statement may.
  it('change in one statement', async () => {
    const first = await mirror.write({ tables: [tableOf('resource_pricetable', 1, prices(100))] })
    expect(first.get('resource_pricetable')).toMatchObject({ inserted: 10_000 })
    const second = await mirror.write({ tables: [tableOf('resource_pricetable', 2, prices(120.5))] })
    expect(second.get('resource_pricetable')).toEqual({ inserted: 0, updated: 10_000, unchanged: 0, deleted: 0 })
    const logged = await mirror.all(
      `select diff, count(*)::int as count from mirror.change_log
       where stream = 'resource_pricetable' and operation = 'update' group by diff`,
    )
    expect(logged).toEqual([{ diff: { base_price: [100, 120.5] }, count: 10_000 }])
  })
})

describe('writers at the same time', () => {
  it('that insert the same keys leave the newest read, and log each change once', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => 500 + index)
    const minutes = [3, 1, 4, 2]
    await Promise.all(
      minutes.map((minute) =>
        mirror.write({
          tables: [
            tableOf(
              'harbours',
              minute,
              ids.map((id) => harbour(id, `m${minute}`)),
            ),
          ],
        }),
      ),
    )
    const rows = await mirror.all('select distinct name from mirror.harbours where id between 500 and 539')
    expect(rows).toEqual([{ name: 'm4' }])
    const inserts = (await changeLog(mirror)).filter(
      ({ key, operation }) => Number(key.id) >= 500 && Number(key.id) < 540 && operation === 'insert',
    )
    expect(inserts).toHaveLength(40)
  })
})
