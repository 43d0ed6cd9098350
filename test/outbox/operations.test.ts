// Each operation, enqueued in SQL, reaches the API with the right method, path and body, and the mirror holds
// the answer afterwards.

import { describe, expect, it } from 'vitest'
import { writes } from '../../src/catalog/writes.ts'
import { effects, mirroredEffects } from './effects.ts'
import type { Planned } from './plans.ts'
import { sharedRig } from './rig.ts'

const rig = sharedRig()

let plans: readonly Planned[] = []

describe('an operation enqueued in SQL', () => {
  for (const { operation } of writes)
    it(`${operation} takes effect once and is mirrored`, async () => {
      plans = plans.length > 0 ? plans : rig.planner.plan()
      const planned = plans.find((each) => each.operation === operation) as Planned
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
