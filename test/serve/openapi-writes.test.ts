// What writes are asked and answered with is as the OpenAPI document says.

import { describe, expect, it } from 'vitest'
import { stringifyJson } from '../../src/api/wire/json.ts'
import { writeNamed } from '../../src/catalog/writes.ts'
import { readConfig } from '../../src/config.ts'
import { keepsAll } from '../../src/privacy/rules.ts'
import { openApiDocument } from '../../src/serve/openapi/document.ts'
import { opened } from '../helpers/opened.ts'
import { createOpenApiCheck } from './openapi-check.ts'
import { type Got, openWrites, type Sent } from './writes-rig.ts'

const { api } = readConfig({}, '/nonexistent')
const document = openApiDocument({ api, privacy: keepsAll, isOpenToLocal: true })
const check = createOpenApiCheck(JSON.parse(stringifyJson(document)))

const served = opened(() => openWrites({ env: { MIRROR_DOCUMENTS: 'on' } }))

const faultsOf = (operation: string, { status, headers, json }: Got): readonly string[] =>
  check.faultsOf(operation, { status, contentType: headers.get('content-type'), body: json })

describe('a served write', () => {
  it('takes what the document says, and answers what it says, for all 22', async () => {
    const plan = served.planner.plan()
    expect(plan).toHaveLength(22)
    await Promise.all(
      plan.map(async ({ operation, endpoint, method, path, body }) => {
        if (writeNamed(operation).body.length > 0) expect(check.faultsOfBody(endpoint, body), operation).toEqual([])
        const got = await served.send({ method, path, ...(method !== 'DELETE' && { body }) })
        expect(got.status, got.text).toBeLessThan(300)
        expect(faultsOf(endpoint, got), got.text).toEqual([])
      }),
    )
  })

  it('takes several options at once, as the document says', async () => {
    const { rentalId, optionId } = served.planner.freeOption()
    const body = [{ optionId, quantity: 1 }]
    const operation = 'POST /v3/rentals/{rentalId}/options'
    expect(check.faultsOfBody(operation, body)).toEqual([])
    const got = await served.send({ method: 'POST', path: `/v3/rentals/${rentalId}/options`, body })
    expect([got.status, faultsOf(operation, got)]).toEqual([200, []])
  })

  it('that is not waited for is answered with an address, whose answer the document describes, too', async () => {
    const { rentalId } = served.planner.freeOption()
    const body = { currency: 'EUR', method: { id: 1 }, price: 3, reference: 'not waited for' }
    const path = `/v3/rentals/${rentalId}/payments`
    const got = await served.send({ method: 'POST', path, body, headers: { prefer: 'respond-async' } })
    expect([got.status, faultsOf('POST /v3/rentals/{rentalId}/payments', got)]).toEqual([202, []])
    const state = await served.send({ method: 'GET', path: got.headers.get('location') ?? '' })
    expect([state.status, faultsOf('GET /changes/{changeId}', state)]).toEqual([200, []])
  })

  const rental = { method: 'PUT', path: '/v3/rentals/999999999', body: { status: 'VALIDATED' } } as const
  const refusals: readonly (Sent & { readonly status: number })[] = [
    { ...rental, status: 400, path: '/v3/rentals/none' },
    { ...rental, status: 400, body: '[' },
    { ...rental, status: 401, token: '' },
    { ...rental, status: 403, token: 'reader' },
    { ...rental, status: 412, headers: { 'if-match': '"none"' } },
    { ...rental, status: 413, body: `{"orderLink":"${'x'.repeat(1_000_001)}"}` },
    { ...rental, status: 415, headers: { 'content-type': 'text/plain' } },
    { ...rental, status: 422, body: { orderLink: `bmh1:${'x'.repeat(43)}` } },
  ]
  for (const { status, ...sent } of refusals)
    it(`is refused with ${status} as the document says`, async () => {
      const got = await served.send(sent)
      expect([got.status, faultsOf('PUT /v3/rentals/{rentalId}', got)], got.text).toEqual([status, []])
    })
})
