// A reader with its own cursor, and databases that are copies and earlier states of each other: real folders, a real standby.
// Two copies here; a hundred with `npm run chaos -- --only feed`.

import { spawnSync } from 'node:child_process'
import { chownSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { createRandom } from '../../sandbox/world/random.ts'
import { openEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts'
import { clusterFolder, type Settings } from '../../src/embedded/server.ts'
import { migrate } from '../../src/schema/migrate.ts'
import { makeFolder, quiet } from '../embedded/folders.ts'
import { isFull } from '../helpers/extent.ts'

const copies = isFull ? 100 : 2

type Change = { readonly cursor: string; readonly id: number }

/** A server on a folder, and one connection to it. */
async function serverIn(dataDir: string, settings: Settings = {}) {
  const server = await openEmbeddedPostgres({ dataDir, log: quiet, settings })
  const client = new pg.Client(server.url)
  client.on('error', () => {}) // it may end before we do
  await client.connect()
  const all = async <R extends object>(text: string, values: unknown[] = []): Promise<R[]> =>
    (await client.query<R>(text, values)).rows
  return {
    all,
    url: server.url,
    close: async () => {
      await client.end()
      await server.close()
    },
  }
}
type Server = Awaited<ReturnType<typeof serverIn>>

let ids = 0
async function log({ all }: Pick<Server, 'all'>, count = 1): Promise<void> {
  const before = ids
  ids += count
  await all(
    `insert into mirror.change_log (stream, key, operation, diff)
     select 'x', jsonb_build_object('id', $1::int + n), 'insert', '{}' from generate_series(1, $2) n`,
    [before, count],
  )
}

const read = (server: Server, cursor: string | null, max = 100): Promise<Change[]> =>
  server.all<Change>(`select cursor, (key ->> 'id')::int as id from mirror.changes_since($1, $2)`, [cursor, max])
const idsOf = (changes: readonly Change[]): number[] => changes.map(({ id }) => id)

/** The exit code does not count: of a running server, a file may go meanwhile. */
const copyFolder = (from: string, to: string): void => void spawnSync('cp', ['-a', from, to])

/** Reads to the end. @returns what the log holds and nobody has received */
async function readOn(server: Server, reader: { cursor: string | null; readonly received: Set<number> }, max: number) {
  for (
    let some = await read(server, reader.cursor, max);
    some.length > 0;
    some = await read(server, reader.cursor, max)
  ) {
    for (const { id } of some) reader.received.add(id)
    reader.cursor = some.at(-1)?.cursor ?? null
  }
  const logged = await server.all<{ id: number }>(`select (key ->> 'id')::int as id from mirror.change_log`)
  return logged.map(({ id }) => id).filter((id) => !reader.received.has(id))
}

/** Changes that end in another order than they began, or not at all. */
async function writeSome(server: Server, { next, int }: ReturnType<typeof createRandom>): Promise<void> {
  const late = new pg.Client(server.url)
  await late.connect()
  await late.query('begin')
  await log({ all: async (text, values) => (await late.query(text, values)).rows }, int(1, 3))
  for (let count = int(0, 4); count > 0; count--) await log(server, int(1, 2))
  await late.query(next() < 0.7 ? 'commit' : 'rollback')
  await late.end()
}

it(
  `skips nothing in ${copies} copies of a folder`,
  async () => {
    await using folder = await makeFolder()
    const place = (name: string): string => join(folder.path, name)
    const random = createRandom(1, 'copies')
    const reader = { cursor: null as string | null, received: new Set<number>() }
    const skipped: string[] = []
    const readFrom = async (server: Server, name: string): Promise<void> => {
      const missing = await readOn(server, reader, random.int(2, 50))
      if (missing.length > 0) skipped.push(`${name}: ${missing}`)
    }
    let original = await serverIn(place('original'))
    await migrate(original.url)
    for (let number = 1; number <= copies; number++) {
      await writeSome(original, random)
      await readFrom(original, `original before copy ${number}`)
      const [{ name = '' } = {}] = await original.all<{ name: string }>(
        `select current_setting('cluster_name') as name`,
      )
      await original.close()
      copyFolder(place('original'), place('copy'))
      // Every second one passes for the original, as a copy of a whole volume does: the marks alone distinguish them.
      original = await serverIn(place('original'))
      const copy = await serverIn(place('copy'), number % 2 === 0 ? { cluster_name: name } : {})
      // Alike, so that other changes get the same transactions and numbers.
      for (const server of [original, copy]) await writeSome(server, createRandom(number, 'after the copy'))
      await readFrom(original, `original after copy ${number}`)
      await readFrom(copy, `copy ${number} after the original`)
      for (let turn = 0; turn < 4; turn++) {
        const isCopy = random.chance(0.5)
        await readFrom(isCopy ? copy : original, `${isCopy ? 'copy' : 'original beside copy'} ${number}, turn ${turn}`)
        await writeSome(random.chance(0.5) ? copy : original, random)
      }
      await readFrom(copy, `copy ${number} at the end`)
      await copy.close()
      rmSync(place('copy'), { recursive: true })
    }
    await readFrom(original, 'original at the end')
    await original.close()
    expect(skipped).toEqual([])
  },
  60_000 + copies * 20_000,
)

describe('a standby', () => {
  it('has the epoch of its primary, waits for what it does not have yet, and starts another history when it is promoted', async () => {
    await using folder = await makeFolder()
    const place = (name: string): string => join(folder.path, name)
    const primary = await serverIn(place('primary'))
    let standby: Server | undefined
    try {
      await migrate(primary.url)
      await log(primary, 2)
      await primary.all(`select pg_backup_start('test', true)`)
      copyFolder(place('primary'), place('standby'))
      const [{ label = '' } = {}] = await primary.all<{ label: string }>(
        'select labelfile as label from pg_backup_stop(false)',
      )

      const files = clusterFolder(place('standby'))
      rmSync(join(files, 'postmaster.pid'))
      const { uid, gid } = statSync(files)
      const put = (path: string, text: string): void => {
        writeFileSync(path, text)
        chownSync(path, uid, gid)
      }
      put(join(files, 'backup_label'), label)
      put(join(files, 'standby.signal'), '')
      put(place('connected'), '')
      // The checkpoint after the promotion takes its time, so that the moment before it can be seen.
      const settings = [
        `restore_command = 'test -e ${place('connected')} && cp ${clusterFolder(place('primary'))}/pg_wal/%f %p'`,
        `wal_retrieve_retry_interval = '50ms'`,
        `checkpoint_timeout = '1h'`,
      ]
      put(join(files, 'postgresql.auto.conf'), `${settings.join('\n')}\n`)
      standby = await serverIn(place('standby'))
      const second = standby
      const epochs = async () =>
        Promise.all([primary, second].map(async ({ all }) => (await all('select mirror.feed_epoch() as epoch'))[0]))
      const caughtUp = (count: number) =>
        vi.waitFor(async () => expect(await read(second, null)).toHaveLength(count), { timeout: 60_000, interval: 50 })

      await caughtUp(2)
      const [onPrimary, onStandby] = await epochs()
      expect(onStandby).toEqual(onPrimary)

      rmSync(place('connected'))
      await log(primary)
      const third = (await read(primary, null)).at(-1)?.cursor ?? ''
      expect(await read(second, third)).toEqual([])
      put(place('connected'), '')
      await log(primary, 2_000)
      await caughtUp(100)
      await vi.waitFor(
        async () => expect(await second.all('select from mirror.change_log')).toHaveLength(2_003),
        60_000,
      )
      expect(idsOf(await read(second, third, 2))).toEqual(idsOf(await read(primary, third, 2)))

      rmSync(place('connected'))
      await log(primary)
      const lost = (await primary.all<{ cursor: string }>('select mirror.last_cursor() as cursor'))[0]?.cursor ?? ''
      expect(await read(second, lost)).toEqual([])
      await second.all('select pg_promote()')
      const [history] = await second.all<{ timeline: number; stored: number; epoch: string }>(
        'select h.timeline::int, c.timeline_id as stored, h.epoch from sync.history() h, pg_control_checkpoint() c',
      )
      expect(history).toMatchObject({ timeline: 2, stored: 1 })
      expect(history?.epoch).not.toBe((onPrimary as { epoch: string }).epoch)
      await log(second)
      const given = await read(second, lost, 3_000)
      expect(given).toHaveLength(2_004)
      expect(given.at(-1)?.id).toBe(ids)
    } finally {
      await standby?.close()
      await primary.close()
    }
  })
})
