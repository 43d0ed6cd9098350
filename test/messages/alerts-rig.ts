// Alerts as a worker sends them, with a receiver of their own, and minutes that pass at once.

import { expect, vi } from 'vitest'
import { type Config, readConfig } from '../../src/config.ts'
import type { Database } from '../../src/database/database.ts'
import { readStatus } from '../../src/inspect/read-status.ts'
import type { StatusFacts } from '../../src/inspect/status.ts'
import { startAlerts } from '../../src/messages/alerts/alerts.ts'
import { quiet } from '../helpers/rows.ts'
import { openReceiver, type Receiver } from './receiver.ts'

export type Message = {
  readonly text: string
  readonly kind: string
  readonly state: string
  readonly stream: string | null
  readonly details: { readonly about: readonly string[]; readonly commands: readonly string[] }
}

type Watched = {
  readonly database: Database
  readonly databaseUrl: string
  readonly apiUrl: string
  /** Settings besides. */
  readonly env?: Readonly<Record<string, string>>
  readonly queueIsUp?: () => Promise<boolean>
}

export type AlertsRig = AsyncDisposable & {
  readonly receiver: Receiver
  readonly config: Config
  /** Starts a worker's alerts, which reach the database in a way of their own if one is given. */
  start(database?: Database): { stop(): Promise<void> }
  status(): Promise<StatusFacts>
  /** Waits for so many looks that begin from now on to be through. */
  looked(count?: number): Promise<void>
  /** Two minutes pass for what is known, and what waits for its next attempt is sent. */
  twoMinutes(): Promise<void>
  messages(): readonly Message[]
  /** The kinds that were sent so, sorted. */
  told(state: 'begun' | 'over'): readonly string[]
}

/** Opens a receiver for the alerts of a mirror; disposing stops those that were started, and forgets what they knew. */
export async function openAlerts({ database, databaseUrl, apiUrl, env = {}, queueIsUp }: Watched): Promise<AlertsRig> {
  const receiver = await openReceiver()
  const settings = { DATABASE_URL: databaseUrl, API_BASE_URL: apiUrl, API_AUTH: 'none', ALERT_URL: receiver.url }
  const config = readConfig({ ...settings, ...env }, '/nonexistent')
  const running: { stop(): Promise<void> }[] = []
  let looks = 0
  const status = (): Promise<StatusFacts> => readStatus(config, { database, url: databaseUrl }, apiUrl)

  const rig: AlertsRig = {
    receiver,
    config,
    status,
    start: (way = database) => {
      const alerts = startAlerts({
        url: receiver.url,
        place: 'api.test',
        proxies: config.api.proxies,
        database: way,
        readStatus: async () => {
          await way.pool.query('select 1') // it may be out
          looks += 1
          return await status()
        },
        queueIsUp: queueIsUp ?? (async () => true),
        log: quiet,
        checkEveryMs: 100,
      })
      running.push(alerts)
      return alerts
    },
    looked: async (count = 1) => {
      const from = looks
      await vi.waitFor(() => expect(looks).toBeGreaterThan(from + count), { timeout: 60_000, interval: 20 })
    },
    twoMinutes: async () => {
      await rig.looked()
      const passed = `interval '2 min'`
      await database.transaction(async (client) => {
        await client.query('lock table sync.alerts') // a look under way would put back what it has read
        await client.query(`update sync.alerts set since = since - ${passed}, gone_since = gone_since - ${passed}`)
        await client.query(`update sync.senders set next_attempt_at = null, failing_since = failing_since - ${passed}`)
      })
      await rig.looked(2)
    },
    messages: () => receiver.received.map(({ body }) => JSON.parse(body)),
    told: (state) =>
      rig
        .messages()
        .filter((each) => each.state === state)
        .map(({ kind }) => kind)
        .sort(),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map((alerts) => alerts.stop()))
      await receiver[Symbol.asyncDispose]()
      await database.pool.query('truncate sync.alerts, sync.senders')
    },
  }
  return rig
}
