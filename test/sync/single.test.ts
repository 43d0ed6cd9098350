// The single read of a record that answers another one: nothing of the answer is taken for the record that was asked for.

import { describe, expect, it } from 'vitest'
import { listQuarantine, type QuarantineEntry } from '../../src/sync/quarantine.ts'
import { replayRecord } from '../../src/sync/replay.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

const mirror = opened(() => openTestMirror({ size: 8 }))

describe('a single read that answers another record', () => {
  it('is in quarantine under the key that was asked for; neither record is touched, and a good answer clears it', async () => {
    const { sandbox, app } = mirror
    await mirror.sync({ streams: ['rentals'] })
    const [asked, other] = (sandbox.truth({ only: ['rentals'] }).rentals ?? []).map(({ key }) => String(key.id))
    const shown = async (): Promise<unknown> =>
      await mirror.all(
        'select id, message, _payload from mirror.rentals where id = any($1) and _deleted_at is null order by id',
        [[asked, other]],
      )
    const before = await shown()
    const body = JSON.stringify({ id: Number(other), message: 'not yours' })
    const op = 'GET /v3/rentals/{rentalId}'
    sandbox.fault({ op, match: { rentalId: String(asked) }, respond: { status: 200, body } })
    await mirror.sync({ streams: ['rentals'], full: true })
    expect(await shown()).toEqual(before)
    const entries = await listQuarantine(app.database.pool, { stream: 'rentals', limit: 10 })
    const reason = `Requested ${asked}, but the API returned ${other}.`
    expect(entries).toEqual([expect.objectContaining({ key: asked, endpoint: op, reason })])
    expect(JSON.parse(entries[0]?.payload ?? '')).toEqual(JSON.parse(body))

    expect(await replayRecord({ ...app.syncContext, onTasks: () => {} }, entries[0] as QuarantineEntry)).toEqual({
      kind: 'refused',
      reason,
    })
    expect(await shown()).toEqual(before)

    sandbox.clearFaults()
    await mirror.sync({ streams: ['rentals'] })
    expect(await listQuarantine(app.database.pool, { stream: 'rentals', limit: 10 })).toEqual([])
    expect(await shown()).toEqual(before)
  })
})
