// What was made of the latest texts is remembered, and no more than that.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gathered, memo } from '../src/memo.ts'

it('gives what the function makes, whatever was asked before', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 3 })), fc.integer({ min: 1, max: 5 }), (texts, most) => {
      const remembered = memo((text) => `<${text}>`, { most, longest: 2 })
      for (const text of texts) expect(remembered(text)).toBe(`<${text}>`)
    }),
  )
})

it('makes a text once while it is used, again after enough others, and long ones each time', () => {
  const made: string[] = []
  const remembered = memo(
    (text) => {
      made.push(text)
      return text
    },
    { most: 2, longest: 3 },
  )
  for (const text of ['a', 'b', 'a', 'c', 'a', 'd', 'a']) remembered(text)
  expect(made).toEqual(['a', 'b', 'c', 'd'])
  for (const text of ['e', 'f', 'g', 'h', 'a']) remembered(text)
  expect(made).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'a'])
  remembered('long')
  remembered('long')
  expect(made.filter((text) => text === 'long')).toHaveLength(2)
})

it('does not keep a whole record in memory for the part of it that it remembers', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const remembered = memo((text) => text.length, { most: 1_000, longest: 100 })
  const used = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = used()
  for (let i = 0; i < 1_000; i++) {
    const record = Buffer.alloc(20_000, `a record with many fields, the ${i}th one `).toString()
    remembered(record.slice(0, 60))
  }
  // The records are 20 MB, what is remembered of them is 0.1.
  expect(used() - before).toBeLessThan(5_000_000)
})

describe('a look-up for many', () => {
  it('is one at a time in a group, begins after it was asked for, and gives each its own answer', async () => {
    let asked = 0
    const running = new Map<string, number>()
    const find = gathered(async (keys, group) => {
      const others = running.get(group) ?? 0
      running.set(group, others + 1)
      const begun = asked
      await new Promise((resolve) => setImmediate(resolve))
      running.set(group, others)
      return new Map(keys.map((key) => [key, { key, group, begun, others }]))
    })
    const ask = async (key: string, group: string): Promise<void> => {
      const number = ++asked
      const found = await find(key, group)
      expect(found).toMatchObject({ key, group, others: 0 })
      expect(found?.begun).toBeGreaterThanOrEqual(number)
    }
    await Promise.all(
      Array.from({ length: 300 }, async (_, index) => {
        for (let n = 0; n < index % 5; n++) await new Promise((resolve) => setImmediate(resolve))
        await ask(String(index % 7), String(index % 3))
      }),
    )
  })

  it('finds together what came in one turn of the event loop, and all that was asked for while it looked', async () => {
    const lookUps: string[][] = []
    const later: Promise<unknown>[] = []
    const find = gathered(async (keys) => {
      lookUps.push([...keys])
      if (later.length === 0) later.push(find('c'), find('d'), find('c'))
      return new Map(keys.map((key) => [key, key]))
    })
    await Promise.all([find('a'), Promise.resolve().then(() => find('b'))])
    await Promise.all(later)
    expect(lookUps).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
  })

  it('takes at most a hundred at once, and leaves none out', async () => {
    const sizes: number[] = []
    const find = gathered(async (keys) => {
      sizes.push(keys.length)
      return new Map(keys.map((key) => [key, key]))
    })
    const keys = Array.from({ length: 250 }, (_, index) => String(index))
    expect(await Promise.all(keys.map((key) => find(key)))).toEqual(keys)
    expect(sizes).toEqual([100, 100, 50])
  })

  it('that fails fails for those who asked, and the next one goes on', async () => {
    let fails = true
    const find = gathered(async (keys) => {
      if (fails) throw new Error('no connection')
      return new Map(keys.map((key) => [key, key]))
    })
    await expect(Promise.all([find('a'), find('b')])).rejects.toThrow('no connection')
    fails = false
    expect(await find('a')).toBe('a')
  })
})
