// The download floor: the same addresses read with the same concurrency by the barest loop, parsed, thrown away. Pages of
// one list follow one another, as they must; everything else is read side by side.

import { readFileSync } from 'node:fs'
import { Pool } from 'undici'
import { type Measured, measure, options, tell } from './measure.ts'

export type DownloadOptions = {
  readonly apiUrl: string
  /** A file with one address a line, in the order in which they were read. */
  readonly addresses: string
  readonly concurrency: number
}

export type DownloadResult = Measured & { readonly requests: number; readonly bytes: number }

const { apiUrl, addresses, concurrency } = options<DownloadOptions>()
const pool = new Pool(apiUrl, { connections: concurrency })
const lanes = lanesOf(readFileSync(addresses, 'utf8').split('\n'))
tell(await measure(read))
await pool.close()

/** One lane for each list, one for each other address. */
function lanesOf(all: readonly string[]): string[][] {
  const lists = new Map<string, string[]>()
  const lanes: string[][] = []
  for (const address of all) {
    const { pathname, searchParams } = new URL(address, apiUrl)
    const list = searchParams.has('page') ? pathname : null
    const known = list === null ? undefined : lists.get(list)
    if (known !== undefined) known.push(address)
    else {
      const lane = [address]
      lanes.push(lane)
      if (list !== null) lists.set(list, lane)
    }
  }
  return lanes
}

async function read(): Promise<{ requests: number; bytes: number }> {
  let requests = 0
  let bytes = 0
  let next = 0
  const work = async (): Promise<void> => {
    for (let lane = lanes[next++]; lane !== undefined; lane = lanes[next++])
      for (const path of lane) {
        const { body } = await pool.request({ path, method: 'GET' })
        const text = await body.text()
        JSON.parse(text)
        requests++
        bytes += text.length
      }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return { requests, bytes }
}
