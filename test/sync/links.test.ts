// Rentals are linked to their boats by the list's filter, where it is honoured, before their own reads say it.

import { expect, it } from 'vitest'
import { entries, readEntry } from '../../src/profile/profile.ts'
import { json, startServer } from '../api/http-server.ts'
import { openTestMirror } from '../helpers/mirror.ts'

/** Hands everything on to the sandbox, without the filter by boat. */
const ignoresFilter = (sandboxUrl: string) =>
  startServer(async (response, { url }) => {
    const target = new URL(url, sandboxUrl)
    target.searchParams.delete('resourceId')
    const handed = await fetch(target)
    return json(response, JSON.parse(await handed.text()), handed.status)
  })

for (const [how, before, honoured] of [
  ['honoured', undefined, true],
  ['ignored', ignoresFilter, false],
] as const)
  it(`links are right where the filter is ${how}, and that is remembered`, async () => {
    await using mirror = await openTestMirror({ size: 60 }, { API_PAGE_BASE: '1' }, undefined, before)
    const { pool } = mirror.app.database
    await mirror.sync({ streams: ['resources', 'rental_resources'] })
    expect(await readEntry(pool, entries.filter, 'rentals.resourceId')).toBe(honoured)
    expect((await mirror.differences()).filter((line) => /rentals|rental_resources/.test(line))).toEqual([])
    // Each link was written once: never a wrong one first.
    const rows = await mirror.all(
      `select count(*)::int as written, count(distinct key)::int as rentals from mirror.changes
       where stream = 'rentals' and operation = 'update' and diff ? 'resource_id'`,
    )
    const rentals = mirror.sandbox.truth({ only: ['rentals'] }).rentals?.length
    expect(rows).toEqual([{ written: rentals, rentals }])
    if (!honoured) return
    const boats = mirror.sandbox.truth({ only: ['resources'] }).resources?.map(({ key }) => key.id) ?? []
    const asked = mirror.sandbox.requests().flatMap(({ query }) => query.resourceId ?? [])
    expect(asked.sort()).toEqual(boats.sort())
    const own = mirror.sandbox.requests().filter(({ template }) => template === 'GET /v3/rentals/{rentalId}/resource')
    expect(own.length).toBeLessThanOrEqual((rentals ?? 0) + 3)
  })
