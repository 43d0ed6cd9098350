// The request budget in a Redis that is away at first, as is what names its keys.

import { expect, inject, it, vi } from 'vitest'
import { createRedisBudget } from '../../src/api/admission/redis-budget.ts'
import { openTcpProxy } from '../helpers/tcp-proxy.ts'

const wish = { priority: 'read', wanted: 1, unused: 0, more: false } as const

it.runIf(inject('redisUrl') !== null)('lends once Redis and the name of its keys are there', async () => {
  const url = new URL(inject('redisUrl') ?? '')
  const proxy = await openTcpProxy(Number(url.port))
  url.port = String(proxy.port)
  let isNamed = false
  const prefix = async (): Promise<string> => {
    if (isNamed) return 'redis-budget-test'
    throw new Error('no name yet')
  }
  const budget = createRedisBudget({ url: url.href, prefix, ratePerSecond: 100 })
  try {
    await proxy.refuse()
    await expect(budget.lend(wish)).rejects.toThrow()
    await proxy.pass()
    await expect(budget.lend(wish)).rejects.toThrow('no name yet')
    isNamed = true
    await vi.waitFor(async () => expect(await budget.lend(wish)).toMatchObject({ granted: 1 }), 5_000)
  } finally {
    budget.close()
    await proxy.close()
  }
})
