// The lock between processes: one at a time, taken over from the dead by one only.

import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sleep } from '../../src/clock.ts'
import { enter, leave, withLock } from '../../src/embedded/lock.ts'
import { isAlive, ownToken, processToken } from '../../src/embedded/processes.ts'
import { makeFolder } from './folders.ts'

/** No system gives a process this number: it is above the limit of Linux, and of the others. */
const deadToken = '4194305 1 boot'

for (const left of ['nothing', 'a dead owner', 'a released lock'])
  it(`lets one in at a time where ${left} was left`, async () => {
    await using folder = await makeFolder()
    if (left !== 'nothing') await writeFile(join(folder.path, '7'), left === 'a dead owner' ? deadToken : '')
    let inside = 0
    let most = 0
    const work = async (index: number): Promise<number> => {
      inside += 1
      most = Math.max(most, inside)
      await sleep(index % 3)
      inside -= 1
      return index
    }
    const all = Array.from({ length: 12 }, (_, index) => withLock(folder.path, () => work(index)))
    expect(await Promise.all(all)).toEqual(all.map((_, index) => index))
    expect(most).toBe(1)
    expect(await readdir(folder.path)).toHaveLength(1)
  })

it('is free again after work that failed, and hands the failure on', async () => {
  await using folder = await makeFolder()
  const failure = new Error('no')
  await expect(withLock(folder.path, () => Promise.reject(failure))).rejects.toBe(failure)
  expect(await withLock(folder.path, async () => 'next')).toBe('next')
})

it('stops waiting when asked to', async () => {
  await using folder = await makeFolder()
  const stopping = new AbortController()
  const reason = new Error('stop')
  await withLock(folder.path, async () => {
    const waiting = withLock(folder.path, async () => {}, { signal: stopping.signal })
    stopping.abort(reason)
    await expect(waiting).rejects.toBe(reason)
  })
})

it('knows its own mark, and no mark of a dead process, of a later one with the same number, or of none', () => {
  expect(isAlive(ownToken())).toBe(true)
  expect(isAlive(deadToken)).toBe(false)
  expect(isAlive('')).toBe(false)
  expect(processToken(4_194_305)).toBeNull()
  const [pid, start, boot] = ownToken().split(' ')
  if (boot !== undefined) expect(isAlive(`${pid} ${Number(start) - 1} ${boot}`)).toBe(false)
})

it('counts the last holder out, and forgets holders that died', async () => {
  await using folder = await makeFolder()
  const first = await enter(folder.path)
  const second = await enter(folder.path)
  await writeFile(join(folder.path, '4194305-dead'), deadToken)
  expect(await leave(folder.path, first)).toBe(false)
  expect(await leave(folder.path, second)).toBe(true)
  expect(await readdir(folder.path)).toEqual([])
})
