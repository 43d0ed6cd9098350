// Every operation answers, with records of the described shape.

import { readFileSync } from 'node:fs'
import { Compile } from 'typebox/compile'
import { describe, expect, it } from 'vitest'
import { operations } from '../../sandbox/operations.ts'
import { opened } from '../helpers/opened.ts'
import { bookRental, type Fields, fields, first, list, openSandbox, send, today, truthOf, userBody } from './client.ts'

const sandbox = opened(openSandbox)

/** Path parameters that lead to existing records, for reads. */
function existingParameters(path: string): Fields {
  const truth = (table: string): Fields => first(truthOf(sandbox, table)).key
  if (path.includes('/slots/')) {
    const { resource_id: resourceId, slot_id: slotId } = truth('resource_slot_tides')
    return { resourceId, slotId }
  }
  if (path.endsWith('/slots')) return { resourceId: truth('resource_slots').resource_id }
  if (path.startsWith('/v3/resources')) {
    const { resource_id: resourceId, id: optionId } = truth('resource_options')
    return { resourceId, optionId }
  }
  if (path.startsWith('/v3/users')) {
    const licensed = new Set(truthOf(sandbox, 'user_licenses').map(({ key }) => key.user_id))
    const both = first(truthOf(sandbox, 'user_identities'), ({ key }) => licensed.has(key.user_id ?? null))
    return { userId: both.key.user_id }
  }
  const { rental_id: rentalId, id: crewMemberId } = truth('rental_crew_members')
  const below = (table: string): unknown =>
    first(truthOf(sandbox, table), ({ key }) => key.rental_id === rentalId).key.id
  if (path.startsWith('/v3/rentals')) {
    const parts = { optionId: below('rental_options'), paymentId: below('rental_payments') }
    return { rentalId, crewMemberId, ...parts }
  }
  const table = path.split('/')[2]?.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) ?? ''
  const key = table === 'companies' || /_level\d$|s$/.test(table) ? truth(table) : {}
  const name = /\{(\w+)\}/.exec(path)?.[1] ?? 'id'
  return { [name]: key.id ?? key.code }
}

const fill = (path: string, values: Fields): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])))

const queries: Record<string, () => string> = {
  '/v3/resources/availabilities': () =>
    `?resourceIds=${first(truthOf(sandbox, 'resources')).key.id}&date=${today}&duration=DAYS,1`,
  '/v3/resources/{resourceId}/availability': () => `?date=${today}&duration=DAYS,1`,
  '/v3/resources/{resourceId}/slots': () => {
    const [, date, duration] = String(first(truthOf(sandbox, 'resource_slots')).key.id).split('/')
    return `?date=${date}&duration=${duration}`
  },
}

describe('the table of operations', () => {
  it('has the operations of the API that are documented, each once', () => {
    const names = operations.map(({ method, path }) => `${method} ${path}`)
    expect(new Set(names).size).toBe(names.length)
    const reads = operations.filter((operation) => operation.method === 'GET').length
    expect(readFileSync(new URL('../../docs/sources.md', import.meta.url), 'utf8')).toContain(
      `${names.length} operations under \`/v3\`: ${reads} reads and ${names.length - reads} writes.`,
    )
  })
})

describe('every read answers with records as described', () => {
  for (const operation of operations.filter(({ method }) => method === 'GET')) {
    it(`GET ${operation.path}`, async () => {
      const path = fill(operation.path, existingParameters(operation.path)) + (queries[operation.path]?.() ?? '')
      const reply = await send(sandbox, `GET ${path}`)
      expect(reply.status, reply.text).toBe(200)
      const records = operation.shape === 'one' ? [fields(reply)] : list(reply)
      expect(records.length).toBeGreaterThan(0)
      const { response } = operation
      if (!response) throw new Error('a read must have a record')
      const validator = Compile(response)
      for (const record of records) {
        expect(validator.Errors(record)).toEqual([])
        expect(Object.keys(record).filter((field) => !(field in response.properties))).toEqual([])
      }
    })
  }
})

describe('every write answers', () => {
  const identity = { number: 'AB1', type: 'PASSEPORT' }
  const license = { number: 'L1', type: { id: 1 }, year: 2001, country: { code: 'FR' } }
  const payment = { currency: 'EUR', method: { id: 1 }, price: 12.5, reference: 'P-1' }
  const member = { firstName: 'Joan', lastName: 'Clarke', email: 'joan@example.com', type: 'ADULT' }

  it('the nine of users and their documents', async () => {
    const user = fields(await send(sandbox, 'POST /v3/users', userBody))
    expect(user).toMatchObject({
      firstName: 'Ada',
      deactivated: false,
      nationality: { code: 'GB', name: 'United Kingdom' },
    })
    const path = `/v3/users/${user.id}`
    expect(fields(await send(sandbox, `PUT ${path}`, { ...userBody, lastName: 'King' })).lastName).toBe('King')
    for (const [name, body] of Object.entries({ identity, license })) {
      expect((await send(sandbox, `POST ${path}/${name}`, body)).status).toBe(200)
      expect(fields(await send(sandbox, `PUT ${path}/${name}`, { ...body, number: 'Z9' })).number).toBe('Z9')
      expect(await send(sandbox, `DELETE ${path}/${name}`)).toMatchObject({ status: 204, text: '' })
      expect((await send(sandbox, `GET ${path}/${name}`)).status).toBe(404)
    }
    expect((await send(sandbox, `DELETE ${path}`)).status).toBe(204)
    expect((await send(sandbox, `GET ${path}`)).status).toBe(404)
  })

  it('the thirteen of rentals and their parts', async () => {
    const rental = await bookRental(sandbox)
    const path = `/v3/rentals/${rental.id}`
    expect(fields(await send(sandbox, `PUT ${path}`, { status: 'VALIDATED' })).status).toBe('VALIDATED')
    const { key } = first(truthOf(sandbox, 'users'))
    expect(fields(await send(sandbox, `POST ${path}/user`, { userId: key.id })).id).toBe(key.id)
    const resource = fields(await send(sandbox, `GET ${path}/resource`)).resource as Fields
    const [option] = list(await send(sandbox, `GET /v3/resources/${resource.id}/options`))
    const parts = [
      { name: 'options', body: { optionId: option?.id, quantity: 1 }, change: { quantity: 3 } },
      { name: 'payments', body: payment, change: { ...payment, price: 99 } },
      { name: 'crewMembers', body: member, change: { ...member, type: 'CHILD' } },
    ]
    for (const { name, body, change } of parts) {
      const added = fields(await send(sandbox, `POST ${path}/${name}`, body))
      const single = `${path}/${name}/${added.id}`
      expect(fields(await send(sandbox, `GET ${single}`))).toEqual(added)
      const changed = fields(await send(sandbox, `PUT ${single}`, change))
      expect(changed).toMatchObject(name === 'payments' ? { price: 99 } : change)
      expect(list(await send(sandbox, `GET ${path}/${name}`))).toEqual([changed])
      expect((await send(sandbox, `DELETE ${single}`)).status).toBe(204)
      expect(list(await send(sandbox, `GET ${path}/${name}`))).toEqual([])
    }
    expect((await send(sandbox, `DELETE ${path}`)).status).toBe(204)
    expect((await send(sandbox, `GET ${path}`)).status).toBe(404)
  })
})
