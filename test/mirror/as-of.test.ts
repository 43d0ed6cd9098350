// mirror.as_of: the rows of a stream at a moment are those that were there, whatever came after it.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { grantCompanies } from '../../src/serve/access/company-access.ts'
import { isFull, isQuick } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { asRole, stateOf } from '../helpers/roles.ts'
import { openMirror, rowOf, tableOf } from '../helpers/rows.ts'
import { carryOut, empty, forget, keyText, liveRows, type Rows, type Step, step, used } from './histories.ts'

const mirror = opened(openMirror)

type Seen = { readonly time: string; readonly rows: ReadonlyMap<string, Rows>; readonly report: unknown }

const clock = async (): Promise<string> =>
  (await mirror.all<{ now: string }>('select clock_timestamp()::text as now'))[0]?.now ?? ''

async function look(): Promise<Seen> {
  // What was read is not remembered once a rental is gone.
  await mirror.all(`insert into sync.records (stream, key, detail_read_at) select 'rental_payments', n::text, now()
    from generate_series(1, 2) n on conflict (stream, key) do update set detail_read_at = now()`)
  const rows = new Map<string, Rows>()
  for (const name of used) rows.set(name, await liveRows(mirror, name))
  return { time: await clock(), rows, report: await reported('report.rentals') }
}

const reported = (source: string): Promise<unknown> =>
  mirror.all(`select to_jsonb(r) as row from ${source} r order by rental_id`)

async function asOf(stream: string, time: string): Promise<Rows> {
  const rows = await mirror.all<{ key: object; record: Record<string, unknown> }>(
    'select * from mirror.as_of($1, $2)',
    [stream, time],
  )
  return new Map(rows.map(({ key, record }) => [keyText(key), record]))
}

const read = (stream: 'rentals' | 'users', text: string, other: number | null): Step => ({
  kind: 'read',
  reads: [{ stream, id: 1, part: 1, text, other }],
})

/** A rental that was a person's, and was deleted as another's: what it still holds is not shown for the time of the first. */
const passedOn: Step[] = [
  read('users', 'a', null),
  read('rentals', 'a', 1),
  read('rentals', 'b', 2),
  read('rentals', 'ü"\\', 2),
  { kind: 'gone', stream: 'rentals', id: 1, part: 1 },
  { kind: 'erase', id: 1 },
]

it('returns what was there at every moment', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      await empty(mirror)
      const seen: Seen[] = []
      for (const [index, each] of steps.entries()) {
        const erased = await carryOut(mirror, each, index + 1)
        if (erased !== null)
          forget(
            seen.map((each) => each.rows),
            erased,
          )
        seen.push(await look())
      }
      const [log] = await mirror.all<{ begins: string | null }>(
        'select (select changed_at from mirror.change_log order by seq limit 1)::text as begins',
      )
      for (const { time, rows, report } of seen.filter(({ time }) => log?.begins != null && time >= log.begins)) {
        for (const name of used) expect({ name, rows: await asOf(name, time) }).toEqual({ name, rows: rows.get(name) })
        expect(await reported(`report.rentals_as_of('${time}')`)).toEqual(report)
      }
    }),
    { numRuns: isQuick ? 5 : isFull ? 1_000 : 100, examples: [[passedOn]] },
  )
}, 1_800_000) // a thousand histories, in full

const ids = async (stream: string, time: string): Promise<readonly string[]> => [...(await asOf(stream, time)).keys()]

it.each([
  ['an unknown stream', `'ships', now()`, "There is no stream 'ships'."],
  ['no stream', `null, now()`, 'There is no stream null.'],
  ['no moment', `'rentals', null`, 'The moment is null. The change log begins at'],
  [
    'a moment before the log',
    `'rentals', '2020-01-01Z'`,
    'The moment is 2020-01-01 00:00:00+00. The change log begins at',
  ],
  ['a moment to come', `'rentals', now() + interval '1 minute'`, 'Changes of a transaction that was open'],
])('refuses %s', async (_, given, message) => {
  await mirror.write({ tables: [tableOf('harbours', 1, [rowOf('harbours', { id: 1 })])] })
  await expect(mirror.all(`select * from mirror.as_of(${given})`)).rejects.toMatchObject({
    code: '22023',
    message: expect.stringContaining(message),
  })
})

it('refuses every moment while the log is empty', async () => {
  await empty(mirror)
  await expect(asOf('rentals', await clock())).rejects.toMatchObject({
    code: '22023',
    message: expect.stringMatching(/is empty\.$/),
  })
})

it('refuses what an open transaction may still change, and returns it once that has ended', async () => {
  await empty(mirror)
  await carryOut(mirror, read('rentals', 'a', null), 1)
  const before = await clock()
  const writer = await mirror.db.pool.connect()
  try {
    await writer.query('begin')
    await writer.query(`select pg_current_xact_id()`)
    const during = await clock()
    await expect(asOf('rentals', during)).rejects.toMatchObject({ code: '22023' })
    expect(await ids('rentals', before)).toEqual([keyText({ id: 1 })])
    await writer.query(
      `insert into mirror.change_log (stream, key, operation, diff) values ('rentals', '{"id": 1}', 'update', '{"status": ["b", "a"]}')`,
    )
    const written = await clock()
    await writer.query('commit')
    expect((await asOf('rentals', during)).get(keyText({ id: 1 }))).toMatchObject({ status: 'b' })
    expect((await asOf('rentals', written)).get(keyText({ id: 1 }))).toMatchObject({ status: 'a' })
  } finally {
    writer.release()
  }
})

it('refuses the past in an older snapshot', async () => {
  const client = await mirror.db.pool.connect()
  try {
    await client.query('begin isolation level repeatable read')
    await expect(client.query(`select * from mirror.as_of('rentals', now())`)).rejects.toMatchObject({ code: '25001' })
  } finally {
    await client.query('rollback')
    client.release()
  }
})

it('shows a restricted role the rows that were of its companies then', async () => {
  await empty(mirror)
  const role = `then_${Math.random().toString(36).slice(2, 8)}`
  await mirror.all(
    `create role ${role} in role boat_mirror_partner; create role ${role}_reader in role boat_mirror_reader`,
  )
  try {
    await mirror.db.transaction((client) => grantCompanies(client, role, ['1']))
    const boat = (other: number, text: string): Step => ({
      kind: 'read',
      reads: [{ stream: 'resources', id: 1, part: 1, text, other }],
    })
    await carryOut(mirror, boat(1, 'a'), 1)
    await carryOut(mirror, read('rentals', 'a', null), 2)
    await carryOut(mirror, { kind: 'fill', id: 1, boat: 1, company: 1 }, 3)
    await carryOut(
      mirror,
      {
        kind: 'read',
        reads: [
          { stream: 'rental_payments', id: 1, part: 1, text: 'a', other: 1 },
          { stream: 'harbours', id: 1, part: 1, text: 'a', other: 1 },
          { stream: 'companies', id: 1, part: 1, text: 'a', other: 1 },
        ],
      },
      4,
    )
    const owned = await clock()
    await carryOut(mirror, boat(2, 'b'), 5)
    const sold = await clock()
    const as = (who: string, sql: string): Promise<readonly unknown[] | string> =>
      asRole(mirror.db.pool, who, async (client) => (await client.query(sql)).rows).catch(stateOf)
    const seen = async (time: string): Promise<unknown> => {
      const counts: Record<string, unknown> = {}
      for (const name of used) {
        const rows = await as(role, `select key from mirror.as_of('${name}', '${time}')`)
        counts[name] = typeof rows === 'string' ? rows : rows.length
      }
      return {
        ...counts,
        report: await as(role, `select resource_name, company_name from report.rentals_as_of('${time}')`),
      }
    }
    const shown = { harbours: 1, companies: 1, resource_options: 0, rental_options: 0 }
    expect(await seen(owned)).toEqual({
      ...shown,
      users: '42501',
      resources: 1,
      rentals: 1,
      rental_payments: 1,
      report: [{ resource_name: 'a', company_name: 'a' }],
    })
    expect(await seen(sold)).toEqual({
      ...shown,
      users: '42501',
      resources: 0,
      rentals: 0,
      rental_payments: 0,
      report: [],
    })
    expect(await as(`${role}_reader`, `select from mirror.as_of('rentals', '${owned}')`)).toBe('42501')
    expect(await as(`${role}_reader`, `select rental_id::int from report.rentals_as_of('${sold}')`)).toEqual([
      { rental_id: 1 },
    ])
  } finally {
    await mirror.all(`drop role ${role}; drop role ${role}_reader`)
    await mirror.all('delete from company_access.grants; select company_access.enforce()')
  }
})
