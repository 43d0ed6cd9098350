// The schedule that a worker fits to its quota, from what its database knows, and a sync that counts each request.

import { expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { openApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { fitSchedule } from '../../src/jobs/fit-schedule.ts'
import { createLogger } from '../../src/log.ts'
import { preflight } from '../../src/sync/preflight.ts'
import { createTestDatabase } from '../helpers/database.ts'

it('a worker fits its schedule to hour, day and the rest of the month, and counts what it asks', async () => {
  await using database = await createTestDatabase()
  await using sandbox = await createSandbox({ size: 12 })
  const config = readConfig(
    {
      API_BASE_URL: sandbox.url,
      API_AUTH: 'none',
      DATABASE_URL: database.url,
      API_QUOTA: '1000/hour,20000/day,300000/month',
    },
    '/nonexistent',
  )
  const log = createLogger('silent')
  const app = await openApp({ config, log, apiUrl: sandbox.url, sandbox: false, schema: 'check', patienceMs: 0 })
  try {
    await database.pool.query(`update sync.streams set rows = n from (values ('rentals', 20000), ('users', 10000), ('resources', 500)) v (name, n)
      where stream = v.name`)
    const tight = await fitSchedule(app.database, config, app.ratePerSecond)
    // The month allows the least: 300,000 in at most 31 days.
    expect(tight.solved?.budgetPerDay).toBeLessThanOrEqual(20_000 * 0.65)
    expect(tight.solved?.isKept).toBe(false)
    expect(tight.ages.get('rental_payments')?.maxAgeMs).toBeGreaterThan(7 * 86_400_000)
    const none = { ...config, api: { ...config.api, quota: null } }
    expect(await fitSchedule(app.database, none, app.ratePerSecond)).toMatchObject({ solved: null, ages: new Map() })

    const signal = new AbortController().signal
    await preflight({ config, apiUrl: sandbox.url, log, signal, limiter: app.limiter }, ['companies'])
    await app.api.read({ endpoint: 'GET /v3/companies' })
  } finally {
    await app[Symbol.asyncDispose]()
  }
  const { rows } = await database.pool.query('select max(total)::int as counted from sync.request_counts')
  expect(rows).toEqual([{ counted: 2 }])
})
