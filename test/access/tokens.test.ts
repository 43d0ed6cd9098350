// `access token` as people call it, and what the role of a token may read.

import type { QueryResultRow } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streams } from '../../src/catalog/catalog.ts'
import { errorOf, openCommandLine } from '../cli/program.ts'
import { withLogin } from '../helpers/addresses.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const denied = '42501'
const mark = Math.random().toString(36).slice(2, 8)

type Created = {
  readonly id: string
  readonly token: string
  readonly role: string
  readonly sql: readonly string[]
}

const mirror = opened(openMirror)
const cli = opened(() => openCommandLine({ DATABASE_URL: mirror.url }))
beforeAll(async () => {
  await mirror.write({
    tables: [
      tableOf('companies', 1, [rowOf('companies', { id: 1 }), rowOf('companies', { id: 2 })]),
      tableOf('rentals', 1, [rowOf('rentals', { id: 10 }), rowOf('rentals', { id: 20 })]),
      tableOf('users', 1, [rowOf('users', { id: 7 })]),
    ],
  })
  await mirror.all('update mirror.rentals set company_id = id / 10')
})
afterAll(async () => {
  for (const { id } of await mirror.all<{ id: string }>('select id from sync.access_tokens where revoked_at is null'))
    await cli.run(['access', 'token', 'revoke', id])
})

async function create(name: string, ...flags: readonly string[]): Promise<Created> {
  const ended = await cli.run(['access', 'token', 'create', name, ...flags, '--json'])
  expect(errorOf(ended)).toBe('')
  return JSON.parse(ended.stdout)
}

/** Rows of a query as a role that the session has become, or the state of the refusal. */
async function as<Row extends QueryResultRow>(role: string, sql: string, session?: string): Promise<Row[] | string> {
  const client = await mirror.db.pool.connect()
  try {
    await client.query('begin')
    if (session !== undefined) await client.query(`set local session authorization ${session}`)
    await client.query(`set local role ${role}`)
    return (await client.query<Row>(sql)).rows
  } catch (error) {
    return String((error as { code?: string }).code)
  } finally {
    await client.query('rollback')
    client.release()
  }
}

/** Rows of a statement of a role's that is committed. */
async function asKept<Row extends QueryResultRow>(role: string, sql: string): Promise<Row[]> {
  return await mirror.db.transaction(async (client) => {
    await client.query(`set local role ${role}`)
    return (await client.query<Row>(sql)).rows
  })
}

const rolesNamed = async (role: string): Promise<number> =>
  (await mirror.all('select from pg_roles where rolname = $1', [role])).length

describe('a token', () => {
  it('is printed once, stored as a hash, listed, and revoked with its role', async () => {
    const ended = await cli.run(['access', 'token', 'create', 'booking', '--write', '--expires', '90d'])
    expect(ended.code).toBe(0)
    expect(ended.stdout).toMatch(/^bmt_[1-9]\d*_[A-Za-z0-9_-]{43}\n$/)
    const secret = ended.stdout.trim().slice(-43)
    const stored = JSON.stringify(await mirror.all('select *, encode(hash, $1) from sync.access_tokens', ['escape']))
    expect(stored).toContain('booking')
    expect(stored).not.toContain(secret)

    const [listed] = JSON.parse((await cli.run(['access', 'token', 'list', '--json'])).stdout)
    expect(listed).toMatchObject({ name: 'booking', state: 'active', companies: null, personal: false, write: true })
    expect(Date.parse(listed.expiresAt) - Date.parse(listed.createdAt)).toBeCloseTo(90 * 86_400_000, -5)
    expect(JSON.stringify(listed)).not.toContain(secret)
    expect(await rolesNamed(listed.role)).toBe(1)

    const revoked = await cli.run(['access', 'token', 'revoke', 'booking'])
    expect(revoked).toMatchObject({ code: 0, stdout: `Token ${listed.id}, booking, is revoked.\n` })
    expect(await rolesNamed(listed.role)).toBe(0)
    expect((await cli.run(['access', 'token', 'list'])).stdout).toMatch(/booking +revoked +all +no +yes/)
    const again = await cli.run(['access', 'token', 'revoke', listed.id])
    expect([again.code, errorOf(again)]).toEqual([1, expect.stringContaining('There is no valid token')])
  })

  it('that is revoked takes with it what it had queued and was not sent, and nothing else', async () => {
    const [leaver, stayer] = [await create('leaver', '--write'), await create('stayer', '--write')]
    const queue = async (role: string, mark: string): Promise<number> => {
      const sql = `select outbox.enqueue('rental.update', '{"rentalId": 10}', '{"orderLink": "${mark}"}')::int as id`
      return (await asKept<{ id: number }>(role, sql))[0]?.id ?? 0
    }
    const changes = ['sent', 'claimed', 'waits', 'conflict', 'decided', 'unknown', 'done'] as const
    const ids = new Map<string, number>()
    for (const name of changes) ids.set(name, await queue(leaver.role, name))
    const of = (name: string): number => ids.get(name) ?? 0
    const others = await queue(stayer.role, 'theirs')
    const set = (name: string, values: string) => mirror.all(`update outbox.queue set ${values} where id = ${of(name)}`)
    const claimed = `status = 'sending', owner = 'a worker', fence = 1, lease_until = now() + interval '1 h'`
    // One change of a record is on its way at a time.
    await set('sent', `${claimed}, departed = true, sent_at = now()`)
    await set('claimed', `${claimed}, aggregate = 'rental:20'`)
    await set('conflict', `status = 'conflict'`)
    await set('decided', `status = 'conflict'`)
    await set('unknown', `status = 'unknown', departed = true`)
    await set('done', `status = 'done', settled_at = now()`)
    await mirror.all(`insert into sync.decisions (who, via, what, target, plan)
      values ('an operator', 'page', 'remote', 'change:${of('decided')}', 'plan')`)
    // One of another token's waits for one that is not sent.
    await mirror.all('insert into outbox.dependencies (change_id, depends_on) values ($1, $2)', [others, of('waits')])

    const ended = await cli.run(['access', 'token', 'revoke', 'leaver'])
    expect(ended.stdout).toBe(
      `Token ${leaver.id}, leaver, is revoked.\n3 of its unsent changes are canceled: boat-mirror changes list --status canceled\n`,
    )
    const states = await mirror.all<{ id: number; status: string; error: string | null }>(
      'select id::int, status, error from outbox.queue where id = any($1) order by id',
      [[...ids.values(), others]],
    )
    expect(states.map(({ status }) => status)).toEqual([
      ...['sending', 'canceled', 'canceled', 'canceled', 'conflict', 'unknown', 'done'],
      'blocked',
    ])
    expect(states[2]?.error).toBe(
      `Access token ${leaver.id} (leaver) was revoked before this was sent. If it is still wanted, queue it again as another role.`,
    )
    const decided = await mirror.all<{ target: string }>(
      `select target from sync.decisions where what = 'cancel' and via = 'command' and target = any($1) order by id`,
      [[...ids.values()].map((id) => `change:${id}`)],
    )
    expect(decided).toEqual(['claimed', 'waits', 'conflict'].map((name) => ({ target: `change:${of(name)}` })))
    // As the text says, an operator may have it sent: then what waited for it goes on, too.
    expect((await cli.run(['changes', 'retry', String(of('waits'))])).code).toBe(0)
    await mirror.all('delete from outbox.queue where id = any($1)', [[...ids.values(), others]])
  })

  it('that has expired keeps what it has queued until it is revoked', async () => {
    const { role } = await create('old', '--write', '--expires', '1h')
    await asKept(role, `select outbox.enqueue('rental.update', '{"rentalId": 10}', '{"orderLink": "old"}')`)
    await mirror.all(`update sync.access_tokens set expires_at = now() where name = 'old'`)
    const open = () => mirror.all(`select from outbox.queue where status = 'queued' and enqueued_by = $1`, [role])
    expect(await open()).toHaveLength(1)
    const { canceled } = JSON.parse((await cli.run(['access', 'token', 'revoke', 'old', '--json'])).stdout)
    expect([canceled, (await open()).length]).toEqual([1, 0])
  })

  it('has a name that no other valid token has, and that is no number', async () => {
    const { id } = await create('twice')
    const again = await cli.run(['access', 'token', 'create', 'twice'])
    expect([again.code, errorOf(again)]).toEqual([2, expect.stringContaining('A token named twice already exists.')])
    await cli.run(['access', 'token', 'revoke', id])
    expect((await create('twice')).id).not.toBe(id)
    for (const args of [['17'], ['x', '--companies', 'a'], ['x', '--expires', 'soon'], ['x', '--expires', '0d']])
      expect((await cli.run(['access', 'token', 'create', ...args])).code, args.join(' ')).toBe(2)
  })

  it('for companies that the mirror does not have is created with a note, as a grant is', async () => {
    const ended = await cli.run(['access', 'token', 'create', 'later', '--companies', '1,77'])
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining('The mirror has no company 77 yet.\n') })
  })
})

describe('the role of a token', () => {
  it('reads every record without users and their documents; with --personal also these; no hash of a credential', async () => {
    const [plain, personal] = [await create('plain'), await create('personal', '--personal')]
    const ofPersons = ['users', 'user_identities', 'user_licenses']
    expect(ofPersons.every((name) => streams.some((stream) => stream.name === name))).toBe(true)
    for (const { name } of streams) {
      const [own, all] = await Promise.all(
        [plain, personal].map(({ role }) => as(role, `select * from mirror.${name} limit 1`)),
      )
      expect(all, name).toBeInstanceOf(Array)
      if (ofPersons.includes(name)) expect(own, name).toBe(denied)
      else expect(own, name).toBeInstanceOf(Array)
    }
    for (const role of [plain.role, personal.role, 'boat_mirror_reader', 'boat_mirror_partner'])
      for (const table of ['access_tokens', 'calendar_keys'])
        expect(await as(role, `select * from sync.${table}`), `${role} ${table}`).toBe(denied)
  })

  it('sees the rows of its companies alone, and no other role is restricted by it', async () => {
    const server = `server_${mark}`
    await mirror.all(`create role ${server} nologin in role boat_mirror_partner`)
    const { role } = await create('one', '--companies', '1', '--personal', '--server', server)
    const ids = 'select id::int as id from mirror.rentals order by id'
    expect(await as(role, ids)).toEqual([{ id: 10 }])
    expect(await as(role, ids, server)).toEqual([{ id: 10 }])
    expect(await as(role, 'select * from mirror.users')).toBe(denied)
    expect(await as(server, ids, server)).toEqual([{ id: 10 }, { id: 20 }])
    expect(await as('boat_mirror_partner', ids, server)).toEqual([{ id: 10 }, { id: 20 }])
    const other = await create('all')
    expect(await as(other.role, ids)).toEqual([{ id: 10 }, { id: 20 }])
  })

  it('that is a member of a restricted role sees the companies of both, and its server everything', async () => {
    const [shared, server] = [`shared_${mark}`, `apart_${mark}`]
    await mirror.all(`create role ${shared} nologin; create role ${server} nologin in role boat_mirror_partner`)
    expect((await cli.run(['access', 'grant', shared, '--companies', '2'])).code).toBe(0)
    const both = await create('both', '--companies', '1', '--server', server)
    const lent = await create('lent', '--server', server)
    await mirror.all(`grant ${shared} to ${both.role}, ${lent.role}`)
    const ids = 'select id::int as id from mirror.rentals order by id'
    try {
      expect(await as(both.role, ids)).toEqual([{ id: 10 }, { id: 20 }])
      expect(await as(lent.role, ids)).toEqual([{ id: 20 }])
      expect(await as(server, ids, server)).toEqual([{ id: 10 }, { id: 20 }])
    } finally {
      await cli.run(['access', 'revoke', shared])
    }
    expect(await as(both.role, ids)).toEqual([{ id: 10 }])
  })

  it('may queue changes only with --write', async () => {
    const [reads, writes] = [await create('reads'), await create('writes', '--write')]
    const enqueue = `select outbox.enqueue('rental.update', '{"rentalId": 10}', '{"orderLink": "x"}') is not null as queued`
    expect(await as(reads.role, enqueue)).toBe(denied)
    expect(await as(writes.role, enqueue)).toEqual([{ queued: true }])
  })

  it('cannot be given other companies, nor lose its own, by access grant and access revoke', async () => {
    const { role } = await create('fixed', '--companies', '2')
    const granted = await cli.run(['access', 'grant', role, '--companies', '1'])
    expect([granted.code, errorOf(granted)]).toEqual([2, expect.stringContaining('belongs to an access token')])
    expect((await cli.run(['access', 'revoke', role])).code).toBe(1)
    expect(await as(role, 'select id::int as id from mirror.rentals')).toEqual([{ id: 20 }])
  })

  it('has another name in each database of a cluster, and is not dropped by a copy of the database', async () => {
    const { id, role } = await create('original')
    await using copy = await createTestDatabase()
    await using ofCopy = await openCommandLine({ DATABASE_URL: copy.url })
    const first = JSON.parse((await ofCopy.run(['access', 'token', 'create', 'original', '--json'])).stdout) as Created
    expect(first.role).not.toBe(role)
    await copy.pool.query('update sync.access_tokens set role = $1 where id = $2', [role, first.id])
    const revoked = await ofCopy.run(['access', 'token', 'revoke', 'original'])
    expect([revoked.code, revoked.stderr]).toEqual([3, expect.stringContaining(`drop role if exists "${role}";`)])
    expect(await rolesNamed(role)).toBe(1)
    await mirror.all(`drop role ${first.role}`)
    expect((await cli.run(['access', 'token', 'revoke', id])).code).toBe(0)
  })
})

it('row level security is off again when the last token that is restricted has been revoked', async () => {
  await using alone = await createTestDatabase()
  await using own = await openCommandLine({ DATABASE_URL: alone.url })
  const secured = async (): Promise<boolean> =>
    (await alone.pool.query(`select relrowsecurity as on from pg_class where oid = 'mirror.rentals'::regclass`)).rows[0]
      .on
  expect(await secured()).toBe(false)
  await own.run(['access', 'token', 'create', 'a', '--companies', '1'])
  expect(await secured()).toBe(true)
  await own.run(['access', 'token', 'revoke', 'a'])
  expect(await secured()).toBe(false)
})

it('without the right to create roles the SQL is printed, and the role of the token exists once that has run', async () => {
  await using database = await createTestDatabase({ migrated: false })
  const owner = `owner_${mark}`
  await mirror.all(`create role ${owner} login password 'x' nocreaterole`)
  await mirror.all(`alter database ${new URL(database.url).pathname.slice(1)} owner to ${owner}`)
  await using own = await openCommandLine({ DATABASE_URL: withLogin(database.url, owner, 'x') })
  expect((await own.run(['migrate'])).code).toBe(0)
  const shown = await own.run(['access', 'token', 'create', 'shop', '--write'])
  expect([shown.code, shown.stdout]).toEqual([3, expect.stringMatching(/^bmt_/)])
  const sql = [...shown.stderr.matchAll(/^ {2}(.+;)$/gm)].map(([, statement]) => `  ${statement}`).join('\n')
  expect(sql).toMatch(/^ {2}create role "boat_mirror_token_.*" nologin;/)
  const states = async (): Promise<string[]> =>
    (JSON.parse((await own.run(['access', 'token', 'list', '--json'])).stdout) as { state: string }[]).map(
      ({ state }) => state,
    )
  expect(await states()).toEqual(['no role'])
  expect((await own.run(['access', 'token', 'list'])).stderr).toContain(sql)
  await mirror.all(sql)
  expect(await states()).toEqual(['active'])
  const revoked = await own.run(['access', 'token', 'revoke', 'shop'])
  expect([revoked.code, await states()]).toEqual([3, ['revoked']])
  const drop = /^ {2}(drop role .+;)$/m.exec(revoked.stderr)?.[1] ?? ''
  await mirror.all(drop)
})
