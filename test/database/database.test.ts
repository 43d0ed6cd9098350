// The pool and transactions: repetition after deadlocks, lost connections, and what errors say to a person.

import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { openDatabase, withStatementTimeout } from '../../src/database/database.ts'
import { translateDatabaseError } from '../../src/database/sql-states.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { withDatabase } from '../helpers/addresses.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror, quiet } from '../helpers/rows.ts'

const mirror = opened(openMirror)
beforeAll(async () => {
  await mirror.db.pool.query('create table public.numbers (id int primary key, value int not null)')
  await mirror.db.pool.query('insert into public.numbers values (1, 0), (2, 0)')
})

/** What a query on another address fails with, as a person sees it. */
async function failureAt(url: string): Promise<unknown> {
  const db = openDatabase({ url, applicationName: 'test', max: 1, log: quiet })
  try {
    return await db.transaction((client) => client.query('select 1')).catch((error: unknown) => error)
  } finally {
    await db.close()
  }
}

describe('a transaction', () => {
  it('commits what it did, and rolls back when it throws', async () => {
    await mirror.db.transaction((client) => client.query('insert into public.numbers values (10, 1)'))
    const failing = mirror.db.transaction(async (client) => {
      await client.query('insert into public.numbers values (11, 1)')
      throw new Error('changed my mind')
    })
    await expect(failing).rejects.toThrow('changed my mind')
    expect(await mirror.all('select id from public.numbers where id in (10, 11)')).toEqual([{ id: 10 }])
  })

  it('that deadlocks with another is run again, and both take effect', async () => {
    await mirror.db.pool.query('update public.numbers set value = 0')
    let waiting = 0
    let meet = (): void => undefined
    const met = new Promise<void>((resolve) => {
      meet = resolve
    })
    let runs = 0
    const crossings: Promise<void>[] = []
    const crossing = (first: number, second: number): Promise<void> =>
      mirror.db.transaction(async (client) => {
        runs += 1
        if (runs > 2) await Promise.any(crossings) // or it may be back before the other has what it waits for
        await client.query('update public.numbers set value = value + 1 where id = $1', [first])
        waiting += 1
        if (waiting === 2) meet()
        await met
        await client.query('update public.numbers set value = value + 1 where id = $1', [second])
      })
    crossings.push(crossing(1, 2), crossing(2, 1))
    await Promise.all(crossings)
    expect(runs).toBe(3)
    expect(await mirror.all('select value from public.numbers where id in (1, 2)')).toEqual([
      { value: 2 },
      { value: 2 },
    ])
  })

  it('that keeps failing to serialize is given up as something to try later', async () => {
    let runs = 0
    const failing = mirror.db.transaction(async (client) => {
      runs += 1
      await client.query(`do $$ begin raise exception 'x' using errcode = '40001'; end $$`)
    })
    await expect(failing).rejects.toMatchObject({ code: 'DATABASE_BUSY', kind: 'retry' })
    expect(runs).toBe(5)
  })

  it('whose connection is killed fails as something to try again; the process and the pool live on', async () => {
    const killed = mirror.db.transaction(async (client) => {
      await client.query('select pg_terminate_backend(pg_backend_pid())')
    })
    await expect(killed).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE', kind: 'retry' })
    expect(await mirror.all('select 1 as one')).toEqual([{ one: 1 }])
  })

  it('that takes too long is ended by the server', async () => {
    const db = openDatabase({ url: mirror.url, applicationName: 'test', max: 1, log: quiet, statementTimeoutMs: 500 })
    try {
      await expect(db.transaction((client) => client.query('select pg_sleep(60)'))).rejects.toMatchObject({
        code: 'DATABASE_BUSY',
      })
    } finally {
      await db.close()
    }
  })
})

describe('a statement that may take longer than others', () => {
  const lasting = async (seconds: number, ms: number): Promise<unknown> => {
    const db = openDatabase({ url: mirror.url, applicationName: 'test', max: 1, log: quiet, statementTimeoutMs: 500 })
    try {
      return await db.transaction(async (client) => {
        const { rows } = await (await withStatementTimeout(client, ms)).query(`select 1 as one, pg_sleep($1)`, [
          seconds,
        ])
        return rows.length
      })
    } finally {
      await db.close()
    }
  }

  it('is waited for, also when that is longer than we wait for any other', async () => {
    expect(await Promise.all([lasting(3, 0), lasting(3, 60_000)])).toEqual([1, 1])
  })

  it('is ended by the server when its own time is over', async () => {
    await expect(lasting(60, 100)).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
  })
})

describe('values', () => {
  it('of bigint, numeric and date are text, instants are Dates', async () => {
    const [row] = await mirror.all(
      `select 9007199254740993::bigint as id, 0.10::numeric as price, '2026-03-29'::date as day, '2026-07-14T09:00Z'::timestamptz as instant`,
    )
    expect(row).toEqual({
      id: '9007199254740993',
      price: '0.10',
      day: '2026-03-29',
      instant: new Date('2026-07-14T09:00Z'),
    })
  })
})

describe('errors', () => {
  it('a refused connection names DATABASE_URL without the password, and what to do', async () => {
    const failure = await failureAt('postgres://boat:s3cret@127.0.0.1:1/boats')
    expect(failure).toBeInstanceOf(BoatMirrorError)
    expect(failure).toMatchObject({
      code: 'DATABASE_UNREACHABLE',
      kind: 'retry',
      remedy: expect.stringContaining('DATABASE_URL'),
    })
    expect(String(failure)).toContain('postgres://boat:***@127.0.0.1:1/boats')
    expect(String(failure)).not.toContain('s3cret')
  })

  it('a server that accepts and says nothing counts as unreachable', async () => {
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    expect(await failureAt(`postgres://boat@127.0.0.1:${port}/boats`)).toMatchObject({ code: 'DATABASE_UNREACHABLE' })
    server.close()
  })

  it('an unknown database is refused for good', async () => {
    expect(await failureAt(withDatabase(inject('adminUrl'), 'no_such_database'))).toMatchObject({
      code: 'DATABASE_REFUSED',
      kind: 'fatal',
      remedy: expect.stringContaining('Create the database'),
    })
  })

  it('an unknown role is refused for good', async () => {
    const url = new URL(inject('adminUrl'))
    url.username = 'nobody_known'
    url.password = 'x'
    expect(await failureAt(url.href)).toMatchObject({ code: 'DATABASE_REFUSED', kind: 'fatal' })
  })

  const statements = [
    { name: 'a missing table', sql: 'select * from mirror.no_such_table', code: 'DATABASE_SCHEMA' },
    { name: 'a missing schema', sql: 'create table no_such_schema.x ()', code: 'DATABASE_SCHEMA' },
    {
      name: 'a missing privilege',
      sql: 'set local role boat_mirror_enqueue; select * from mirror.rentals',
      code: 'DATABASE_PRIVILEGE',
    },
  ]
  for (const { name, sql, code } of statements)
    it(`${name} is ${code}`, async () => {
      await expect(mirror.db.transaction((client) => client.query(sql))).rejects.toMatchObject({ code, kind: 'fatal' })
    })

  it('of ours, and faults of a statement, come back as they are', async () => {
    const ours = new BoatMirrorError('LEASE_LOST', 'x')
    expect(translateDatabaseError(ours)).toBe(ours)
    const fault = await mirror.db.pool.query('select 1/0').catch((error: unknown) => error)
    expect(translateDatabaseError(fault)).toBe(fault)
    const other = new Error('Connection')
    expect(translateDatabaseError(other)).toBe(other)
  })
})
