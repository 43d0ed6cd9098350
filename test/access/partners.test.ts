// A partner is a role, not its name: what it owns follows its renaming and never passes to a later role of the name, and what
// limits it holds for both.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { goneRoles } from '../../src/inspect/feed.ts'
import { grantCompanies, listCompanyGrants, revokeCompanies } from '../../src/serve/access/company-access.ts'
import { type CommandLine, errorOf, openCommandLine } from '../cli/program.ts'
import { asRole } from '../helpers/roles.ts'
import { feedSettled } from '../helpers/rows.ts'
import { openPartners, type Partners } from './partners-rig.ts'

let partners: Partners
let cli: CommandLine
beforeAll(async () => {
  partners = await openPartners()
  cli = await openCommandLine({ DATABASE_URL: partners.mirror.url })
  await partners.notice() // a test's database is a copy
  await feedSettled(partners.mirror)
})
afterAll(async () => {
  await cli?.[Symbol.asyncDispose]()
  await partners?.[Symbol.asyncDispose]()
})

/** Names of its own for each test. */
let tests = 0
const fresh = async (): Promise<{ crm: string; sales: string }> => {
  tests++
  const names = { crm: `crm${tests}`, sales: `sales${tests}` }
  await partners.create(names.crm)
  return names
}

const payment = (reference: string): [string, unknown[]] => [
  `select outbox.enqueue('rental_payment.add', '{"rentalId": 10}', '{"price": 1}', jsonb_build_object('reference', $1::text))::int as id`,
  [reference],
]
const pay = async (name: string, reference: string): Promise<number | string | undefined> => {
  const rows = await partners.as<{ id: number }>(name, ...payment(reference))
  return typeof rows === 'string' ? rows : rows[0]?.id
}
const seen = async (name: string): Promise<readonly (string | number)[] | string> => {
  const rows = await partners.as<{ id: number; enqueued_by: string }>(
    name,
    'select id::int, enqueued_by from outbox.changes order by id',
  )
  return typeof rows === 'string' ? rows : rows.flatMap(({ id, enqueued_by }) => [id, enqueued_by])
}
const read = async (name: string, consumer: string): Promise<number | string> => {
  const rows = await partners.as(name, 'select * from mirror.next_changes($1)', [consumer])
  return typeof rows === 'string' ? rows : rows.length
}
const rentals = async (name: string): Promise<number | string> => {
  const rows = await partners.as(name, 'select id from mirror.rentals')
  return typeof rows === 'string' ? rows : rows.length
}
const grant = (name: string, companies: readonly string[]) =>
  partners.mirror.db.transaction((client) => grantCompanies(client, partners.role(name), companies))
const revoke = (name: string) =>
  partners.mirror.db.transaction((client) => revokeCompanies(client, partners.role(name)))
const left = async (name: string) =>
  (await goneRoles(partners.mirror.db.pool))
    .filter((each) => each.name === partners.role(name))
    .map((each) => each.left)

describe('a role that is renamed', () => {
  it('keeps its changes, references, consumers and limits', async () => {
    const { crm, sales } = await fresh()
    const id = await pay(crm, 'p1')
    expect(await read(crm, crm)).toBe(2)
    await grant(crm, ['1'])
    await partners.rename(crm, sales)
    expect(await pay(sales, 'p1')).toBe(id)
    expect(await seen(sales)).toEqual([id, partners.role(sales)])
    expect(await rentals(sales)).toBe(1)
    expect(await listCompanyGrants(partners.mirror.db.pool)).toMatchObject([
      { role: partners.role(sales), exists: true },
    ])
    expect(await revoke(sales)).toBe(true)
    expect(await read(sales, crm)).toBe(2)
    expect(await rentals(sales)).toBe(2)
    // Another role of the former name is another partner.
    await partners.create(crm)
    expect(await seen(crm)).toEqual([])
    const own = await pay(crm, 'p1')
    expect(own).not.toBe(id)
    expect(await seen(crm)).toEqual([own, partners.role(crm)])
    expect(await read(crm, crm)).toBe('42501')
  })

  it('is refused in a session that became it by its former name, until it becomes it again', async () => {
    const { crm, sales } = await fresh()
    const id = await pay(crm, 'p1')
    const login = partners.role(`login${tests}`)
    await partners.mirror.all(`create role ${login} login password 'x' in role ${partners.role(crm)}`)
    const url = new URL(partners.mirror.url)
    url.username = login
    url.password = 'x'
    const client = new pg.Client({ connectionString: url.href })
    await client.connect()
    try {
      const repeated = () =>
        client.query(...payment('p1')).then(
          ({ rows }) => rows[0].id,
          (error: { code?: string }) => error.code,
        )
      await client.query(`set role ${partners.role(crm)}`)
      expect(await repeated()).toBe(id)
      await partners.rename(crm, sales)
      expect(await repeated()).toBe('42501')
      await partners.create(crm)
      // Of that name, but nothing to this login.
      expect(await repeated()).toBe('42501')
      await client.query(`set role ${partners.role(sales)}`)
      expect(await repeated()).toBe(id)
    } finally {
      await client.end()
    }
  })
})

describe('a role that is dropped', () => {
  it('leaves nothing to a later role of its name, until an operator hands it over', async () => {
    const { crm } = await fresh()
    const id = await pay(crm, 'p1')
    await pay(crm, 'p2')
    await read(crm, crm)
    await partners.drop(crm)
    await partners.create(crm)
    expect(await seen(crm)).toEqual([])
    expect(await partners.as(crm, 'select outbox.cancel($1)', [id])).toBe('P0002')
    expect(await read(crm, crm)).toBe('42501')
    const own = await pay(crm, 'p1')
    expect(own).not.toBe(id)
    await partners.notice()
    expect(await left(crm)).toEqual([['changes on hold: 2', `consumer ${crm}`, 'references']])
    const { attention } = JSON.parse((await cli.run(['status', '--json'])).stdout)
    const role = partners.role(crm)
    const item = attention.find(({ about }: { about: string[] }) => about.includes(role))
    expect(item).toMatchObject({ kind: 'role', commands: [`boat-mirror access hand-over ${role} ${role}`] })
    const [held] = await partners.mirror.all('select error, enqueued_by from outbox.changes where id = $1', [id])
    expect(held).toEqual({
      error: `Held: role ${role} is gone. Hand over what it left: boat-mirror access hand-over ${role} ROLE; or cancel the change: boat-mirror changes cancel ${id}.`,
      enqueued_by: role,
    })

    expect(await cli.run(['access', 'hand-over', role, role])).toMatchObject({
      code: 0,
      stdout: `What role ${role} left belongs to role ${role} now.\n`,
    })
    expect(await left(crm)).toEqual([])
    expect(await read(crm, crm)).toBe(2)
    // Each reference is that of one change: of what the role itself queued, where both have one.
    expect(await pay(crm, 'p1')).toBe(own)
    expect(await pay(crm, 'p2')).toBe(Number(id) + 1)
    expect(await partners.as(crm, 'select outbox.cancel($1)', [id])).toHaveLength(1)
    expect(
      await partners.mirror.all(`select via, what from sync.decisions where target = $1`, [`role:${role}`]),
    ).toEqual([{ via: 'command', what: 'hand_over' }])
  })

  it('can be handed over in SQL by operators alone, and only where it is gone', async () => {
    const { crm, sales } = await fresh()
    await pay(crm, 'p1')
    await partners.create(sales)
    const handOver = `select sync.hand_over('${partners.role(crm)}', '${partners.role(sales)}')`
    expect(await partners.as(sales, handOver)).toBe('42501')
    await partners.mirror.all(`grant boat_mirror_operator to ${partners.role(sales)}`)
    expect(await partners.as(sales, handOver)).toBe('P0002')
    await partners.drop(crm)
    const missing = await cli.run(['access', 'hand-over', partners.role(crm), 'nobody'])
    expect([missing.code, errorOf(missing)]).toEqual([
      1,
      expect.stringContaining('There is no role nobody. [NOT_FOUND]'),
    ])
    expect(await partners.as(sales, handOver)).toHaveLength(1)
    expect(
      await partners.mirror.all('select enqueued_by from outbox.changes where reference = $1 and enqueued_by = $2', [
        'p1',
        partners.role(sales),
      ]),
    ).toHaveLength(1)
  })

  it('leaves its limit to its name: a later role is refused until an operator grants or revokes', async () => {
    const { crm, sales } = await fresh()
    await grant(crm, ['1'])
    await partners.drop(crm)
    await partners.create(crm)
    const refused = async () => [await rentals(crm), await read(crm, sales), await pay(crm, 'p1')]
    expect(await refused()).toEqual(['42501', '42501', '42501'])
    await partners.notice()
    expect(await refused()).toEqual(['42501', '42501', '42501'])
    // So is a member of it.
    await partners.create(sales)
    await partners.mirror.all(`grant ${partners.role(crm)} to ${partners.role(sales)}`)
    expect(await rentals(sales)).toBe('42501')
    expect((await cli.run(['access', 'list'])).stdout).toContain(
      'the role is gone: another role of its name is refused',
    )
    await grant(crm, ['2'])
    expect([await rentals(crm), await rentals(sales)]).toEqual([1, 1])
    expect(await listCompanyGrants(partners.mirror.db.pool)).toMatchObject([{ companies: ['2'], exists: true }])
    await partners.drop(crm)
    await partners.create(crm)
    expect(await revoke(crm)).toBe(true)
    expect(await rentals(crm)).toBe(2)
  })
})

describe('in another cluster', () => {
  let before: Partners
  beforeAll(async () => {
    before = partners
    partners = await openPartners()
  })
  afterAll(async () => {
    await partners[Symbol.asyncDispose]()
    partners = before
  })

  it('each is bound to the role of its name, once, at the first moment this exists; who was gone before is not', async () => {
    const { crm, sales } = await fresh()
    await partners.create(sales)
    const [kept, later] = [await pay(crm, 'p1'), await pay(sales, 'p1')]
    await grant(sales, ['1'])
    const gone = `gone${tests}`
    await partners.create(gone)
    const lost = await pay(gone, 'p1')
    await partners.drop(gone)
    await partners.notice()
    await partners.restore([crm, sales, gone])
    // Not noticed yet: nobody owns anything, and the limit holds by the name.
    expect([await seen(crm), await rentals(sales)]).toEqual([[], '42501'])
    await partners.notice()
    expect([await seen(crm), await seen(sales), await seen(gone)]).toEqual([
      [kept, partners.role(crm)],
      [later, partners.role(sales)],
      [],
    ])
    expect(await rentals(sales)).toBe(1)
    expect(await pay(gone, 'p1')).not.toBe(lost)

    await partners.restore([crm])
    await partners.notice()
    expect(
      (await partners.mirror.all<{ error: string }>('select error from outbox.changes where id = $1', [later]))[0]
        ?.error,
    ).toContain('does not exist; create it.')
    await partners.create(sales)
    expect(await pay(sales, 'p1')).toBe(later)
    await partners.drop(sales)
    await partners.create(sales)
    expect([await seen(sales), await rentals(sales)]).toEqual([[], '42501'])
    await revoke(sales)
    expect(await seen(sales)).toEqual([])
    expect(await pay(crm, 'p1')).toBe(kept)
  })
})

describe('the role of a token', () => {
  it('stays limited when it is renamed, and works again after it was dropped by the statements that `access token list` prints', async () => {
    const created = JSON.parse(
      (await cli.run(['access', 'token', 'create', 'shop', '--companies', '1', '--write', '--json'])).stdout,
    )
    const { role } = created
    const state = async () => JSON.parse((await cli.run(['access', 'token', 'list', '--json'])).stdout)[0]
    const count = (name: string) =>
      asRole(
        partners.mirror.db.pool,
        name,
        async (client) => (await client.query('select id from mirror.rentals')).rowCount,
      )
    expect(await count(role)).toBe(1)
    await partners.mirror.all(`alter role ${role} rename to ${role}_new`)
    expect(await count(`${role}_new`)).toBe(1)
    await partners.notice()
    expect(await state()).toMatchObject({ role: `${role}_new`, state: 'active' })
    await partners.mirror.all(`drop role ${role}_new`)
    await partners.notice()
    expect(await state()).toMatchObject({ state: 'no role' })
    const { stderr } = await cli.run(['access', 'token', 'list'])
    for (const statement of stderr.match(/^ {2}.*;$/gm) ?? []) await partners.mirror.all(statement)
    expect(await state()).toMatchObject({ role: `${role}_new`, state: 'active' })
    await partners.notice()
    expect(await count(`${role}_new`)).toBe(1)
    expect(await cli.run(['access', 'token', 'revoke', 'shop'])).toMatchObject({ code: 0, stderr: '' })
    expect(await partners.mirror.all('select from pg_roles where rolname = $1', [`${role}_new`])).toEqual([])
  })
})
