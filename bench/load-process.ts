// Sends reads to a server for some seconds, in a process of its own: at full speed, or so many a second, evenly spread.

import { Pool } from 'undici'
import { options, tell } from './measure.ts'
import { quantile } from './statistics.ts'

export type LoadOptions = {
  readonly url: string
  readonly token: string
  /** What is read, drawn anew for each request. */
  readonly paths: readonly string[]
  readonly connections: number
  /** How long is measured; a second of warming up comes before. */
  readonly seconds: number
  /** Requests a second over all connections; null: at full speed. */
  readonly perSecond: number | null
}

export type LoadResult = {
  readonly perSecond: number
  /** 99th percentile of the times from the moment a request is due to the end of its answer, in milliseconds. */
  readonly p99: number
  /** Requests that were not answered with 200. */
  readonly failed: number
}

const { url, token, paths, connections, seconds, perSecond } = options<LoadOptions>()
/** While it sends its first requests, this process opens its connections and compiles its own code: they do not count. */
const warmUpMs = 1_000
const pool = new Pool(url, { connections, pipelining: 1 })
const headers = { authorization: `Bearer ${token}` }
const times: number[] = []
let failed = 0

async function read(dueAt: number): Promise<void> {
  const path = paths[Math.floor(Math.random() * paths.length)] ?? '/'
  const { statusCode, body } = await pool.request({ method: 'GET', path, headers })
  // Of a longer answer undici would close the connection.
  await body.dump({ limit: Number.MAX_SAFE_INTEGER })
  if (statusCode !== 200) failed++
  if (dueAt >= countsFrom) times.push(performance.now() - dueAt)
}

const beganAt = performance.now()
const countsFrom = beganAt + warmUpMs
const endsAt = countsFrom + seconds * 1_000

/** Each connection reads again as soon as it is answered. */
async function asManyAsAnswered(): Promise<void> {
  const loop = async (): Promise<void> => {
    for (let at = performance.now(); at < endsAt; at = performance.now()) await read(at)
  }
  await Promise.all(Array.from({ length: connections }, loop))
}

/** A request is sent when it is due, whether or not those before it are answered. */
async function evenly(rate: number): Promise<void> {
  const sent: Promise<void>[] = []
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const now = performance.now()
      for (;;) {
        const dueAt = beganAt + (sent.length * 1_000) / rate
        if (dueAt >= endsAt) {
          clearInterval(timer)
          return resolve()
        }
        if (dueAt > now) return
        sent.push(read(dueAt))
      }
    }, 1)
  })
  await Promise.all(sent)
}

await (perSecond === null ? asManyAsAnswered() : evenly(perSecond))
const tookS = (performance.now() - countsFrom) / 1_000
await pool.close()
tell({ perSecond: times.length / tookS, p99: quantile(times, 0.99), failed } satisfies LoadResult)
