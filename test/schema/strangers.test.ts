// A database in which a role that may create in `public` has made objects with the names of Postgres: none of them is ours. All of
// them, and more ways to come to them, are tried by test/surroundings/strangers.test.ts.

import { expect, it } from 'vitest'
import { createTestDatabase } from '../helpers/database.ts'
import { plantStrangers } from '../helpers/strangers.ts'
import { openWork } from '../helpers/strangers-work.ts'

it('no statement of the program, and none in its views and functions, calls what a role made in public', async () => {
  await using database = await createTestDatabase({ migrated: false })
  await using strangers = await plantStrangers(database.url, false)
  expect(strangers.made).toBeGreaterThan(500)
  await using work = await openWork(database)
  for (const command of ['migrate', 'sync rentals resources', 'status']) await work.run(command)
  await work.asPartner()
  for (const command of ['push', 'changes list', 'check']) await work.run(command)
  expect(await strangers.calls()).toEqual([])
  // And they would be called: the path of the database has them first.
  await database.pool.query(`select format('%s', 'x'::pg_catalog.text)`)
  expect(await strangers.calls()).not.toEqual([])
})
