// A worker's way to the API as a process of its own, to be killed: it reads and writes as fast as rate and quota allow, and asks
// again when the quota is used. Its only argument is JSON of {@link QuotaProcessOptions}; it says `ready` once it works.

import { createGate } from '../../src/api/admission/gate.ts'
import { createApi } from '../../src/api/client.ts'
import { openLimiter } from '../../src/app.ts'
import { sleep, systemClock } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/database/database.ts'
import { ApiError } from '../../src/errors.ts'
import { createLogger } from '../../src/log.ts'

export type QuotaProcessOptions = {
  readonly databaseUrl: string
  readonly apiUrl: string
  readonly quota: string
  readonly ratePerSecond: number
}

const { databaseUrl, apiUrl, quota, ratePerSecond } = JSON.parse(process.argv[2] ?? '{}') as QuotaProcessOptions
const log = createLogger('silent')
const config = readConfig({ API_QUOTA: quota }, '/')
const database = openDatabase({ url: databaseUrl, applicationName: 'quota process', max: 2, log })
const limiter = openLimiter(database.pool, { config, ratePerSecond, patienceMs: 0, log })
const gate = createGate({ clock: systemClock, log })
const api = createApi({ settings: { ...config.api, baseUrl: apiUrl }, limiter, gate, clock: systemClock, log })

const askAgainMs = 300
async function lane(call: () => Promise<unknown>): Promise<never> {
  for (;;)
    try {
      await call()
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'API_QUOTA_USED') throw error
      await sleep(askAgainMs)
    }
}
const read = () => api.read({ endpoint: 'GET /v3/users' })
const write = () => api.send({ endpoint: 'DELETE /v3/rentals/{rentalId}', params: { rentalId: '1' } })
process.stdout.write('ready\n')
await Promise.all([lane(read), lane(read), lane(write)])
