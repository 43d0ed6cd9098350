// Which history a database is part of (src/database/history.sql): what starts another one, and what does not.

import { execFileSync } from 'node:child_process'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { escapeIdentifier } from 'pg'
import { expect, inject, test } from 'vitest'
import { openEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { ask, makeFolder, quiet } from '../embedded/folders.ts'
import { createTestDatabase } from '../helpers/database.ts'

type History = {
  readonly cluster: string
  readonly timeline: number | null
  readonly place: string
  readonly epoch: string
}

const historyOf = async (url: string): Promise<History> =>
  (await ask(url, `select to_jsonb(h) || jsonb_build_object('epoch', h.epoch::text) from sync.history() h`)) as History

/** The epoch as 1.0.0 computed it. */
const formerEpoch = (cluster: string): string =>
  `select hashtextextended(${cluster} || '/' || d.oid || '/' || i.number, 0)::text
   from pg_control_system() s, pg_control_checkpoint() c, pg_database d, sync.log_identity i where d.datname = current_database()`

test('an upgrade changes no epoch, whatever the owner of the functions may call', async () => {
  await using database = await createTestDatabase()
  const { url, pool } = database
  const { epoch, timeline } = await historyOf(url)
  expect(epoch).toBe(await ask(url, formerEpoch(`s.system_identifier || '/' || c.timeline_id`)))
  expect(epoch).toBe(await ask(url, 'select mirror.feed_epoch()::text'))

  const owner = escapeIdentifier(`${inject('databasePrefix')}owner`)
  await pool.query(`create role ${owner}; grant usage, create on schema sync to ${owner};
    grant select on sync.log_identity to ${owner};
    grant execute on function sync.folder() to ${owner}; alter function sync.history() owner to ${owner}`)
  try {
    await pool.query('revoke execute on function pg_walfile_name(pg_lsn) from public')
    expect(await historyOf(url)).toMatchObject({ epoch, timeline })
    await pool.query('revoke execute on function pg_control_system(), pg_control_checkpoint() from public')
    expect(await historyOf(url)).toMatchObject({
      cluster: '',
      timeline: null,
      epoch: await ask(url, formerEpoch(`''`)),
    })
  } finally {
    await pool.query(`drop owned by ${owner} cascade; drop role ${owner}`)
  }
})

test('a copy of the embedded database is another history, also a backup that is put back; one that was moved is the same', async () => {
  await using folder = await makeFolder()
  const place = (name: string): string => join(folder.path, name)
  const seen = async (name: string): Promise<History> => {
    const server = await openEmbeddedPostgres({ dataDir: place(name), log: quiet })
    try {
      expect(server.location).toBe(place(name))
      await migrate(server.url)
      const second = await openEmbeddedPostgres({ dataDir: place(name), log: quiet })
      const history = await historyOf(second.url)
      await second.close()
      return history
    } finally {
      await server.close()
    }
  }
  const copy = (from: string, to: string): void => {
    execFileSync('cp', ['-a', place(from), place(to)])
  }

  const original = await seen('original')
  copy('original', 'backup')
  await rename(place('original'), place('moved'))
  expect(await seen('moved')).toEqual(original)

  const copied = await seen('backup')
  expect(copied).toMatchObject({ cluster: original.cluster, timeline: original.timeline })
  expect(copied.place).not.toBe(original.place)
  expect(copied.epoch).not.toBe(original.epoch)
  expect(await seen('backup')).toEqual(copied)

  await rm(place('moved'), { recursive: true })
  copy('backup', 'moved')
  const restored = await seen('moved')
  expect(new Set([original.epoch, copied.epoch, restored.epoch])).toHaveProperty('size', 3)
})
