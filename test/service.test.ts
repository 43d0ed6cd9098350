// Services: work that repeats until it is stopped.

import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { service } from '../src/service.ts'
import { recordingLog } from './api/recording-log.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const { log, lines } = recordingLog()
const runs = (): ReturnType<typeof vi.fn<(signal: AbortSignal) => Promise<'again' | number | undefined>>> =>
  vi.fn(async () => undefined)

it('runs at once, or after a delay, and again when its time has come', async () => {
  const [now, later] = [runs(), runs()]
  await using _now = service('now', 1_000, now, { log })
  await using _later = service('later', 1_000, later, { log, delayMs: 5_000 })
  await vi.advanceTimersByTimeAsync(3_500)
  expect([now.mock.calls.length, later.mock.calls.length]).toEqual([4, 0])
  await vi.advanceTimersByTimeAsync(2_000)
  expect([now.mock.calls.length, later.mock.calls.length]).toEqual([6, 1])
})

it('runs again at once, or after another time, where a run says so', async () => {
  const work = runs().mockResolvedValueOnce('again').mockResolvedValueOnce(10_000)
  await using _ = service('work', 1_000, work, { log })
  await vi.advanceTimersByTimeAsync(9_999)
  expect(work).toHaveBeenCalledTimes(2)
  await vi.advanceTimersByTimeAsync(1)
  expect(work).toHaveBeenCalledTimes(3)
})

it('runs once more when it is poked during a run, however often', async () => {
  let end = (): void => {}
  const work = runs().mockImplementationOnce(() => new Promise((resolve) => (end = () => resolve(undefined))))
  await using running = service('work', 1_000, work, { log })
  await vi.advanceTimersByTimeAsync(5_000)
  running.poke()
  running.poke()
  end()
  await vi.advanceTimersByTimeAsync(0)
  expect(work).toHaveBeenCalledTimes(2)
  running.poke()
  await vi.advanceTimersByTimeAsync(0)
  expect(work).toHaveBeenCalledTimes(3)
})

it('logs equal failures in a row once, and goes on', async () => {
  const fail = (text: string) => () => Promise.reject(new Error(text))
  const work = runs()
  for (const text of ['a', 'a', 'b']) work.mockImplementationOnce(fail(text))
  work.mockResolvedValueOnce(undefined).mockImplementationOnce(fail('b'))
  await using _ = service('work', 1_000, work, { log })
  await vi.advanceTimersByTimeAsync(6_000)
  expect(lines.map(({ msg }) => msg)).toEqual(['a', 'b', 'b'].map((text) => `work failed and will be retried: ${text}`))
  expect(work).toHaveBeenCalledTimes(7)
})

it('aborts its run when it is stopped, then ends, without a word', async () => {
  lines.length = 0
  const atEnd = vi.fn(async () => {})
  const running = service(
    'work',
    1_000,
    (signal) => new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    { log, atEnd },
  )
  await vi.advanceTimersByTimeAsync(1)
  await running.stop()
  expect(atEnd).toHaveBeenCalledTimes(1)
  expect(lines).toEqual([])
})
