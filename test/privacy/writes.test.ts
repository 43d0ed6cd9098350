// Changes where the mirror holds hashes, or nothing: whatever is read from it and written back changes nothing at the API
// that was not meant, and no value is left in the outbox once a change is settled.

import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { mirrorErasures } from '../../src/mirror/erasures.ts'
import type { Erasure } from '../../src/privacy/apply.ts'
import { type Action, privacySettings } from '../../src/privacy/rules.ts'
import { firstOf, runsOf } from '../helpers/extent.ts'
import { sharedRig } from '../outbox/rig.ts'
import { marker, tablesWith } from './markers.ts'

const key = 'a key for tests, and nothing else'
const fields = ['firstName', 'lastName', 'email', 'birthDate', 'addressCity', 'addressCountry', 'language'] as const
type Field = (typeof fields)[number]

const { erase } = mirrorErasures.find(({ table }) => table === 'mirror.users') as Erasure

/** Countries that the sandbox knows. */
let countries: readonly string[] = []

/** A value that nobody had before. */
function fresh(field: Field, n: number): unknown {
  if (field === 'birthDate') return `19${50 + (n % 49)}-0${1 + (n % 9)}-1${n % 10}`
  if (field === 'addressCountry') return { code: countries[n % countries.length] }
  if (field === 'language') return { code: ['fr', 'en'][n % 2] }
  return field === 'email' ? `${marker}.${n}@Example.com` : ` ${marker} ${field}  ${n}`
}

const modes: readonly { name: string; mode: Action; columns: Record<string, Action>; key: string | null }[] = [
  { name: 'hash', mode: 'hash', columns: {}, key },
  { name: 'some of each', mode: 'keep', columns: { 'users.email': 'hash', 'users.first_name': 'drop' }, key },
  { name: 'keep', mode: 'keep', columns: {}, key: null },
  { name: 'drop', mode: 'drop', columns: {}, key: null },
  { name: 'keep, erased and not read again', mode: 'keep', columns: {}, key: null },
]

// One mode of each kind of rule: for all values, and for some columns.
describe.each(firstOf(modes, 2))('with personal data: $name', ({ name, mode, columns, key }) => {
  const privacy = privacySettings({ personalData: mode, personalDataKey: key, privacy: columns })
  const rig = sharedRig({ sandbox: { size: 40 }, privacy })
  let userIds: number[] = []
  let userId = 0
  beforeAll(() => {
    countries = rig.rows('countries').map(({ key: { code } }) => String(code))
    userIds = rig.rows('users').map((row) => Number(row.key.id))
  })

  /** Another user, with values of their own, as a sync mirrors them. */
  async function nextUser(n: number): Promise<void> {
    userId = userIds.pop() ?? 0
    upstream(Object.fromEntries(fields.map((field, index) => [field, fresh(field, n + index)])))
    upstream({ nationality: { code: countries[0] } })
    await rig.mirror('users', { id: userId })
    if (name.includes('erased')) await rig.database.pool.query(erase(`t.id = ${userId}`))
  }
  const upstream = (set: Record<string, unknown>): unknown =>
    rig.sandbox.mutate([{ record: 'users', op: 'update', id: userId, set }])
  const truth = (): Record<string, unknown> => {
    const { lastModificationDatetime: _, ...record } = rig.truth('users', { id: userId }) ?? {}
    return record
  }
  const codes = (record: Record<string, unknown>): Record<string, unknown> =>
    Object.fromEntries(
      fields.map((field) => [
        field,
        field === 'addressCountry' || field === 'language' ? (record[field] as { code?: string })?.code : record[field],
      ]),
    )
  /** What a partner reads from the mirror, as a body would hold it. */
  async function shown(): Promise<Record<Field, unknown>> {
    const { rows } = await rig.database.pool.query(
      `select first_name as "firstName", last_name as "lastName", email, birth_date::text as "birthDate", address_city as "addressCity",
         case when address_country_code is not null then jsonb_build_object('code', address_country_code) end as "addressCountry",
         jsonb_build_object('code', language_code) as language from mirror.users where id = $1`,
      [userId],
    )
    return rows[0]
  }
  const update = (body: object, options: object = {}): Promise<string> =>
    rig.queue('user.update', { userId }, body, options)

  it('what is read and written back changes nothing that was not meant', async () => {
    let n = 0
    const subset = fc.subarray([...fields])
    await fc.assert(
      fc.asyncProperty(subset, subset, subset, async (repeated, meant, others) => {
        n += 10
        await nextUser(n)
        const read = await shown()
        const echoes = repeated.filter((field) => !meant.includes(field))
        const hashes = echoes.filter((field) => JSON.stringify(read[field]).includes('bmh1:'))
        if (hashes.length > 0) {
          const echo = Object.fromEntries(echoes.map((field) => [field, read[field]]))
          await expect(update(echo)).rejects.toMatchObject({ code: '22023', message: expect.stringContaining('bmh1:') })
        }
        const given = Object.fromEntries(
          echoes.filter((field) => !hashes.includes(field)).map((field) => [field, read[field]]),
        )
        const original = codes(truth())
        const wish = (field: Field, from: number): unknown =>
          [from, from + 1]
            .map((each) => fresh(field, each))
            .find((each) => codes({ [field]: each })[field] !== original[field])
        const wishes = Object.fromEntries(meant.map((field, index) => [field, wish(field, n + 7 + index)]))
        const body = { ...given, ...wishes }
        if (Object.keys(body).length === 0) return
        const id = await update(body, { on_conflict: 'local_wins' })
        upstream(Object.fromEntries(others.map((field, index) => [field, fresh(field, n + 3 + index)])))
        const before = codes(truth())
        await rig.push()
        expect(await rig.change(id), JSON.stringify(await rig.change(id))).toMatchObject({ status: 'done' })
        const expected = { ...before, ...codes(wishes) }
        for (const field of fields) if (!meant.includes(field)) expected[field] = before[field]
        expect(codes(truth())).toEqual(expected)
      }),
      { numRuns: runsOf(8), endOnFailure: true, examples: [[['language'], ['firstName'], ['language']]] },
    )
    const { rows } = await rig.database.pool.query(
      'select count(*)::int as open from outbox.queue where settled_at is null',
    )
    expect(rows).toEqual([{ open: 0 }])
    if (mode !== 'keep') expect(await tablesWith(rig.database.pool, marker)).toEqual({})
  })

  it('a change by others to the same field is a conflict, whose sides are no values, and local goes over it', async () => {
    await nextUser(500)
    const email = `${marker}.wish@example.com`
    const withBase = { base: { email: (await shown()).email ?? fresh('email', 502) } }
    const id = await update({ email, addressCity: `${marker} city` }, withBase)
    upstream({ email: `${marker}.other@example.com` })
    await rig.push()
    const { status, conflict, request } = await rig.change(id)
    expect({ status, fields: Object.keys(conflict ?? {}) }).toEqual({ status: 'conflict', fields: ['email'] })
    if (mode !== 'keep') expect(JSON.stringify({ conflict, request })).not.toContain(marker)
    await rig.decide('local', id)
    await rig.push()
    expect(truth()).toMatchObject({ email, addressCity: `${marker} city` })
  })

  it('an answer that is lost is looked for, and the change ends as done', async () => {
    await nextUser(600)
    rig.once('PUT /v3/users/{userId}', 'dropAfterEffect')
    const id = await update({ lastName: `${marker} lost` })
    await rig.push()
    expect(await rig.change(id), JSON.stringify(await rig.change(id))).toMatchObject({ status: 'done' })
    expect(truth()).toMatchObject({ lastName: `${marker} lost` })
  })

  it('an answer that is lost is not taken for no effect where others have changed the field, with a key or without', async () => {
    await nextUser(650)
    rig.once('PUT /v3/users/{userId}', 'dropAfterEffect')
    rig.sandbox.fault({ op: 'GET /v3/users/{userId}', after: 1, respond: 'reset' })
    const id = await update({ email: `${marker}.ours@example.com` })
    await rig.runOnce()
    const { rows } = await rig.database.pool.query('select proof::text from outbox.queue where id = $1', [id])
    expect(rows[0]?.proof).toContain(`${marker}.ours@example.com`)
    upstream({ email: `${marker}.theirs@example.com` })
    rig.sandbox.clearFaults()
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'unknown' })
    expect(truth()).toMatchObject({ email: `${marker}.theirs@example.com` })
    await rig.decide('took_effect', id)
    await rig.push()
    if (mode !== 'keep') expect(await tablesWith(rig.database.pool, `${marker}.ours`)).toEqual({})
  })

  it('an expired change keeps no evidence of an attempt', async () => {
    await nextUser(670)
    const id = await update({ addressCity: `${marker} late` })
    await rig.database.pool.query(
      `update outbox.queue set proof = jsonb_build_object('ambiguous', true, 'exact', $2::text), expires_at = now() where id = $1`,
      [id, JSON.stringify({ before: { addressCity: marker } })],
    )
    await rig.push()
    expect(await rig.change(id)).toMatchObject({ status: 'expired' })
    const { rows } = await rig.database.pool.query('select proof from outbox.queue where id = $1', [id])
    expect(rows).toEqual([{ proof: null }])
  })

  it('a chain of a new user and what follows is sent once, and nothing is kept of it but hashes', async () => {
    const person = {
      ...Object.fromEntries(fields.map((field, index) => [field, fresh(field, 700 + index)])),
      civility: 'MS',
      organizationType: 'INDIVIDUAL',
      mobilePhone: '+33 6 12 34 56 78',
      landlinePhone: '+33 2 98 00 00 00',
      addressStreet1: `${marker} street`,
      addressPostalCode: '29200',
      addressState: marker,
      nationality: { code: 'FR' },
    }
    const made = await rig.queue('user.create', {}, person, { reference: `new-${mode}` })
    const document = await rig.queue(
      'user_identity.add',
      { userId: { change: Number(made) } },
      { number: `${marker}-12`, type: 'PASSEPORT' },
    )
    await rig.push()
    expect([await rig.change(made), await rig.change(document)], JSON.stringify(await rig.change(made))).toMatchObject([
      { status: 'done' },
      { status: 'done' },
    ])
    userId = Number((await rig.change(made)).result?.id)
    expect(codes(truth())).toEqual(codes(person))
    expect(await rig.queue('user.create', {}, person, { reference: `new-${mode}` })).toBe(made)
    if (mode !== 'keep') expect(await tablesWith(rig.database.pool, marker)).toEqual({})
  })

  it('a canceled change keeps no value, and is not sent again without them', async () => {
    await nextUser(800)
    const id = await update({ lastName: `${marker} canceled`, email: `${marker}@x.example` })
    await rig.decide('cancel', id)
    await rig.push()
    const before = truth()
    if (mode !== 'keep') expect(JSON.stringify(await rig.change(id))).not.toContain(marker)
    await rig.decide('retry', id)
    await rig.push()
    const { status, error } = await rig.change(id)
    if (mode === 'keep' && Object.keys(columns).length === 0) expect(status).toBe('done')
    else {
      expect({ status, error }).toEqual({ status: 'failed', error: expect.stringContaining('Queue it again') })
      expect(truth()).toEqual(before)
    }
  })
})
