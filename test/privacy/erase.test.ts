// One person: exported, erased for good, and taken back.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { type CommandLine, openCommandLine } from '../cli/program.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { marker, tablesWith } from './markers.ts'

let mirror: TestMirror
let command: CommandLine
let userId = 0
let rentalId = 0
let crewId = 0
const streams = ['user_identities', 'user_licenses', 'rental_crew_members']

/** The person has these values upstream. */
function mark(round: string): void {
  const named = { firstName: `${marker} ${round}`, lastName: marker, email: `${marker}@example.com` }
  mirror.sandbox.mutate([
    { record: 'users', op: 'update', id: userId, set: { ...named, addressCity: marker } },
    { record: 'rentals', op: 'update', id: rentalId, set: { message: `${marker} ${round}` } },
    { record: 'rental_crew_members', op: 'update', id: crewId, parent: rentalId, set: named },
  ])
}

beforeAll(async () => {
  mirror = await openTestMirror({ size: 12 }, { SLOT_DAYS: '0', PRICE_DAYS: '0', CALENDAR_YEARS: '0' })
  const truth = mirror.sandbox.truth()
  const crew = truth.rental_crew_members ?? []
  const rentals = truth.rentals ?? []
  const found = crew.find(({ key }) => {
    const rental = rentals.find((each) => each.key.id === key.rental_id)
    return (rental?.record.user as { id?: number } | null)?.id !== undefined
  })
  rentalId = Number(found?.key.rental_id)
  crewId = Number(found?.key.id)
  const rental = rentals.find(({ key }) => key.id === rentalId)
  userId = (rental?.record.user as { id: number } | undefined)?.id ?? 0
  for (const round of ['first', 'second']) {
    mark(round)
    await mirror.sync({ streams, full: true })
  }
  command = await openCommandLine({ DATABASE_URL: mirror.config.databaseUrl ?? '' })
})
afterAll(async () => {
  await command?.[Symbol.asyncDispose]()
  await mirror?.[Symbol.asyncDispose]()
})

const pool = () => mirror.app.database.pool

it('is refused while changes of the user are not settled', async () => {
  const { rows } = await pool().query(`select outbox.enqueue('user.update', $1, '{"lastName": "New"}') as id`, [
    { userId },
  ])
  const refused = await command.run(['privacy', 'erase', String(userId)])
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain(`not settled: ${rows[0].id}`)
  expect((await command.run(['changes', 'cancel', String(rows[0].id)])).code).toBe(0)
})

it('exports all that is held, then keeps the key alone, everywhere, until that is taken back', async () => {
  const { stdout, code } = await command.run(['privacy', 'export', String(userId)])
  const found = JSON.parse(stdout)
  expect(code).toBe(0)
  expect(found).toMatchObject({ userId: String(userId), erased: false, mirror: { users: [{ last_name: marker }] } })
  expect(found.mirror.rentals.length).toBeGreaterThan(0)
  expect(JSON.stringify(found.changeLog)).toContain(`${marker} first`)

  // Also when a running worker reads the person again.
  const first = await command.run(['privacy', 'erase', String(userId)])
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining(String(crewId)) })
  expect(Object.keys(await tablesWith(pool(), marker))).toEqual(expect.arrayContaining(['mirror.rental_crew_members']))
  expect((await command.run(['privacy', 'erase', String(userId), '--crew', '--json'])).stdout).toContain(
    '"crewLeft": []',
  )
  expect(await tablesWith(pool(), marker)).toEqual({})
  mark('third')
  await mirror.sync({ streams, full: true })
  expect(await tablesWith(pool(), marker)).toEqual({})
  const { rows } = await pool().query(
    'select id::int, first_name, _payload, _deleted_at from mirror.users where id = $1',
    [userId],
  )
  expect(rows).toEqual([{ id: userId, first_name: null, _payload: { id: userId }, _deleted_at: null }])
  const told = await pool().query(
    `select count(*)::int as n from mirror.change_log where stream = 'users' and key = $1 and operation = 'update'`,
    [{ id: userId }],
  )
  expect(told.rows[0].n).toBeGreaterThan(0)
  expect((await command.run(['privacy', '--json'])).stdout).toContain('"users": 1')

  // Taken back: the person is mirrored again.
  expect(await command.run(['privacy', 'unerase', String(userId)])).toMatchObject({ code: 0, stderr: '' })
  expect((await command.run(['privacy', 'unerase', String(userId)])).code).toBe(1)
  await mirror.sync({ streams, full: true })
  const { rows: again } = await pool().query(
    `select u.first_name, r.message, c.first_name as crew, r._payload #>> '{user,lastName}' as embedded
     from mirror.users u join mirror.rentals r on r.user_id = u.id join mirror.rental_crew_members c on c.rental_id = r.id
     where u.id = $1 and r.id = $2 and c.id = $3`,
    [userId, rentalId, crewId],
  )
  const value = `${marker} third`
  expect(again).toEqual([{ first_name: value, message: value, crew: value, embedded: marker }])
})
