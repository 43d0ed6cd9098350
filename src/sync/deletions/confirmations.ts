// The tasks that ask for the records a sweep missed: each for itself, all before any goes, or a sample of which none goes.

import { keyBatches, priorities } from '../plan.ts'
import type { KeyPortions } from '../runs/sweep-ranges.ts'
import type { NewTask } from '../runs/tasks.ts'
import { sampleSize, type Verdict } from './threshold.ts'

/** So many keys are put into tasks at once, so that memory does not grow with what is missing. */
const keysAtOnce = 20_000

/**
 * The tasks by portions, from the missing keys by portions.
 * @param all how many keys there are in all portions
 */
export async function* confirmationsOf(
  missing: KeyPortions,
  all: number,
  verdict: Verdict,
): AsyncGenerator<readonly NewTask[]> {
  const ask = (keys: readonly string[], reason: string | null, hold?: true): NewTask => ({
    kind: 'confirm',
    reason: 'missing',
    priority: priorities.confirm,
    payload: { keys, reason, all, ...(hold && { hold }) },
  })
  if (verdict.kind === 'hold') {
    yield [ask(await sample(missing, all), verdict.reason, true)]
    return
  }
  // Where all must be gone they are few, and one task.
  const tasks = (keys: readonly string[]): readonly NewTask[] =>
    verdict.kind === 'confirm' ? keyBatches(keys).map((batch) => ask(batch, null)) : [ask(keys, verdict.reason)]
  let waiting: readonly string[] = []
  for await (const keys of missing) {
    waiting = [...waiting, ...keys]
    if (waiting.length < keysAtOnce) continue
    yield tasks(waiting)
    waiting = []
  }
  yield tasks(waiting)
}

/** Up to `sampleSize` keys, evenly spread. */
async function sample(missing: KeyPortions, all: number): Promise<readonly string[]> {
  const step = Math.max(1, all / sampleSize)
  const taken: string[] = []
  let before = 0
  for await (const keys of missing) {
    for (let place = Math.floor(taken.length * step); place < before + keys.length && taken.length < sampleSize; ) {
      taken.push(keys[place - before] ?? '')
      place = Math.floor(taken.length * step)
    }
    before += keys.length
  }
  return taken
}
