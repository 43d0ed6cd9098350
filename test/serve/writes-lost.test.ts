// Answers that are lost: no write takes effect twice, and none is answered as done before it is.

import { describe, expect, it } from 'vitest'
import { sleep } from '../../src/clock.ts'
import { opened } from '../helpers/opened.ts'
import { effects } from '../outbox/effects.ts'
import { openLossyFront } from './lossy-front.ts'
import { openWrites, sendTo } from './writes-rig.ts'

const served = opened(() => openWrites({ sandbox: { size: 400 }, timeoutMs: 1_000 }))
const front = opened(() => openLossyFront(served.url))

const attempts = 20
/** What a sandbox does to lose an answer. */
const faultOf = { before: 'reset', after: 'dropAfterEffect' } as const

describe('22 writes, the answer lost before and after the effect, on either hop', () => {
  for (const keyed of [false, true])
    for (const hop of ['program', 'api'] as const)
      for (const loss of ['before', 'after'] as const)
        it(`${loss} the effect between ${hop === 'api' ? 'mirror and API' : 'program and mirror'}, ${keyed ? 'with' : 'without'} a key: each takes effect once and is answered so`, async () => {
          const plan = served.planner.plan()
          const lostBefore = front.lost()
          const faultsBefore = served.rig.sandbox.requests().filter(({ fault }) => fault !== null).length
          /** A program that repeats a request until it is answered. */
          const write = async ({ operation, method, path, body }: (typeof plan)[number]): Promise<string> => {
            const key = `${hop} ${loss} ${operation} ${path}`
            for (let attempt = 0; attempt < attempts; attempt++) {
              const sent = {
                method,
                path,
                ...(method !== 'DELETE' && { body }),
                ...(keyed && { headers: { 'idempotency-key': key } }),
              }
              const got = await sendTo(front.url, sent).catch(() => null)
              if (got === null || got.status === 503) await sleep(10)
              else if (got.status !== 504) return got.status < 300 ? 'done' : `${got.status} ${got.text}`
            }
            return 'no answer'
          }
          const { sandbox } = served.rig
          // The answer of each write is lost once, and all of them are written at once.
          const fates = await Promise.all(
            plan.map(async (planned) => {
              const { operation, method, path, endpoint, target } = planned
              if (hop === 'program') front.lose(method, path, loss)
              else sandbox.fault({ op: endpoint, match: target, times: 1, respond: faultOf[loss] })
              return { operation, ended: await write(planned), effects: effects(sandbox, planned) }
            }),
          )
          expect(fates.filter(({ ended, effects }) => ended !== 'done' || effects !== 1)).toEqual([])
          expect(fates).toHaveLength(22)
          const lost =
            hop === 'program'
              ? front.lost() - lostBefore
              : sandbox.requests().filter(({ fault }) => fault !== null).length - faultsBefore
          expect(lost).toBe(22)
        })
})
