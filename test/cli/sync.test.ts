// `sync` and what shows its results, end to end: the command line, a database of its own, a sandbox.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { readEndpoints, streams } from '../../src/catalog/catalog.ts'
import { sleep } from '../../src/clock.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isQuick } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { errorOf, openCommandLine } from './program.ts'

const database = opened(() => createTestDatabase())
const sandbox = opened(() => createSandbox({ size: 46 }))
const api = { API_AUTH: 'none', API_RATE_LIMIT: '0', PRICE_DAYS: '5', SLOT_DAYS: '1' }
const cli = opened(() => openCommandLine({ DATABASE_URL: database.url, API_BASE_URL: sandbox.url, ...api }))
beforeAll(async () => {
  const first = await cli.run(['sync'])
  expect(first.stderr).toMatch(/rentals: done, \d+ read/)
  expect(first.code).toBe(0)
})
beforeEach(() => sandbox.clearFaults())

const json = async (...args: string[]): Promise<{ code: number | null; value: never }> => {
  const { code, stdout } = await cli.run([...args, '--json'])
  return { code, value: JSON.parse(stdout) as never }
}

/** Runs a command that must end with 0, and shows what it said where it does not. */
async function succeed(...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await cli.run(args)
  expect(code, `${stdout}\n${stderr}`).toBe(0)
}

type RunJson = {
  readonly id: number
  readonly stream: string
  readonly status: string
  readonly [count: string]: unknown
}
type SyncJson = {
  readonly exitCode: number
  readonly runs: readonly RunJson[]
  readonly quarantine: Record<string, number>
}

const runOf = (value: SyncJson, stream: string): RunJson | undefined => value.runs.find((run) => run.stream === stream)

/** Ids of live rentals, in order. */
async function liveRentals(): Promise<readonly string[]> {
  const { rows } = await database.pool.query<{ id: string }>(
    'select id from mirror.rentals where _deleted_at is null order by id',
  )
  return rows.map((row) => row.id)
}

// One mirror for all of them, because a first sync for each would take minutes: each brings it to where it begins.
describe('sync', () => {
  describe('that went well', () => {
    it('status names every stream and shows that each read endpoint has answered', async () => {
      await succeed('sync')
      const { code, value } = await json('status')
      const status = value as { [name: string]: never } & {
        api: object
        database: { url: string; version: string; size: number }
        streams: { stream: string; rows: number; asOf: string; lastRunId: number }[]
        endpoints: { endpoint: string; calls: number; failures: number; lastStatus: number }[]
        outbox: object
      }
      expect(code).toBe(0)
      expect(Object.keys(status)).toEqual([
        'api',
        'database',
        'queue',
        'quota',
        'workers',
        'lastWorkerAt',
        'streams',
        'freshnessHistory',
        'backlog',
        'estimate',
        'endpoints',
        'reads',
        'outbox',
        'copied',
        'firstChanges',
        'settledSince',
        'unexpected',
        'failingHotRuns',
        'quarantine',
        'heldRuns',
        'overlaps',
        'rentalDoubts',
        'feedHeldBy',
        'consumers',
        'goneRoles',
        'webhook',
        'alerts',
        'unknownFields',
        'attention',
      ])
      expect(status.api).toMatchObject({ url: sandbox.url, sandbox: false, breaker: 'closed', pausedUntil: null })
      expect(status.database.url).not.toMatch(/:[^:@/*]+@/)
      expect(status.database).toMatchObject({ version: expect.any(String), size: expect.any(Number), embedded: false })
      expect(status.queue).toMatchObject({ backend: 'postgres' })
      expect(status.streams.map((each) => each.stream)).toEqual(streams.map((stream) => stream.name).sort())
      expect(status.streams.filter((each) => each.asOf === null || each.lastRunId === null)).toEqual([])
      expect(status.streams.find((each) => each.stream === 'rentals')?.rows).toBe((await liveRentals()).length)
      expect(status.endpoints.map((each) => each.endpoint).sort()).toEqual([...readEndpoints].sort())
      expect(status.endpoints.filter((each) => each.calls <= each.failures)).toEqual([])
      expect(status.outbox).toMatchObject({ queued: 0, conflict: 0, oldestQueuedAt: null })
      expect(status.quarantine).toEqual({ total: 0, since: null, byStream: {} })
      expect(status.heldRuns).toEqual([])
      const { stdout } = await cli.run(['status'])
      expect(stdout).toContain(
        `${readEndpoints.length} of ${readEndpoints.length} read endpoints answered successfully`,
      )
    })

    it('a second one reads no fresh detail and writes nothing', async () => {
      await succeed('sync', 'rental_options')
      const { code, value } = await json('sync', 'rental_options')
      const { runs } = value as SyncJson
      expect(code).toBe(0)
      expect(runs.map((run) => run.stream)).toEqual(['rentals', 'rental_options'])
      expect(runs.filter((run) => run.inserted !== 0 || run.updated !== 0 || run.deleted !== 0)).toEqual([])
      expect(runOf(value, 'rental_options')).toMatchObject({ requests: 0, status: 'done' })
    })

    // With `npm test`, `test/sync/check.test.ts` shows what a check finds.
    it.skipIf(isQuick)(
      '--check finds no difference, and names a changed column, a missing and a surplus record',
      async () => {
        await succeed('sync', '--full') // what other tests made of them: a rental that is deleted changes the calendar of its boat, too
        const equal = await cli.run(['sync', '--check'])
        expect(equal.stdout).toMatch(/The mirror equals the API/)
        expect(equal.code).toBe(0)
        const [changed, surplus] = await liveRentals()
        await database.pool.query(`update mirror.rentals set status = 'SPOILT' where id = $1`, [changed])
        sandbox.mutate([{ record: 'rentals', op: 'delete', id: String(surplus) }])
        const { rows } = await database.pool.query<{ id: string }>('select max(id)::text as id from mirror.types')
        await database.pool.query('delete from mirror.types where id = $1', [rows[0]?.id])
        const { code, value } = await json('sync', '--check', 'rentals', 'types')
        expect(code).toBe(1)
        const found = value as {
          streams: { stream: string; missing: number; different: number; deleted: number; samples: object[] }[]
        }
        expect(found.streams.find((each) => each.stream === 'types')).toMatchObject({ missing: 1, different: 0 })
        const rentals = found.streams.find((each) => each.stream === 'rentals')
        expect(rentals).toMatchObject({ missing: 0, different: 1, deleted: 1 })
        expect(rentals?.samples).toContainEqual(
          expect.objectContaining({
            kind: 'different',
            key: [changed],
            columns: { status: ['SPOILT', expect.any(String)] },
          }),
        )
        // The check wrote nothing; a full sync puts it right.
        expect(await liveRentals()).toContain(surplus)
        await succeed('sync', '--full', 'rentals', 'types')
        await succeed('sync', '--check', 'rentals', 'types')
      },
    )

    it('refresh asks for one record; with --wait it reads it, and says when there is none', async () => {
      const [id = ''] = await liveRentals()
      const asked = await json('refresh', 'rentals', id)
      expect(asked).toMatchObject({ code: 0, value: { state: 'waiting' } })
      const { id: number } = asked.value as { id: number }
      sandbox.mutate([{ record: 'rentals', op: 'update', id, set: { message: 'just now' } }])
      const waited = await json('refresh', 'rentals', `{"id": ${id}}`, '--wait')
      expect(waited).toMatchObject({
        code: 0,
        value: { id: number, state: 'done', runs: [{ stream: 'rentals', status: 'done' }] },
      })
      const { code, stdout } = await cli.run(['refresh', 'rentals', '999999999', '--wait'])
      expect({ code, stdout }).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('Neither the API nor the mirror has rentals 999999999'),
      })
      expect(stdout).toContain('boat-mirror refresh rentals 999999999')
    })

    it('runs and schedule can be read as JSON', async () => {
      await succeed('sync', 'rentals')
      const runs = (await json('runs', 'rentals', '--limit', '1')).value as RunJson[]
      expect(runs).toEqual([expect.objectContaining({ stream: 'rentals', trigger: 'command', status: 'done' })])
      const shown = (await json('runs', 'show', String(runs[0]?.id))).value as { tasks: object[] }
      expect(shown.tasks).toContainEqual(expect.objectContaining({ kind: 'sweep', status: 'done' }))
      const plan = (await json('schedule')).value as { stretch: number; streams: { stream: string; wantedS: number }[] }
      expect(plan.streams.find((each) => each.stream === 'rentals')?.wantedS).toBe(60)
      expect(plan.stretch).toBeGreaterThanOrEqual(1)
    })

    it('schedule --plan reckons with the rows that are there, or with given ones', async () => {
      type Plan = { first: number; perDay: number; streams: { stream: string; records: number }[] }
      const of = async (...rows: string[]): Promise<Plan> => (await json('schedule', '--plan', ...rows)).value as Plan
      const rentals = (await liveRentals()).length
      const [plan, larger] = [await of(), await of('--rows', `rentals=${rentals * 10}`)]
      expect(plan.streams.find((each) => each.stream === 'rentals')?.records).toBe(rentals)
      expect(larger.streams.find((each) => each.stream === 'rental_payments')?.records).toBe(rentals * 10)
      expect(larger.first).toBeGreaterThan(2 * plan.first)
      expect(larger.perDay).toBeGreaterThan(plan.perDay)
      const { stdout } = await cli.run(['schedule', '--plan'])
      expect(stdout).toMatch(/^First sync: [\d,]+ requests, including \d+ requests for the lists\.$/m)
      const wrong = await cli.run(['schedule', '--plan', '--rows', 'rental=1'])
      expect(wrong.code).toBe(2)
      expect(errorOf(wrong)).toContain('There is no stream "rental" (did you mean rentals?).')
    })

    it('schedule --plan --quota says what a quota would buy', async () => {
      const plan = [
        'schedule',
        '--plan',
        '--rows',
        'rentals=20000',
        '--rows',
        'resources=1000',
        '--rows',
        'users=10000',
      ]
      const bought = (await json(...plan, '--quota', '100000/day')).value as { kept: boolean; firstSyncHours: number }
      expect(bought).toMatchObject({ quota: '100000/day', budgetPerDay: 65_000 })
      expect(bought.firstSyncHours).toBeGreaterThan(10)
      const { stdout } = await cli.run([...plan, '--quota', '100000/day'])
      expect(stdout).toMatch(/^STREAM +COMPLETE EVERY +HOT EVERY +DETAILS AT MOST +SOON AT MOST/m)
      expect(stdout).toMatch(/^First sync: [\d,]+ requests, about /m)
      const wrong = await cli.run([...plan, '--quota', '100000/week'])
      expect(wrong.code).toBe(2)
    })
  })

  describe('that does not go well', () => {
    it('ends with 1 when a list is forbidden, and says which', async () => {
      sandbox.fault({ op: 'GET /v3/rentals', respond: 'forbidden' })
      const ended = await cli.run(['sync', 'rentals'])
      expect(ended.code).toBe(1)
      expect(ended.stdout).toMatch(/rentals failed: .*403/)
    })

    it('ends with 3 when a list is suddenly empty; releasing deletes nothing that is still there', async () => {
      const before = await liveRentals()
      sandbox.fault({ op: 'GET /v3/rentals', respond: 'empty' })
      const { code, value } = await json('sync', 'rentals')
      expect(code).toBe(3)
      const held = runOf(value, 'rentals')
      expect(held).toMatchObject({ status: 'held', held: before.length })
      const shown = await cli.run(['runs', 'show', String(held?.id)])
      expect(shown.stdout).toMatch(/Held because: .*\n(.*\n)*Still exist: \d+/)
      expect(shown.stdout).toMatch(/boat-mirror runs release \d+/)
      const plan = /^Plan: (\w+)$/m.exec(shown.stdout)?.[1] ?? ''
      expect((await json('runs', 'show', String(held?.id))).value).toMatchObject({ heldPlan: plan })
      const changed = await cli.run(['runs', 'release', String(held?.id), '--expected', 'another'])
      expect(changed.code).toBe(1)
      expect(errorOf(changed)).toMatch(/its plan is no longer another\. \[PLAN_CHANGED\]\nSee .* runs show \d+/)
      expect(
        (await database.pool.query('select from sync.decisions where target = $1', [`run:${held?.id}`])).rows,
      ).toEqual([])
      sandbox.clearFaults()
      const released = await cli.run(['runs', 'release', String(held?.id), '--expected', plan])
      expect(released).toMatchObject({ code: 0, stdout: expect.stringMatching(/rentals: done/) })
      expect(await liveRentals()).toEqual(before)
    })

    it('releasing held deletions buries what is gone', async () => {
      const before = await liveRentals()
      const gone = before.slice(0, 24)
      sandbox.mutate(gone.map((id) => ({ record: 'rentals', op: 'delete', id })))
      const { code, value } = await json('sync', 'rentals')
      expect(code).toBe(3)
      expect(await liveRentals()).toEqual(before)
      const id = String(runOf(value, 'rentals')?.id)
      expect((await json('status')).value).toMatchObject({
        heldRuns: [{ id: Number(id), stream: 'rentals', held: 24 }],
      })
      const released = await json('runs', 'release', id)
      expect(released.value).toMatchObject({ exitCode: 0, run: { trigger: 'release', status: 'done', deleted: 24 } })
      expect(await liveRentals()).toEqual(before.slice(24))
      expect((await json('status')).value).toMatchObject({ heldRuns: [] })
      expect((await cli.run(['runs', 'release', id])).code).toBe(1)
      // A day later: what went counts against the deletions of 24 hours no more.
      await database.pool.query(
        `update mirror.change_log set changed_at = changed_at - interval '1 day' where operation = 'delete'`,
      )
    })

    it('puts a bad record into quarantine and ends with 3; retry mirrors it once it is good', async () => {
      const [id] = await liveRentals()
      const { rows } = await database.pool.query<{ payload: string }>(
        'select _payload::text as payload from mirror.rentals where id = $1',
        [id],
      )
      const good = JSON.parse(rows[0]?.payload ?? '{}') as Record<string, unknown>
      sandbox.raw({ record: 'rentals', id: String(id) }, JSON.stringify({ ...good, departureDatetime: 'next week' }))
      const { code, value } = await json('sync', 'rentals')
      expect({ code, quarantine: (value as SyncJson).quarantine }).toEqual({ code: 3, quarantine: { rentals: 1 } })

      const list = (await json('quarantine', 'rentals')).value as {
        entries: { id: number; key: string; reason: string }[]
      }
      expect(list.entries).toEqual([
        expect.objectContaining({ key: id, reason: expect.stringMatching(/departureDatetime/) }),
      ])
      const entry = String(list.entries[0]?.id)
      const shown = (await json('quarantine', 'show', entry)).value
      expect(shown).toMatchObject({ payload: { departureDatetime: 'next week' } })

      const refused = await cli.run(['quarantine', 'retry', '--all'])
      expect(refused).toMatchObject({
        code: 3,
        stdout: expect.stringMatching(/still in quarantine: departureDatetime/),
      })
      const fixed = JSON.stringify({ ...good, departureDatetime: '2031-05-01T10:00:00Z' })
      await database.pool.query('update sync.quarantine set payload = $1::jsonb where id = $2', [fixed, entry])
      const retried = await cli.run(['quarantine', 'retry', entry])
      expect(retried).toMatchObject({ code: 0, stdout: expect.stringMatching(/mirrored/) })
      expect((await json('status')).value).toMatchObject({ quarantine: { total: 0 } })
      const mirrored = await database.pool.query<{ at: Date }>(
        'select departure_datetime as at from mirror.rentals where id = $1',
        [id],
      )
      expect(mirrored.rows[0]?.at.toISOString()).toBe('2031-05-01T10:00:00.000Z')
      sandbox.raw({ record: 'rentals', id: String(id) }, JSON.stringify(good))
    })
  })

  describe('that is interrupted', () => {
    // With `npm test`, `schedule.test.ts` shows that stopped workers lose nothing.
    it.skipIf(isQuick)('gives its tasks back, and the next one carries on', async () => {
      sandbox.fault({ op: 'GET /v3/rentals/*', respond: { delayMs: 200 } })
      sandbox.resetRequests()
      const started = cli.start(['sync', '--full', 'rental_payments'])
      while (!sandbox.requests().some((request) => request.path.endsWith('/payments'))) await sleep(20)
      started.process.kill('SIGINT')
      const ended = await started.ended
      expect(ended.code).toBe(1)
      expect(ended.stderr).toMatch(/continues from here/)
      const { rows } = await database.pool.query<{ running: number; waiting: number }>(
        `select count(*) filter (where status = 'running')::int as running,
         count(*) filter (where status = 'waiting')::int as waiting from sync.tasks`,
      )
      expect(rows[0]?.running).toBe(0)
      expect(rows[0]?.waiting).toBeGreaterThan(0)
      sandbox.clearFaults()
      await succeed('sync', 'rental_payments')
      await succeed('sync', '--check', 'rental_payments')
    })
  })
})
