// The status page says what serves the API, whichever process does; and nothing where none does.

import { describe, expect, it } from 'vitest'
import { listServers, noteServer, type Server } from '../../src/database/presence.ts'
import { createLogger } from '../../src/log.ts'
import { createToken, revokeToken } from '../../src/serve/access/tokens.ts'
import { startServe } from '../../src/serve/start.ts'
import { servedSection } from '../../src/web/pages/processes.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'
import { openPages, textOf } from './pages-rig.ts'

const mirror = opened(() => openTestMirror({ size: 2 }))
const pages = opened(() => openPages(mirror))

/** The section without markup; null: the page has none. */
async function section(): Promise<string | null> {
  const page = await (await pages.get('/')).text()
  const found = page.match(/<section aria-labelledby="served">[\s\S]*?<\/section>/)
  return found === null ? null : textOf(found[0])
}

/** The same without the page, which reads once a second. */
const rendered = async (): Promise<string> => {
  const servers = await listServers(mirror.app.database.pool)
  const section = servedSection({ served: { servers, tokens: [] }, now: new Date() })
  return section === false ? '' : textOf(section.markup)
}

const elsewhere: Server = {
  ...{ id: 'bridge:77:a', host: 'bridge', pid: 77, version: '1.2.3', address: 'http://10.0.0.7:8585' },
  ...{ requests: 1_234_567, recentRequests: 1_500, recentRefused: 12, recentFailed: 0 },
  ...{ recentMeanMs: 3.14, recentSlowestMs: 2_000, recentOldestS: 90 },
}

describe('the section about the served API', () => {
  it('is not there while nothing serves', async () => {
    expect(await section()).toBe(null)
  })

  it('shows what a process of another machine answered, and says when it falls silent', async () => {
    const { pool } = mirror.app.database
    await noteServer(pool, elsewhere)
    expect(await rendered()).toContain('http://10.0.0.7:8585 serving 1,500 12 0 3.1 ms 2 s')
    expect(await rendered()).toMatch(/No active access token\. .* 1,234,567 bridge:77, up for /)
    await noteServer(pool, { ...elsewhere, recentFailed: 3 })
    expect(await rendered()).toContain('http://10.0.0.7:8585 failing in part 1,500 12 3 ')
    await pool.query(`update sync.servers set seen_at = now() - interval '1 min'`)
    expect(await rendered()).toContain('http://10.0.0.7:8585 silent ')
    await pool.query('delete from sync.servers')
  })

  it('shows serve from its start to its end, and the tokens', async () => {
    const { config, app } = mirror
    const wishes = { companies: null, personal: false, write: false, validMs: null, server: null }
    const { id } = await app.database.transaction((client) => createToken(client, { name: 'shop', ...wishes }))
    const served = await startServe({
      config: { ...config, serveListen: { host: '127.0.0.1', port: 0 } },
      ...{ log: createLogger('silent'), listenUrl: null, syncContext: app.syncContext },
    })
    await expect.poll(section).toContain(`${served.url} serving 0 0 0 – – –`)
    expect(await section()).toContain('1 active access token.')
    await served[Symbol.asyncDispose]()
    await expect.poll(section).toBe(null)
    await app.database.transaction((client) => revokeToken(client, id))
  })
})
