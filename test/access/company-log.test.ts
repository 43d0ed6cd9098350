// The change log of roles that are restricted to companies: nothing of a record reaches a role while it is of another company, and
// who follows the feed ends with the rows of its companies.

import fc from 'fast-check'
import type { QueryResultRow } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { companyStreamOf, streamNamed } from '../../src/catalog/catalog.ts'
import type { MirrorWrites } from '../../src/mirror/rows.ts'
import { applyWrites } from '../../src/mirror/writer.ts'
import { grantCompanies } from '../../src/serve/access/company-access.ts'
import { isFull, isQuick } from '../helpers/extent.ts'
import { asRole } from '../helpers/roles.ts'
import { at, feedSettled, type Mirror, openMirror, rowOf, tableOf } from '../helpers/rows.ts'
import { carryOut, empty, forget, keyText, liveRows, type Rows, type Step, step, used } from '../mirror/histories.ts'

const mark = Math.random().toString(36).slice(2, 8)
/** Restricted roles and their companies. */
const roles: Readonly<Record<string, readonly number[]>> = { [`one_${mark}`]: [1], [`two_${mark}`]: [2, 3] }

let mirror: Mirror
beforeAll(async () => {
  mirror = await openMirror()
  for (const [role, companies] of Object.entries(roles)) {
    await mirror.all(`create role ${role} in role boat_mirror_partner`)
    await mirror.db.transaction((client) => grantCompanies(client, role, companies.map(String)))
  }
})
afterAll(async () => {
  await mirror.all(`drop role ${Object.keys(roles).join(', ')}`)
  await mirror[Symbol.asyncDispose]()
})

const as = <Row extends QueryResultRow>(role: string, sql: string, values?: unknown[]): Promise<Row[]> =>
  asRole(mirror.db.pool, role, async (client) => (await client.query<Row>(sql, values)).rows, 'commit')

const followed = used.filter((name) => name !== 'users')

type Told = {
  readonly seq: string
  readonly stream: string
  readonly key: object
  readonly operation: string
  readonly diff: Record<string, [unknown, unknown]>
  readonly time: string
}
type Given = Told & { readonly cursor: string }

const columns = 'seq, stream, key, operation, diff, changed_at::text as time'

/** Everything that the feed gives a role, so many changes at a time. */
async function feed(role: string, cursor: string | null, most: number): Promise<readonly Given[]> {
  const all: Given[] = []
  for (;;) {
    const from = all.at(-1)?.cursor ?? cursor
    const some = await as<Given>(role, `select cursor, ${columns} from mirror.changes_since($1, $2)`, [from, most])
    all.push(...some)
    if (some.length < most) return all
  }
}

type Copy = Map<string, Map<string, Record<string, unknown>>>

function follow(copy: Copy, told: readonly Told[]): void {
  for (const { stream, key, operation, diff } of told) {
    const rows = copy.get(stream) ?? new Map()
    copy.set(stream, rows)
    const name = keyText(key)
    const after = Object.fromEntries(Object.entries(diff).map(([column, [, value]]) => [column, value]))
    if (operation === 'delete') rows.delete(name)
    else rows.set(name, { ...(operation === 'update' && rows.get(name)), ...after })
  }
}

/** Without what is null, and our own columns: a diff has only what there is. */
const plain = (rows: Rows | undefined): unknown =>
  Object.fromEntries(
    [...(rows ?? [])].map(([key, row]) => [
      key,
      Object.fromEntries(Object.entries(row).filter(([name, value]) => value != null && !name.startsWith('_'))),
    ]),
  )

/** The rows at a moment, those of deleted records too, and whose they are; null: nobody's, undefined: everybody's. */
type Seen = {
  readonly time: string
  readonly rows: ReadonlyMap<string, Rows>
  readonly owners: ReadonlyMap<string, number | null | undefined>
}

async function look(): Promise<Seen> {
  const rows = new Map<string, Rows>()
  const owners = new Map<string, number | null | undefined>()
  for (const name of used) {
    const top = companyStreamOf(streamNamed(name))
    const own =
      top === undefined
        ? 'null'
        : `(select r.${top.companyColumn} from mirror.${top.name} r where r.id = t.${streamNamed(name).key[0]})`
    rows.set(name, await liveRows(mirror, name))
    const found = await mirror.all<{ row: Record<string, unknown>; owner: string | null }>(
      `select to_jsonb(t) as row, ${own} as owner from mirror.${name} t`,
    )
    for (const { row, owner } of found) {
      const key = keyText(Object.fromEntries(streamNamed(name).key.map((column) => [column, row[column]])))
      owners.set(name + key, top === undefined ? undefined : owner === null ? null : Number(owner))
    }
  }
  const [now] = await mirror.all<{ now: string }>('select clock_timestamp()::text as now')
  return { time: now?.now ?? '', rows, owners }
}

const isOf = (companies: readonly number[], { owners }: Seen, place: string): boolean => {
  const owner = owners.get(place)
  return owners.has(place) && (owner === undefined || (owner !== null && companies.includes(owner)))
}

/** What reached a role that it must not know: of a record that was not of its companies, or a value that it did not have then. */
function leaks(companies: readonly number[], told: readonly Told[], seen: readonly Seen[]): readonly unknown[] {
  return told.filter(({ stream, key, operation, diff, time }) => {
    const index = seen.findIndex((each) => each.time >= time)
    const around = seen.slice(Math.max(0, index - 1), index + 1)
    const place = stream + keyText(key)
    const own = around.filter((each) => isOf(companies, each, place))
    if (own.length === 0 || stream === 'users') return true
    if (operation === 'delete') return Object.keys(diff).join() !== '_deleted_at'
    return Object.entries(diff).some(([column, pair]) =>
      pair.some(
        (value) =>
          value !== null &&
          !column.startsWith('_') &&
          // Within one transaction a record may pass from one of its companies to another.
          !(column === 'company_id' && companies.includes(Number(value))) &&
          !own.some(
            ({ rows }) => JSON.stringify(rows.get(stream)?.get(keyText(key))?.[column]) === JSON.stringify(value),
          ),
      ),
    )
  })
}

const shownThen = (companies: readonly number[], seen: Seen, name: string): Rows =>
  new Map([...(seen.rows.get(name) ?? [])].filter(([key]) => isOf(companies, seen, name + key)))

/** The changes lead to the rows that the role sees. */
async function expectRowsOf(role: string, told: readonly Told[]): Promise<void> {
  const copy: Copy = new Map()
  follow(copy, told)
  for (const name of followed) {
    const own = await liveRows({ all: (sql) => as(role, sql) }, name)
    expect({ role, name, rows: plain(copy.get(name)) }).toEqual({ role, name, rows: plain(own) })
  }
}

/** What the role is shown of these moments was of its companies then, by stream and by record. */
async function expectPast(role: string, moments: readonly Seen[], isWhole: boolean): Promise<void> {
  for (const name of followed) {
    const shown = moments.map((each) => shownThen(roles[role] ?? [], each, name))
    for (const [index, { time }] of moments.entries()) {
      const rows = await as<{ key: object; record: Record<string, unknown> }>(
        role,
        'select * from mirror.as_of($1, $2)',
        [name, time],
      )
      const found = new Map(rows.map(({ key, record }) => [keyText(key), record]))
      expect({ name, rows: found }).toEqual({ name, rows: shown[index] })
    }
    const keys = [
      ...new Set(moments.flatMap(({ owners }) => [...owners.keys()].filter((place) => place.startsWith(`${name}[`)))),
    ]
    const versions = await as<{ records: unknown[] }>(
      role,
      `select array(select mirror.record_at($1, key, time) from unnest($2::timestamptz[]) with ordinality t (time, place) order by place) as records
       from unnest($3::jsonb[]) with ordinality k (key, place) order by place`,
      [
        name,
        moments.map(({ time }) => time),
        keys.map((place) => JSON.stringify(Object.fromEntries(JSON.parse(place.slice(name.length))))),
      ],
    )
    for (const [index, { records }] of versions.entries()) {
      const key = (keys[index] ?? '').slice(name.length)
      // From before the log, history shows no text of a rental that got another user since.
      const unsure = isWhole || name !== 'rentals' ? {} : { message: expect.toSatisfy(() => true) }
      const expected = shown
        .map((rows) => rows.get(key))
        .map((row) => (row === undefined ? null : { ...row, ...unsure }))
      expect({ name, key, records }).toEqual({ name, key, records: expected })
    }
  }
}

const boat = (text: string, company: number | null): Step => ({
  kind: 'read',
  reads: [{ stream: 'resources', id: 1, part: 1, text, other: company }],
})
const option = (text: string): Step => ({
  kind: 'read',
  reads: [{ stream: 'resource_options', id: 1, part: 1, text, other: null }],
})
const resold: Step[] = [boat('a', 1), option('a'), boat('b', 2), option('b'), boat('b', null), boat('b', 1)]

/** The rental changes in the transaction in which it leaves the company with its boat. */
const atOnce: Step[] = [
  boat('a', null),
  { kind: 'read', reads: [{ stream: 'rentals', id: 1, part: 1, text: 'a', other: null }] },
  { kind: 'fill', id: 1, boat: 1, company: 1 },
  boat('a', 1),
  {
    kind: 'read',
    reads: [
      { stream: 'rentals', id: 1, part: 1, text: 'b', other: null },
      { stream: 'resources', id: 1, part: 1, text: 'b', other: 2 },
    ],
  },
]

/** The log begins with the sale of a boat that gets an option afterwards. */
const afterwards: Step[] = [
  { kind: 'read', reads: [{ stream: 'harbours', id: 1, part: 1, text: 'a', other: null }] },
  boat('a', 1),
  boat('a', 2),
  option('a'),
]

/** The option changes in the transaction in which its boat becomes known. */
const together: Step[] = [
  option('a'),
  {
    kind: 'read',
    reads: [
      { stream: 'resources', id: 1, part: 1, text: 'a', other: 1 },
      { stream: 'resource_options', id: 1, part: 1, text: 'b', other: null },
    ],
  },
]

describe('of a role that is restricted to companies', () => {
  it('the feed, the log and every version tell what was of them, and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(step, fc.boolean()), { minLength: 4, maxLength: 14 }),
        fc.integer({ min: 1, max: 30 }),
        fc.nat(8),
        async (steps, most, gone) => {
          await empty(mirror)
          const seen: Seen[] = [await look()]
          const given = new Map<string, Given[]>(Object.keys(roles).map((role) => [role, []]))
          const drain = async (): Promise<void> => {
            await feedSettled(mirror)
            for (const [role, before] of given) before.push(...(await feed(role, before.at(-1)?.cursor ?? null, most)))
          }
          for (const [index, [each, reads]] of steps.entries()) {
            const erased = await carryOut(mirror, each, index + 1)
            if (erased !== null)
              forget(
                seen.map(({ rows }) => rows),
                erased,
              )
            seen.push(await look())
            if (reads) await drain()
          }
          await drain()
          for (const pruned of [0, gone]) {
            await mirror.all(
              'delete from mirror.change_log where seq in (select seq from mirror.change_log order by seq limit $1)',
              [pruned],
            )
            const [log] = await mirror.all<{ begins: string | null }>(
              'select (select changed_at from mirror.change_log order by seq limit 1)::text as begins',
            )
            const moments = seen.filter(
              ({ time }, index) => index % 3 === 1 && log?.begins != null && time >= log.begins,
            )
            for (const [role, companies] of Object.entries(roles)) {
              const late = await feed(role, null, most)
              expect(leaks(companies, late, seen), role).toEqual([])
              const whole = pruned === 0 ? [given.get(role) ?? [], late] : []
              for (const entries of whole) await expectRowsOf(role, entries)
              const withoutCursor = late.map(({ cursor: _, ...entry }) => entry)
              expect(await as(role, `select ${columns} from mirror.changes`)).toEqual(withoutCursor)
              await expectPast(role, moments, pruned === 0)
            }
          }
        },
      ),
      {
        numRuns: isQuick ? 3 : isFull ? 500 : 30,
        examples: [
          [resold.map((each): [Step, boolean] => [each, true]), 1, 3],
          [atOnce.map((each): [Step, boolean] => [each, true]), 1, 0],
          [afterwards.map((each): [Step, boolean] => [each, true]), 1, 2],
          [together.map((each): [Step, boolean] => [each, true]), 1, 0],
        ],
      },
    )
  }, 1_800_000) // hundreds of histories, in full

  const options = (minute: number, name: string, ...ids: number[]): MirrorWrites => ({
    tables: [
      tableOf(
        'resource_options',
        minute,
        ids.map((id) => rowOf('resource_options', { resource_id: 'boat 1', id, name })),
      ),
    ],
  })
  const [one = '', two = ''] = Object.keys(roles)
  const seenBy = async (role: string): Promise<unknown> =>
    (await feed(role, null, 100)).map(({ stream, operation, key, diff }) => [
      stream,
      operation,
      (key as { id: unknown }).id,
      diff.name?.[1] ?? Object.keys(diff).join(),
    ])

  const sold = [
    ['resources', 'insert', 'boat 1', 'a'],
    ['resource_options', 'insert', 1, 'a'],
  ]
  const left = [
    ['resources', 'delete', 'boat 1', '_deleted_at'],
    ['resource_options', 'delete', 1, '_deleted_at'],
  ]
  const gone: MirrorWrites = {
    tombstones: [
      { stream: streamNamed('resource_options'), keys: [['boat 1', '1']], source: 'GET /v3/x', readAt: at(9) },
    ],
  }
  const deleted = ['resource_options', 'delete', 1, '_deleted_at']
  const inserted = ['resource_options', 'insert', 1, 'b']
  /** A boat is sold to one buyer after the other, each in a transaction, and in another one something below it changes. */
  async function sell(buyers: readonly number[], change: MirrorWrites, isOlder: boolean, isFirst: boolean) {
    await empty(mirror)
    await carryOut(mirror, boat('a', 1), 1)
    await mirror.write(options(2, 'a', 1))
    const writer = await mirror.db.pool.connect()
    const sellers = await Promise.all(buyers.map(() => mirror.db.pool.connect()))
    const write = (): Promise<unknown> => applyWrites(writer, change)
    try {
      // Who gets the first transaction id comes first in the feed; who writes first has the lower number.
      for (const client of isOlder ? [writer, ...sellers] : [...sellers, writer])
        await client.query('begin; select pg_current_xact_id()')
      if (isFirst) await write()
      for (const [index, client] of sellers.entries()) {
        const id = buyers[index] ?? 0
        const row = rowOf('resources', { id: 'boat 1', name: 'a', company_id: id }, { id: 'boat 1', company: { id } })
        await applyWrites(client, { tables: [tableOf('resources', 3 + index, [row])] })
        await client.query('commit')
      }
      if (!isFirst) await write()
      await writer.query('commit')
    } finally {
      for (const client of [writer, ...sellers]) client.release()
    }
    await feedSettled(mirror)
  }

  it.each([
    [
      'written after it, given before it',
      true,
      false,
      options(9, 'b', 1),
      [...sold, ...left],
      [
        ['resources', 'insert', 'boat 1', 'a'],
        ['resource_options', 'insert', 1, 'b'],
      ],
    ],
    [
      'deleted after it, given before it',
      true,
      false,
      gone,
      [...sold, deleted, left[0]],
      [['resources', 'insert', 'boat 1', 'a']],
    ],
    ['written before it, given after it', false, true, options(9, 'b', 1), [...sold, ...left], [sold[0], inserted]],
    ['deleted before it, given after it', false, true, gone, [...sold, ...left], [sold[0], deleted]],
  ])(
    'a change of what is below a boat whose sale overlaps with it: %s',
    async (_, isOlder, isFirst, change, ofOne, ofTwo) => {
      await sell([2], change, isOlder, isFirst)
      expect({ one: await seenBy(one), two: await seenBy(two) }).toEqual({ one: ofOne, two: ofTwo })
    },
  )

  it.each([
    ['written', options(9, 'b', 1), [...sold, ...left]],
    ['deleted', gone, [...sold, deleted, left[0]]],
    ['added', options(9, 'b', 1, 2), [...sold, ...left]],
  ])(
    'a company that has sold a boat is not shown what is %s below it then, though the feed gives it before',
    async (_, change, ofOne) => {
      await sell([2, 4], change, true, false)
      expect({ one: await seenBy(one), two: await seenBy(two) }).toEqual({ one: ofOne, two: [...sold, ...left] })
    },
  )

  const act = (who: number, does: Turn['does'], n: number): Turn => ({ who, does, n })
  type Turn = { readonly who: number; readonly does: 'sell' | 'write' | 'drop' | 'commit'; readonly n: number }
  const turn: fc.Arbitrary<Turn> = fc.record({
    who: fc.nat(2),
    does: fc.constantFrom('sell', 'write', 'write', 'drop', 'commit'),
    n: fc.nat(2),
  })

  it('is not shown what was written below a boat while it was of others, however transactions overlap', async () => {
    const buyers = [1, 2, 4]
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { minLength: 6, maxLength: 24 }),
        fc.integer({ min: 1, max: 9 }),
        async (turns, most) => {
          await empty(mirror)
          await carryOut(mirror, boat('a', 1), 1)
          await mirror.write(options(2, 'v0', 1, 2, 3))
          /** Who had each value, from when it was written until the next one was committed. */
          const had = new Map<string, Set<number>>()
          let owner = 1
          let next: number | null = null
          const present = new Map([1, 2, 3].map((id) => [id, ['v0']]))
          const note = (): void => {
            for (const [id, values] of present)
              for (const value of values) {
                const place = `${id} ${value}`
                had.set(place, new Set([...(had.get(place) ?? []), owner, ...(next === null ? [] : [next])]))
              }
          }
          note()
          const clients = await Promise.all([0, 1, 2].map(() => mirror.db.pool.connect()))
          const open = new Map<number, { sells: boolean; readonly writes: Map<number, string | null> }>()
          const commit = async (who: number): Promise<void> => {
            const own = open.get(who)
            if (own === undefined) return
            await clients[who]?.query('commit')
            open.delete(who)
            for (const [id, value] of own.writes) present.set(id, value === null ? [] : [value])
            if (own.sells) [owner, next] = [next ?? owner, null]
            note()
          }
          try {
            for (const [index, { who, does, n }] of turns.entries()) {
              const client = clients[who]
              if (client === undefined) continue
              if (does === 'commit') {
                await commit(who)
                continue
              }
              const own = open.get(who) ?? { sells: false, writes: new Map<number, string | null>() }
              if (!open.has(who)) await client.query('begin; select pg_current_xact_id()')
              open.set(who, own)
              const others = [...open].filter(([each]) => each !== who).map(([, each]) => each)
              const minute = 3 + index
              if (does === 'sell') {
                // One sale at a time, and none twice in a transaction.
                if (next !== null) continue
                const id = buyers[n] ?? 1
                ;[own.sells, next] = [true, id]
                const row = rowOf(
                  'resources',
                  { id: 'boat 1', name: 'a', company_id: id },
                  { id: 'boat 1', company: { id } },
                )
                await applyWrites(client, { tables: [tableOf('resources', minute, [row])] })
              } else {
                const id = n + 1
                if (others.some(({ writes }) => writes.has(id))) continue
                const value = does === 'write' ? `v${minute}` : null
                own.writes.set(id, value)
                if (value !== null) present.set(id, [...(present.get(id) ?? []), value])
                await applyWrites(
                  client,
                  value !== null
                    ? options(minute, value, id)
                    : {
                        tombstones: [
                          {
                            stream: streamNamed('resource_options'),
                            keys: [['boat 1', String(id)]],
                            source: 'GET /v3/x',
                            readAt: at(minute),
                          },
                        ],
                      },
                )
              }
              note()
            }
            for (const who of [...open.keys()]) await commit(who)
          } finally {
            for (const client of clients) client.release()
          }
          await feedSettled(mirror)
          for (const [role, companies] of Object.entries(roles)) {
            const told = await feed(role, null, most)
            await expectRowsOf(role, told)
            const foreign = told.filter(
              ({ stream, key, diff }) =>
                stream === 'resource_options' &&
                (diff.name ?? []).some(
                  (value) =>
                    value !== null &&
                    !companies.some((each) => had.get(`${(key as { id: number }).id} ${value}`)?.has(each)),
                ),
            )
            expect({ role, foreign }).toEqual({ role, foreign: [] })
          }
        },
      ),
      {
        numRuns: isQuick ? 10 : isFull ? 300 : 30,
        // The option is written by who comes later in the feed, and committed before the boat is sold.
        // And an option is deleted and is back in the transaction that sells its boat.
        examples: [
          [[act(0, 'write', 0), act(2, 'write', 1), act(2, 'commit', 0), act(0, 'sell', 1)], 1],
          [[act(0, 'sell', 1), act(0, 'drop', 2), act(0, 'write', 2)], 1],
        ],
      },
    )
  }, 1_800_000) // hundreds of histories, in full

  it('all rows below a boat that was sold come together, whatever number was asked for', async () => {
    await empty(mirror)
    await carryOut(mirror, boat('a', 1), 1)
    await mirror.write(options(2, 'a', 1, 2, 3))
    await carryOut(mirror, boat('b', 2), 3)
    await feedSettled(mirror)
    const pages: number[] = []
    for (let cursor: string | null = null; ; ) {
      const rows: { cursor: string }[] = await as(two, 'select cursor from mirror.changes_since($1, 1)', [cursor])
      if (rows.length === 0) break
      pages.push(rows.length)
      cursor = rows.at(-1)?.cursor ?? cursor
    }
    expect(pages).toEqual([4])
    // A reader that has acknowledged less gets all of it again.
    const next = (): Promise<{ cursor: string }[]> => as(two, `select cursor from mirror.next_changes('sale')`)
    const before = await next()
    for (const { cursor } of before.slice(0, -1)) await as(two, `select mirror.ack_changes('sale', $1)`, [cursor])
    expect(await next()).toHaveLength(before.length)
    await as(two, `select mirror.ack_changes('sale', $1)`, [before.at(-1)?.cursor])
    expect(await next()).toEqual([])
  })

  it('a consumer passes what it is not shown, and gets what comes then', async () => {
    await empty(mirror)
    const next = (): Promise<{ cursor: string; key: { id: string } }[]> =>
      as(one, `select cursor, key from mirror.next_changes('mine', 1)`)
    const place = (): Promise<unknown> => as(one, `select name, cursor, behind = '0' as up_to_date from sync.consumers`)
    await carryOut(mirror, boat('a', 2), 1)
    await feedSettled(mirror)
    expect(await next()).toEqual([])
    const [last] = await mirror.all<{ place: string }>(
      `select regexp_replace(mirror.last_cursor(), '.[0-9a-f]+$', '') as place`,
    )
    expect(await place()).toEqual([{ name: 'mine', cursor: last?.place, up_to_date: true }])
    await carryOut(mirror, boat('b', 3), 2)
    await carryOut(mirror, boat('b', 1), 3)
    await feedSettled(mirror)
    const [change] = await next()
    expect(change?.key).toEqual({ id: 'boat 1' })
    await as(one, `select mirror.ack_changes('mine', $1)`, [change?.cursor])
    expect(await next()).toEqual([])
    await expect(as(two, `select mirror.next_changes('mine')`)).rejects.toMatchObject({ code: '42501' })
    expect(await as(two, 'select name from sync.consumers')).toEqual([])
  })

  it('the log of entries before this version is shown as well: first ones that were logged whole', async () => {
    await empty(mirror)
    await carryOut(mirror, boat('a', 1), 1)
    await mirror.all(
      `update mirror.change_log set whole = true, diff = '{"id": [null, "boat 1"], "name": [null, "a"], "company_id": [null, 1]}'`,
    )
    await mirror.write(options(2, 'a', 1))
    await carryOut(mirror, boat('a', 2), 3)
    await feedSettled(mirror)
    expect({ one: await seenBy(one), two: await seenBy(two) }).toEqual({ one: [...sold, ...left], two: sold })
  })
})

it('reads the log of a role that sees everything as the table itself, also in its order', async () => {
  const plan = await mirror.db.transaction(async (client) => {
    await client.query('set local enable_seqscan = off; set local enable_sort = off')
    return (
      await client.query<{ 'QUERY PLAN': string }>(
        'explain (costs off) select seq, key from mirror.changes order by seq desc limit 5',
      )
    ).rows
  })
  const lines = plan.map((row) => row['QUERY PLAN'].trim())
  expect(lines.filter((line) => line.includes('Index Scan Backward using change_log')).length).toBeGreaterThan(1)
  expect(lines.filter((line) => line.endsWith('Sort'))).toHaveLength(1) // of the rows of restricted roles: none
})
