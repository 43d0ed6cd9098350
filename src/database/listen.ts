// LISTEN on a separate connection, which reconnects: a lost or half-open connection costs seconds, and after each
// reconnect the caller learns that it may have missed notifications.

import pg from 'pg'
import { backoffMs, sleep, withDeadline, within } from '../clock.ts'
import { messageOf } from '../errors.ts'
import type { Logger } from '../log.ts'
import { openClient } from './session.ts'

type ListenOptions = {
  readonly url: string
  readonly channel: string
  /** Called for each notification with its payload, and with null after each (re)connect: something may have been missed. */
  readonly onNotify: (payload: string | null) => void
  readonly log: Logger
  readonly signal: AbortSignal
  /** How often a silent connection is asked whether it is alive, in milliseconds. */
  readonly probeMs?: number
}

const defaultProbeMs = 10_000
const probeTimeoutMs = 5_000
const backoff = { firstMs: 100, longestMs: 5_000 }

/** Rejects when the connection ends or does not answer its probe in time, and with the signal's reason. */
async function stayConnected(client: pg.Client, probeMs: number, signal: AbortSignal): Promise<never> {
  const ending = new AbortController()
  client.once('end', () => ending.abort(new Error('The connection ended.')))
  client.once('error', (error) => ending.abort(error))
  const either = AbortSignal.any([ending.signal, signal])
  for (;;) {
    await sleep(probeMs, either)
    await withDeadline(client.query('select 1'), probeTimeoutMs)
  }
}

async function listenOnce(options: ListenOptions, onConnected: () => void): Promise<void> {
  const { url, channel, onNotify, log, signal, probeMs = defaultProbeMs } = options
  const client = await openClient({
    url,
    applicationName: `boat-mirror listen ${channel}`,
    lasting: true,
    onLost: (error) => log.debug({ event: 'listen_lost', channel, reason: messageOf(error) }),
  })
  client.on('notification', (message) => onNotify(message.payload ?? null))
  try {
    await client.query(`listen ${pg.escapeIdentifier(channel)}`)
    onConnected()
    onNotify(null)
    await stayConnected(client, probeMs, signal)
  } finally {
    // A half-open connection would keep `end` waiting for good.
    await within(1_000, client.end()).catch((error: unknown) =>
      log.debug({ event: 'listen_not_ended', channel, reason: messageOf(error) }),
    )
  }
}

/**
 * Listens until the signal is aborted; resolves then. Never rejects: errors are logged, once per outage, and the
 * connection is made again.
 */
export async function listen(options: ListenOptions): Promise<void> {
  const { channel, log, signal } = options
  let failures = 0
  while (!signal.aborted) {
    try {
      await listenOnce(options, () => {
        if (failures > 0) log.info({ event: 'listen_back', channel }, `listening on ${channel} again`)
        failures = 0
      })
    } catch (error) {
      if (signal.aborted) return
      if (failures === 0)
        log.warn({ event: 'listen_lost', channel, reason: messageOf(error) }, `listening on ${channel} was interrupted`)
      failures++
      await sleep(backoffMs(failures, backoff), signal).catch(() => undefined) // ends by the signal
    }
  }
}
