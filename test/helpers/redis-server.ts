// The Redis of a test run: TEST_REDIS_URL, or a `redis-server` from the path on a free port, or none; and servers of a
// test's own, which may be killed and started again.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { readFile, readlink } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { Redis, ReplyError } from 'ioredis'
import { sleep } from '../../src/clock.ts'
import { findFreePort } from '../../src/embedded/connection.ts'

export const redisPidFile = 'redis.pid'

export type TestRedis = { readonly url: string; close(): Promise<void> }

/** The full path of a program on PATH, or undefined. */
export function findOnPath(program: string, path = process.env.PATH ?? ''): string | undefined {
  const candidates = path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, program))
  return candidates.find((file) => {
    try {
      accessSync(file, constants.X_OK)
      return true
    } catch {
      return false // not there, or not ours to run: the next folder decides
    }
  })
}

/** Opens the Redis of this run, with its files in `folder`; null when there is neither TEST_REDIS_URL nor a redis-server. */
export async function openTestRedis(folder: string): Promise<TestRedis | null> {
  const given = process.env.TEST_REDIS_URL
  if (given !== undefined && given !== '') return { url: given, close: async () => {} }
  const program = findOnPath('redis-server')
  if (program === undefined) return null

  return await startRedis(program, folder)
}

export type OwnRedis = TestRedis & {
  /** Ends it with SIGKILL, and starts it on the same port, with nothing in it, after `downMs`. */
  restartEmpty(downMs: number): Promise<void>
}

/** Starts a Redis of its own on a free port, with its files in `folder`. `settings`: what differs, as on its command line. */
export async function startRedis(program: string, folder: string, settings: readonly string[] = []): Promise<OwnRedis> {
  const port = await findFreePort()
  const launch = async (): Promise<ChildProcess> => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder]
    const started = spawn(program, [...args, '--pidfile', join(folder, redisPidFile), ...settings], { stdio: 'ignore' })
    try {
      await untilReady(port, started)
      return started
    } catch (error) {
      await stop(started)
      throw error
    }
  }
  let child = await launch()
  return {
    url: `redis://127.0.0.1:${port}`,
    restartEmpty: async (downMs) => {
      await stop(child, 'SIGKILL')
      await sleep(downMs)
      child = await launch()
    },
    close: () => stop(child),
  }
}

async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

/** Stops the server of a killed run, if it still works in that run's folder (Linux shows that; elsewhere it stays). */
export async function stopLeftServer(folder: string, pidFile: string): Promise<void> {
  const pid = Number(await readFile(join(folder, pidFile), 'utf8').catch(() => 'none'))
  if (!Number.isSafeInteger(pid)) return
  const workplace = await readlink(`/proc/${pid}/cwd`).catch(() => null)
  if (workplace === folder) process.kill(pid, 'SIGTERM')
}

async function untilReady(port: number, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode} before it was ready`)
    const client = new Redis(port, '127.0.0.1', {
      lazyConnect: true,
      retryStrategy: () => null,
      enableReadyCheck: false,
    })
    let refusal: unknown
    client.on('error', (error) => (refusal = error)) // that of connect(), which is tried again, says only that it is closed
    try {
      await client.connect()
      await client.ping()
      return
    } catch (error) {
      if (error instanceof ReplyError || refusal instanceof ReplyError) return // it answers: it wants a password, or still loads
      await sleep(50)
    } finally {
      client.disconnect()
    }
  }
  throw new Error('redis-server did not answer within 10 s')
}
