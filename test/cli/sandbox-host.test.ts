// The sandbox that stands in for an API: one per folder, and the next one finds the world as it was left.

import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { attachSandbox } from '../../src/cli/sandbox-host.ts'
import { createLogger } from '../../src/log.ts'

const log = createLogger('silent')
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'boat-mirror-sandbox-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const read = async (url: string, path: string): Promise<unknown> => (await fetch(new URL(path, url))).json()

async function send(url: string, method: string, path: string, body: unknown): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(new URL(path, url), { method, headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Record<string, unknown>
}

const person = {
  firstName: 'Ada',
  lastName: 'Seemann',
  email: 'ada@example.org',
  organizationType: 'INDIVIDUAL',
  language: { code: 'fr' },
}

describe('the built-in sandbox', () => {
  it('keeps its address, its world and every write over a restart', async () => {
    const first = await attachSandbox(folder, log)
    const created = await send(first.url, 'POST', '/v3/users', person)
    const before = (await read(first.url, `/v3/users/${created.id}`)) as Record<string, unknown>
    const rentals = await read(first.url, '/v3/rentals?perPage=100')
    await first.close()

    const second = await attachSandbox(folder, log)
    expect(second.url).toBe(first.url)
    expect(await read(second.url, `/v3/users/${created.id}`)).toEqual({
      ...before,
      // Written anew when the write is repeated, at the instant it arrived: milliseconds earlier.
      creationDatetime: expect.stringContaining(String(before.creationDatetime).slice(0, 10)),
      lastModificationDatetime: expect.stringContaining(String(before.lastModificationDatetime).slice(0, 10)),
    })
    expect(await read(second.url, '/v3/rentals?perPage=100')).toEqual(rentals)
    const next = await send(second.url, 'POST', '/v3/users', { ...person, email: 'eve@example.org' })
    expect(Number(next.id)).toBeGreaterThan(Number(created.id))
    await second.close()
  })

  it('is shared by whoever comes later, and stopped only by the one that started it', async () => {
    const first = await attachSandbox(folder, log)
    const second = await attachSandbox(folder, log)
    expect(second.url).toBe(first.url)
    await second.close()
    expect(await read(first.url, '/v3/types')).not.toEqual([])
    await first.close()
    await first.close()
    await expect(fetch(new URL('/v3/types', first.url))).rejects.toThrow()
  })

  it('is made once when many ask at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, () => attachSandbox(folder, log)))
    expect(new Set(all.map((each) => each.url)).size).toBe(1)
    for (const each of all.reverse()) await each.close()
  })

  it('notes where it is for its owner only', async () => {
    const attached = await attachSandbox(folder, log)
    expect((await stat(join(folder, 'sandbox.json'))).mode & 0o777).toBe(0o600)
    await attached.close()
  })
})
