// Hostile keys, reasons and payloads where people see them: the status page, explain, quarantine and report.

import { Client } from 'pg'
import { describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { readConfig } from '../../src/config.ts'
import { explainRecord } from '../../src/inspect/explain.ts'
import { dueSettings } from '../../src/sync/plan.ts'
import { quarantineRecords } from '../../src/sync/quarantine.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { openBarePages } from '../web/pages-rig.ts'
import { sampleOf } from './draw.ts'
import { text } from './generators.ts'

const storable = (value: string): string => value.replace(/\0|\p{Surrogate}/gu, '\ufffd')
const hostile = (): readonly string[] => sampleOf(300, text).map(storable)

/** Elements the page is made of; anything else came from the data. */
const elements =
  /^<\/?(!doctype html|html|head|meta|title|style|script|link|body|main|header|footer|nav|section|article|h[1-6]|p|a|ul|ol|li|dl|dt|dd|div|span|code|table|caption|thead|tbody|tr|th|td|progress|svg|g|rect|line|path|circle|text|title|desc|polyline|details|summary|figure|figcaption|form|label|input|button|time|small|strong|em|b|i|br|hr|abbr|use|defs|noscript|tspan|polygon)\b/i

describe('hostile keys and reasons', () => {
  const pages = opened(() => openBarePages())
  const database = opened(() => createTestDatabase())

  it('reach the status page as text, never as markup', async () => {
    const client = new Client({ connectionString: pages.databaseUrl })
    await client.connect()
    const texts = hostile()
    const portion = Math.ceil(texts.length / 6)
    try {
      for (let start = 0; start < texts.length; start += portion) {
        const some = texts.slice(start, start + portion)
        await client.query('truncate sync.runs, sync.tasks, sync.quarantine, outbox.queue restart identity cascade')
        await client.query(
          `insert into sync.quarantine (stream, key, endpoint, payload, reason) select t, t, t, to_jsonb(t), t from (select distinct left(x, 400) as t from unnest($1::text[]) x) s`,
          [some],
        )
        await client.query(
          `insert into sync.runs (stream, trigger, status, finished_at, error, warnings) select left(t, 400), 'schedule', 'failed', now(), t, jsonb_build_array(t) from unnest($1::text[]) t`,
          [some],
        )
        await client.query(
          `insert into sync.streams (stream, last_run_id) select r.stream, max(r.id) from sync.runs r group by 1 on conflict (stream) do update set last_run_id = excluded.last_run_id`,
        )
        await client.query(
          `insert into outbox.queue (operation, target, body, aggregate, enqueued_by, status, error, reference) select 'rental.delete', '{"rentalId":1}', '{}', left(t, 400), 'x', 'conflict', t, left(t, 100) || n from unnest($1::text[]) with ordinality as g(t, n)`,
          [some],
        )
        await client.query(
          `update sync.endpoints e set last_error = g.t, last_status = 500, last_called_at = now(), calls = 1, failures = 1 from (select endpoint, row_number() over () as n from sync.endpoints) o join unnest($1::text[]) with ordinality as g(t, n) on g.n = o.n where e.endpoint = o.endpoint`,
          [some],
        )
        const response = await pages.get('/')
        expect(response.status).toBe(200)
        const markup = (await response.text()).replace(/<(script|style)\b[^>]*>[\s\S]*?<\/\1>/g, '')
        const strangers = [...markup.matchAll(/<[^>]*>?/g)]
          .map(([tag]) => tag)
          .filter((tag) => !elements.test(tag) || /\son\w+=/i.test(tag.replace(/"[^"]*"/g, '""')))
        expect(strangers).toEqual([])
        expect((await pages.get('/metrics')).status).toBe(200)
      }
    } finally {
      await client.end()
    }
  })

  it('are looked up as they are: what was quarantined under a key is found under it', async () => {
    const keys = [...new Set(hostile())].filter((key) => key !== '' && key.length <= 400)
    const client = await database.pool.connect()
    try {
      await client.query('begin')
      await quarantineRecords(
        client,
        keys.map((key) => ({
          stream: 'resources',
          key,
          endpoint: 'GET /v3/resources',
          payload: JSON.stringify({ id: key }),
          reason: key,
          request: { key },
        })),
      )
      await client.query('commit')
    } finally {
      client.release()
    }
    const settings = readConfig({}, '/nonexistent')
    const due = dueSettings({ settings, clock: { now: () => new Date() } })
    for (const key of keys) {
      const found = await explainRecord(database.pool, streamNamed('resources'), [key], due)
      expect([found.quarantine?.reason, found.state]).toEqual([key, 'absent'])
    }
    const { rows } = await database.pool.query(
      `select count(*)::int as tables from information_schema.tables where table_schema = 'mirror'`,
    )
    expect(rows[0].tables).toBeGreaterThan(30)
  })
})
