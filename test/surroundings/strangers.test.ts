// A database in which a role has made, with the names of Postgres, whatever the catalog lets it make in `public`: everything that
// the program and its partners do, directly and through a pooler.

import { randomBytes } from 'node:crypto'
import { describe, expect, inject, it, vi } from 'vitest'
import { createLogger } from '../../src/log.ts'
import { startServe } from '../../src/serve/start.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { findPgBouncer, startPgBouncer } from '../helpers/pgbouncer.ts'
import { plantStrangers } from '../helpers/strangers.ts'
import { openWork } from '../helpers/strangers-work.ts'

// Ten thousands of objects to make, and first syncs among them.
vi.setConfig({ testTimeout: 900_000 })

const commands = [
  'status',
  'changes list',
  'check',
  'schedule',
  'drift',
  'runs',
  'quarantine',
  'feed',
  'report revenue',
]

describe.runIf(isFull)('A database in which others made what they may in public', () => {
  it('none of it is called by a command, or by a partner', async () => {
    await using database = await createTestDatabase({ migrated: false })
    await using strangers = await plantStrangers(database.url, true)
    expect(strangers.made).toBeGreaterThan(5_000)
    await using work = await openWork(database)
    for (const command of ['migrate', 'sync']) await work.run(command)
    await work.asPartner()
    for (const command of ['push', 'sync', ...commands]) await work.run(command)
    expect(await strangers.calls()).toEqual([])
  })

  it('none of it is called by a worker, or by reads of serve', async () => {
    const database = await createTestDatabase({ migrated: false }) // disposed of with the mirror
    const strangers = await plantStrangers(database.url, true)
    const mirror = await openTestMirror({ size: 4 }, { SERVE_LISTEN: '127.0.0.1:0' }, database)
    try {
      for (const run of await mirror.sync()) expect(run).toMatchObject({ error: null })
      const { config, app } = mirror
      const listenUrl = await app.listenUrl()
      await using server = await startServe({
        config,
        log: createLogger('silent'),
        listenUrl,
        syncContext: app.syncContext,
      })
      for (const path of ['rentals', 'rentals?perPage=1&page=2', 'resources', 'harbours'])
        expect([path, (await fetch(`${server.url}/v3/${path}`)).status]).toEqual([path, 200])
      expect(await strangers.calls()).toEqual([])
    } finally {
      await strangers[Symbol.asyncDispose]()
      await mirror[Symbol.asyncDispose]()
    }
  })

  const program = findPgBouncer()
  it.skipIf(program === undefined)(
    'through a pooler in transaction mode it is refused by name, or not called',
    async () => {
      await using database = await createTestDatabase({ migrated: false })
      await using strangers = await plantStrangers(database.url, true)
      const role = `owner_${randomBytes(6).toString('hex')}`
      const password = 'a'.repeat(12)
      await strangers.admin.query(`create role ${role} login superuser password '${password}'`)
      try {
        const settings = { pool_mode: 'transaction', default_pool_size: '3', server_lifetime: '1' } as const
        const roles = { [role]: password }
        await using bouncer = await startPgBouncer(
          program ?? '',
          inject('runFolder'),
          inject('adminUrl'),
          settings,
          roles,
        )
        const url = Object.assign(new URL(bouncer.through(database.url)), { username: role, password }).href
        await using work = await openWork(database, url)
        await expect(work.run('migrate')).rejects.toThrow(`alter role ${role} set search_path = pg_catalog, pg_temp`)
        expect(await strangers.calls()).toEqual([])
        await strangers.admin.query(`alter role ${role} set search_path = pg_catalog, pg_temp`)
        await strangers.admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`)
        for (const command of ['migrate', 'sync']) await work.run(command)
        await work.asPartner()
        for (const command of ['push', ...commands]) await work.run(command)
        expect(await strangers.calls()).toEqual([])
      } finally {
        await strangers.admin.query(`drop owned by ${role} cascade; drop role ${role}`)
      }
    },
  )
})
