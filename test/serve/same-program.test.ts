// One program, unchanged, before the API and before the mirror: only address and secret differ, and it finds and does the same.

import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { sleep } from '../../src/clock.ts'
import { createLogger } from '../../src/log.ts'
import { createPusher } from '../../src/outbox/pusher.ts'
import { createToken, revokeToken } from '../../src/serve/access/tokens.ts'
import { startServe } from '../../src/serve/start.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { runPartner } from './partner-program.ts'

/** Instants and ids that the API gives to what is new, which are others each time. */
function comparable(value: unknown): unknown {
  const ids = new Map<string, string>()
  const text = JSON.stringify(value, (name, each: unknown) =>
    ['creationDatetime', 'lastModificationDatetime'].includes(name) ? 'an instant' : each,
  )
  const { booking } = value as { booking: { created: { body: { id: number } }; options: { body: { id: number }[] } } }
  ids.set(String(booking.created.body.id), '"the rental"')
  for (const { id } of booking.options.body) ids.set(String(id), '"the option"')
  return JSON.parse(text.replace(/(?<="id":|rentals\/)\d+/g, (id) => ids.get(id) ?? id))
}

it('a program written for the API finds and does the same before the mirror', async () => {
  expect(await readFile('test/serve/partner-program.ts', 'utf8')).not.toMatch(/^import|require\(/m)
  const auth = { API_AUTH: 'header:X-Api-Key', API_TOKEN: 'the-secret-of-the-api' }
  await using mirror = await openTestMirror({ size: 16, auth: 'header:X-Api-Key', token: auth.API_TOKEN }, auth)
  const { app, config, sandbox } = mirror
  const today = new Date().toISOString().slice(0, 10)
  const direct = await runPartner(sandbox.url, auth.API_TOKEN, today)
  await mirror.sync()
  const wishes = { name: 'shop', companies: null, personal: true, write: true, validMs: null, server: null }
  const { id, token } = await app.database.transaction((client) => createToken(client, wishes))
  await using server = await startServe({
    config: { ...config, serveListen: { host: '127.0.0.1', port: 0 } },
    ...{ log: createLogger('silent'), listenUrl: app.databaseUrl, syncContext: app.syncContext },
  })
  const stopping = new AbortController()
  const pusher = createPusher(app.pushContext)
  const push = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await pusher.drain(stopping.signal, { until: 'idle' })
      await sleep(20, stopping.signal).catch(() => undefined) // stopped
    }
  }
  const pushing = push()
  try {
    const served = await runPartner(server.url, token, today)
    expect(comparable(served)).toEqual(comparable(direct))
  } finally {
    stopping.abort()
    await pushing.catch(() => undefined) // stopped
    await app.database.transaction((client) => revokeToken(client, id))
  }
})
