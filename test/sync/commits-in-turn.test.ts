// Two commits of a list under way at once: the later one neither overtakes the earlier one nor keeps it waiting for ever.

import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { sqlStateOf } from '../../src/database/sql-states.ts'
import { CommitsInTurn } from '../../src/sync/lists/sweep.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

describe('commits in turn', () => {
  it('begin one ahead, and are told when the one before has ended', async () => {
    const commits = new CommitsInTurn()
    const events: string[] = []
    const ends: (() => void)[] = []
    const commit = (name: string) => async (after: Promise<void>) => {
      events.push(`${name} begins`)
      await new Promise<void>((resolve) => ends.push(resolve))
      await after
      events.push(`${name} ends`)
    }
    await commits.begin(commit('first'))
    const second = commits.begin(commit('second')).then(() => events.push('room for a third'))
    ends[1]?.()
    await sleep(10)
    expect(events).toEqual(['first begins', 'second begins'])
    ends[0]?.()
    await second
    await commits.end()
    expect(events.slice(0, 3)).toEqual(['first begins', 'second begins', 'first ends'])
    expect(events.slice(3).sort()).toEqual(['room for a third', 'second ends'])
  })

  it('pass on what one threw, to the next one too', async () => {
    const commits = new CommitsInTurn()
    const told: unknown[] = []
    await commits.begin(async () => {
      throw new Error('refused')
    })
    const next = commits.begin((after) => after.catch((error: unknown) => void told.push(error)))
    await expect(next).rejects.toThrow('refused')
    await commits.end()
    expect(told).toEqual([new Error('refused')])
  })
})

describe('a list whose first commit waits for somebody', () => {
  const mirror = opened(() => openTestMirror({ size: 1_500 }, { API_PAGE_BASE: '1' }))

  const insert = (client: PoolClient, id: string): Promise<unknown> =>
    client.query(
      `insert into mirror.rentals (id, _payload, _source, _read_at) values ($1, '{}', 'test', now()) on conflict do nothing`,
      [id],
    )

  /** Whether a transaction under way holds the key of this rental. */
  async function isHeld(client: PoolClient, id: string): Promise<boolean> {
    await client.query(`begin; set local lock_timeout = '50ms'`)
    try {
      await insert(client, id)
      return false
    } catch (error) {
      if (sqlStateOf(error) !== '55P03') throw error
      return true
    } finally {
      await client.query('rollback')
    }
  }

  /** One of these rentals that a commit under way has inserted. */
  async function anyHeld(client: PoolClient, ids: readonly string[]): Promise<string> {
    for (;;) for (const id of ids) if (await isHeld(client, id)) return id
  }

  // Not with `npm test`: half a minute, with 1,500 rentals.
  it.skipIf(isQuick)(
    'who waits for the second one meanwhile waits for seconds, and everything is mirrored',
    async () => {
      const { pool } = mirror.app.database
      const pages = await Promise.all(
        [1, 3, 6, 9, 12, 15].map(async (page) => {
          const answer = await fetch(`${mirror.sandbox.url}/v3/rentals?page=${page}&perPage=100`)
          return ((await answer.json()) as { id: number }[]).map(({ id }) => String(id))
        }),
      )
      const [first = '', ...later] = pages.map(([id = '']) => id)
      const [other, looking] = [await pool.connect(), await pool.connect()]
      try {
        // The first commit waits for us.
        await other.query('begin; set local idle_in_transaction_session_timeout = 0')
        await insert(other, first)
        const sync = mirror.sync({ streams: ['rentals'] })
        const held = await anyHeld(looking, later)
        // And we for the second one, which must be committed after the first: Postgres does not know of that.
        await insert(other, held)
        const rows = await mirror.all(
          `select (select count(*)::int from mirror.rentals) as rentals, (select count(*)::int from sync.records) as records,
           (select count(*)::int from sync.sweep_pages) as pages, (select checkpoint from sync.tasks) as checkpoint`,
        )
        expect(rows).toEqual([{ rentals: 0, records: 0, pages: 0, checkpoint: null }])
        await other.query('rollback')
        expect((await sync).map(({ status }) => status)).toEqual(['done'])
      } finally {
        other.release(true)
        looking.release()
      }
      expect(
        (await mirror.differences()).filter((line) => line.startsWith('rentals ') && !line.includes('resource_id')),
      ).toEqual([])
      const twice = await mirror.all(
        `select key from mirror.change_log where stream = 'rentals' and operation = 'insert' group by key having count(*) > 1`,
      )
      expect(twice).toEqual([])
    },
  )
})
