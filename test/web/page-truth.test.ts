// Every number on the page, in the metrics and in `status --json` is that of the database: the sandbox drives the mirror
// through fresh, late, failing, held and quarantined, and all four are compared.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streams as catalog, readEndpoints } from '../../src/catalog/catalog.ts'
import { sleep } from '../../src/clock.ts'
import { type CommandLine, openCommandLine } from '../cli/program.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { openPages, type Pages, readMetrics, textOf } from './pages-rig.ts'

let mirror: TestMirror
let pages: Pages
let cli: CommandLine

async function openAll(size: number): Promise<void> {
  mirror = await openTestMirror({ size })
  const api = { API_BASE_URL: mirror.sandbox.url, API_AUTH: 'none' }
  pages = await openPages(mirror, api)
  cli = await openCommandLine({ DATABASE_URL: mirror.app.databaseUrl, ...api })
}
async function closeAll(): Promise<void> {
  await cli[Symbol.asyncDispose]()
  await pages[Symbol.asyncDispose]()
  await mirror[Symbol.asyncDispose]()
}

const query = async <R extends object>(sql: string): Promise<R[]> => (await mirror.app.database.pool.query<R>(sql)).rows

/** What all four say, read again when the pages' own cache of one second has expired. */
async function look(): Promise<{
  page: string
  text: string
  metrics: ReadonlyMap<string, number>
  json: Record<string, never>
}> {
  const before = (await (await pages.get('/')).text()).match(/As of [^·]+/)?.[0]
  let page = ''
  // The page says its own instant: a page of a later second was read anew. Asking for it without a pause took a processor.
  do {
    await sleep(250)
    page = await (await pages.get('/')).text()
  } while (page.match(/As of [^·]+/)?.[0] === before)
  const metrics = readMetrics(await (await pages.get('/metrics')).text())
  const json = (await (await pages.get('/api/status')).json()) as Record<string, never>
  return { page, text: textOf(page), metrics, json }
}

/** Compares the four for every stream and endpoint. */
async function compareAll(): Promise<Awaited<ReturnType<typeof look>>> {
  // Statistics of calls are written a second later.
  const called = async (): Promise<number> =>
    Number((await query<{ calls: string }>('select sum(calls) as calls from sync.endpoints'))[0]?.calls)
  await expect.poll(called).toBe(mirror.sandbox.stats().total)
  const seen = await look()
  const { page, metrics, json } = seen
  const printed = await cli.run(['status', '--json'])
  expect(printed, printed.stderr).toMatchObject({ code: 0, stderr: '' })
  // The size of the database changes without a write.
  const { database, ...rest } = json
  expect(JSON.parse(printed.stdout)).toEqual({
    ...rest,
    database: { ...(database as unknown as object), size: expect.any(Number) },
  })
  await compareRuns(metrics)
  await compareOutbox(metrics)

  const streams = await query<{
    stream: string
    rows: number
    asOf: number | null
    state: string
    bad: number
    held: number
    age: number | null
    target: number | null
    interval: number | null
    due: number | null
  }>(
    `select s.stream, s.rows::int as rows, extract(epoch from s.as_of)::float8 as "asOf", f.state,
       extract(epoch from clock_timestamp() - s.as_of)::float8 as age, f.target_s::float8 as target,
       s.interval_s::float8 as interval, extract(epoch from s.next_due_at)::float8 as due,
       (select count(*)::int from sync.quarantine q where q.stream = s.stream) as bad,
       (select count(*)::int from sync.held h join sync.runs r on r.id = h.run_id where r.id = s.last_run_id and h.released_at is null) as held
     from sync.streams s join report.freshness f on f.stream = s.stream order by 1`,
  )
  expect(streams).toHaveLength(catalog.length)
  for (const { stream, rows, asOf, state, bad, held, age, target, interval, due } of streams) {
    const label = `{stream="${stream}"}`
    expect(metrics.get(`boat_mirror_stream_rows${label}`), stream).toBe(rows)
    expect(metrics.get(`boat_mirror_quarantine_records${label}`), stream).toBe(bad)
    expect(metrics.get(`boat_mirror_held_deletions${label}`), stream).toBe(held)
    const shown = (name: string): number | null => metrics.get(`boat_mirror_stream_${name}${label}`) ?? null
    expect({ target: shown('target_seconds'), interval: shown('interval_seconds') }, stream).toEqual({
      target,
      interval,
    })
    if (due === null) expect(shown('next_due_timestamp_seconds'), stream).toBe(null)
    else expect(shown('next_due_timestamp_seconds'), stream).toBeCloseTo(due, 2)
    const shownAge = shown('age_seconds')
    if (age === null) expect(shownAge, stream).toBe(null)
    else {
      // Read a moment before the database was asked.
      expect(shownAge, stream).toBeGreaterThan(0)
      expect(shownAge, stream).toBeLessThanOrEqual(age)
    }
    const shownAsOf = metrics.get(`boat_mirror_stream_as_of_timestamp_seconds${label}`) ?? null
    if (asOf === null) expect(shownAsOf, stream).toBe(null)
    else expect(shownAsOf, stream).toBeCloseTo(asOf, 2)
    for (const each of ['fresh', 'late', 'unknown', 'failing'])
      expect(metrics.get(`boat_mirror_stream_state{stream="${stream}",state="${each}"}`), stream).toBe(
        each === state ? 1 : 0,
      )
    const row = textOf(
      page.match(new RegExp(`<tr><th scope="row"><a [^>]*>${stream}</a></th>[\\s\\S]*?</tr>`))?.[0] ?? '',
    )
    expect(row).toContain(
      `${stream} ${state} ${held > 0 || row.includes(' held ') ? 'held ' : ''}${bad > 0 ? `${bad} bad ` : ''}${rows.toLocaleString('en-US')} `,
    )
  }
  const endpoints = await query<{ endpoint: string; calls: number; failures: number; ok: number | null }>(
    `select endpoint, calls::int as calls, failures::int as failures,
       case when calls > 0 then (coalesce(last_status, 599) < 400 or last_status in (404, 410))::int end as ok from sync.endpoints`,
  )
  expect(endpoints).toHaveLength(readEndpoints.length)
  for (const { endpoint, calls, failures, ok } of endpoints) {
    expect(metrics.get(`boat_mirror_endpoint_ok{endpoint="${endpoint}"}`) ?? null, endpoint).toBe(ok)
    expect(metrics.get(`boat_mirror_endpoint_calls{endpoint="${endpoint}"}`), endpoint).toBe(calls)
    expect(metrics.get(`boat_mirror_endpoint_failures{endpoint="${endpoint}"}`), endpoint).toBe(failures)
    expect(seen.text, endpoint).toContain(
      `${endpoint} ${calls.toLocaleString('en-US')} ${failures.toLocaleString('en-US')} `,
    )
  }
  return seen
}

/** The last run of each stream that ended, and what is open. */
async function compareRuns(metrics: ReadonlyMap<string, number>): Promise<void> {
  const runs = await query<{ stream: string; status: string; seconds: number; changes: number }>(
    `select distinct on (stream) stream, status, (inserted + updated + deleted)::int as changes,
       extract(epoch from finished_at - started_at)::float8 as seconds
     from sync.runs where finished_at is not null order by stream, id desc`,
  )
  for (const { stream, status, seconds, changes } of runs) {
    const label = `{stream="${stream}"}`
    expect(metrics.get(`boat_mirror_last_run_duration_seconds${label}`), stream).toBeCloseTo(seconds, 3)
    expect(metrics.get(`boat_mirror_last_run_changes${label}`), stream).toBe(changes)
    for (const each of ['done', 'partial', 'held', 'failed'])
      expect(metrics.get(`boat_mirror_last_run_status{stream="${stream}",status="${each}"}`), stream).toBe(
        each === status ? 1 : 0,
      )
  }
  const [open] = await query<{ running: number; fields: number }>(
    `select (select count(*)::int from sync.runs where status = 'running') as running,
       (select count(*)::int from sync.unknown_fields) as fields`,
  )
  expect(metrics.get('boat_mirror_runs_running')).toBe(open?.running)
  expect(metrics.get('boat_mirror_unknown_fields')).toBe(open?.fields)
  for (const status of ['waiting', 'running']) expect(metrics.get(`boat_mirror_tasks{status="${status}"}`)).toBe(0)
  expect(metrics.get('boat_mirror_api_breaker_open')).toBe(0)
  expect(metrics.get('boat_mirror_up')).toBe(1)
}

async function compareOutbox(metrics: ReadonlyMap<string, number>): Promise<void> {
  const counts = await query<{ status: string; n: number }>(
    'select status, count(*)::int as n from outbox.changes group by 1',
  )
  const states = [...metrics.keys()].filter((name) => name.startsWith('boat_mirror_outbox_changes{'))
  expect(states).toHaveLength(9)
  for (const state of states) {
    const there = counts.find(({ status }) => state.includes(`"${status}"`))?.n ?? 0
    expect(metrics.get(state), state).toBe(there)
  }
}

/** The schedule is not what is tested: every stream may be an hour old. */
const allowAnHour = (): Promise<object[]> => query('update sync.streams set target_s = 3600')

describe('page, metrics and status say what the database says', () => {
  beforeAll(() => openAll(40))
  afterAll(closeAll)

  // Not with `npm test`: a minute of it. The tests below compare page, metrics and status of a mirror that was read once.
  it.skipIf(isQuick)('through the life of a mirror', async () => {
    // Nothing yet.
    const empty = await compareAll()
    expect(empty.text).toContain('Nothing has been read yet')
    expect(empty.text).toContain('No calendar has been read yet.')

    // Fresh.
    await mirror.sync()
    await allowAnHour()
    const fresh = await compareAll()
    expect(fresh.text).toContain('Everything is up to date')
    expect(fresh.text).toContain(`${catalog.length} of ${catalog.length} streams are fresh`)
    expect(fresh.text).toContain(
      `${readEndpoints.length} of ${readEndpoints.length} read endpoints answered successfully`,
    )
    expect(fresh.text).toContain('Nothing needs your attention.')

    // Late: one stream should have been younger.
    await query(`update sync.streams set target_s = 0.001 where stream = 'harbours'`)
    const late = await compareAll()
    expect(late.text).toContain('Data is older than its target, because no worker is running')
    expect(late.metrics.get('boat_mirror_stream_state{stream="harbours",state="late"}')).toBe(1)
    await allowAnHour()

    // Failing: a list is forbidden.
    mirror.sandbox.fault({ op: 'GET /v3/equipments', respond: 'forbidden' })
    await mirror.sync({ streams: ['equipments'] })
    const failing = await compareAll()
    expect(failing.text).toContain(
      '1 thing needs your attention: the last run did not read everything (equipments); run boat-mirror runs equipments',
    )
    expect(failing.text).toMatch(/The last run of equipments did not read everything: .*403/)
    expect(failing.text).toContain('boat-mirror runs equipments')
    mirror.sandbox.clearFaults()
    await mirror.sync({ streams: ['equipments'] })

    // Held: a list is suddenly empty, though its records are there.
    mirror.sandbox.fault({ op: 'GET /v3/companies', respond: 'empty' })
    await mirror.sync({ streams: ['companies'] })
    mirror.sandbox.clearFaults()
    const doubtful = await compareAll()
    expect(doubtful.text).toContain(
      'companies: the list shrank, but the missing records still exist. Nothing was deleted.',
    )
    await mirror.sync({ streams: ['companies'] })

    // Held: more is gone than may go.
    const gone = await query<{ id: string }>('select id::text from mirror.rentals order by id limit 24')
    mirror.sandbox.mutate(gone.map(({ id }) => ({ record: 'rentals', op: 'delete' as const, id })))
    await mirror.sync({ streams: ['rentals'] })
    const held = await compareAll()
    const [run] = await query<{ id: string }>(`select max(id) as id from sync.runs where status = 'held'`)
    expect(held.metrics.get('boat_mirror_held_deletions{stream="rentals"}')).toBe(24)
    expect(held.text).toContain('rentals: 24 records are missing from the list')
    expect(held.text).toContain(`boat-mirror runs show ${run?.id} boat-mirror runs release ${run?.id}`)
    expect(held.text).toContain('1 thing needs your attention: deletions wait for your decision (rentals)')

    // Quarantined: a record is no record.
    mirror.sandbox.raw({ record: 'harbours', id: 990_001 }, '{"id":990001,"name":{"en":"x"},"latitude":"no number"}')
    await mirror.sync({ streams: ['harbours'] })
    const bad = await compareAll()
    expect(bad.text).toContain('1 record cannot be mirrored (harbours 1).')
    expect(bad.text).toContain('boat-mirror quarantine retry --all')
  })
})

describe('of a mirror that was read once', () => {
  beforeAll(async () => {
    await openAll(20)
    await mirror.sync()
  })
  afterAll(closeAll)

  it('a change in the outbox shows with its state and age', async () => {
    const rental = await query<{ id: string }>('select id::text from mirror.rentals order by id limit 1')
    await query(`select outbox.enqueue('rental.update', '{"rentalId": ${rental[0]?.id}}', '{"orderLink": "x"}')`)
    const { page, metrics } = await look()
    expect(metrics.get('boat_mirror_outbox_changes{status="queued"}')).toBe(1)
    expect(metrics.get('boat_mirror_outbox_oldest_queued_age_seconds')).toBeGreaterThan(0)
    expect(textOf(page)).toMatch(/1 change to send, the oldest queued \d+ s ago\./)
  })

  it('the plots of the last hours hold every call of the API', async () => {
    // Sums are written every two seconds.
    const calls = mirror.sandbox.stats()
    await expect
      .poll(async () => Number((await query<{ n: string }>('select sum(calls) as n from sync.traffic'))[0]?.n))
      .toBe(calls.total)
    const { text } = await look()
    expect(text).toContain(`Requests ${calls.total.toLocaleString('en-US')} calls`)
  })

  it('the heat map counts the calendars', async () => {
    const { page } = await look()
    const [day] = await query<{ date: string; free: number; known: number }>(
      `select current_date::text as date, count(*) filter (where substr(days, extract(doy from current_date)::int, 1) = '0')::int as free,
       count(*)::int as known from mirror.resource_availability_years
     where _deleted_at is null and year = extract(year from current_date)`,
    )
    expect(day?.known).toBeGreaterThan(0)
    expect(page.includes(`<title>${day?.date}: ${day?.free} of ${day?.known} free</title>`)).toBe(true)
  })

  it('nothing personal is on the page or in the metrics', async () => {
    const people = await query<{ email: string; last_name: string }>(`select email, last_name from mirror.users`)
    expect(people.length).toBeGreaterThan(3)
    const { page, metrics } = await look()
    const all = `${page}${[...metrics.keys()].join('\n')}`
    for (const { email, last_name } of people) {
      expect(all).not.toContain(email)
      expect(all).not.toMatch(new RegExp(`\\b${last_name.replace(/\W/g, '.')}\\b`))
    }
  })

  it('no label of the metrics holds an id', async () => {
    const { metrics } = await look()
    const labels = [...metrics.keys()].filter((name) => name.startsWith('boat_mirror_') && name.includes('endpoint='))
    for (const label of labels)
      expect(label).toMatch(/endpoint="(GET|POST|PUT|DELETE) \/v3(\/[a-z0-9-]+|\/\{[A-Za-z0-9]+\})+"/i)
  })
})
