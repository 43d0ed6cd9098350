// A usual month of cancellations and edits on accounts of three sizes: the rules about answers that say nothing hold none of it,
// and each planted outage. `npm run surroundings` runs all of it, which takes minutes.

import { afterEach, expect, it } from 'vitest'
import type { Run } from '../../src/sync/runs/runs.ts'
import { isFull, isQuick } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

// Three days have an outage of each list, and both kinds of answers.
const sizes = isFull ? [3, 20, 300] : isQuick ? [3] : [3, 20]
const days = isFull ? 30 : isQuick ? 3 : 6

const parts = [
  ['rental_options', 'options'],
  ['rental_payments', 'payments'],
  ['rental_crew_members', 'crewMembers'],
] as const
const streams = [
  ...parts.map(([stream]) => stream),
  ...['resource_unavailabilities', 'resource_options', 'resource_pricings', 'user_identities'],
]
const nothing = { status: 200, body: '[]' }
const notFound = { status: 404, body: '{}' }

let mirror: TestMirror
afterEach(() => mirror?.[Symbol.asyncDispose]())

const read = async (stream: string): Promise<Run | undefined> =>
  (await mirror.sync({ streams: [stream], full: true })).find((run) => run.stream === stream)

async function livingBelow(stream: string): Promise<{ readonly rows: number; readonly above: number }> {
  const { rows } = await mirror.app.database.pool.query<{ rows: number; above: number }>(
    `select count(*)::int as rows, count(distinct rental_id)::int as above from mirror.${stream} where _deleted_at is null`,
  )
  return rows[0] ?? { rows: 0, above: 0 }
}

/** A day on which one list below each rental says nothing. Rows below one rental alone may go: that is nothing unusual. */
async function outage([stream, part]: readonly [string, string], respond: typeof nothing): Promise<void> {
  const before = await livingBelow(stream)
  if (before.above < 2) return
  mirror.sandbox.fault({ op: `GET /v3/rentals/{rentalId}/${part}`, respond })
  expect(await read(stream)).toMatchObject({
    status: respond === nothing ? 'held' : expect.stringMatching(/failed|partial/),
    deleted: '0',
  })
  mirror.sandbox.clearFaults()
  expect(await read(stream)).toMatchObject({ status: 'done', deleted: '0' })
  expect(await livingBelow(stream)).toEqual(before)
}

it.each(sizes)(
  'on an account of %i rentals holds nothing, and each outage in it is held',
  async (size) => {
    mirror = await openTestMirror({ size }, { MIRROR_DOCUMENTS: 'on' })
    await mirror.sync({ streams })
    for (let day = 0; day < days; day++) {
      // What went the day before does not count today.
      await mirror.app.database.pool.query('delete from mirror.change_log')
      const rentals = (mirror.sandbox.truth({ only: ['rentals'] }).rentals ?? []).map(({ record }) => record)
      const canceled = rentals
        .filter(({ status }, place) => status === 'VALIDATED' && place % 5 === day % 5)
        .slice(0, 2)
      mirror.sandbox.mutate(
        canceled.map(({ id }) => ({
          ...{ record: 'rentals', op: 'update', id: String(id), set: { status: 'CANCELED_BY_CLIENT' } },
        })),
      )
      mirror.sandbox.mutateRandomly(size, day)
      for (const { stream, status, held } of await mirror.sync({ streams }))
        expect([day, stream, status, held]).toEqual([day, stream, 'done', '0'])
      await outage(parts[day % 3] ?? parts[0], day % 2 === 0 ? nothing : notFound)
    }
  },
  1_800_000,
)
