// An attempt whose outcome is open: how long its request may live, that its key sends it again, and what a slow read proves.

import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { claimChanges } from '../../src/outbox/claim.ts'
import type { PushContext } from '../../src/outbox/context.ts'
import { deliverChange } from '../../src/outbox/deliver.ts'
import { markDispatched } from '../../src/outbox/dispatch.ts'
import { findChange } from '../../src/outbox/inspect.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { json, type Respond, startServer } from '../api/http-server.ts'
import { isQuick } from '../helpers/extent.ts'
import { sharedOutbox } from './open-outbox.ts'
import { newPerson } from './plans.ts'
import { contextFor, type RigOptions } from './rig.ts'

const outbox = sharedOutbox()
// Each test has an API of its own: what another one refused is forgotten, too.
beforeEach(async () => {
  await outbox.empty()
  await outbox.database.pool.query('truncate sync.pinned')
})

const queueUser = (): Promise<number> => outbox.queue('user.create', {}, newPerson('open'))
const changeOf = (id: number) => findChange(outbox.database.pool, String(id))

type Limits = Required<Pick<RigOptions, 'timeoutMs'>> & { readonly showDelayMs: number }

/** Answers with this, and gives its client to the test. */
async function openWorld(respond: Respond, { timeoutMs, showDelayMs }: Limits) {
  const server = await startServer(respond)
  const { context, close } = contextFor(
    { database: outbox.opened, sandbox: server },
    { timeoutMs, settings: { showDelayMs } },
  )
  return {
    server,
    context,
    [Symbol.asyncDispose]: async () => {
      await close()
      await server[Symbol.asyncDispose]()
    },
  }
}

async function push(context: PushContext): Promise<void> {
  const pusher = createPusher(context)
  try {
    await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
  } finally {
    await pusher.close()
  }
}

describe('the request of an attempt', () => {
  it('ends before absence proves that it had no effect, though it took long to write down what is sent', async () => {
    const limits = { timeoutMs: 1_000, showDelayMs: 500 }
    await using world = await openWorld((response, { method }) => {
      if (method === 'GET') json(response, [])
    }, limits)
    const order: string[] = []
    const { api } = world.context
    const send: typeof api.send = (call) => {
      call.signal?.addEventListener('abort', () => order.push('the request ends'))
      return api.send(call)
    }
    let proven: Promise<unknown> | undefined
    await queueUser()
    const wanted = { leaseMs: 60_000, most: 1, servedLast: '' }
    const [change] = await claimChanges(outbox.database.pool, 'a test', wanted)
    if (change === undefined) throw new Error('Nothing was claimed.')
    const outcome = await deliverChange(
      {
        context: { ...world.context, api: { ...api, send } },
        change,
        signal: new AbortController().signal,
        startedAt: new Date(),
        knownMs: 0,
      },
      {
        isOurs: () => true,
        mark: async (departure) => {
          const [marked] = markDispatched(outbox.database.pool, [departure])
          const sentAt = await marked
          const provesIn = sleep(limits.timeoutMs + limits.showDelayMs)
          proven = provesIn.then(() => order.push('its absence is a proof'))
          await sleep(800) // a database that answers late
          return sentAt as Date
        },
      },
    )
    await proven
    expect(order).toEqual(['the request ends', 'its absence is a proof'])
    expect(outcome).toMatchObject({ kind: 'verify' })
  })
})

describe('a lost answer of an API that repeats its answer to a known key', () => {
  it('is asked for with the same key again, also after an attempt that the API did not accept', async () => {
    const keys: unknown[] = []
    const kept = { 'x-idempotency-key': 'kept' }
    const respond: Respond = (response, { method, url, headers, body }) => {
      // Its lists do not filter, and their beginning does not show the user.
      if (method === 'GET')
        return url.includes('email') || url.includes('name')
          ? json(response, {}, 400, kept)
          : json(response, [], 200, kept)
      keys.push(headers['idempotency-key'])
      if (keys.length === 1) return response.destroy()
      if (keys.length === 2) return json(response, {}, 429, { ...kept, 'retry-after': '1' })
      return json(response, { id: 7, ...JSON.parse(body) }, 200, kept)
    }
    await using world = await openWorld(respond, { timeoutMs: 1_000, showDelayMs: 100 })
    const id = await queueUser()
    await push(world.context)
    expect(await changeOf(id)).toMatchObject({ status: 'done', error: null, result: { id: 7 } })
    expect(keys).toEqual([expect.any(String), keys[0], keys[0]])
  })
})

describe('an API that answers reads slowly', () => {
  it('had time to show what it made: only a read that began later proves that it does not show it', async () => {
    let made: { readonly shownFrom: number; readonly user: object } | null = null
    const respond: Respond = async (response, { method, url, body }) => {
      if (method === 'POST') {
        made = { shownFrom: performance.now() + 400, user: { id: 7, ...JSON.parse(body) } }
        return json(response, {}) // success, and no id
      }
      const isSecond = new URL(url, 'http://api').searchParams.get('page') === '2'
      const shown = !isSecond && made !== null && made.shownFrom <= performance.now() ? [made.user] : []
      await sleep(made === null ? 0 : 1_500)
      return json(response, shown)
    }
    await using world = await openWorld(respond, { timeoutMs: 5_000, showDelayMs: 1_000 })
    const id = await queueUser()
    await push(world.context)
    expect(await changeOf(id)).toMatchObject({ status: 'done', error: null, result: { id: 7 } })
  })
})

describe('a clock of the database that jumps while a creation is in flight', () => {
  const limits = { timeoutMs: 1_500, showDelayMs: 300 }

  /** Pushes a user whose POST gets no answer and takes effect a second later, if at all; the clock jumps at the POST. */
  async function pushAcross(jumpMs: number, effect: boolean) {
    let [aheadMs, posts] = [0, 0]
    const made: object[] = []
    const respond: Respond = async (response, { method, body }) => {
      if (method === 'GET') return json(response, made)
      posts++
      const user = { id: posts, ...JSON.parse(body) }
      if (posts > 1) return json(response, made[made.push(user) - 1])
      aheadMs = jumpMs
      response.destroy()
      await sleep(effect ? 1_200 : 0)
      if (effect) made.push(user)
    }
    await using world = await openWorld(respond, limits)
    const id = await queueUser()
    await push({ ...world.context, clock: { now: () => new Date(Date.now() + aheadMs) } })
    return { change: await changeOf(id), posts }
  }

  it('ahead does not make its absence a proof: it takes effect once', async () => {
    const { change, posts } = await pushAcross(60_000, true)
    expect(change).toMatchObject({ status: 'done', result: { id: 1 } })
    expect(posts).toBe(1)
  })

  // Ahead is the harder way.
  it.skipIf(isQuick)('back does not keep it waiting: it is sent again after the usual time', async () => {
    const { change, posts } = await pushAcross(-3_600_000, false)
    expect(change).toMatchObject({ status: 'done', result: { id: 2 } })
    expect(posts).toBe(2)
  })
})

describe('an API that answers an update without a body, and the read after it with an error', () => {
  it('does not make the next change take back what was written, though it still shows the record as it was', async () => {
    const links = { orderLink: 'https://example.com/order', contractLink: 'https://example.com/contract' }
    let [record, shown]: Record<string, unknown>[] = [{ id: 1, orderLink: null, contractLink: null }]
    shown = record
    let shownFrom = 0
    let refusals = 0
    const respond: Respond = (response, { method, body }) => {
      if (method === 'GET') {
        if (refusals-- > 0) return json(response, {}, 422)
        if (performance.now() >= shownFrom) shown = record
        return json(response, shown ?? {})
      }
      shown = record
      record = { ...record, ...JSON.parse(body) }
      ;[shownFrom, refusals] = [performance.now() + 700, 1]
      response.writeHead(204).end()
    }
    await using world = await openWorld(respond, { timeoutMs: 5_000, showDelayMs: 2_000 })
    for (const [name, link] of Object.entries(links))
      await outbox.queue('rental.update', { rentalId: 1 }, { [name]: link })
    await push(world.context)
    expect(record).toMatchObject(links)
  })
})
