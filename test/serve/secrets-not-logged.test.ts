// Secrets that requests carry, in paths, queries, headers and bodies, reach no line of the log, whatever its level.

import pino from 'pino'
import { expect, it } from 'vitest'
import { createLogger } from '../../src/log.ts'
import { createCalendarKey, createReportKey } from '../../src/serve/access/secrets.ts'
import { sendRaw } from './raw-request.ts'
import { openServed } from './served-rig.ts'

/** The program's own logger at its lowest level, and what it writes. */
function traced() {
  const lines: string[] = []
  const log = createLogger('trace', { pretty: false })
  Object.assign(log, { [pino.symbols.streamSym]: { write: (line: string) => lines.push(line) } })
  return { log, lines }
}

it('keys in addresses and credentials are never logged', async () => {
  const secret = 'the-secret-of-the-api'
  const { log, lines } = traced()
  await using served = await openServed({
    sandbox: { size: 4, auth: 'query:key', token: secret },
    ...{ env: { API_AUTH: 'query:key', API_TOKEN: secret }, settings: { serveWaitMs: 50 }, log },
    streams: ['resources', 'companies', 'rentals'],
  })
  const { sandbox, app } = served.mirror
  await served.mirror.stopWorker()
  const { pool } = app.database
  const [{ id: boat } = { id: '' }] = (await pool.query<{ id: string }>('select id from mirror.resources limit 1')).rows
  const [{ id: rental } = { id: '' }] = (await pool.query<{ id: string }>('select id from mirror.rentals limit 1')).rows
  const calendarKey = (await createCalendarKey(pool, boat)) ?? ''
  const [{ id: company } = { id: '' }] = (await pool.query<{ id: string }>('select id from mirror.companies limit 1'))
    .rows
  const reportKey = (await createReportKey(pool, 'rentals', company)) ?? ''
  const { token } = await served.createToken('shop', { personal: true, write: true })
  const wrong = `${token}wrong`
  const ask = (path: string, init: RequestInit = {}): Promise<number> =>
    fetch(`${served.url}${path}`, init).then(({ status }) => status)
  const body = JSON.stringify({ firstName: 'Hidden-Name', password: 'hidden-word' })
  const json = { 'content-type': 'application/json' }
  const statuses: number[] = []
  /** What a request may look like, with the database and the API there or not. */
  const drive = async (): Promise<void> => {
    for (const credential of [token, wrong]) {
      for (const path of ['/v3/companies', `/v3/rentals/${rental}`, '/v3/nowhere', '/changes/1', '/v3/rentals/abc'])
        for (const query of [
          `?key=${credential}`,
          `?fresh=1&key=${credential}`,
          `?key=${credential}&key=${credential}`,
        ])
          statuses.push(await ask(path + query))
      const headers = { authorization: `Bearer ${credential}`, 'x-api-key': credential, ...json }
      statuses.push(await ask('/v3/users', { method: 'POST', headers, body }))
      statuses.push(await ask('/v3/users', { method: 'POST', headers, body: `{"${credential}` }))
      statuses.push(await ask(`/v3/users?key=${credential}`, { method: 'PATCH' }))
    }
    for (const key of [calendarKey, `${calendarKey}wrong`])
      for (const path of [`/calendars/${boat}.ics?key=${key}`, `/calendars/${key}`, `/calendars/%zz.ics?key=${key}`])
        statuses.push(await ask(path))
    for (const key of [reportKey, `${reportKey}wrong`, token])
      for (const path of [`/reports/rentals.csv?key=${key}`, `/reports/${key}`, `/reports/%zz.csv?key=${key}`])
        statuses.push(await ask(path))
  }
  await drive()
  sandbox.fault({ op: 'GET *', respond: { status: 401 } })
  await drive()
  sandbox.clearFaults()
  await pool.query('alter table sync.streams rename to streams_away')
  await drive()
  await pool.query('alter table sync.streams_away rename to streams')
  const { port } = new URL(served.url)
  const head = `GET /v3/rentals?key=${token} HTTP/9.9\r\nauthorization: ${token}\r\n\r\n`
  await sendRaw(Number(port), head, Buffer.from('')).catch(() => null) // no answer is one, too
  // Requests of every outcome were there, and some of them were logged.
  expect([...new Set(statuses)]).toEqual(expect.arrayContaining([200, 400, 401, 404, 500]))
  expect(lines.some((line) => line.includes('serve_failed'))).toBe(true)
  expect(lines.some((line) => line.includes('read_through_failed'))).toBe(true)
  const hidden = [token, token.slice(-20), calendarKey, reportKey, secret, 'Hidden-Name', 'hidden-word']
  expect(lines.filter((line) => hidden.some((each) => line.includes(each)))).toEqual([])
})
