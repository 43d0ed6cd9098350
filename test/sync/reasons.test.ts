// Why something is read: each task has one reason for all its records, and says it as long as it is kept.

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { explainRecord } from '../../src/inspect/explain.ts'
import { dueKeys, nextReads } from '../../src/sync/due/due.ts'
import { reasons } from '../../src/sync/due/reasons.ts'
import { dueSettings } from '../../src/sync/plan.ts'
import { startRun } from '../../src/sync/runs/runs.ts'
import { addTasks } from '../../src/sync/runs/tasks.ts'
import { dueStatement } from '../helpers/due-statement.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

const payments = streamNamed('rental_payments')
const calendars = 'resource_availability_years'

let mirror: TestMirror
/** What the rule says of payments, and the run of the schedule that followed. */
let due: ReadonlyMap<string, string | null>
let scheduled: number | string | undefined
beforeAll(async () => {
  mirror = await openTestMirror({ size: 60 }, { API_PAGE_BASE: '1' })
  await mirror.sync({ streams: ['rentals', 'rental_payments', calendars] })
  await scatter()
  due = await expected()
  const [run] = await mirror.sync({ streams: ['rental_payments'], trigger: 'schedule' })
  scheduled = run?.id
  const [gone] = await mirror.all<{ id: string }>('select max(id)::text as id from mirror.rentals')
  mirror.sandbox.mutate([{ record: 'rentals', op: 'delete', id: gone?.id ?? '' }])
  await mirror.sync({ streams: ['rentals', calendars], trigger: 'schedule' })
  await mirror.sync({ streams: ['rentals'], trigger: 'schedule', hot: true })
  await mirror.sync({ streams: ['rental_payments'], full: true })
})
afterAll(() => mirror[Symbol.asyncDispose]())

type Named = { readonly reason: string; readonly kind: string; readonly keys: readonly string[] }
/** The tasks of a run, by the names of their reasons. */
const tasksOf = (run: number | string | undefined): Promise<readonly Named[]> =>
  mirror.all<Named>(
    `select r.reason, t.kind, coalesce(t.payload -> 'keys', '[]') as keys from sync.tasks t left join sync.reasons r on r.number = t.reason
     where t.run_id = $1 order by t.id`,
    [run],
  )

/** What the schedule would read of payments, and why. */
async function expected(): Promise<ReadonlyMap<string, string | null>> {
  const settings = dueSettings(mirror.app.syncContext)
  const found = await nextReads(mirror.app.database.pool, payments, [], settings)
  return new Map(found.map(({ key, reason }) => [key, reason]))
}

/** Payments of rentals of each kind: as remembered, in the order of the rentals. */
async function scatter(): Promise<void> {
  const remember = (place: string, values: string): Promise<unknown> =>
    mirror.all(`update sync.records set ${values} where stream = 'rental_payments' and key in (
      select id::text from mirror.rentals m where ${place})`)
  const soon = `departure_datetime between now() and now() + interval '30 days'`
  await mirror.all(`update sync.records set changed_at = now() - interval '9 days'`)
  await mirror.all(`update mirror.rentals set departure_datetime = now() + interval '3 days', arrival_datetime = now() + interval '9 days'
    where id in (select id from mirror.rentals order by id limit 12)`)
  await remember('true', `detail_read_at = now() - interval '1 minute', partly = false`)
  await remember(soon, `detail_read_at = now() - interval '7 hours'`)
  await remember(`not (${soon}) and id % 5 = 0`, `detail_read_at = now() - interval '2 days'`)
  await remember('id % 5 = 1', 'detail_read_at = null')
  await remember('id % 5 = 2', 'partly = true')
  await mirror.all(`update sync.reads set state = 'needed' where endpoint like '%payments%'`)
  await mirror.all(`update sync.records set changed_at = now() where stream = 'rentals' and key::bigint % 5 = 3`)
}

describe('a task', () => {
  it('has one reason, that of the rule for each of its records', async () => {
    const tasks = await tasksOf(scheduled)
    expect(tasks.find(({ kind }) => kind === 'plan')).toMatchObject({ reason: 'complete' })
    const details = tasks.filter(({ kind }) => kind === 'details')
    expect([...new Set(details.map(({ reason }) => reason))].sort()).toEqual([
      'aged',
      'changed',
      'needed',
      'new',
      'soon',
    ])
    for (const { reason, keys } of details) for (const key of keys) expect([key, due.get(key)]).toEqual([key, reason])
    const read = details.flatMap(({ keys }) => keys)
    const wanted = [...due].flatMap(([key, reason]) => (reason === null ? [] : [key]))
    expect([...read].sort()).toEqual(wanted.sort())
  })

  it('has each of the reasons', async () => {
    const { pool } = mirror.app.database
    const release = { stream: 'users', hot: false, trigger: 'release', full: false, requestIds: [] }
    const held = await startRun(pool, release)
    await addTasks(pool, held, 'users', [{ kind: 'release', priority: 1 }])
    expect(await tasksOf(held)).toMatchObject([{ reason: 'released' }])
    await mirror.all('delete from sync.runs where id = $1', [held])
    const found = await mirror.all<{ reason: string; number: string }>(
      'select distinct reason as number from sync.tasks',
    )
    const numbers = found.map(({ number }) => Number(number)).sort((a, b) => a - b)
    expect(numbers).toEqual(Object.keys(reasons).flatMap((name, index) => (name === 'released' ? [] : [index + 1])))
  })

  it('has the reason of its run where it reads a list or plans', async () => {
    const rows = await mirror.all<{ kind: string; reasons: string[] }>(
      `select t.kind, array_agg(distinct r.reason order by r.reason) as reasons from sync.tasks t join sync.reasons r on r.number = t.reason
       where t.kind in ('sweep', 'plan', 'confirm') group by t.kind order by t.kind`,
    )
    expect(rows).toEqual([
      { kind: 'confirm', reasons: ['missing'] },
      { kind: 'plan', reasons: ['asked', 'complete', 'hot'] },
      { kind: 'sweep', reasons: ['asked', 'complete', 'hot'] },
    ])
  })
})

describe('docs/operations.md', () => {
  const document = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const statements = [...document.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)
  const shown = (part: string): string => statements.find((text) => text.includes(part)) ?? ''

  it('asks why a record was read, as explain does', async () => {
    const { pool } = mirror.app.database
    const [{ id } = { id: '' }] = await mirror.all<{ id: string }>('select min(id)::text as id from mirror.rentals')
    const settings = dueSettings(mirror.app.syncContext)
    const asked = shown('sync.reasons').replaceAll(`'42'`, `'${id}'`)
    for (const stream of ['rentals', 'rental_payments']) {
      const found = await mirror.all<{ finished_at: Date; reason: string; run_id: string }>(
        asked.replace(`t.stream = 'rentals'`, `t.stream = '${stream}'`),
      )
      const { reads } =
        stream === 'rentals'
          ? await explainRecord(pool, streamNamed(stream), [id], settings)
          : await explainRecord(pool, payments, [id, '1'], settings)
      expect(found.map((row) => [row.finished_at, row.reason, row.run_id])).toEqual(
        reads.map(({ at, reason, runId }) => [at, reason, runId]),
      )
      expect(reads.length).toBeGreaterThan(1)
    }
  })

  it('asks what is due by the statement of a sync', async () => {
    await scatter()
    expect(shown('as reason) due')).toBe(`${await dueStatement()}\n`)
    const found = await mirror.all<{ key: string; reason: string }>(shown('as reason) due'))
    const due = await dueKeys(mirror.app.database.pool, payments, {
      ...dueSettings(mirror.app.syncContext, { scope: 'sync' }),
    })
    const pairs = (rows: readonly { readonly key: string; readonly reason: string }[]): readonly string[] =>
      rows.map(({ key, reason }) => `${key} ${reason}`).sort()
    expect(pairs(found)).toEqual(pairs(due))
    expect(found.length).toBeGreaterThan(10)
  })
})
