// The sandbox that stands in for an API: one per folder, and the next one finds the world as it was left.

import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { knownSandbox, type SandboxFile, writeSandboxFile } from '../../src/cli/sandbox/file.ts'
import { attachSandbox } from '../../src/cli/sandbox/host.ts'
import { createLogger } from '../../src/log.ts'
import { recordingLog } from '../api/recording-log.ts'

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
    const before = await read(first.url, `/v3/users/${created.id}`)
    const rentals = await read(first.url, '/v3/rentals?perPage=100')
    await first.close()

    const second = await attachSandbox(folder, log)
    expect(second.url).toBe(first.url)
    expect(await read(second.url, `/v3/users/${created.id}`)).toEqual(before)
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

/** Leaves the folder as a process does that was killed: its mark stands in the file. */
async function leaveDead(): Promise<void> {
  const known = (await knownSandbox(folder)) as SandboxFile
  await writeSandboxFile(folder, { ...known, owner: '999999999 1 boot' })
}

describe('a sandbox whose process is gone', () => {
  it('is taken over by another that uses it: same address, same world, every write', async () => {
    const { log: heard, lines } = recordingLog()
    const first = await attachSandbox(folder, log)
    const second = await attachSandbox(folder, heard)
    const created = await send(first.url, 'POST', '/v3/users', person)
    await first.close()
    // The first answer counts: a world without its last writes would say that records are gone.
    const shown = await vi.waitFor(() => read(second.url, `/v3/users/${created.id}`), {
      timeout: 60_000,
      interval: 5,
    })
    expect(shown).toMatchObject({ id: created.id, email: person.email })
    await send(second.url, 'POST', '/v3/users', { ...person, email: 'eve@example.org' })
    expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([])
    await second.close()
    await expect(fetch(new URL('/v3/types', second.url))).rejects.toThrow()
  })

  it('is run by the next that needs it when it was killed', async () => {
    const first = await attachSandbox(folder, log)
    const created = await send(first.url, 'POST', '/v3/users', person)
    await first.close()
    await leaveDead()
    const second = await attachSandbox(folder, log)
    expect(second.url).toBe(first.url)
    expect(await read(second.url, `/v3/users/${created.id}`)).toMatchObject({ email: person.email })
    await second.close()
  })

  it('moves when somebody took its port meanwhile, and says so', async () => {
    const { log: heard, lines } = recordingLog()
    const first = await attachSandbox(folder, log)
    const second = await attachSandbox(folder, heard)
    await first.close()
    const stranger = createServer().listen(Number(new URL(first.url).port), '127.0.0.1')
    await once(stranger, 'listening')
    await vi.waitFor(
      async () => {
        const moved = lines.find(({ event }) => event === 'sandbox_moved')
        expect(moved).toMatchObject({ msg: expect.stringContaining('restart') })
        expect(moved?.url).not.toBe(second.url)
        expect(await read(String(moved?.url), '/v3/types')).not.toEqual([])
      },
      { timeout: 60_000, interval: 100 },
    )
    await second.close()
    stranger.close()
  })
})
