// Persons in records of any shape: unknown members, values of the wrong type and lists in lists, everywhere. None is stored
// where values must be hashed or dropped. What is erased stays erased when an older copy of the database comes back.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/api/wire/json.ts'
import { createHasher, normalValue } from '../../src/privacy/hash.ts'
import type { CommandLine, Ended } from '../cli/program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { isQuick, runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { marker, openPeople, tablesWith } from './markers.ts'

const key = 'a key for tests, and nothing else'
const hash = { PERSONAL_DATA: 'hash', PERSONAL_DATA_KEY: key }
const people = ['users', 'user_identities', 'user_licenses', 'rental_crew_members', 'rentals'] as const
type Table = (typeof people)[number]

const syncPeople = ['sync', ...people, '--full']

const text = fc.oneof(
  fc.constantFrom(marker, `${marker} Le Goff`, ` ${marker.toUpperCase()}  2026-07-14`, `12 ${marker}`),
  fc.nat(999).map((n) => `${n}@${marker}.example`),
)
/** A value of any shape with texts in it, whose objects have these members. */
const valueWith = (...names: readonly string[]): fc.Arbitrary<Json> =>
  fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'medium' },
      { weight: 3, arbitrary: text },
      { weight: 1, arbitrary: fc.constantFrom<Json>(7, 1.5, true, null, '', {}) },
      { weight: 3, arbitrary: fc.array(tie('value'), { minLength: 1, maxLength: 2 }) },
      {
        weight: 3,
        arbitrary: fc.dictionary(fc.constantFrom(...names), tie('value'), {
          minKeys: 1,
          maxKeys: 3,
          noNullPrototype: true,
        }),
      },
    ),
  })).value
const anything = valueWith('id', 'code', 'note', 'firstName', 'type', '0')
const noText = anything.filter((value) => typeof value !== 'string')
/** A record where one is expected, with members that nobody knows. */
const withUnknown = (known: object): fc.Arbitrary<Json> => anything.map((note) => ({ ...known, note, more: [[note]] }))

/** Where a person can stand in each record. A text that is published as no personal one may be any text. */
const places: Readonly<Record<Table, Readonly<Record<string, fc.Arbitrary<Json>>>>> = {
  users: {
    note: anything,
    relatives: anything,
    firstName: anything,
    email: anything,
    birthDate: anything,
    deactivated: anything,
    lastModificationDatetime: anything,
    organizationType: noText,
    language: fc.oneof(anything.map(plainCode), withUnknown({ code: 'fr', name: 'French' })),
    nationality: fc.oneof(anything, withUnknown({ code: 'FR' })),
    addressCountry: fc.oneof(anything, withUnknown({ code: 'FR' })),
  },
  user_identities: { note: anything, id: anything, number: anything, type: anything },
  user_licenses: { note: anything, number: anything, year: anything, type: anything, country: anything },
  rental_crew_members: { note: anything, email: anything, lastName: anything, type: noText },
  rentals: {
    message: anything,
    crewAdults: anything,
    depositPrice: anything,
    totalPaid: anything,
    arrivalDatetime: anything,
    crewMembers: valueWith('id', 'note', 'firstName', '0'),
    users: anything,
    guests: anything.map((value) => [[{ firstName: value, seat: { email: value, user: value } }]]),
  },
}

/** Of an object in place of the language, `code` is the code, whatever it says. */
function plainCode(value: Json): Json {
  return typeof value === 'object' && value !== null && 'code' in value ? { ...value, code: 'fr' } : value
}

const draw = (table: Table): fc.Arbitrary<Record<string, Json>> =>
  fc
    .subarray(Object.keys(places[table]), { minLength: 1, maxLength: 3 })
    .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, places[table][name] ?? anything]))))

/** Values for so many records of each kind, again and again. */
const world = fc.record(
  Object.fromEntries(people.map((table) => [table, fc.array(draw(table), { minLength: 15, maxLength: 15 })])),
)

describe.each([
  { mode: 'hash', env: hash },
  { mode: 'drop', env: { PERSONAL_DATA: 'drop' } },
])('with PERSONAL_DATA=$mode', ({ env }) => {
  const mirrored = opened(() => openPeople(6, { LOG_LEVEL: 'trace', ...env }))

  it('no table, log or command holds a value of a person, whatever its record looks like', async () => {
    const { sandbox, database, command } = mirrored
    const truth = sandbox.truth({ only: [...people] })
    const originals = new Map(people.flatMap((table) => (truth[table] ?? []).map((row) => [row, row.record] as const)))
    await fc.assert(
      // A whole world would be printed with each failure; its seed makes it again.
      fc.asyncProperty(fc.integer(), async (seed) => {
        const [drawn = {}] = fc.sample(world, { seed, numRuns: 1 })
        for (const table of people)
          for (const [index, row] of (truth[table] ?? []).entries()) {
            const { id, rental_id, user_id } = row.key as Record<string, string | number>
            const set = drawn[table]?.[index % 15] ?? {}
            const original = originals.get(row) as Record<string, unknown>
            const untouched = Object.keys(places[table]).filter((name) => !(name in set))
            const parent = rental_id ?? user_id
            sandbox.mutate([
              {
                ...{ record: table, op: 'update', touch: false, set: { ...pick(original, untouched), ...set } },
                ...{ unset: untouched.filter((name) => !(name in original)) },
                ...(id !== undefined && { id }),
                ...(parent !== undefined && { parent }),
              },
            ])
          }
        const ended = [await command.run(syncPeople)]
        for (const args of [
          ['quarantine', '--json'],
          ['drift', '--json'],
          ['runs', '--json'],
          ['status', '--json'],
        ])
          ended.push(await command.run(args))
        expect(await tablesWith(database.pool, marker)).toEqual({})
        expect(ended.map(said).join('').toLowerCase()).not.toContain(marker.toLowerCase())
      }),
      { numRuns: runsOf(3), endOnFailure: true },
    )
    const { rows } = await database.pool.query(
      'select count(*)::int as bad, count(distinct stream)::int as streams from sync.quarantine',
    )
    expect(rows[0].bad).toBeGreaterThan(0)
  })
})

const hashed = { mode: 'hash', env: hash }
// An erasure looks for values as they are stored: hashes in one mode, clear ones in the other.
const modes = isQuick ? [hashed] : [{ mode: 'keep', env: {} }, hashed]

describe.each(modes)('erased, restored and erased again, with PERSONAL_DATA=$mode', ({ mode, env }) => {
  const mirrored = opened(() => openPeople(12, { LOG_LEVEL: 'trace', ...env }))
  let command: CommandLine
  /** A mirror that knows a person, in every place where there can be one, and a copy of it as a backup has it. */
  let known: TestDatabase
  let erased: TestDatabase
  let userId = ''
  let crewKey = ''

  const run = async (database: TestDatabase, ...args: readonly string[]): Promise<Ended> => {
    const ended = await command.run(args, { DATABASE_URL: database.url })
    expect([0, 1, 3], ended.stderr.slice(-2_000)).toContain(ended.code)
    return ended
  }
  /** What stands for the person in the mirror. */
  const names = ['firstName', 'lastName', 'message', 'email'].map((field) => {
    const value = field === 'email' ? `anne@${marker}.example` : `${marker} ${field}`
    return { field, value, stored: mode === 'hash' ? createHasher(key).of(normalValue(field, value)) : value }
  })
  const own = (field: string): string => names.find((each) => each.field === field)?.value ?? ''
  /** The tables that hold something of the person. */
  const left = async (database: TestDatabase): Promise<readonly string[]> => {
    const found = await Promise.all(
      [marker, ...names.map(({ stored }) => stored)].map((each) => tablesWith(database.pool, each)),
    )
    return [...new Set(found.flatMap((tables) => Object.keys(tables)))].sort()
  }

  beforeAll(async () => {
    const { sandbox } = mirrored
    ;({ command, database: known } = mirrored)
    const truth = sandbox.truth()
    const member = (truth.rental_crew_members ?? []).find(({ key: { rental_id } }) =>
      (truth.rentals ?? []).some(
        ({ key: { id }, record }) => id === rental_id && Boolean((record as { user?: object }).user),
      ),
    )
    const { rental_id: rentalId = 0, id: crewId = 0 } = member?.key ?? {}
    const rental = (truth.rentals ?? []).find(({ key: { id } }) => id === rentalId)?.record as { user: { id: number } }
    userId = String(rental.user.id)
    crewKey = JSON.stringify([String(rentalId), String(crewId)])
    const named = { firstName: own('firstName'), lastName: own('lastName'), email: own('email') }
    const odd = { note: [[{ who: marker, id: marker }]], nickname: marker }
    const enqueue = async (operation: string, target: object, body: object, options: object = {}): Promise<string> =>
      (await known.pool.query('select outbox.enqueue($1, $2, $3, $4) as id', [operation, target, body, options]))
        .rows[0].id
    for (const round of [1, 2]) {
      // The second time, user and rental cannot be mirrored any more.
      const bad = round === 2 ? marker : undefined
      sandbox.mutate([
        {
          record: 'users',
          op: 'update',
          id: userId,
          set: { ...named, ...odd, language: { code: 'fr', note: marker } },
        },
        {
          ...{ record: 'rentals', op: 'update', id: String(rentalId) },
          set: { message: own('message'), guests: [[named]], ...(bad && { crewAdults: bad }) },
        },
        {
          record: 'rental_crew_members',
          op: 'update',
          id: String(crewId),
          parent: String(rentalId),
          set: { ...named, ...odd },
        },
      ])
      await run(known, ...syncPeople)
      sandbox.mutate([
        { record: 'users', op: 'update', id: userId, set: { firstName: 'Bo', ...(bad && { deactivated: bad }) } },
      ])
      await run(known, ...syncPeople)
    }
    // Changes of each fate.
    const target = { userId: Number(userId) }
    const crew = { rentalId: Number(rentalId), crewMemberId: Number(crewId) }
    await enqueue('user.update', target, { lastName: own('lastName') }, { base: { lastName: `${marker} before` } })
    await enqueue('rental_crew_member.update', crew, { firstName: own('firstName') })
    sandbox.fault({
      op: 'POST /v3/rentals/{rentalId}/crewMembers',
      times: 1,
      respond: { status: 422, body: { detail: marker } },
    })
    await enqueue('rental_crew_member.add', { rentalId: Number(rentalId) }, { ...named, type: 'ADULT' })
    await run(known, 'push')
    for (const [operation, place, body] of [
      ['user.update', target, { email: own('email') }],
      ['rental_crew_member.update', crew, { email: own('email') }],
    ] as const)
      await run(known, 'changes', 'cancel', await enqueue(operation, place, body))
    await known.pool.query(
      `insert into sync.webhook_batch (id, end_cursor, changes, body) values ('msg_1', '1.1.1.1', 1, $1)`,
      [`{"was": "${names[0]?.stored}"}`],
    )
    erased = await createTestDatabase({ copyOf: known })
    await run(erased, 'privacy', 'erase', userId, '--crew')
  })
  afterAll(() => erased?.[Symbol.asyncDispose]())

  /** The backup as it was before, with the later list of who is erased put back, by whatever way. */
  async function restored(how: 'insert' | 'copy'): Promise<TestDatabase> {
    const database = await createTestDatabase({ copyOf: known })
    const { rows } = await erased.pool.query('select stream, key, erased_at from sync.erased')
    if (how === 'copy') await database.pool.query('alter table sync.erased disable trigger user')
    for (const row of rows) await database.pool.query('insert into sync.erased values ($1, $2, $3)', Object.values(row))
    await database.pool.query('alter table sync.erased enable trigger user')
    return database
  }

  it('nothing is left, anywhere, also after the next reads', async () => {
    expect(await left(known)).toEqual(
      expect.arrayContaining(['mirror.rental_crew_members', 'mirror.users', 'outbox.queue', 'sync.quarantine']),
    )
    expect(await left(erased)).toEqual([])
    await run(erased, ...syncPeople)
    expect(await left(erased)).toEqual([])
  })

  it('erasing again does the work again', async () => {
    await using database = await restored('insert')
    expect(await left(database)).toContain('mirror.rental_crew_members')
    const { stdout } = await run(database, 'privacy', 'erase', userId, '--crew', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ crewLeft: [] })
    expect(await left(database)).toEqual([])
    // Once more changes nothing, in the feed either.
    const last = async () => (await database.pool.query('select max(seq) as seq from mirror.change_log')).rows[0].seq
    await run(database, 'sync', 'countries')
    const before = await last()
    await run(database, 'privacy', 'erase', userId)
    await run(database, 'sync', 'countries')
    expect(await last()).toBe(before)
  })

  it.each(['insert', 'copy'] as const)(
    'the next start does the work again, after the list came back by %s',
    async (how) => {
      await using database = await restored(how)
      await run(database, 'sync', 'countries')
      expect(await left(database)).toEqual([])
    },
  )

  it('the crew is exported by its keys', async () => {
    const { stdout } = await run(known, 'privacy', 'export', userId)
    const [rentalId, id] = JSON.parse(crewKey)
    expect(JSON.parse(stdout).crew).toContainEqual({ rentalId, id, erased: false })
    const crewErased = async () => (await erased.pool.query('select from sync.erased')).rowCount
    expect(await crewErased()).toBeGreaterThan(1)
    expect(JSON.parse((await run(erased, 'privacy', 'export', userId)).stdout).crew).toContainEqual({
      rentalId,
      id,
      erased: true,
    })
  })
})

const said = ({ stdout, stderr }: Ended): string => stdout + stderr
const pick = (record: Record<string, unknown>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.flatMap((name) => (name in record ? [[name, record[name]]] : [])))
