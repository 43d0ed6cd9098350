// The address book: full replacement, refusals that name the field, filters, documents at most once.

import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../sandbox/index.ts'
import { openedForEach } from '../helpers/opened.ts'
import { type Fields, fields, first, list, openSandbox, send, truthOf, userBody } from './client.ts'

const sandbox = openedForEach(openSandbox)

describe('a user', () => {
  it('is replaced whole by PUT: what is left out is gone', async () => {
    const user = fields(await send(sandbox, 'POST /v3/users', userBody))
    expect(user.mobilePhone).toBe('+44 1')
    const replaced = fields(
      await send(sandbox, `PUT /v3/users/${user.id}`, { email: 'new@example.com', lastName: 'King' }),
    )
    expect(replaced).toMatchObject({ lastName: 'King', firstName: null, mobilePhone: null, addressCountry: null })
    expect(fields(await send(sandbox, `GET /v3/users/${user.id}`))).toEqual(replaced)
  })

  it('keeps what only the server sets, and ignores unknown fields', async () => {
    const body = { ...userBody, id: 1, deactivated: true, creationDatetime: 'x', shoeSize: 38 }
    const user = fields(await send(sandbox, 'POST /v3/users', body))
    expect(user).toMatchObject({ deactivated: false, creationDatetime: '2026-06-10T08:00:00.000Z' })
    expect(user).not.toHaveProperty('shoeSize')
    expect(user.id).not.toBe(1)
  })

  const refusals: { name: string; body: unknown; status: number; field?: string }[] = [
    { name: 'without an email', body: { ...userBody, email: undefined }, status: 400, field: 'email' },
    { name: 'with something that is no email', body: { ...userBody, email: 'ada' }, status: 400, field: 'email' },
    { name: 'with an unknown civility', body: { ...userBody, civility: 'DR' }, status: 400, field: 'civility' },
    { name: 'with a number for a name', body: { ...userBody, lastName: 5 }, status: 400, field: 'lastName' },
    {
      name: 'from an unknown country',
      body: { ...userBody, addressCountry: { code: 'QQ' } },
      status: 400,
      field: 'addressCountry.code',
    },
    {
      name: 'that is a society without a name',
      body: { ...userBody, organizationType: 'SOCIETY' },
      status: 400,
      field: 'organizationName',
    },
    { name: 'that is not an object', body: [1], status: 400, field: 'body' },
  ]
  for (const { name, body, status, field } of refusals) {
    it(`${name} is refused with ${status}, naming ${field}`, async () => {
      const reply = await send(sandbox, 'POST /v3/users', body)
      expect(reply.status).toBe(status)
      const { code, message, errors } = fields(reply)
      expect(code).toBe('BAD_REQUEST')
      expect(message).toContain(field)
      expect((errors as Fields[]).map((error) => error.field)).toContain(field)
    })
  }

  it('is refused with 400 when the body is not JSON', async () => {
    const response = await fetch(`${sandbox.url}/v3/users`, { method: 'POST', body: '{"a":' })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'BAD_JSON' })
  })

  it('can not have the email of another, unless the sandbox was told so', async () => {
    expect((await send(sandbox, 'POST /v3/users', userBody)).status).toBe(200)
    const second = await send(sandbox, 'POST /v3/users', { ...userBody, email: 'ADA@example.com' })
    expect([second.status, fields(second).code]).toEqual([409, 'CONFLICT'])
    await using lenient = await openSandbox({ uniqueEmails: false })
    expect((await send(lenient, 'POST /v3/users', userBody)).status).toBe(200)
    expect((await send(lenient, 'POST /v3/users', userBody)).status).toBe(200)
  })

  it('that is deleted leaves its rentals without a user', async () => {
    const rental = first(truthOf(sandbox, 'rentals'), ({ record }) => record.user !== null)
    const { id } = rental.record.user as Fields
    expect((await send(sandbox, `DELETE /v3/users/${id}`)).status).toBe(204)
    const after = fields(await send(sandbox, `GET /v3/rentals/${rental.key.id}`))
    expect(after.user).toBeNull()
    expect(String(after.lastModificationDatetime) > String(rental.record.lastModificationDatetime)).toBe(true)
    expect((await send(sandbox, `GET /v3/rentals/${rental.key.id}/user`)).status).toBe(404)
    expect((await send(sandbox, `DELETE /v3/users/${id}`)).status).toBe(404)
  })

  it('is embedded in its rentals as it is now', async () => {
    const { record, key } = first(truthOf(sandbox, 'rentals'), (rental) => rental.record.user !== null)
    const { id } = record.user as Fields
    await send(sandbox, `PUT /v3/users/${id}`, { ...userBody, email: 'changed@example.com' })
    const { user } = fields(await send(sandbox, `GET /v3/rentals/${key.id}`))
    expect(user).toEqual(fields(await send(sandbox, `GET /v3/users/${id}`)))
    expect(user).toMatchObject({ email: 'changed@example.com' })
  })

  it('has 400 for an id that is no number, 404 for one that does not exist', async () => {
    expect((await send(sandbox, 'GET /v3/users/abc')).status).toBe(400)
    expect((await send(sandbox, 'GET /v3/users/1')).status).toBe(404)
    expect((await send(sandbox, 'PUT /v3/users/1', userBody)).status).toBe(404)
  })
})

describe('the list of users', () => {
  const ids = async (query: string): Promise<unknown[]> =>
    list(await send(sandbox, `GET /v3/users?perPage=100${query}`)).map(({ id }) => id)

  it('shows deactivated users only when asked for them', async () => {
    sandbox.mutate([{ record: 'users', op: 'update', id: 5003, set: { deactivated: true } }])
    expect(await ids('')).not.toContain(5003)
    expect(await ids('&deactivated=false')).not.toContain(5003)
    const deactivated = list(await send(sandbox, 'GET /v3/users?deactivated=true'))
    expect(deactivated.every((user) => user.deactivated === true)).toBe(true)
    expect(deactivated.map(({ id }) => id)).toContain(5003)
    expect((await send(sandbox, 'GET /v3/users/5003')).status).toBe(200)
  })

  it('is filtered by id, name, email and kind of organization', async () => {
    const user = fields(await send(sandbox, 'POST /v3/users', { ...userBody, lastName: 'Lovelace-Zzyzx' }))
    for (const query of [
      `id=${user.id}`,
      'name=zzyzx',
      'email=Ada@example.com',
      'name=Zzyzx&organizationType=INDIVIDUAL',
    ]) {
      expect(await ids(`&${query}`), query).toEqual([user.id])
    }
    expect(await ids('&name=zzyzx&organizationType=SOCIETY')).toEqual([])
    expect((await send(sandbox, 'GET /v3/users?organizationType=CLUB')).status).toBe(400)
    expect((await send(sandbox, 'GET /v3/users?deactivated=maybe')).status).toBe(400)
  })
})

describe('the documents of a user', () => {
  const identity = { number: 'AB1', type: 'PASSEPORT' }
  const userId = 5001

  it('are at most one of each: a second is refused, a missing one not found', async () => {
    expect((await send(sandbox, `POST /v3/users/${userId}/identity`, identity)).status).toBe(409)
    expect((await send(sandbox, `DELETE /v3/users/${userId}/identity`)).status).toBe(204)
    for (const operation of ['GET', 'DELETE']) {
      expect((await send(sandbox, `${operation} /v3/users/${userId}/identity`)).status).toBe(404)
    }
    expect((await send(sandbox, `PUT /v3/users/${userId}/identity`, identity)).status).toBe(404)
    expect(fields(await send(sandbox, `POST /v3/users/${userId}/identity`, identity))).toEqual(identity)
  })

  it('show the names of country and license type that a client gives by code and id', async () => {
    const body = { number: 'L', type: { id: 2 }, year: 1999, country: { code: 'IT' } }
    expect(fields(await send(sandbox, `PUT /v3/users/${userId}/license`, body))).toEqual({
      number: 'L',
      year: 1999,
      type: { id: 2, name: 'Offshore licence' },
      country: { code: 'IT', name: 'Italy' },
    })
    expect((await send(sandbox, `PUT /v3/users/${userId}/license`, { ...body, type: { id: 99 } })).status).toBe(400)
    expect((await send(sandbox, `PUT /v3/users/${userId}/identity`, { number: 'x', type: 'PASSPORT' })).status).toBe(
      400,
    )
  })

  it('move the modification time of the user, unless the sandbox was told not to', async () => {
    const modified = async (world: Sandbox): Promise<[string, string]> => {
      const before = fields(await send(world, `GET /v3/users/${userId}`)).lastModificationDatetime
      await send(world, `PUT /v3/users/${userId}/identity`, identity)
      return [String(before), String(fields(await send(world, `GET /v3/users/${userId}`)).lastModificationDatetime)]
    }
    const [before, after] = await modified(sandbox)
    expect(after > before).toBe(true)
    await using quiet = await openSandbox({ touch: false })
    const [same, still] = await modified(quiet)
    expect(still).toBe(same)
  })
})

it('takes each user and each license of a small world back as it shows them', async () => {
  const { users = [], user_licenses: licenses = [] } = sandbox.truth({ only: ['users', 'user_licenses'] })
  expect(Math.min(users.length, licenses.length)).toBeGreaterThan(2)
  for (const { key, record } of users) expect((await send(sandbox, `PUT /v3/users/${key.id}`, record)).status).toBe(200)
  for (const { key, record } of licenses)
    expect((await send(sandbox, `PUT /v3/users/${key.user_id}/license`, record)).status).toBe(200)
})
