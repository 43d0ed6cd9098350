// Which bodies of a 200 say that the request failed.

import { expect, it } from 'vitest'
import { errorIn } from '../../src/api/paging/answer-signs.ts'

it.each([
  { success: false, data: [] },
  { ok: false },
  { error: 'not today', items: [] },
  { error: { code: 500 } },
  { errors: ['not today'], data: [] },
  { errors: { email: 'missing' } },
  { status: 'error', data: [] },
  { status: 'FAIL' },
  { status: 503, message: 'later' },
  { statusCode: 400, data: [] },
])('%j says that it failed', (body) => {
  expect(errorIn(body)).toBeDefined()
})

it.each([
  [],
  [{ error: 'of a record' }],
  {},
  { data: [] },
  { success: true, error: null, data: [] },
  { errors: [], items: [] },
  { error: {}, data: [] },
  { error: false, data: [] },
  { error: '', status: 'ok', data: [] },
  { status: 200, data: [] },
  { status: 'success', data: [] },
  { total: 0, results: [] },
  'error',
  null,
  undefined,
])('%j does not', (body) => {
  expect(errorIn(body)).toBeUndefined()
})
