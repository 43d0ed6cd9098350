// The connections of an installation with their states, for `status` and the status page. Pure.

import { bytes, relative } from '../format.ts'
import { apiName } from '../profile/mirrored-api.ts'
import { usedText } from './quota.ts'
import { alertsText, webhookText } from './receivers.ts'
import type { StatusFacts } from './status.ts'

/** `state` is empty if the connection works. */
export type Connection = { readonly name: string; readonly what: string; readonly state: string }

/** When the next request is tried after failures. */
const nextTry = (at: Date | null, now: Date): string =>
  at === null || at <= now ? 'with the next request' : `${relative(at, now)}`

function stateOfApi({ api }: StatusFacts, now: Date): string {
  const states = [
    api.breaker === 'open' && `down; next attempt ${nextTry(api.nextProbeAt, now)}`,
    api.breaker !== 'open' && api.pausedUntil !== null && `asked us to wait; resumes ${relative(api.pausedUntil, now)}`,
    ![null, apiName(api.sandbox ? null : api.url)].includes(api.mirrored) &&
      `not used: the database mirrors ${api.mirrored}`,
  ]
  return states.filter((state) => state !== false).join('; ')
}

/** The connections of an installation, the API first. */
export function connectionsOf(status: StatusFacts, now: Date): readonly Connection[] {
  const { api, quota, database, queue, webhook, alerts } = status
  const address = `${api.url}${api.sandbox ? ' (the built-in sandbox)' : ''}`
  return [
    {
      name: 'API',
      what: api.url === '' ? 'the built-in sandbox, not started yet' : address,
      state: stateOfApi(status, now),
    },
    ...(quota === null
      ? []
      : [
          {
            name: 'Quota',
            what: usedText(quota),
            state: quota.readsStopped ? 'reads wait: the rest is reserved for changes' : '',
          },
        ]),
    {
      name: 'Database',
      what: `${database.url}   Postgres ${database.version}, ${bytes(database.size)}${database.embedded ? ', embedded' : ''}`,
      state: database.zones ?? '',
    },
    { name: 'Queue', what: queue.url === null ? 'Postgres, in the same database' : `Redis ${queue.url}`, state: '' },
    ...(webhook === null ? [] : [{ name: 'Webhook', what: webhook.url, state: webhookText(webhook, now) }]),
    ...(alerts === null ? [] : [{ name: 'Alerts', what: alerts.url, state: alertsText(alerts, now) }]),
  ]
}
