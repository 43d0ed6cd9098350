// What is made once and kept, and that nothing else keeps a promise: one that failed would fail for good.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { kept } from '../src/memo.ts'

it('makes a value once, for those who ask meanwhile, too', async () => {
  let made = 0
  const value = kept(async () => ++made)
  expect(await Promise.all([value(), value()])).toEqual([1, 1])
  expect(await value()).toBe(1)
})

it('makes it again after a failure', async () => {
  let tries = 0
  const value = kept(async () => {
    if (++tries < 3) throw new Error(`try ${tries}`)
    return tries
  })
  await expect(Promise.all([value(), value()])).rejects.toThrow('try 1')
  await expect(value()).rejects.toThrow('try 2')
  expect(await value()).toBe(3)
})

// `deciding` is forgotten when it ends, however it ends.
it('nothing but `kept` keeps what an asynchronous call returns, unless it ends something', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const promises = files.flatMap((file) => {
    const lines = readFileSync(join('src', file), 'utf8').split('\n')
    const names = lines.flatMap((line) => /\blet (\w+): Promise</.exec(line)?.[1] ?? [])
    return lines
      .filter((line) =>
        names.some((name) => line.includes(`${name} ??= `) && !/^clos|^takingOver$|^deciding$/.test(name)),
      )
      .map((line) => `${file}: ${line.trim()}`)
  })
  expect(promises).toEqual([])
})
