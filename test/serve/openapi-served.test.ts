// What `serve` answers is as its own document says, and a client made from that document lists what it serves.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/api/wire/json.ts'
import { readEndpoints } from '../../src/catalog/catalog.ts'
import { drawnAnswer, type Served } from './drawn-reads.ts'
import { createOpenApiCheck, type OpenApiCheck } from './openapi-check.ts'
import { buildClient } from './openapi-client.ts'
import { openServed, type ServedMirror } from './served-rig.ts'

let served: ServedMirror
let asked: Served
let document: JsonObject
let check: OpenApiCheck
beforeAll(async () => {
  served = await openServed()
  const headers = { authorization: `Bearer ${served.tokens.all}` }
  asked = { url: served.url, headers, today: served.mirror.app.clock.now().toISOString().slice(0, 10) }
  document = (await (await fetch(`${served.url}/openapi.json`, { headers })).json()) as JsonObject
  check = createOpenApiCheck(document)
})
afterAll(() => served[Symbol.asyncDispose]())

describe('serve', () => {
  it('answers every read as its document says', async () => {
    for (const endpoint of readEndpoints) {
      const { url, body } = await drawnAnswer(asked, endpoint, 0)
      const answer = { status: 200, contentType: 'application/json', body }
      expect(check.faultsOf(endpoint, answer), url).toEqual([])
    }
  })

  it('lists its rentals to a client made from its document', async () => {
    await using client = await buildClient(document)
    const ids = await client.listRentals(served.url, served.tokens.all)
    const { rows } = await served.mirror.app.database.pool.query<{ id: string }>(
      'select id from mirror.rentals where _deleted_at is null order by creation_datetime, id',
    )
    expect(rows.length).toBeGreaterThan(0)
    expect(ids).toEqual(rows.map(({ id }) => Number(id)))
  })
})
