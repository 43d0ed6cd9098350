// A user's documents have no id to know them by: what is answered in the place of one is not taken for it.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { listQuarantine, type QuarantineEntry } from '../../src/sync/quarantine.ts'
import { replayRecord } from '../../src/sync/replay.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

const stream = 'user_licenses'
const op = 'GET /v3/users/{userId}/license'

let userId: string
const mirror = opened(() => openTestMirror({ size: 30 }, { MIRROR_DOCUMENTS: 'on' }))
beforeAll(async () => {
  await mirror.sync({ streams: [stream] })
  const rows = await mirror.all<{ id: string }>(
    `select user_id as id from mirror.${stream} where _deleted_at is null order by 1 limit 1`,
  )
  userId = String(rows[0]?.id)
})
beforeEach(() => mirror.sandbox.clearFaults())

async function syncWith(body: unknown): Promise<void> {
  mirror.sandbox.fault({ op, match: { userId }, respond: { status: 200, body: JSON.stringify(body) } })
  await mirror.sync({ streams: [stream], full: true })
}

const license = async (): Promise<unknown> =>
  (
    await mirror.all(
      `select number, year, _payload, _deleted_at is null as alive from mirror.${stream} where user_id = $1`,
      [userId],
    )
  )[0]

const quarantined = (): Promise<readonly QuarantineEntry[]> =>
  listQuarantine(mirror.app.database.pool, { stream, limit: 10 })

describe('a license that is answered with an object that has none of its fields', () => {
  it('stays as it was; what came is in quarantine, no replay takes it, and a good answer clears it', async () => {
    const before = await license()
    expect(before).toMatchObject({ alive: true })
    await syncWith({ items: 'words', total: 'many' })
    expect(await license()).toEqual(before)
    const [entry, ...others] = await quarantined()
    const reason =
      'Expected an object with one of country.code, number, type.id, year, got {"items":"words","total":"many"}.'
    expect([entry, others]).toEqual([expect.objectContaining({ key: userId, endpoint: op, reason }), []])
    const replayed = await replayRecord({ ...mirror.app.syncContext, onTasks: () => {} }, entry as QuarantineEntry)
    expect(replayed).toEqual({ kind: 'refused', reason })

    mirror.sandbox.clearFaults()
    await mirror.sync({ streams: [stream], full: true })
    expect([await license(), await quarantined()]).toEqual([before, []])
  })

  it('is gone when the object is empty: then there is none', async () => {
    await syncWith({})
    expect([await license(), await quarantined()]).toEqual([expect.objectContaining({ alive: false }), []])
    mirror.sandbox.clearFaults()
    await mirror.sync({ streams: [stream], full: true })
    expect(await license()).toMatchObject({ alive: true })
  })
})
