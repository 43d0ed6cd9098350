// An API that answers in another character set than UTF-8, or marks its text. With `npm run test:all` persons and harbours stand for all
// that is read: every answer is decoded at one place.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createPusher } from '../../src/outbox/pusher.ts'
import { answerIn, charsets } from '../helpers/charset-front.ts'
import { isFull } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

// A whole world is synced for each character set, also in the hooks.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

const streams = isFull ? [] : ['users', 'harbours']

/** In Latin-1, in windows-1252 only, in neither; what Postgres can't store comes as escapes. */
const lastName = 'Dupré-Œuvre “€”'
const city = 'Žďár 船 🛥️'
const street = 'a\0b \ud800'

for (const [name, charset] of Object.entries(charsets).filter((_, place) => isFull || place % 4 === 0))
  describe(`Answers in ${name}`, () => {
    let mirror: TestMirror
    let userId: string
    const user = (): Record<string, unknown> => {
      const rows = mirror.sandbox.truth({ only: ['users'] }).users ?? []
      return { ...rows.find(({ key }) => String(key.id) === userId)?.record }
    }
    beforeAll(async () => {
      const env = { SLOT_DAYS: '2', PRICE_DAYS: '2', SLOT_DURATIONS: '1' }
      mirror = await openTestMirror({ size: 4 }, env, undefined, (url) => answerIn(charset, url))
      const first = mirror.sandbox.truth({ only: ['users'] }).users?.[0]
      userId = String(first?.key.id)
      mirror.sandbox.mutate([{ record: 'users', op: 'update', id: userId, set: { lastName, addressCity: city } }])
    })
    afterAll(() => mirror?.[Symbol.asyncDispose]())

    it('a first sync equals the truth, and warns of nothing', async () => {
      const runs = await mirror.sync({ streams })
      expect(runs.filter((run) => run.status !== 'done' || run.warnings.length > 0)).toEqual([])
      const differences = await mirror.differences()
      expect(
        differences.filter((each) => streams.length === 0 || streams.some((stream) => each.startsWith(`${stream} `))),
      ).toEqual([])
    })

    it('an update leaves what it does not touch as it was, to the last character', async () => {
      const set = { addressStreet2: street }
      mirror.sandbox.mutate([{ record: 'users', op: 'update', id: userId, set }])
      const before = user()
      const { pool } = mirror.app.database
      const queued = await pool.query<{ id: string }>(`select outbox.enqueue('user.update', $1, $2) as id`, [
        { userId: Number(userId) },
        { mobilePhone: '+33 6 00 00 00 00' },
      ])
      const pusher = createPusher(mirror.app.pushContext)
      await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
      await pusher.close()
      const { rows } = await pool.query('select status, error, warning from outbox.changes where id = $1', [
        queued.rows[0]?.id,
      ])
      expect(rows).toEqual([{ status: 'done', error: null, warning: null }])
      const { lastModificationDatetime: _, ...after } = user()
      expect(after).toMatchObject({ lastName, addressCity: city, addressStreet2: street })
      expect({ ...before, ...after, mobilePhone: null }).toEqual({ ...before, mobilePhone: null })
      mirror.sandbox.mutate([{ record: 'users', op: 'update', id: userId, set: { addressStreet2: null } }])
    })
  })
