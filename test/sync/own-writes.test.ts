// Lists and collections that show a write of ours late: what a sync reads of them does not undo what the mirror shows of it.

import { beforeAll, expect, it } from 'vitest'
import { createPusher } from '../../src/outbox/pusher.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'
import { type LateFront, openLateFront } from '../outbox/late-front.ts'
import { Planner } from '../outbox/plans.ts'

const streams = ['rentals', 'rental_payments', 'users']

let front: LateFront
let planner: Planner
const mirror = opened(() =>
  openTestMirror({ size: 16 }, { API_RATE_LIMIT: '0' }, undefined, async (url) => {
    front = await openLateFront(url, 0)
    return front
  }),
)
beforeAll(async () => {
  planner = new Planner(mirror.sandbox)
  await mirror.sync({ streams })
})

async function push(
  changes: readonly (readonly [operation: string, target: object, body?: object])[],
): Promise<string[]> {
  const ids: string[] = []
  for (const [operation, target, body = {}] of changes) {
    const [row] = await mirror.all('select outbox.enqueue($1, $2, $3) as id', [operation, target, body])
    ids.push(row?.id)
  }
  const pusher = createPusher(mirror.app.pushContext)
  await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
  await pusher.close()
  const rows = await mirror.all(`select status, error from outbox.queue where id = any($1) order by id`, [ids])
  expect(rows).toEqual(ids.map(() => ({ status: 'done', error: null })))
  return ids
}

it('a sync right after changes were pushed leaves what they wrote, and takes what the API shows once it shows them', async () => {
  front.listLateMs = 600_000
  // So much was seen of this API that time plays no part here.
  const { showDelay } = mirror.app.pushContext
  showDelay?.note('1', { kind: 'verify', delayMs: 1, error: 'x', unseen: { sinceMs: 40_000, patienceMs: 60_000 } })
  showDelay?.note('1', { kind: 'verify', delayMs: 1, error: 'x' })
  expect(showDelay?.ms()).toBe(60_000)
  const [updated, deleted, paid] = [planner.rental(), planner.rental(), planner.rental()]
  const unpaid = mirror.sandbox
    .truth({ only: ['rental_payments'] })
    .rental_payments?.find(({ key }) => ![updated, deleted, paid].includes(Number(key.rental_id)))
  const orderLink = 'https://example.com/own-write'
  await push([
    ['rental.update', { rentalId: updated }, { orderLink }],
    ['rental.delete', { rentalId: deleted }],
    [
      'rental_payment.add',
      { rentalId: paid },
      { currency: 'EUR', method: { id: 1 }, price: 10, reference: 'own-write' },
    ],
    ['rental_payment.remove', { rentalId: unpaid?.key.rental_id, paymentId: unpaid?.key.id }],
    ['rental.create', {}, planner.slot()],
  ])
  const [last] = await mirror.all('select max(seq) as seq from mirror.change_log')
  const rows = (): Promise<unknown[]> =>
    mirror.all(
      `select (select order_link from mirror.rentals where id = $1) as updated,
         (select _deleted_at is null from mirror.rentals where id = $2) as deleted_lives,
         (select count(*)::int from mirror.rental_payments where rental_id = $3 and reference = 'own-write' and _deleted_at is null) as added,
         (select count(*)::int from mirror.rental_payments where rental_id = $4 and id = $5 and _deleted_at is null) as removed,
         (select count(*)::int from mirror.rentals where status = 'PENDING' and _deleted_at is null) as created`,
      [updated, deleted, paid, unpaid?.key.rental_id, unpaid?.key.id],
    )
  const written = await rows()
  expect(written).toMatchObject([{ updated: orderLink, deleted_lives: false, added: 1, removed: 0 }])
  front.stale = 0
  const runs = await mirror.sync({ streams, full: true })
  expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 'done'))
  expect(front.stale).toBeGreaterThan(3)
  expect(await rows()).toEqual(written)
  const undone = await mirror.all(
    `select stream, key, operation, diff from mirror.change_log where seq > $1 and (
       (stream = 'rentals' and (diff ? 'order_link' or operation <> 'update'))
       or (stream = 'rental_payments' and operation <> 'update'))`,
    [last?.seq],
  )
  expect(undone).toEqual([])

  // Another client's change of the same records is taken as soon as lists are up to date again.
  mirror.sandbox.mutate([
    { record: 'rentals', op: 'update', id: updated, set: { orderLink: 'https://example.com/theirs' } },
  ])
  front.listLateMs = 0
  await mirror.all(`update outbox.queue set settled_at = settled_at - interval '1 minute'`)
  await mirror.sync({ streams, full: true })
  expect(await rows()).toEqual([{ ...(written[0] as object), updated: 'https://example.com/theirs' }])
  // The resource of a rental is read by another stream.
  const differing = (await mirror.differences()).filter(
    (line) => streams.some((stream) => line.startsWith(`${stream}.`)) && !line.startsWith('rentals.resource_id'),
  )
  expect(differing).toEqual([])
})
