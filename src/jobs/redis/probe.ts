// Tests whether a Redis can hold the queue, on a separate connection: INFO, writes of every kind of value that BullMQ uses, scripts, a
// blocking read. A refusal is reported with its cause and remedy.

import { createHash } from 'node:crypto'
import { Redis } from 'ioredis'
import { codeIn, connectionProblem } from '../../api/wire/failures.ts'
import { withDeadline } from '../../clock.ts'
import { BoatMirrorError, type ErrorCode, messageOf } from '../../errors.ts'

/** From the first byte to the last answer, in milliseconds. */
const patienceMs = 5_000
/** Milliseconds after which keys of an interrupted test expire. */
export const keptMs = 60_000

/** One write of each kind of value that BullMQ's scripts use. Outside of a script, Redis names the command that it forbids. */
const writes = [
  ['SET', '1'],
  ['HSET', 'a', '1'],
  ['ZADD', '1', 'a'],
  ['LPUSH', 'a'],
  ['SADD', 'a'],
  ['XADD', '*', 'a', '1'],
] as const
const script = "return redis.call('INCR', KEYS[1])"

type RedisFacts = { readonly evictionPolicy: string | null }

/** Runs the test once, with keys under `prefix`. @throws BoatMirrorError QUEUE_UNREACHABLE or QUEUE_REFUSED, with a remedy */
export async function probeRedis(url: string, prefix: string): Promise<RedisFacts> {
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    retryStrategy: () => null,
    connectTimeout: patienceMs,
    enableReadyCheck: false, // it would hide a Redis that is still loading
  })
  let reason: unknown
  redis.on('error', (error) => (reason ??= error))
  try {
    return await withDeadline(tryAll(redis, prefix), patienceMs)
  } catch (error) {
    throw redisError(url, reason ?? error)
  } finally {
    redis.disconnect()
  }
}

async function tryAll(redis: Redis, prefix: string): Promise<RedisFacts> {
  await redis.connect()
  await redis.ping()
  // The client stays in database 0 if it could not change to the wanted one.
  await redis.select(redis.options.db ?? 0)
  const info = await redis.info()
  const keyOf = (name: string): string => `${prefix}:check:${name}`
  const keys = writes.map(([command]) => keyOf(command))
  for (const [command, ...values] of writes) {
    await redis.call(command, keyOf(command), ...values)
    await redis.pexpire(keyOf(command), keptMs)
  }
  await redis.eval(script, 1, keyOf('SET'))
  await redis.evalsha(createHash('sha1').update(script).digest('hex'), 1, keyOf('SET'))
  await redis.bzpopmin(keyOf('ZADD'), 0.01)
  await redis.del(...keys)
  return { evictionPolicy: /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? null }
}

type Refusal = { readonly code: ErrorCode; readonly what: string; readonly remedy: string }

/** The ACL that is enough, as docs/operations.md has it. */
const acl = '`ACL SETUSER NAME on >PASSWORD ~boat-mirror-* &* +@all -@dangerous -@admin +info`'

/** Refusals of Redis, by the first word of its answer, which is its code. */
const refusals: Readonly<Record<string, Refusal>> = {
  NOAUTH: {
    code: 'QUEUE_REFUSED',
    what: 'it requires a password',
    remedy: 'Put it into REDIS_URL: redis://:PASSWORD@HOST:PORT, or redis://USER:PASSWORD@HOST:PORT.',
  },
  WRONGPASS: {
    code: 'QUEUE_REFUSED',
    what: 'it rejects this user and password',
    remedy: 'Correct user and password in REDIS_URL: redis://USER:PASSWORD@HOST:PORT.',
  },
  NOPERM: {
    code: 'QUEUE_REFUSED',
    what: 'its ACL forbids commands that the queue needs',
    remedy: `Grant them to the user in REDIS_URL. This is enough: ${acl}.`,
  },
  READONLY: {
    code: 'QUEUE_REFUSED',
    what: 'it is a read-only replica',
    remedy: 'Set REDIS_URL to the primary.',
  },
  MOVED: {
    code: 'QUEUE_REFUSED',
    what: 'it is a Redis Cluster',
    remedy: 'Set REDIS_URL to a Redis without cluster mode, or unset it to have the queue on Postgres.',
  },
  LOADING: {
    code: 'QUEUE_UNREACHABLE',
    what: 'it is still loading its data',
    remedy: 'Wait until it has loaded: a worker continues automatically.',
  },
  OOM: {
    code: 'QUEUE_UNREACHABLE',
    what: 'its memory is full',
    remedy: 'Raise maxmemory in Redis, or give the queue its own Redis.',
  },
  MISCONF: {
    code: 'QUEUE_UNREACHABLE',
    what: 'it refuses writes because it cannot save to its disk',
    remedy: 'Check the log of Redis: its disk may be full.',
  },
}

/** The cause behind an error of Redis or of the connection to it, in our own codes. Pure. */
export function redisError(url: string, error: unknown): BoatMirrorError {
  if (error instanceof BoatMirrorError) return error
  const message = messageOf(error)
  const refusal = message.includes('DB index is out of range')
    ? {
        code: 'QUEUE_REFUSED' as const,
        what: `it has no database ${new URL(url).pathname.slice(1)}`,
        remedy: 'Correct the number after the last slash of REDIS_URL. Without a number, the database is 0.',
      }
    : refusals[/^[A-Z]+/.exec(message)?.[0] ?? '']
  if (refusal !== undefined)
    return new BoatMirrorError(refusal.code, `The queue on Redis does not work: ${refusal.what} (${message}).`, {
      cause: error,
      remedy: refusal.remedy,
    })
  const secure = url.startsWith('rediss:')
  const [scheme, otherScheme] = secure ? ['rediss', 'redis'] : ['redis', 'rediss']
  const problem = connectionProblem(codeIn(error), { variable: 'REDIS_URL', secure, scheme, otherScheme })
  // A Redis without TLS answers the greeting of TLS with silence.
  const silent =
    secure && /ETIMEDOUT|no answer/.test(message) ? ' If the port does not use TLS, use redis:// in REDIS_URL.' : ''
  return new BoatMirrorError(
    'QUEUE_UNREACHABLE',
    `The queue on Redis does not work: ${problem === undefined ? message : `${problem.what} (${message})`}.`,
    { cause: error, remedy: `${problem?.remedy ?? 'Check REDIS_URL, and that Redis is up.'}${silent}` },
  )
}
