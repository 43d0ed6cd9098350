// A pusher that was halted, for longer than its claim or its time limit, sends nothing when it goes on: others count on it.

import { expect, it } from 'vitest'
import { freePermit, type Limiter, type Permit, unlimited } from '../../src/api/admission/rate-limit.ts'
import type { Database } from '../../src/database/database.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { contextFor, sharedRig } from './rig.ts'

const timeoutMs = 400
const settings = { showDelayMs: 100 }

const rig = sharedRig({ timeoutMs, settings })

/** The database of a halted worker: nothing is renewed. */
function withoutRenewals(database: Database): Database {
  const query = async (text: string, values?: unknown[]): Promise<unknown> => {
    if (/^update "outbox"\."queue" set "lease_until"/.test(text)) throw new BoatMirrorError('ABORTED', 'Halted.')
    return await database.pool.query(text, values)
  }
  const pool = new Proxy(database.pool, {
    get: (target, name) => (name === 'query' ? query : Reflect.get(target, name)),
  })
  return { ...database, pool }
}

/** The first caller that draws on it is held until `release`. */
function openBarrier(): { readonly limiter: Limiter; readonly reached: Promise<void>; release(): void } {
  let [arrive, release] = [(): void => {}, (): void => {}]
  const reached = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const acquire = async (): Promise<Permit> => {
    arrive()
    await released
    return freePermit
  }
  return { limiter: { ...unlimited, acquire }, reached, release }
}

/** A pusher with one claim of 300 ms that nobody renews; what it claims waits before it leaves, until `release`. */
function openHalted() {
  const { limiter, reached, release } = openBarrier()
  const { context, close } = contextFor(
    { database: withoutRenewals(rig.database), sandbox: rig.sandbox },
    { timeoutMs: 20_000, settings: { leaseMs: 300 }, concurrency: 1, limiter },
  )
  const pusher = createPusher(context)
  return {
    reached,
    release,
    work: () => pusher.runOnce(AbortSignal.timeout(100_000)),
    close: async () => {
      await pusher.close()
      await close()
    },
  }
}

const writesTo = (path: string): readonly string[] => rig.writes(path).map(({ method }) => method)

/** The fence of a change's last claim. */
async function fenceOf(id: string): Promise<string | undefined> {
  const { rows } = await rig.database.pool.query<{ fence: string }>('select fence from outbox.queue where id = $1', [
    id,
  ])
  return rows[0]?.fence
}

it('a removal that another pusher has taken over does not leave any more, and undoes nothing that followed', async () => {
  const [row] = rig.rows('user_identities')
  const userId = Number(row?.key.user_id)
  const halted = openHalted()
  try {
    const remove = await rig.queue('user_identity.remove', { userId })
    const working = halted.work()
    await halted.reached
    const add = await rig.queue('user_identity.add', { userId }, { number: 'new', type: 'PASSEPORT' })
    await rig.push()
    expect(await rig.statuses([remove, add])).toEqual(['done', 'done'])
    halted.release()
    await working
    expect(writesTo(`/v3/users/${userId}/identity`)).toEqual(['DELETE', 'POST'])
    expect(rig.truth('user_identities', { user_id: userId })).toMatchObject({ number: 'new' })
  } finally {
    await halted.close()
  }
})

it('a change whose claim has run out goes back, and leaves once with the next', async () => {
  const rentalId = rig.planner.rental()
  const halted = openHalted()
  try {
    const id = await rig.queue('rental.delete', { rentalId })
    const working = halted.work()
    await halted.reached
    const first = await fenceOf(id)
    await new Promise((resolve) => setTimeout(resolve, 350))
    halted.release()
    await working
    // On a slow machine it claims the change again before it ends; the first claim lets nothing leave in any case.
    const isClaimedAgain = (await fenceOf(id)) !== first
    expect(writesTo(`/v3/rentals/${rentalId}`).length).toBeLessThanOrEqual(isClaimedAgain ? 1 : 0)
    await rig.push()
    // Again, it may have lost that claim as well after it was marked as sent: the next attempt then finds what became of it.
    expect(await rig.change(id)).toMatchObject({
      status: 'done',
      attempts: isClaimedAgain ? expect.any(Number) : 1,
    })
    expect(writesTo(`/v3/rentals/${rentalId}`)).toEqual(['DELETE'])
  } finally {
    await halted.close()
  }
})

it('a request that stood still for longer than its time limit does not leave, though no timer has said so yet', async () => {
  const { planner } = rig
  const patientMs = 3_000 // what leaves in time also arrives in time, on a machine that does other things besides
  let haltMs = 0
  const limiter: Limiter = {
    ...unlimited,
    acquire: async () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, haltMs)
      haltMs = 0
      return freePermit
    },
  }
  await rig.pushAs({ timeoutMs: patientMs, settings, limiter }, async (pusher) => {
    const push = () => pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
    await rig.queue('rental.delete', { rentalId: planner.rental() })
    await push() // a connection is open from here on
    const rentalId = planner.rental()
    const id = await rig.queue('rental.delete', { rentalId })
    haltMs = patientMs + 500
    await push()
    expect((await rig.change(id)).status).toBe('done')
    const { rows } = await rig.database.pool.query<{ sent_at: Date }>(
      'select sent_at from outbox.queue where id = $1',
      [id],
    )
    const [write, ...more] = rig.writes(`/v3/rentals/${rentalId}`)
    expect(more).toEqual([])
    expect(Date.parse(String(write?.time)) - Number(rows[0]?.sent_at)).toBeLessThan(patientMs)
  })
})
