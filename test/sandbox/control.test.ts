// The control interface: the world is changed from outside, and what clients did is seen.

import { describe, expect, it } from 'vitest'
import type { Change } from '../../sandbox/index.ts'
import { openedForEach } from '../helpers/opened.ts'
import { type Fields, fields, first, list, now, openSandbox, send, today, truthOf } from './client.ts'

const sandbox = openedForEach(openSandbox)

describe('changes from outside', () => {
  const one = (change: Change): string => first(sandbox.mutate([change])).id

  it('insert, update and delete a record of every kind', () => {
    const rental = String(first(truthOf(sandbox, 'rental_crew_members')).key.rental_id)
    const resource = String(first(truthOf(sandbox, 'resources')).key.id)
    const bare = String(one({ record: 'users', op: 'insert', set: { lastName: 'Bare' } }))
    sandbox.mutate([
      { record: 'user_identities', op: 'insert', parent: bare },
      { record: 'user_licenses', op: 'insert', parent: bare },
    ])
    const kinds: [record: string, parent: string | undefined, field: string][] = [
      ['users', undefined, 'lastName'],
      ['companies', undefined, 'companyBrandName'],
      ['resources', undefined, 'name'],
      ['rentals', undefined, 'message'],
      ['harbours', undefined, 'name'],
      ['countries', undefined, 'name'],
      ['resource_options', resource, 'name'],
      ['resource_pricings', resource, 'name'],
      ['rental_options', rental, 'quantity'],
      ['rental_payments', rental, 'reference'],
      ['rental_crew_members', rental, 'firstName'],
    ]
    for (const [record, parent, field] of kinds) {
      const above = parent === undefined ? {} : { parent }
      const value = field === 'quantity' ? 77 : `changed ${record}`
      const id = one({ record, op: 'insert', ...above })
      const rows = () => truthOf(sandbox, record).filter(({ key }) => String(key.id ?? key.code) === id)
      expect(rows(), record).toHaveLength(1)
      one({ record, op: 'update', id, ...above, set: { [field]: value } })
      expect(rows()[0]?.record[field], record).toBe(value)
      one({ record, op: 'delete', id, ...above })
      expect(rows(), record).toEqual([])
    }
    for (const record of ['user_identities', 'user_licenses']) {
      one({ record, op: 'update', parent: bare, set: { number: 'N' } })
      const rows = () => truthOf(sandbox, record).filter(({ key }) => String(key.user_id) === bare)
      expect(rows()[0]?.record.number).toBe('N')
      one({ record, op: 'delete', parent: bare })
      expect(rows()).toEqual([])
    }
  })

  it('set links by id, any value else as it is, and leave fields out', async () => {
    const { key } = first(truthOf(sandbox, 'rentals'))
    const id = String(key.id)
    one({
      record: 'rentals',
      op: 'update',
      id,
      set: { user: { id: 5002 }, arrivalHarbour: { id: 13 }, extra: ['x'], message: null },
      unset: ['orderLink'],
    })
    const rental = fields(await send(sandbox, `GET /v3/rentals/${id}`))
    expect(rental).toMatchObject({
      user: { id: 5002 },
      arrivalHarbour: { id: 13, name: 'Port de la Pointe Rouge' },
      extra: ['x'],
      message: null,
    })
    expect(rental).not.toHaveProperty('orderLink')
  })

  it('show in everything that embeds the record', async () => {
    const { record, key } = first(truthOf(sandbox, 'resources'))
    const { id } = record.harbour as Fields
    one({ record: 'harbours', op: 'update', id: String(id), set: { name: 'Porto Novo' } })
    expect(fields(await send(sandbox, `GET /v3/resources/${key.id}`)).harbour).toMatchObject({ name: 'Porto Novo' })
  })

  it('move modification times, but not with touch: false', async () => {
    const { key, record } = first(truthOf(sandbox, 'rental_crew_members'))
    const modified = async (): Promise<string> =>
      String(fields(await send(sandbox, `GET /v3/rentals/${key.rental_id}`)).lastModificationDatetime)
    const before = await modified()
    const change: Change = {
      record: 'rental_crew_members',
      op: 'update',
      id: Number(key.id),
      parent: Number(key.rental_id),
      set: { lastName: 'X' },
    }
    one({ ...change, touch: false })
    expect(await modified()).toBe(before)
    expect(first(truthOf(sandbox, 'rental_crew_members')).record).toEqual({ ...record, lastName: 'X' })
    one(change)
    expect((await modified()) > before).toBe(true)
  })

  const impossible: Change[] = [
    { record: 'boats', op: 'insert' },
    { record: 'users', op: 'update', id: 1 },
    { record: 'users', op: 'insert', id: 5001 },
    { record: 'rental_payments', op: 'insert', parent: 1 },
    { record: 'rental_payments', op: 'insert' },
  ]
  for (const change of impossible) {
    it(`${JSON.stringify(change)} is refused`, async () => {
      expect(() => sandbox.mutate([change])).toThrow(RangeError)
      expect((await send(sandbox, 'POST /_sandbox/mutate', [change])).status).toBe(400)
    })
  }

  it('come in random rounds that are the same for the same seed', async () => {
    await using twin = await openSandbox()
    const round = sandbox.mutateRandomly(150, 5)
    expect(round).toHaveLength(150)
    expect(twin.mutateRandomly(150, 5)).toEqual(round)
    expect(twin.truthText()).toBe(sandbox.truthText())
    for (const op of ['insert', 'update', 'delete']) expect(round.some((change) => change.op === op)).toBe(true)
    await using other = await openSandbox()
    expect((await send(other, 'POST /_sandbox/mutate', { random: 150, seed: 6 })).body).not.toEqual(round)
  })

  it('come in random rounds that leave alone what they are told to spare', async () => {
    const before = truthOf(sandbox, 'rentals')
    const round = sandbox.mutateRandomly(150, 5, ({ record }) => record === 'rentals' || record.startsWith('rental_'))
    expect(round).toHaveLength(150)
    const afterwards = truthOf(sandbox, 'rentals')
    expect(afterwards.map(({ key }) => key)).toEqual(before.map(({ key }) => key))
    for (const table of ['rental_options', 'rental_payments', 'rental_crew_members'])
      expect(round.filter(({ record }) => record === table)).toEqual([])
  })

  it('leave a world whose lists agree with its truth', async () => {
    sandbox.mutateRandomly(200, 9)
    const active = truthOf(sandbox, 'users').filter(({ record }) => record.deactivated !== true)
    expect(list(await send(sandbox, 'GET /v3/users?perPage=100'))).toEqual(active.map(({ record }) => record))
    const byCreation = list(await send(sandbox, 'GET /v3/rentals?perPage=100&order=creationDateAsc'))
    expect(byCreation).toHaveLength(truthOf(sandbox, 'rentals').length)
    for (const { key, record } of truthOf(sandbox, 'rentals')) {
      expect(byCreation.find(({ id }) => id === key.id)).toEqual(record)
    }
  })
})

describe('raw texts', () => {
  const text =
    '{"id":90071992547409931,"lastName":"\\u0000\\ud800","weight":0.123456789012345678901234567890,"lastModificationDatetime":null}'

  it('are served verbatim alone, in lists, embedded and in the truth, for a record that did not exist', async () => {
    sandbox.raw({ record: 'users', id: '90071992547409931' }, text)
    sandbox.mutate([{ record: 'rentals', op: 'insert', set: { user: { id: '90071992547409931' } } }])
    expect((await send(sandbox, 'GET /v3/users/90071992547409931')).text).toBe(text)
    expect((await send(sandbox, 'GET /v3/users?perPage=100')).text).toContain(text)
    expect((await send(sandbox, 'GET /v3/rentals?perPage=100')).text).toContain(`"user":${text}`)
    expect(sandbox.truthText({ only: ['users'] })).toContain(`{"key":{"id":90071992547409931},"record":${text}}`)
  })

  it('replace a record below another, over HTTP', async () => {
    const { key } = first(truthOf(sandbox, 'rental_payments'))
    const body = {
      record: 'rental_payments',
      parent: key.rental_id,
      id: key.id,
      text: `{"id":${key.id},"price":1e400}`,
    }
    expect((await send(sandbox, 'POST /_sandbox/raw', body)).status).toBe(200)
    const response = await fetch(`${sandbox.url}/v3/rentals/${key.rental_id}/payments/${key.id}`)
    expect(await response.text()).toBe(body.text)
  })

  it('end when the API writes the record', async () => {
    sandbox.raw({ record: 'users', id: 5001 }, '{"id":5001,"odd":true}')
    const user = fields(await send(sandbox, 'PUT /v3/users/5001', { email: 'x@example.com', lastName: 'Y' }))
    expect(user).toMatchObject({ id: 5001, lastName: 'Y' })
    expect(user).not.toHaveProperty('odd')
  })
})

describe('the clock', () => {
  it('is set, advanced and read over HTTP, and decides what today is', async () => {
    expect((await send(sandbox, 'GET /_sandbox/clock')).body).toEqual({ now: now.toISOString() })
    expect((await send(sandbox, 'POST /_sandbox/clock', { advanceMs: 86_400_000 })).body).toEqual({
      now: '2026-06-11T08:00:00.000Z',
    })
    const [{ id } = { id: '' }] = list(await send(sandbox, 'GET /v3/resources'))
    const slots = `GET /v3/resources/${id}/slots?date=${today}&duration=DAYS,1`
    expect(list(await send(sandbox, slots))).toEqual([])
    await send(sandbox, 'POST /_sandbox/clock', { set: '2027-01-01T00:00:00Z' })
    expect(fields(await send(sandbox, `GET /v3/resources/${id}/availabilities`)).year).toBe('2027')
    expect((await send(sandbox, 'POST /_sandbox/clock', { set: 'noon' })).status).toBe(400)
  })
})

describe('what clients did', () => {
  it('is logged with template, query, body and status, and counted', async () => {
    await send(sandbox, 'GET /v3/users/5001?a=b')
    await send(sandbox, 'POST /v3/users', { email: 1 })
    const requests = (await send(sandbox, 'GET /_sandbox/requests')).body as Fields[]
    expect(requests).toHaveLength(2)
    expect(requests[0]).toMatchObject({
      method: 'GET',
      path: '/v3/users/5001',
      template: 'GET /v3/users/{userId}',
      query: { a: 'b' },
      status: 200,
    })
    expect(requests[1]).toMatchObject({ template: 'POST /v3/users', body: '{"email":1}', status: 400 })
    const stats = fields(await send(sandbox, 'GET /_sandbox/stats'))
    expect(stats).toMatchObject({
      total: 2,
      maxInFlight: 1,
      templates: { 'GET /v3/users/{userId}': 1, 'POST /v3/users': 1 },
    })
    await send(sandbox, 'DELETE /_sandbox/requests')
    expect(sandbox.requests()).toEqual([])
    expect(sandbox.stats().total).toBe(0)
  })
})
