// Rentals that are made when they are asked for: the same at any time, in every list, with changes on top; and their places in
// an order, compared with those of records that are held.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../sandbox/index.ts'
import { byKey, Collection, Order } from '../../sandbox/world/collection.ts'
import { createEntity, type Entity } from '../../sandbox/world/entity.ts'
import { StreamedRecords } from '../../sandbox/world/streamed.ts'
import { byCreation } from '../../sandbox/world/world.ts'
import { type Fields, fields, list, now, openSandbox, send, today, truthOf } from './client.ts'

const streamed = (options = {}): Promise<Sandbox> => openSandbox({ heldAtMost: 0, size: 90, ...options })

/** All rentals of a list, page after page, by where each style says the next one is. */
async function readAll(sandbox: Sandbox, query = ''): Promise<readonly Fields[]> {
  const found: Fields[] = []
  let next: string | undefined = `/v3/rentals?perPage=7${query}`
  while (next !== undefined) {
    const reply = await send(sandbox, `GET ${next}`)
    found.push(...list(reply))
    next = /<([^>]+)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1]
  }
  return found
}

describe('places in an order', () => {
  const recordOf = (number: number, created: number): Entity =>
    createEntity('rentals', String(100 + number), { creationDatetime: `2026-01-01T00:00:${created}Z` })
  const change = fc.record({
    kind: fc.constantFrom('move', 'edit', 'remove', 'insert'),
    number: fc.nat(30),
    created: fc.integer({ min: 10, max: 50 }),
  })

  it('are those of records that are held, whatever was changed, inserted and removed', () => {
    fc.assert(
      fc.property(fc.nat(20), fc.array(change, { maxLength: 40 }), (length, changes) => {
        const make = (number: number): Entity => recordOf(number, 10 + number)
        const numberOf = (key: string): number | undefined =>
          Number(key) - 100 < length ? Number(key) - 100 : undefined
        const made = new StreamedRecords<Entity>({ length, make, mark: make, numberOf }, [byKey, byCreation])
        const orders = [new Order<Entity>(byKey), new Order<Entity>(byCreation)]
        const held = new Collection<Entity>(orders)
        held.load(Array.from({ length }, (_, number) => make(number)))
        for (const { kind, number, created } of changes) {
          for (const records of [made, held]) {
            const entity = records.get(String(100 + number))
            if (kind === 'insert') records.add(recordOf(number, created))
            else if (entity === undefined) continue
            else if (kind === 'remove') records.remove(entity)
            else if (kind === 'edit') {
              entity.own.message = String(created)
              records.keep(entity)
            } else
              records.change(entity, () => {
                entity.own.creationDatetime = `2026-01-01T00:00:${created}Z`
              })
          }
          expect(made.size).toBe(held.size)
          for (const [index, order] of orders.entries()) {
            const shown = made.orders[index]?.items
            expect(shown?.slice(0, shown.length)).toEqual(order.items)
            const thirds = { name: 'thirds', tests: [({ key }: Entity) => Number(key) % 3 === 0] }
            const chosen = made.orders[index]?.select(thirds)
            expect(chosen?.slice(0, chosen.length)).toEqual(order.select(thirds))
          }
        }
      }),
    )
  })
})

describe('a world whose rentals are not held', () => {
  let sandbox: Sandbox
  beforeAll(async () => {
    sandbox = await streamed({ paging: 'link' })
  })
  afterAll(() => sandbox.close())

  it('has every table of one that holds them, with the same fields, and is the same for the same seed', async () => {
    await using held = await openSandbox({ size: 90 })
    await using same = await streamed({ paging: 'cursor' })
    const [made, kept] = [sandbox.truth(), held.truth()]
    const shape = (rows: (typeof made)[string] | undefined): unknown => ({
      key: Object.keys(rows?.[0]?.key ?? {}),
      record: Object.keys(rows?.[0]?.record ?? {}),
    })
    for (const [table, rows] of Object.entries(kept)) expect(shape(made[table]), table).toEqual(shape(rows))
    expect(made.rentals).toHaveLength(90)
    expect(same.truthText()).toBe(sandbox.truthText())
  })

  it('shows the same rentals in both orders, in lists, as singles and below them', async () => {
    const truth = truthOf(sandbox, 'rentals').map(({ record }) => record)
    expect(await readAll(sandbox)).toEqual(truth)
    expect(await readAll(sandbox, '&order=creationDateAsc')).toEqual(truth)
    expect(await readAll(sandbox, '&order=creationDateDesc')).toEqual(truth.toReversed())
    const canceled = truth.filter(({ status }) => String(status).startsWith('CANCELED'))
    expect(await readAll(sandbox, '&status=CANCELED')).toEqual(canceled)
    const soon = truth.filter(({ departureDatetime }) => String(departureDatetime).slice(0, 10) >= today)
    expect(soon.length).toBeGreaterThan(0)
    expect(await readAll(sandbox, `&departureMinDate=${today}&departureMaxDate=2026-12-31`)).toEqual(soon)
    for (const record of truth.slice(40, 45)) {
      expect(fields(await send(sandbox, `GET /v3/rentals/${record.id}`))).toEqual(record)
      const payments = truthOf(sandbox, 'rental_payments').filter(({ key }) => key.rental_id === record.id)
      expect(list(await send(sandbox, `GET /v3/rentals/${record.id}/payments`))).toEqual(
        payments.map((payment) => payment.record),
      )
    }
    expect((await send(sandbox, 'GET /v3/rentals/20091')).status).toBe(404)
  })

  it('never rents a boat twice at a time, and its calendar knows each rental', async () => {
    const resources = new Map(truthOf(sandbox, 'rental_resources').map(({ key, record }) => [key.rental_id, record]))
    const taken = truthOf(sandbox, 'rentals').flatMap(
      ({ record: { id, status, departureDatetime, arrivalDatetime } }) => {
        const { boatId } = (resources.get(Number(id)) as { resource: { boatId: number } }).resource
        const span = { boatId, from: String(departureDatetime), to: String(arrivalDatetime) }
        return String(status).startsWith('CANCELED') ? [] : [span]
      },
    )
    for (const [index, a] of taken.entries())
      for (const b of taken.slice(index + 1))
        if (a.boatId === b.boatId) expect(a.to < b.from || b.to < a.from, `${a.from} ${b.from}`).toBe(true)
    const boats = new Map(truthOf(sandbox, 'resources').map(({ record }) => [record.id, record.boatId]))
    const blocked = truthOf(sandbox, 'resource_unavailabilities').filter(({ record }) => record.reason === 'RENTAL')
    const known = (boatId: unknown): string[] =>
      taken.filter((span) => span.boatId === boatId && span.to >= today).map(({ from }) => from)
    expect(blocked.length).toBeGreaterThan(0)
    for (const [resource, boatId] of boats) {
      const own = blocked.filter(({ key }) => key.resource_id === resource)
      expect(own.map(({ record }) => record.startDatetime)).toEqual(known(boatId))
    }
  })

  it('keeps what is changed by control and by requests, and nothing else changes', async () => {
    await using changed = await streamed({ paging: 'link' })
    const before = truthOf(changed, 'rentals')
    changed.mutate([
      { record: 'rentals', op: 'update', id: 20_010, set: { message: 'changed' } },
      { record: 'rentals', op: 'delete', id: 20_020 },
      { record: 'rentals', op: 'insert' },
      { record: 'rental_payments', op: 'insert', parent: 20_030 },
      {
        record: 'resources',
        op: 'update',
        id: String(truthOf(changed, 'resources')[0]?.key.id),
        set: { name: 'Renamed' },
      },
    ])
    expect((await send(changed, 'DELETE /v3/rentals/20040')).status).toBe(204)
    const member = { firstName: 'Ada', lastName: 'L', type: 'ADULT' }
    expect((await send(changed, 'POST /v3/rentals/20050/crewMembers', member)).status).toBe(200)
    const after = truthOf(changed, 'rentals')
    const ids = new Set([20_010, 20_030, 20_050, 20_091])
    const untouched = (rows: typeof before) => rows.filter(({ key }) => !ids.has(Number(key.id)))
    expect(untouched(after)).toEqual(untouched(before).filter(({ key }) => key.id !== 20_020 && key.id !== 20_040))
    expect(after).toHaveLength(89)
    expect(await readAll(changed)).toEqual(after.map(({ record }) => record))
    expect(fields(await send(changed, 'GET /v3/rentals/20010')).message).toBe('changed')
    expect(list(await send(changed, 'GET /v3/rentals/20050/crewMembers')).at(-1)).toMatchObject(member)
    // What was booked stays as it was, and an id is given once.
    expect(JSON.stringify(truthOf(changed, 'rental_resources'))).not.toContain('Renamed')
    const crew = truthOf(changed, 'rental_crew_members').map(({ key }) => key.id)
    expect(new Set(crew).size).toBe(crew.length)
  })
})

it('a million rentals are served from either end', async () => {
  await using sandbox = await openSandbox({ size: 1_000_000, totalHeader: 'x-total', paging: 'offset', now })
  const last = await send(sandbox, 'GET /v3/rentals?order=creationDateAsc&limit=100&offset=999900')
  expect(last.headers.get('x-total')).toBe('1000000')
  expect(list(last).map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, index) => 1_019_901 + index))
  expect(fields(await send(sandbox, 'GET /v3/rentals/1020000'))).toEqual(list(last).at(-1))
  const newest = list(await send(sandbox, 'GET /v3/rentals?order=creationDateDesc&limit=3'))
  expect(newest).toEqual(list(last).slice(-3).toReversed())
})
