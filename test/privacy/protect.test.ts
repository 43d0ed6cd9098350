import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/api/wire/json.ts'
import { streamNamed, streams } from '../../src/catalog/catalog.ts'
import type { StreamDef } from '../../src/catalog/types.ts'
import { readConfig } from '../../src/config.ts'
import { createHasher, exactMember, isHash, normalValue } from '../../src/privacy/hash.ts'
import { stays } from '../../src/privacy/nodes.ts'
import { nobodyErased, Protector } from '../../src/privacy/protect.ts'
import { actionOf, type PrivacySettings, personalColumns, privacySettings } from '../../src/privacy/rules.ts'
import { protectedValue, walk } from './value-model.ts'

const key = 'a key for tests, and nothing else'
const settings = (mode: 'keep' | 'hash' | 'drop', privacy: PrivacySettings['columns'] = {}): PrivacySettings =>
  privacySettings({ personalData: mode, personalDataKey: key, privacy })

const users = streamNamed('users')
const rentals = streamNamed('rentals')
const hash = (name: string, value: string): string => createHasher(key).of(normalValue(name, value))

describe('a record as it may be stored', () => {
  it('has hashes for texts, and nothing for dates and numbers', () => {
    const record = { id: 7, firstName: 'Anne', birthDate: '1988-03-12', email: 'Anne@Example.com ', deactivated: false }
    expect(new Protector(settings('hash')).protect(users, record)).toEqual({
      id: 7,
      firstName: hash('firstName', 'Anne'),
      email: hash('email', 'anne@example.com'),
      deactivated: false,
      [exactMember]: { email: createHasher(key).of('Anne@Example.com ') },
    })
    expect(new Protector(settings('drop')).protect(users, record)).toEqual({ id: 7, deactivated: false })
    expect(new Protector(settings('keep')).protect(users, record)).toBe(record)
  })

  it('has hashes for texts of any length', () => {
    for (const length of [65_000, 65_536, 200_000]) {
      const record = { id: 1, message: 'é'.repeat(length), status: 'PENDING' }
      expect(new Protector(settings('hash')).protect(rentals, record)).toEqual({
        ...record,
        message: hash('message', record.message),
      })
    }
  })

  it('names no country of a person', () => {
    const record = {
      id: 7,
      nationality: { code: 'FR', name: 'France' },
      addressCountry: 'FR',
      language: { code: 'fr', name: 'French' },
    }
    expect(new Protector(settings('hash')).protect(users, record)).toEqual({
      id: 7,
      nationality: { code: hash('code', 'FR') },
      addressCountry: hash('code', 'FR'),
      language: { code: 'fr', name: 'French' },
    })
    expect(new Protector(settings('drop')).protect(users, record)).toEqual({
      id: 7,
      language: { code: 'fr', name: 'French' },
    })
  })

  it('has the person that a rental embeds as the person is, and what stands at unknown places by its name', () => {
    const user = { id: 7, lastName: 'Le Goff', iban: 'FR76', points: 12, family: [{ who: 'Yann' }] }
    const record = {
      id: 1,
      message: 'Call me',
      orderLink: 'x',
      user,
      guests: [{ email: 'a@b.c', seat: 'bow', crewMembers: [{ firstName: 'Zoé' }] }],
    }
    expect(new Protector(settings('hash')).protect(rentals, record)).toEqual({
      id: 1,
      message: hash('message', 'Call me'),
      orderLink: 'x',
      user: { id: 7, lastName: hash('lastName', 'Le Goff'), iban: hash('iban', 'FR76') },
      guests: [{ email: hash('email', 'a@b.c'), seat: 'bow', crewMembers: [{ firstName: hash('firstName', 'Zoé') }] }],
    })
    const byColumn = settings('keep', { 'rentals.message': 'drop', 'users.last_name': 'hash' })
    expect(new Protector(byColumn).protect(rentals, record)).toEqual({
      ...record,
      message: undefined,
      user: { ...user, lastName: hash('lastName', 'Le Goff') },
    })
  })

  it('keeps a company as it is, whose address is no personal one', () => {
    const record = { id: 3, name: 'Harbour Ltd', email: 'info@harbour.example', addressCity: 'Brest' }
    const known = streamNamed('companies').columns.map(({ path }) => path)
    const expected = Object.fromEntries(
      Object.entries(record).filter(([name]) => name === 'id' || known.includes(name)),
    )
    expect(new Protector(settings('drop')).protect(streamNamed('companies'), record)).toMatchObject(expected)
  })

  it('keeps of an erased user the id alone, wherever they stand', () => {
    const erased = { users: new Set(['7']), crew: new Set<string>() }
    const protector = new Protector(settings('keep'), erased)
    expect(protector.protect(users, { id: 7, firstName: 'Anne', deactivated: true })).toEqual({ id: 7 })
    expect(protector.protect(users, { id: 8, firstName: 'Bo' })).toEqual({ id: 8, firstName: 'Bo' })
    expect(
      protector.protect(rentals, { id: 1, message: 'Call me', status: 'PENDING', user: { id: 7, firstName: 'Anne' } }),
    ).toEqual({
      id: 1,
      status: 'PENDING',
      user: { id: 7 },
    })
  })
})

describe('whatever a person is called', () => {
  const text = fc.oneof(
    fc.constant('Zq~x'),
    fc.string().map((rest) => `Zq~x${rest}`),
  )
  const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.constant(null),
      fc.integer({ max: 99 }),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(
        fc.string({ maxLength: 5 }).map((name) => `x${name}`),
        tie('value'),
        { maxKeys: 3 },
      ),
    ),
  })).value
  const people = streams.filter(
    (stream) => stream.columns.some(({ personal }) => personal) && stream.name !== 'rentals',
  )
  const shownAs = (protector: Protector, stream: (typeof streams)[number], record: Json): string =>
    JSON.stringify(protector.protect(stream, record))

  it('no text of a person is left, in any shape and at any depth', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...people),
        fc.constantFrom('hash' as const, 'drop' as const),
        fc.dictionary(fc.constantFrom('a', ...personalPaths), json),
        (stream, mode, fields) => {
          const protector = new Protector(settings(mode))
          // ADULT or CHILD says nothing of who it is.
          const isKind = stream.name === 'rental_crew_members' && typeof fields.type === 'string'
          const record = { id: 5, ...fields, ...(isKind && { type: 'ADULT' }) }
          const kept = protector.protect(stream, record)
          expect(JSON.stringify(kept)).not.toMatch(/zq~x/i)
          expect(shownAs(protector, rentals, { id: 1, user: record, users: [record] })).not.toMatch(/zq~x/i)
          expect(
            shownAs(protector, streamNamed('resource_unavailabilities'), { booking: { user: record } }),
          ).not.toMatch(/zq~x/i)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('what is written of its text is what the model makes of its value, spaces or not, with erased users and without', () => {
    const leaf = fc.oneof(
      fc.constantFrom<Json>(
        '',
        ' ',
        'Anne',
        'Anne ',
        'A@B.c',
        '7',
        'a"b\\c\n',
        'Zoé 🚤',
        '2020-01-01',
        true,
        null,
        7,
        1.5,
      ),
      fc.constantFrom<Json>('bmh1:x', createHasher(key).of('y')),
      fc.string(),
    )
    const names = [
      ...streams.flatMap(({ columns, embeds = [], alsoKnown = [] }) => [...columns, ...embeds, ...alsoKnown]),
    ]
      .flatMap((each) => (typeof each === 'string' ? each : (each.path ?? '')).split('.'))
      .concat('crewMembers', 'iban', '7', '__proto__', 'é"\\')
    const exact = fc.dictionary(
      fc.constantFrom('email', 'lastName', 'x'),
      fc.constantFrom(createHasher(key).of('q'), 'none'),
    )
    const value: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'medium' },
        { weight: 3, arbitrary: leaf },
        fc.array(tie('value'), { maxLength: 3 }),
        {
          weight: 3,
          arbitrary: fc.array(fc.tuple(fc.constantFrom(...names), tie('value')), { maxLength: 5 }).map(objectOf),
        },
      ),
    })).value
    const record = (stream: StreamDef): fc.Arbitrary<Json> => {
      const own = stream.columns.map(({ path }) => path?.split('.')[0] ?? 'x')
      const places = fc.oneof(fc.constantFrom(...own, exactMember), fc.constantFrom(...names))
      const member = fc.tuple(places, fc.oneof({ weight: 4, arbitrary: value }, exact))
      return fc.oneof({ weight: 9, arbitrary: fc.array(member, { maxLength: 9 }).map(objectOf) }, value)
    }
    const modes = fc.tuple(
      fc.constantFrom('keep', 'hash', 'drop'),
      fc.dictionary(fc.constantFrom(...personalColumns.keys()), fc.constantFrom('keep', 'hash', 'drop'), {
        maxKeys: 3,
      }),
    )
    const erasures = fc.constantFrom(nobodyErased, { users: new Set(['7']), crew: new Set<string>() })
    fc.assert(
      fc.property(
        fc.constantFrom(...streams).chain((stream) => fc.tuple(fc.constant(stream), record(stream))),
        fc.tuple(modes, erasures, fc.boolean()),
        ([stream, received], [[mode, columns], erased, cutsBlanks]) => {
          const protector = new Protector(settings(mode, columns), erased, cutsBlanks)
          const expected = protectedValue(protector, erased, stream, received)
          const kept = protector.protect(stream, received)
          expect(kept).toEqual(expected)
          if (JSON.stringify(expected) === JSON.stringify(received)) expect(kept).toBe(received)
          const spaced = JSON.stringify(received, null, 1)
          expect(JSON.parse(protector.text(stream, spaced))).toEqual(JSON.parse(JSON.stringify(expected)))
          const unknown = walk(protector, '', received, stays) ?? null
          expect(JSON.parse(protector.unknownText(spaced))).toEqual(JSON.parse(JSON.stringify(unknown)))
        },
      ),
      { numRuns: 1_500 },
    )
  })

  it('a hash is HMAC-SHA-256 of the UTF-8 text, whatever key and text', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 16, maxLength: 100, unit: 'binary' }),
        fc.string({ maxLength: 900, unit: 'binary' }),
        (secret, text) => {
          const hasher = createHasher(secret)
          const expected = createHmac('sha256', secret).update(text).digest('base64url')
          expect(hasher.of(text)).toBe(`bmh1:${expected}`)
          expect(hasher.ofHash(text)).toBe(expected.slice(0, 24))
        },
      ),
    )
  })

  it('two texts have one hash exactly where their normal forms are one', () => {
    const hasher = createHasher(key)
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.constantFrom('email', 'lastName'), (a, b, name) => {
        const [one, other] = [normalValue(name, a), normalValue(name, b)]
        expect(normalValue(name, one)).toBe(one)
        expect(hasher.of(one) === hasher.of(other)).toBe(one === other)
        expect(isHash(hasher.of(one))).toBe(true)
      }),
    )
  })
})

const objectOf = (members: readonly (readonly [string, Json])[]): Json => Object.fromEntries(members)

const personalPaths = [...personalColumns.values()].map(({ column }) => column.path?.split('.')[0] ?? '')

describe('the settings of personal data', () => {
  const read = (env: Record<string, string>) => () => privacySettings(readConfig(env, '/nonexistent'))

  it('are refused without a key, and for a column that is not personal', () => {
    expect(read({ PERSONAL_DATA: 'hash' })).toThrow('PERSONAL_DATA_KEY is not set')
    expect(read({ PERSONAL_DATA_KEY: 'short' })).toThrow('a value that is not shown. It must be at least 16 characters')
    expect(() => settings('keep', { 'users.emial': 'hash' })).toThrow('privacy.users.emial is not a personal column')
    expect(() =>
      privacySettings({ personalData: 'keep', personalDataKey: null, privacy: { 'users.email': 'hash' } }),
    ).toThrow('PERSONAL_DATA_KEY is not set')
    expect(read({ PERSONAL_DATA: 'drop' })()).toMatchObject({ mode: 'drop', hasher: null })
  })

  it('say what becomes of each column', () => {
    const some = settings('hash', { 'users.email': 'keep', 'users.civility': 'hash' })
    expect(some.columns).toEqual({ 'users.email': 'keep' })
    const acts = [...personalColumns].map(([name, { stream, column }]) => [name, actionOf(some, stream, column)])
    expect(Object.fromEntries(acts)).toMatchObject({
      'users.email': 'keep',
      'users.last_name': 'hash',
      'users.birth_date': 'drop',
      'user_licenses.year': 'drop',
      'rentals.message': 'hash',
    })
  })
})
