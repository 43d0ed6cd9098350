// The budget of requests in Redis, for workers whose queue is there: the rule of request-budget.ts as a script, by the
// clock of Redis, over one hash with its instants.

import { Redis } from 'ioredis'
import { lazily } from '../../lazy.ts'
import { type Loan, type RequestBudget, rule, type Wish } from './request-budget.ts'

const script = `
local rate, priority, wanted, unused, more = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local function known(field)
  local instant = tonumber(redis.call('HGET', KEYS[1], field) or 0)
  return instant > now + ${rule.farMs} and now or instant
end
local changes, reads, details = known('changes_until'), known('reads_until'), known('details_until')
local lent = known('lent_until') - unused * 1000 / rate
if lent < now - ${rule.lateMs} then lent = now end

local others = 0
if priority == 'read' then others = changes end
if priority == 'detail' then others = math.max(changes, math.min(reads, details)) end
local granted, start = wanted, lent
if others > now then granted, start = 0, others
elseif priority == 'write' then start = math.max(math.min(lent, now), lent - ${rule.aheadMs}) end
local length = granted * 1000 / rate
local waits = start
if others > now then waits = start + ${rule.graceMs} elseif more == 'true' then waits = start + length end

if priority == 'write' then changes = math.max(changes, waits) end
if priority == 'read' then reads = math.max(reads, waits) end
if priority == 'detail' and reads > now then details = math.max(details, now + length * ${rule.detailEvery}) end
local function text(instant) return string.format('%.3f', instant) end
redis.call('HSET', KEYS[1], 'lent_until', text(lent + length), 'changes_until', text(changes),
  'reads_until', text(reads), 'details_until', text(details))
redis.call('PEXPIRE', KEYS[1], ${2 * rule.farMs})
return { granted, text(start - now) }`

/** A command that is not answered within this failed. */
const answerMs = 1_000

type Options = {
  readonly url: string
  /** What the names of this installation's keys begin with. */
  readonly prefix: () => Promise<string>
  readonly ratePerSecond: number
}

/** A budget for all that share this Redis and prefix. Connects with the first loan; rejects while Redis does not answer. */
export function createRedisBudget({ url, prefix, ratePerSecond }: Options): RequestBudget & { close(): void } {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: answerMs,
    commandTimeout: answerMs,
    retryStrategy: (times) => Math.min(times * 100, 2_000),
    scripts: { lend: { lua: script, numberOfKeys: 1 } },
  })
  redis.on('error', () => undefined) // the loan that fails tells
  const open = lazily(async () => {
    const key = `${await prefix()}:request-budget`
    // From the first try on it connects again by itself, and refuses to be told to.
    if (redis.status === 'wait') await redis.connect()
    return key
  })

  const lend = async ({ priority, wanted, unused, more }: Wish): Promise<Loan> => {
    const key = await open()
    const answer = await redis.lend(key, ratePerSecond, priority, wanted, unused, String(more))
    return { granted: answer[0], waitMs: Number(answer[1]) }
  }

  return { lend, close: () => redis.disconnect() }
}

declare module 'ioredis' {
  interface RedisCommander {
    lend(
      key: string,
      ratePerSecond: number,
      priority: string,
      wanted: number,
      unused: number,
      more: string,
    ): Promise<[granted: number, waitMs: string]>
  }
}
