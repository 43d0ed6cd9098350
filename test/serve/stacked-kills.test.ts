// Two Boat Mirrors, one above the other, each killed with SIGKILL again and again while they read and write and the world
// changes: each change above ends as done and takes effect once, and both mirrors end equal to the API. Seeded.

import { expect, it } from 'vitest'
import { createRandom } from '../../sandbox/world/random.ts'
import { sleep } from '../../src/clock.ts'
import { buildProgram, type Child, startProgram } from '../helpers/child-program.ts'
import { effects } from '../outbox/effects.ts'
import { type Planned, Planner } from '../outbox/plans.ts'
import { openStack, type Side, type Stack } from './stack.ts'
import type { WholeMirrorOptions } from './whole-mirror.ts'

const sides = ['lower', 'upper'] as const

const kills = 4
const seed = 1

type Running = { readonly child: Child; readonly url: string }

async function start(file: string, options: WholeMirrorOptions): Promise<Running> {
  const child = startProgram(file, [JSON.stringify(options)])
  const [, url = ''] = (await child.nextLine()).split(' ')
  return { child, url }
}

/** What a mirror is working on: tasks of syncs, and changes. `left`: changes that are not settled. */
type Work = { readonly reads: number; readonly writes: number; readonly left: number }

async function workOf({ database }: Stack, side: Side): Promise<Work> {
  const { rows } = await database[side].pool.query<Work>(
    `select (select count(*)::int from sync.tasks where status = 'running') as reads,
       count(*) filter (where status = 'sending')::int as writes,
       count(*) filter (where status in ('queued', 'sending'))::int as left from outbox.queue`,
  )
  return rows[0] ?? { reads: 0, writes: 0, left: 0 }
}

/**
 * Kills a mirror while it reads and writes: it is stopped to look, and goes on where it does not. Kills it all the same
 * once no write is left.
 */
async function killAtWork(stack: Stack, side: Side, { child }: Running, afterMs: number): Promise<Work> {
  await sleep(afterMs)
  for (;;) {
    child.process.kill('SIGSTOP')
    const work = await workOf(stack, side)
    const above = side === 'upper' ? work : await workOf(stack, 'upper')
    if ((work.reads > 0 && work.writes > 0) || above.left === 0) {
      expect(await child.end('SIGKILL')).toBe('SIGKILL')
      return work
    }
    child.process.kill('SIGCONT')
    await sleep(10)
  }
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

it(`${kills} kills leave both mirrors equal to the API, and no change lost or doubled`, async () => {
  await using program = await buildProgram('test/serve/mirror-process.ts')
  await using stack = await openStack({ size: 30, seed, latencyMs: 3 })
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
    for (const side of sides) await stack.sync(side)
    const plans = new Planner(sandbox).plan()
    const planned = idsOf(plans)
    const spares = ({ id, parent }: { id?: unknown; parent?: unknown }): boolean =>
      [id, parent].some((each) => planned.has(String(each)))

    const atWork: Record<Side, Work[]> = { upper: [], lower: [] }
    const ids: string[] = []
    for (let round = 0; round < kills; round++) {
      const side: Side = round % 2 === 0 ? 'upper' : 'lower'
      for (const each of sides) await stack.request(each)
      while ((await workOf(stack, side)).reads === 0) await sleep(10)
      sandbox.mutateRandomly(6, seed * 1_000 + round, spares)
      const until = Math.ceil(((round + 1) * plans.length) / kills)
      for (const { operation, target, body } of plans.slice(ids.length, until))
        ids.push(await stack.queue(operation, target, body))
      const killed = running[side]
      if (killed === undefined) throw new Error(`The ${side} mirror does not run.`)
      atWork[side].push(await killAtWork(stack, side, killed, random() * 60))
      await endLeases(stack, side)
      running[side] = await start(program.file, every[side])
    }
    // Each kill interrupted reads and writes.
    for (const side of sides)
      expect([side, atWork[side].filter(({ reads, writes }) => reads === 0 || writes === 0)]).toEqual([side, []])

    const fates = await stack.fates(ids)
    const outcomes = plans.map((plan, place) => ({
      operation: plan.operation,
      fate: fates[place],
      effects: effects(sandbox, plan),
    }))
    expect(outcomes.filter(({ fate, effects }) => fate !== 'done' || effects !== 1)).toEqual([])
    expect(outcomes).toHaveLength(22)
    for (const side of sides) {
      const runs = await stack.sync(side)
      expect(runs.flatMap(({ stream, status, error }) => (status === 'done' ? [] : [[stream, status, error]]))).toEqual(
        [],
      )
      expect([side, await stack.differences(side)]).toEqual([side, []])
      expect([side, (await workOf(stack, side)).left]).toEqual([side, 0])
    }
  } finally {
    for (const { child } of Object.values(running)) await child.end('SIGKILL')
  }
}, 900_000) // calls of a busy machine are repeated
