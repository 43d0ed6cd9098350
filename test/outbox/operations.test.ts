// Each operation, enqueued in SQL, reaches the API with the right method, path and body, and the mirror holds
// the answer afterwards.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writes } from '../../src/catalog/writes.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { effects, mirroredEffects } from './effects.ts'
import { type Planned, Planner } from './plans.ts'
import { createRig, type Rig } from './rig.ts'

let testDatabase: TestDatabase
let rig: Rig
let plans: ReadonlyMap<string, Planned>

beforeAll(async () => {
  testDatabase = await createTestDatabase()
  rig = await createRig({ databaseUrl: testDatabase.url })
  plans = new Map(new Planner(rig.sandbox).plan().map((planned) => [planned.operation, planned]))
})
afterAll(async () => {
  await rig[Symbol.asyncDispose]()
  await testDatabase[Symbol.asyncDispose]()
})

const planOf = (operation: string): Planned => {
  const planned = plans.get(operation)
  if (planned === undefined) throw new Error(`No plan for ${operation}.`)
  return planned
}

describe('an operation enqueued in SQL', () => {
  for (const { operation } of writes)
    it(`${operation} takes effect once and is mirrored`, async () => {
      const planned = planOf(operation)
      if (planned.effect === null) await rig.mirror(planned.stream, planned.key)
      rig.sandbox.resetRequests()
      const id = await rig.queue(operation, planned.target, planned.body)
      await rig.push()

      expect(await rig.change(id)).toMatchObject({ status: 'done', attempts: 1, error: null, warning: null })
      expect(rig.writes().map(({ method, path }) => `${method} ${path}`)).toEqual([`${planned.method} ${planned.path}`])
      const [request] = rig.writes()
      if (planned.method !== 'DELETE') expect(request?.body).toMatchObject(planned.sent)
      expect(effects(rig.sandbox, planned)).toBe(1)
      expect(await mirroredEffects(rig.database, planned)).toBe(1)
    })
})
