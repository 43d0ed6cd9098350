// A Boat Mirror that reads from another one ends equal to the API in all tables, and stays so.

import { expect, it } from 'vitest'
import type { SandboxOptions } from '../../sandbox/index.ts'
import { checkStreams } from '../../src/sync/check.ts'
import { streamsToRead } from '../../src/sync/plan.ts'
import { fetchJson, type Got } from './reads-rig.ts'
import { openStack, type Side, type Stack } from './stack.ts'
import { openWholeMirror, type WholeMirror } from './whole-mirror.ts'

type Both = AsyncDisposable &
  Stack & {
    readonly mirrors: Readonly<Record<Side, WholeMirror>>
    /** Syncs one of both, and expects that all runs are done. */
    syncWell(side: Side, streams?: readonly string[]): Promise<void>
    /** Asks the lower one. */
    get(path: string): Promise<Got>
  }

async function openBoth(world: Partial<SandboxOptions>): Promise<Both> {
  const stack = await openStack(world)
  const { sandbox, options } = stack
  const lower = await openWholeMirror({ ...options.lower, apiUrl: sandbox.url, port: 0, timeoutMs: 30_000 })
  const upper = await openWholeMirror({ ...options.upper, apiUrl: lower.url, port: null, timeoutMs: 60_000 })
  const mirrors = { lower, upper }
  return {
    ...stack,
    mirrors,
    syncWell: async (side, streams = []) => {
      const runs = await stack.sync(side, { streams, poke: mirrors[side].poke })
      expect(runs.flatMap(({ stream, status, error }) => (status === 'done' ? [] : [[stream, status, error]]))).toEqual(
        [],
      )
    },
    get: (path) => fetchJson(`${lower.url}${path}`, { token: options.upper.env.API_TOKEN ?? '' }),
    [Symbol.asyncDispose]: async () => {
      await upper[Symbol.asyncDispose]()
      await lower[Symbol.asyncDispose]()
      await stack[Symbol.asyncDispose]()
    },
  }
}

it('ends equal to the API in all tables without a request to it, and stays so under changes and deletions', async () => {
  await using both = await openBoth({ size: 40 })
  const { sandbox, mirrors, syncWell } = both
  await syncWell('lower')
  const asked = sandbox.requests().length
  await syncWell('upper')
  expect(sandbox.requests().length).toBe(asked)
  expect(await both.differences('upper')).toEqual([])

  sandbox.mutateRandomly(60, 7)
  await syncWell('lower')
  await syncWell('upper')
  expect(await both.differences('upper')).toEqual([])

  const { syncContext, config } = mirrors.upper.app
  const context = { ...syncContext, onTasks: () => {} }
  const checks = await checkStreams(context, streamsToRead([], config), { signal: new AbortController().signal })
  expect(checks.flatMap(({ stream, different, missing }) => (different + missing > 0 ? [stream] : []))).toEqual([])
})

it('reads what hangs below a changed record as the API shows it, though the mirror below has only read its list', async () => {
  const streams = ['resource_options', 'user_licenses']
  await using both = await openBoth({ size: 20 })
  const { sandbox, database, syncWell } = both
  await syncWell('lower', streams)
  await syncWell('upper', streams)

  const truth = sandbox.truth({ only: streams })
  const [option, license] = [truth.resource_options?.[0]?.key, truth.user_licenses?.[0]?.key]
  sandbox.mutate([
    {
      ...{ record: 'resource_options', op: 'update', set: { name: 'new' } },
      ...{ parent: String(option?.resource_id), id: String(option?.id) },
    },
    { record: 'user_licenses', op: 'update', parent: String(license?.user_id), set: { number: 'new' } },
  ])
  // As a sync is between its lists and its details.
  await syncWell('lower', ['resources', 'users'])
  const news = `select 1 from mirror.resource_options where name = 'new' union all select 1 from mirror.user_licenses where number = 'new'`
  expect((await database.lower.pool.query(news)).rows).toHaveLength(0)
  await syncWell('upper', streams)
  expect((await database.upper.pool.query(news)).rows).toHaveLength(2)

  // While the API cannot be asked, what is stored, and it says so.
  sandbox.fault({ op: 'GET *', respond: { status: 400 } })
  for (const path of [`/v3/resources/${option?.resource_id}/options`, `/v3/users/${license?.user_id}/license`]) {
    const { status, headers } = await both.get(path)
    expect([path, status, headers.get('warning')]).toEqual([path, 200, expect.stringMatching(/^11[01] /)])
  }
})
