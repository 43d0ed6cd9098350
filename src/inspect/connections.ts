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

export function connectionsOf(status: StatusFacts, now: Date): readonly Connection[] {
  const { api, quota, database, queue, webhook, alerts } = status
  const address = `${api.url}${api.sandbox ? ' (the built-in sandbox)' : ''}`
  const embedded = database.embedded ? ', embedded' : ''
  const postgres = `${database.url}   Postgres ${database.version}, ${bytes(database.size)}${embedded}`
  const readsWait = quota?.readsStopped ? 'reads wait: the rest is reserved for changes' : ''
  const all: readonly (readonly [name: string, what: string, state: string] | null)[] = [
    ['API', api.url === '' ? 'the built-in sandbox, not started yet' : address, stateOfApi(status, now)],
    quota && ['Quota', usedText(quota), readsWait],
    ['Database', postgres, database.zones ?? ''],
    ['Queue', queue.url === null ? 'Postgres, in the same database' : `Redis ${queue.url}`, ''],
    webhook && ['Webhook', webhook.url, webhookText(webhook, now)],
    alerts && ['Alerts', alerts.url, alertsText(alerts, now)],
  ]
  return all.filter((each) => each !== null).map(([name, what, state]) => ({ name, what, state }))
}
