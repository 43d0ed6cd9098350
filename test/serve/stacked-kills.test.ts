// Two Boat Mirrors, one above the other, each killed with SIGKILL again and again while they read and write and the world
// changes: both end equal to the API, and each change above takes effect once or says why it did not. Seeded.

import { expect, it } from 'vitest'
import { sleep } from '../../src/clock.ts'
import { createRandom } from '../../src/sandbox/world/random.ts'
import { buildProgram, type Child, startProgram } from '../helpers/child-program.ts'
import { inGate } from '../helpers/gate.ts'
import { effects } from '../outbox/effects.ts'
import { type Planned, Planner } from '../outbox/plans.ts'
import { openStack, type Side, type Stack } from './stack.ts'
import type { WholeMirrorOptions } from './whole-mirror.ts'

const seeds = [1, 2]
const kills = 6

type Running = { readonly child: Child; readonly url: string }

async function start(file: string, options: WholeMirrorOptions): Promise<Running> {
  const child = startProgram(file, [JSON.stringify(options)])
  const [, url = ''] = (await child.nextLine()).split(' ')
  return { child, url }
}

/** What a dead process was working on need not wait for ten seconds until others take it up. */
const endLeases = ({ database }: Stack, side: Side): Promise<unknown> =>
  database[side].pool.query(`update sync.tasks set lease_until = clock_timestamp() where status = 'running'`)

/** The ids of rentals and users that planned changes are about: nobody else changes those. */
const idsOf = (plans: readonly Planned[]): ReadonlySet<string> =>
  new Set(
    plans.flatMap(({ target, key, effect }) => [...Object.values({ ...target, ...key }), userIn(effect)].map(String)),
  )
const userIn = (effect: Planned['effect']): unknown => (effect?.user as { id?: number } | undefined)?.id

// Not in the gate: each kill costs the time in which a program starts, and what it leaves, a minute of waits.
for (const seed of seeds)
  it.skipIf(inGate)(
    `${kills} kills leave both mirrors equal to the API, and no change lost, doubled or falsely done (seed ${seed})`,
    async () => {
      await using program = await buildProgram('test/serve/mirror-process.ts')
      await using stack = await openStack({ size: 60, seed, latencyMs: 3 })
      const { sandbox, options } = stack
      const random = createRandom(seed, 'kills').next
      const lower = { ...options.lower, apiUrl: sandbox.url, port: 0, timeoutMs: 1_000 }
      const running: Partial<Record<Side, Running>> = {}
      try {
        running.lower = await start(program.file, lower)
        const { url } = running.lower
        const every = {
          lower: { ...lower, port: Number(new URL(url).port) },
          upper: { ...options.upper, apiUrl: url, port: null, timeoutMs: 2_000 },
        }
        running.upper = await start(program.file, every.upper)
        // The upper one waits for half a minute where a list below was never read whole.
        for (const side of ['lower', 'upper'] as const) await stack.sync(side)
        const plans = new Planner(sandbox).plan()
        const planned = idsOf(plans)
        const spares = ({ id, parent }: { id?: unknown; parent?: unknown }): boolean =>
          [id, parent].some((each) => planned.has(String(each)))

        const killed = { upper: 0, lower: 0 }
        const ids: string[] = []
        for (let round = 0; round < kills; round++) {
          if (round % 2 === 0) for (const side of ['lower', 'upper'] as const) await stack.request(side)
          sandbox.mutateRandomly(6, seed * 1_000 + round, spares)
          for (const { operation, target, body } of plans.slice(
            ids.length,
            Math.ceil(((round + 1) * plans.length) / kills),
          ))
            ids.push(await stack.queue(operation, target, body))
          await sleep(30 + random() * 500)
          const side: Side = random() < 0.5 ? 'upper' : 'lower'
          expect(await running[side]?.child.end('SIGKILL')).toBe('SIGKILL')
          killed[side]++
          await endLeases(stack, side)
          running[side] = await start(program.file, every[side])
        }
        expect(Math.min(killed.upper, killed.lower)).toBeGreaterThan(0)

        const fates = await stack.fates(ids)
        const outcomes = plans.map((plan, place) => ({
          operation: plan.operation,
          fate: fates[place],
          effects: effects(sandbox, plan),
        }))
        // What is not done says why, and had no effect.
        const isHonest = ({ fate = '', effects }: (typeof outcomes)[number]): boolean =>
          fate === 'done' ? effects === 1 : effects === 0 && /^(failed|unknown|conflict|expired): ./.test(fate)
        expect(outcomes.filter((outcome) => !isHonest(outcome))).toEqual([])
        expect(outcomes.filter(({ fate }) => fate === 'done').length).toBeGreaterThanOrEqual(20)
        expect(outcomes).toHaveLength(22)
        for (const side of ['lower', 'upper'] as const) {
          const runs = await stack.sync(side)
          expect(
            runs.flatMap(({ stream, status, error }) => (status === 'done' ? [] : [[stream, status, error]])),
          ).toEqual([])
          expect(await stack.differences(side)).toEqual([])
        }
      } finally {
        for (const { child } of Object.values(running)) await child.end('SIGKILL')
      }
    },
    300_000,
  )
