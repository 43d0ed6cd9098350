// Between `privacy apply`, which erases what may be a person's, and the sync that reads it again, `serve` asks the API or
// answers 503 with Retry-After. It never shows a person without a name.

import { expect, it } from 'vitest'
import { erasures } from '../../src/cli/commands/privacy.ts'
import { applySettings } from '../../src/privacy/apply.ts'
import { privacySettings } from '../../src/privacy/rules.ts'
import { openServed } from './served-rig.ts'

it('reads an erased record through, or answers 503, and lists again once all is read', async () => {
  await using served = await openServed({ sandbox: { size: 30 } })
  const { mirror, url } = served
  const { token } = await served.createToken('all', { personal: true })
  const { database } = mirror.app
  const get = (path: string) => fetch(url + path, { headers: { authorization: `Bearer ${token}` } })
  const { rows } = await database.pool.query<{ id: string; user: string }>(
    `select r.id::text, r.user_id::text as user from mirror.rentals r join mirror.users u on u.id = r.user_id
     where not u.deactivated and r._payload ->> 'message' is not null order by r.id limit 2`,
  )
  const [one, other] = rows
  const [{ rental_id: manned } = {}] = (
    await database.pool.query('select rental_id::text from mirror.rental_crew_members order by 1 limit 1')
  ).rows
  const paths = [
    `/v3/users/${one?.user}`,
    `/v3/rentals/${one?.id}`,
    `/v3/rentals/${one?.id}/user`,
    `/v3/users/${other?.user}/identity`,
    `/v3/rentals/${manned}/crewMembers`,
  ]
  const lists = ['/v3/users?perPage=3', '/v3/rentals?perPage=3']
  const before = await Promise.all([...paths, ...lists].map(async (path) => (await get(path)).json()))

  await database.pool.query(`update sync.privacy set mode = 'drop'`)
  await applySettings(database, {
    settings: privacySettings(mirror.config),
    requestSync: async () => {},
    erasures,
  })
  // The API cannot be asked: each answer would be one without a name.
  mirror.sandbox.fault({ op: 'GET *', respond: { status: 400 } })
  for (const path of [...paths, ...lists]) {
    const answer = await get(path)
    expect({ path, status: answer.status, wait: answer.headers.get('retry-after') }, await answer.text()).toEqual({
      path,
      status: 503,
      wait: expect.stringMatching(/^\d+$/),
    })
  }
  // It can: each is the record, whole. Lists wait for the sync.
  mirror.sandbox.clearFaults()
  for (const [index, path] of paths.entries())
    await expect.poll(async () => (await get(path)).json(), { interval: 1_000, timeout: 30_000 }).toEqual(before[index])
  expect((await get('/v3/rentals?perPage=30')).status).toBe(503)
  await mirror.sync()
  for (const [index, path] of lists.entries())
    expect(await (await get(path)).json()).toEqual(before[paths.length + index])
})
