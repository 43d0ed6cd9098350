// What is accepted is sent within /v3 and within the template of its operation, whatever the ids look like.

import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildRequest, buildTarget } from '../../src/api/wire/request.ts'
import { readEndpoints } from '../../src/catalog/catalog.ts'
import { writes } from '../../src/catalog/writes.ts'
import { ApiError } from '../../src/errors.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { createRig } from '../outbox/rig.ts'
import { calls } from './changes.ts'
import { casesOf, sampleOf, settingsOf } from './draw.ts'
import { names, text } from './generators.ts'

const segmentsOf = (path: string): readonly string[] => path.split('/').slice(1)

const isStep = (value: string | undefined): boolean => value === '.' || value === '..'

describe('the path of a request', () => {
  const target = buildTarget(
    { baseUrl: 'https://api.example.com/root', token: null, auth: { kind: 'none' }, language: null },
    '1',
  )
  const endpoints = [...writes.map((write) => write.endpoint), ...readEndpoints].filter((endpoint) =>
    endpoint.includes('{'),
  )
  const value = fc.oneof(
    text,
    fc.constantFrom(
      ...names,
      '..',
      '/',
      '//',
      '?',
      '#',
      '%2f',
      '%2e%2e',
      '..%2f',
      '...',
      ';',
      '&a=b',
      '\\..\\',
      '\r\nHost: evil',
    ),
  )

  it('has the segments of its template, each value in its own place', () => {
    fc.assert(
      fc.property(fc.constantFrom(...endpoints), value, value, (endpoint, first, second) => {
        const given = [first, second]
        const names = [...endpoint.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
        const params = Object.fromEntries(names.map((name, index) => [name, given[index % 2] ?? '']))
        let path: string
        try {
          path = buildRequest(target, { endpoint, params }).path
        } catch (error) {
          // Nothing to address: no value, or for a write a step in the path.
          const unfit = names.some(
            (name) => params[name] === '' || (isStep(params[name]) && !endpoint.startsWith('GET ')),
          )
          assert(error instanceof ApiError && error.code === 'API_REJECTED' && unfit, String(error))
          return
        }
        // A server or proxy that tidies the path up finds nothing to tidy.
        if (!names.some((name) => isStep(params[name]))) assert.equal(new URL(path, target.origin).pathname, path)
        const template = segmentsOf(`/root${endpoint.slice(endpoint.indexOf('/'))}`)
        const found = segmentsOf(path)
        assert.equal(found.length, template.length)
        for (const [index, segment] of template.entries()) {
          const name = /^\{(\w+)\}$/.exec(segment)?.[1]
          const expected = name === undefined ? segment : params[name]?.replace(/\p{Surrogate}/gu, '\ufffd')
          assert.equal(decodeURIComponent(found[index] ?? ''), expected)
        }
      }),
      settingsOf(5_000),
    )
  })
})

describe('accepted changes', () => {
  const database = opened(() => createTestDatabase())
  const rig = opened(() => createRig({ databaseUrl: database.url, timeoutMs: 5_000 }))

  it('all settle, and leave on the path of their operation', async () => {
    let accepted = 0
    for (const { operation, target, body, options } of sampleOf(
      150,
      calls.filter((call) => call.operation !== null && !/"change"/.test(`${call.target}${call.body}`)),
    )) {
      const stored = await rig.database.pool
        .query('select outbox.enqueue($1, $2, $3, $4)', [operation, target, body, options])
        .then(
          () => true,
          () => false,
        )
      if (stored) accepted += 1
    }
    expect(accepted).toBeGreaterThan(casesOf(150) / 8)
    await rig.push()

    const open = await rig.database.pool.query(
      `select id, operation, status, error, target, options from outbox.queue where status in ('queued', 'sending')`,
    )
    expect(open.rows).toEqual([])
    const { rows } = await rig.database.pool.query<{ operation: string; method: string; path: string }>(
      `select operation, request ->> 'method' as method, request ->> 'path' as path from outbox.queue where request is not null`,
    )
    expect(rows.length).toBeGreaterThan(0)
    const patterns = new Map(
      writes.map(({ operation, endpoint }) => [operation, new RegExp(`^${endpoint.replace(/\{\w+\}/g, '-?\\d+')}$`)]),
    )
    for (const { operation, method, path } of rows)
      expect(`${method} ${path}`).toMatch(patterns.get(operation) ?? /never/)
    const sent = rig.writes().map((request) => `${request.method} ${request.path}`)
    for (const line of sent)
      expect(
        [...patterns.values()].some((pattern) => pattern.test(line)),
        line,
      ).toBe(true)
  })
})
