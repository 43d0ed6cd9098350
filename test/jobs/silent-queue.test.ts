// A queue that does not wake the worker: the work goes on without it, and the log says so where it lasts.

import { beforeAll, describe, expect, it, vi } from 'vitest'
import { BoatMirrorError } from '../../src/errors.ts'
import { startPushWorker } from '../../src/jobs/push-worker.ts'
import type { JobQueue, Processor, QueueBackend } from '../../src/jobs/queues.ts'
import { startSyncWorker } from '../../src/jobs/worker.ts'
import type { Pusher } from '../../src/outbox/pusher.ts'
import { createRequest } from '../../src/sync/due/requests.ts'
import { recordingLog } from '../api/recording-log.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

/** A backend that does what a test says with each wake-up: `deliver` runs its job. */
function fakeBackend(onJob: (deliver: () => void) => void): QueueBackend {
  let process: Processor = async () => ({})
  const add = async (name: string, data: unknown): Promise<void> =>
    onJob(() => void process({ name, data } as Parameters<Processor>[0], new AbortController().signal))
  const queue = {
    add,
    addBulk: async (jobs: Parameters<JobQueue['addBulk']>[0]) => {
      for (const { name, data } of jobs) await add(name, data)
    },
    close: async () => {},
  }
  const backend: Partial<QueueBackend> = {
    openQueue: async () => queue as unknown as JobQueue,
    openWorker: async (_name, processor) => {
      process = processor
      return { close: async () => {} }
    },
  }
  return backend as QueueBackend
}

const swallow = (): void => {}
const refuse = (): never => {
  throw new BoatMirrorError('QUEUE_UNREACHABLE', 'The queue is not available yet.')
}

describe('the pusher', () => {
  const levels = { 20: 'debug', 40: 'warn', 50: 'error' } as const
  /** A worker before an outbox in which a change was due an hour ago, and is due again after each push. */
  const open = async (onJob: { now: (deliver: () => void) => void }) => {
    const { log, lines } = recordingLog()
    let pushes = 0
    const pusher: Partial<Pusher> = {
      nextDueAt: async () => new Date(Date.now() - 3_600_000),
      drain: async () => {
        pushes++
        return { claimed: 1, settled: 1, held: null }
      },
      close: async () => {},
    }
    const worker = await startPushWorker({
      ...{ listenUrl: null, clock: { now: () => new Date() }, log, pusher: pusher as Pusher },
      backend: fakeBackend((deliver) => onJob.now(deliver)),
    })
    const said = (event: string): readonly string[] =>
      lines.filter((line) => line.event === event).map(({ level }) => levels[level as keyof typeof levels])
    return { worker, said, pushes: () => pushes }
  }

  it('says nothing of a queue that is being opened, and once of one that was lost', async () => {
    const onJob: { now: (deliver: () => void) => void } = { now: refuse }
    const { worker, said } = await open(onJob)
    await vi.waitFor(() => expect(said('wake_up_lost').length).toBeGreaterThan(1), 20_000)
    expect(new Set(said('wake_up_lost'))).toEqual(new Set(['debug']))
    let delivered = 0
    onJob.now = () => void delivered++
    await vi.waitFor(() => expect(delivered).toBeGreaterThan(0), 20_000)
    const before = said('wake_up_lost').length
    onJob.now = refuse
    await vi.waitFor(() => expect(said('wake_up_lost').length).toBeGreaterThan(before + 1), 20_000)
    expect(said('wake_up_lost').slice(before, before + 2)).toEqual(['warn', 'debug'])
    await worker.stop()
  })

  it('pushes what waited before a start without alarm, and says that the queue is silent where it stays so', async () => {
    const onJob: { now: (deliver: () => void) => void } = { now: swallow }
    const { worker, said, pushes } = await open(onJob)
    await vi.waitFor(() => expect(said('queue_silent').length).toBeGreaterThan(1), 20_000)
    expect(said('queue_silent').slice(0, 2)).toEqual(['debug', 'error'])
    expect(pushes()).toBeGreaterThan(1)
    let delivered = 0
    onJob.now = (deliver) => {
      deliver()
      delivered++
    }
    await vi.waitFor(() => expect(delivered).toBeGreaterThan(0), 20_000)
    await worker.stop()
  })
})

describe('the worker', () => {
  const mirror = opened(() => openTestMirror({ size: 5 }))
  beforeAll(async () => {
    await mirror.stopWorker()
  })

  it('runs the tasks that waited before a start without alarm, and says that the queue is silent where it stays so', async () => {
    const { pool } = mirror.app.database
    const request = () => createRequest(pool, { trigger: 'test', streams: ['harbours'], full: false, hot: false })
    const { log, lines } = recordingLog()
    const silent = (): readonly unknown[] =>
      lines.filter(({ event }) => event === 'queue_silent').map(({ level }) => level)
    const { syncContext: context } = mirror.app
    const worker = await startSyncWorker({ context, backend: fakeBackend(swallow), log, neglectedAfterMs: 1 })
    await request()
    await vi.waitFor(() => expect(silent()[0]).toBe(20), 20_000)
    await vi.waitFor(async () => {
      const { rows } = await pool.query('select from sync.requests where finished_at is null')
      expect(rows).toEqual([])
    }, 20_000)
    await request()
    await vi.waitFor(() => expect(silent().slice(0, 2)).toEqual([20, 50]), 20_000)
    await worker.stop()
  })
})
