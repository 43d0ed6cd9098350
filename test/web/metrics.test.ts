// The metrics' names and labels, and that alert rules, dashboard and compose file speak of what there is.

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { createPostgresBudget } from '../../src/api/admission/request-budget.ts'
import { sleep } from '../../src/clock.ts'
import { ApiError } from '../../src/errors.ts'
import { createLogger } from '../../src/log.ts'
import { createMetrics } from '../../src/web/metrics.ts'
import { createTestPool } from '../helpers/database.ts'
import { openBarePages, readMetrics, textOf } from './pages-rig.ts'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const gone = new Error('no queue')
const openQueue = (): Promise<never> => Promise.reject(gone)
const withoutDatabase = (): ReturnType<typeof createMetrics> =>
  createMetrics({
    context: { log: createLogger('silent'), version: '1.2.3', queue: { ping: () => Promise.reject(gone), openQueue } },
    facts: () => Promise.reject(new Error('no database')),
    jobs: async () => [],
  })

const call = {
  endpoint: 'GET /v3/rentals/{rentalId}',
  priority: 'read' as const,
  startedAt: new Date(),
  ms: 120,
  bytes: 1_000,
  attempt: 1,
}

it('calls are counted by endpoint template and class of status', async () => {
  const metrics = withoutDatabase()
  const failed = new ApiError('API_SERVER_ERROR', 'x', { endpoint: call.endpoint, status: 503 })
  const gone = new ApiError('API_NOT_FOUND', 'x', { endpoint: call.endpoint, status: 404 })
  metrics.observe({ ...call, status: 200, error: null })
  metrics.observe({ ...call, status: 404, error: gone })
  metrics.observe({ ...call, status: 503, error: failed })
  metrics.observe({ ...call, status: null, error: failed })
  const values = readMetrics(await metrics.text())
  const labels = (status: string): string => `{endpoint="GET /v3/rentals/{rentalId}",status="${status}"}`
  for (const status of ['2xx', '4xx', '5xx', 'none'])
    expect(values.get(`boat_mirror_api_request_duration_seconds_count${labels(status)}`), status).toBe(1)
  expect(values.get(`boat_mirror_api_request_duration_seconds_sum${labels('2xx')}`)).toBeCloseTo(0.12)
  expect(values.get(`boat_mirror_api_request_failures_total${labels('4xx')}`)).toBe(undefined)
  expect(values.get(`boat_mirror_api_request_failures_total${labels('5xx')}`)).toBe(1)
  expect(values.get(`boat_mirror_api_received_bytes_total{endpoint="GET /v3/rentals/{rentalId}"}`)).toBe(4_000)
  expect(values.get('boat_mirror_up')).toBe(0)
  expect(values.get('boat_mirror_queue_up')).toBe(0)
})

it('two scrapes at once both hold everything', async () => {
  const metrics = withoutDatabase()
  const texts = await Promise.all([metrics.text(), metrics.text()])
  for (const text of texts) expect(readMetrics(text).get('boat_mirror_info{version="1.2.3"}')).toBe(1)
})

it('the quota is told as metrics and on the page, also when only changes may take the rest', async () => {
  await using pages = await openBarePages({ API_QUOTA: '100/hour,1000/day' })
  const pool = createTestPool(pages.databaseUrl, 1)
  const budget = createPostgresBudget(pool, 1_000, { hour: 100, day: 1_000, month: null })
  let lent = 0
  while (lent < 90) {
    const { granted, waitMs } = await budget.lend({ priority: 'read', wanted: 10, unused: 0, more: false })
    lent += granted
    if (granted === 0) await sleep(waitMs)
  }
  await pool.end()
  const values = readMetrics(await (await pages.get('/metrics')).text())
  for (const [window, allowed] of Object.entries({ hour: 100, day: 1_000 })) {
    expect(values.get(`boat_mirror_quota_allowed_requests{window="${window}"}`)).toBe(allowed)
    expect(values.get(`boat_mirror_quota_used_requests{window="${window}"}`)).toBe(90)
  }
  expect(values.get('boat_mirror_quota_reads_stopped')).toBe(1)
  expect(values.get('boat_mirror_quota_waiting_changes')).toBe(0)
  expect(textOf(await (await pages.get('/')).text())).toContain(
    'hour 90 % of 100 · day 9 % of 1,000 reads wait: the rest is reserved for changes',
  )
})

it('every name is ours, has help, and is in base units', async () => {
  await using pages = await openBarePages()
  const text = await (await pages.get('/metrics')).text()
  const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1] ?? '')
  expect(names.length).toBeGreaterThan(30)
  for (const name of names) {
    expect(name).toMatch(/^boat_mirror_[a-z0-9_]+$/)
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|hours|kb|mb|percent)(_|$)/)
    expect(text, name).toContain(`# HELP ${name} `)
  }
})

it('alert rules and dashboard ask for metrics that there are', async () => {
  await using pages = await openBarePages()
  const text = await (await pages.get('/metrics')).text()
  const known = new Set(
    [...text.matchAll(/^# TYPE (\S+) (\S+)/gm)].flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  )
  const alerts = parse(read('deploy/prometheus/alerts.yml')) as {
    groups: { rules: { alert: string; expr: string; annotations: { summary: string; description: string } }[] }[]
  }
  const rules = alerts.groups.flatMap((group) => group.rules)
  const dashboard = JSON.parse(read('deploy/grafana/dashboards/boat-mirror.json')) as {
    panels: { targets?: { expr: string }[] }[]
  }
  const expressions = [
    ...rules.map((rule) => rule.expr),
    ...dashboard.panels.flatMap((panel) => panel.targets?.map((target) => target.expr) ?? []),
  ]
  expect(expressions.length).toBeGreaterThan(20)
  for (const expression of expressions)
    for (const [name] of expression.matchAll(/boat_mirror_\w+/g)) expect(known, expression).toContain(name)
  for (const { alert, annotations } of rules) expect(annotations.description, alert).toMatch(/[a-z]/)
})
