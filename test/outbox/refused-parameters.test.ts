// An API that refuses to order or to filter its lists: what was made and whose answer was lost is still found, and never
// made twice.

import { expect, it } from 'vitest'
import { isQuick } from '../helpers/extent.ts'
import { openStrictFront } from '../helpers/strict-front.ts'
import { newPerson } from './plans.ts'
import { createRig } from './rig.ts'

it('finds the new rental on the last of many pages, where nobody can ask for the newest first', async () => {
  await using rig = await createRig({ sandbox: { size: 160 } })
  await using front = await openStrictFront(rig.sandbox.url)
  rig.once('POST /v3/rentals', 'errorAfterEffect')
  const id = await rig.queue('rental.create', {}, { ...rig.planner.slot(), referenceId: 'last-of-all' })
  await rig.pushAs({ api: front, env: { API_PAGE_SIZE: '2' } })
  expect(await rig.change(id)).toMatchObject({ status: 'done' })
  expect(rig.writes()).toHaveLength(1)
  expect(front.refused).toEqual(['/v3/rentals order'])
})

// As for the rental above, after a longer wait.
it.skipIf(isQuick)(
  'looks for a new user on the list where filters are refused, and sends it again only if a person says so',
  async () => {
    await using rig = await createRig({ sandbox: { size: 40 } })
    await using front = await openStrictFront(rig.sandbox.url)
    const pushed = async (lastName: string, lost?: 'errorAfterEffect' | 'reset') => {
      if (lost !== undefined) rig.once('POST /v3/users', lost)
      const id = await rig.queue('user.create', {}, newPerson(lastName))
      await rig.pushAs({ api: front })
      const sent = rig.writes().filter(({ body }) => JSON.stringify(body).includes(lastName))
      return { status: (await rig.change(id)).status, requests: sent.length }
    }
    expect(await pushed('plain')).toEqual({ status: 'done', requests: 1 })
    expect(new Set(front.refused)).toEqual(new Set(['/v3/users email', '/v3/users name']))
    front.refused.length = 0
    expect(await pushed('made', 'errorAfterEffect')).toEqual({ status: 'done', requests: 1 })
    expect(await pushed('lost', 'reset')).toEqual({ status: 'unknown', requests: 1 })
    expect(front.refused).toEqual([])
  },
)
