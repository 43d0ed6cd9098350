// A program keeps one mirror for weeks: nothing grows with its calls, also while its database or its queue goes away and
// comes back, and nothing is left once the mirror is closed. The whole lasts an hour, the slice of the suite two rounds.

import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest'
import { createSandbox, type Sandbox } from '../../sandbox/index.ts'
import { sleep } from '../../src/clock.ts'
import { buildProgram, type Program, startProgram } from '../helpers/child-program.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import type { Held } from '../helpers/library-program.ts'
import { openTcpProxy, type TcpProxy } from '../helpers/tcp-proxy.ts'

const lastsMs = 30 * 60_000
vi.setConfig({ testTimeout: lastsMs + 600_000 })

let database: TestDatabase
let sandbox: Sandbox
let program: Program
let toPostgres: TcpProxy
let url: string

beforeAll(async () => {
  ;[database, sandbox, program] = await Promise.all([
    createTestDatabase(),
    createSandbox({ size: 5 }),
    buildProgram('test/helpers/library-program.ts'),
  ])
  toPostgres = await openTcpProxy(Number(new URL(database.url).port))
  url = through(toPostgres, database.url)
})
afterAll(async () => {
  await toPostgres.close()
  await Promise.all([database[Symbol.asyncDispose](), sandbox.close(), program[Symbol.asyncDispose]()])
})

function through({ port }: TcpProxy, address: string): string {
  const there = new URL(address)
  there.hostname = '127.0.0.1'
  there.port = String(port)
  return there.href
}

type Driven = {
  /** Has the program make these calls, one after the other; answers what it holds after each. */
  tell(...calls: readonly string[]): Promise<readonly Held[]>
  /** Closes the mirror; nothing is left then, and the process ends. */
  end(): Promise<void>
}

const steady = { listeners: 0, warnings: [] }

async function start(options: object = {}): Promise<Driven> {
  const all = { databaseUrl: url, apiBaseUrl: sandbox.url, apiAuth: 'none', ...options }
  const child = startProgram(program.file, [JSON.stringify(all)])
  const answer = async (): Promise<Held> => JSON.parse(await child.nextLine()) as Held
  const tell = async (...calls: readonly string[]): Promise<readonly Held[]> => {
    child.process.stdin?.write(calls.map((call) => `${call}\n`).join(''))
    const answers: Held[] = []
    for (const _ of calls) answers.push(await answer())
    return answers
  }
  await answer()
  return {
    tell,
    end: async () => {
      await tell('close')
      // What was cut off has timers that still run for a while: a client of Redis two seconds, a worker of BullMQ ten.
      await vi.waitFor(async () => {
        const [held] = await tell('rest')
        expect(held).toMatchObject({ timers: 0, sockets: 0, ...steady })
      }, 60_000)
      child.process.stdin?.end()
      expect(await child.end()).toBe(0)
    },
  }
}

const errors = (answers: readonly Held[]): readonly (string | null)[] => answers.map(({ error }) => error)

/** Makes calls that work. Returns what is held after the last. */
async function work(driven: Driven, calls: readonly string[]): Promise<Held | undefined> {
  const answers = await driven.tell(...calls)
  expect(errors(answers)).toEqual(calls.map(() => null))
  return answers.at(-1)
}

/** What the calls end with while this is away. */
async function outage(driven: Driven, away: TcpProxy, calls: readonly string[]): Promise<readonly (string | null)[]> {
  await away.refuse()
  const failed = await driven.tell(...calls)
  await away.pass()
  return errors(failed)
}

/** A call that is under way when this goes away for a moment: it may fail, and those after it do not. */
async function interruption(driven: Driven, away: TcpProxy): Promise<void> {
  const going = driven.tell('refresh')
  await sleep(Math.random() * 400)
  await away.refuse()
  await sleep(Math.random() * 400)
  await away.pass()
  await going
}

/** Holds no more than before, except connections that are open at one time and not at another. */
function expectNoMore(first: Held | undefined, last: Held | undefined): void {
  expect(last).toMatchObject(steady)
  expect(last?.timers).toBeLessThanOrEqual((first?.timers ?? 0) + 6)
  expect(last?.sockets).toBeLessThanOrEqual((first?.sockets ?? 0) + 6)
  expect(last?.heapMb).toBeLessThanOrEqual((first?.heapMb ?? 0) + 12)
}

/** A database takes 60 refreshes a minute, and a round asks for three. */
const roundMs = 5_000

/** Repeats a round until the time has passed. */
async function repeatedly(round: () => Promise<void>): Promise<void> {
  const began = performance.now()
  while (performance.now() - began < lastsMs) await Promise.all([round(), sleep(roundMs)])
}

const everything = ['sync', 'refresh', 'push', 'status', 'feed', 'query']

it.runIf(isFull)(
  'a database that goes away fails the calls of a program meanwhile, also its first, and leaves nothing behind',
  async () => {
    const driven = await start()
    const calls = ['sync', 'refresh', 'push', 'status']
    const unreachable = calls.map(() => 'DATABASE_UNREACHABLE')
    expect(await outage(driven, toPostgres, calls)).toEqual(unreachable)
    const first = await work(driven, everything)
    await work(driven, ['refresh', 'refresh', 'refresh']) // one more, and Node warns of listeners
    await repeatedly(async () => {
      expect(await outage(driven, toPostgres, calls)).toEqual(unreachable)
      await interruption(driven, toPostgres)
      expectNoMore(first, await work(driven, everything))
    })
    await vi.waitFor(async () => {
      const others = `select from pg_stat_activity where datname = current_database() and application_name like 'boat-mirror queue%'`
      expect((await database.pool.query(others)).rows).toEqual([])
    }, 60_000)
    await driven.end()
  },
)

it.runIf(isFull && inject('redisUrl') !== null)('so does a Redis that goes away', async () => {
  const address = inject('redisUrl') ?? ''
  const toRedis = await openTcpProxy(Number(new URL(address).port))
  const driven = await start({ redisUrl: through(toRedis, address) })
  const calls = ['sync', 'refresh']
  const unreachable = calls.map(() => 'QUEUE_UNREACHABLE')
  expect(await outage(driven, toRedis, calls)).toEqual(unreachable)
  const first = await work(driven, calls)
  await repeatedly(async () => {
    expect(await outage(driven, toRedis, calls)).toEqual(unreachable)
    await interruption(driven, toRedis)
    expectNoMore(first, await work(driven, calls))
  })
  await driven.end()
  await toRedis.close()
})
