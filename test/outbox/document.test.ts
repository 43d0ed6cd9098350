// The examples of docs/outbox.md, run as they stand there against a mirror of the sandbox, so that none of them rots.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { PoolClient } from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPusher } from '../../src/outbox/pusher.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'

const document = readFileSync(new URL('../../docs/outbox.md', import.meta.url), 'utf8')
const blocks = [...document.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
  language,
  text,
}))

/** The one block of a language that holds a text. */
function block(language: string, holds: string): string {
  const found = blocks.filter((each) => each.language === language && each.text.includes(holds))
  expect(found.length, `${language} with ${holds}`).toBe(1)
  return found[0]?.text ?? ''
}

/** Runs statements as psql does: `:name` and `:'name'` stand for what a `\gset` kept. @returns the last rows. */
async function psql(client: PoolClient, script: string): Promise<Record<string, unknown>[]> {
  const variables = new Map<string, string>()
  let last: Record<string, unknown>[] = []
  for (const [, statement = '', end] of script.replaceAll(/^--.*$/gm, '').matchAll(/\s*([^;\\]+)(;|\\gset)/g)) {
    const filled = statement.replaceAll(/(?<!:):('?)(\w+)\1/g, (_, quote, name) => {
      const value = variables.get(name) ?? ''
      return quote === '' ? value : client.escapeLiteral(value)
    })
    last = (await client.query<Record<string, unknown>>(filled)).rows
    if (end === '\\gset') for (const [name, value] of Object.entries(last[0] ?? {})) variables.set(name, String(value))
  }
  return last
}

const mirror = opened(() => openTestMirror({ size: 30 }, { SLOT_DAYS: '14' }))
beforeAll(async () => {
  const streams = ['resource_slots', 'resource_options', 'rentals', 'users']
  for (const run of await mirror.sync({ streams })) expect(run.status, run.stream).toBe('done')
})

/** Runs a script and takes back what it did. */
async function tried(script: string): Promise<Record<string, unknown>[]> {
  const client = await mirror.app.database.pool.connect()
  try {
    await client.query('begin')
    return await psql(client, script)
  } finally {
    await client.query('rollback')
    client.release()
  }
}

describe('docs/outbox.md', () => {
  it('calls outbox.enqueue by its arguments', async () => {
    const { rows } = await mirror.app.database.pool.query<{ names: string[]; result: string }>(
      `select proargnames as names, prorettype::regtype::text as result from pg_proc
       where oid = 'outbox.enqueue'::regproc`,
    )
    const [, written = '', result] = /enqueue\((.*)\) returns (\w+)/.exec(block('sql', 'returns bigint')) ?? []
    expect(rows).toEqual([{ names: written.split(', ').map((each) => each.split(' ')[0]), result }])
  })

  it('books with its statements: every change is done, as it shows', async () => {
    const client = await mirror.app.database.pool.connect()
    await psql(client, block('sql', 'booking-4711-deposit'))
    client.release()
    const pusher = createPusher(mirror.app.pushContext)
    await pusher.drain(AbortSignal.timeout(100_000), { until: 'settled' })
    await pusher.close()
    const { rows } = await mirror.app.database.pool.query<Record<string, string>>(
      `select operation, split_part(aggregate, ':', 1) as holder, status, attempts::text,
         case when result is null then '–' else 'id' end as result, coalesce(reference, '–') as reference
       from outbox.changes order by id`,
    )
    const [, ...lines] = block('', 'booking-4711-user').trim().split('\n')
    const shown = lines.map((line) => {
      const [, operation, aggregate = '', status, attempts, result = '', reference] = line.split(/ +/)
      const [holder] = aggregate.split(':')
      return { operation, holder, status, attempts, result: result.replace(/^\d+$/, 'id'), reference }
    })
    expect(rows).toEqual(shown)
    expect(await tried(block('sql', 'listen boat_mirror_settled'))).toMatchObject([{ status: 'done', error: null }])
  })

  // Not with `npm test`: the compiler, for a third of a minute.
  it.skipIf(isQuick)('compiles with its TypeScript', async () => {
    const cache = resolve('node_modules/.cache')
    await mkdir(cache, { recursive: true })
    const folder = await mkdtemp(join(cache, 'document-'))
    const given = `import type { Kysely } from 'kysely'\ndeclare const db: Kysely<object>\ndeclare const resourceId: string, slotId: string\n`
    await writeFile(join(folder, 'example.ts'), given + block('ts', 'resultOf(booking)'))
    const compilerOptions = { paths: { 'boat-mirror': [resolve('src/index.ts')] }, noUnusedLocals: false }
    const include = ['*.ts', resolve('src/database/sql-files.d.ts')]
    const settings = { extends: resolve('tsconfig.json'), compilerOptions, include }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings))
    const tsc = resolve('node_modules/typescript/bin/tsc')
    const compiled = promisify(execFile)(process.execPath, [tsc, '-p', folder])
    const { stdout } = await compiled.catch((error: { stdout: string }) => error)
    await rm(folder, { recursive: true, force: true })
    expect(stdout).toBe('')
  })

  it('refuses in the words it quotes', async () => {
    const [, words = ''] = /ERROR: {2}(.*), …/.exec(block('', 'body.status is')) ?? []
    const refused = tried(`select outbox.enqueue('rental.update', '{"rentalId": 1}', '{"status": "PENDING"}');`)
    await expect(refused).rejects.toMatchObject({ code: '22023', message: expect.stringContaining(words) })
  })

  it('enqueues from a shell what it names', async () => {
    const [, operation, target, body] = /changes enqueue ([\w.]+) '(.*?)' '(.*?)'/.exec(document) ?? []
    expect(await tried(`select outbox.enqueue('${operation}', '${target}', '${body}') as id;`)).toHaveLength(1)
  })

  it('makes a role, and shows what waits and what conflicts', async () => {
    expect(await tried(block('sql', 'create role crm'))).toEqual([])
    const queued = `select outbox.enqueue('rental.update', jsonb_build_object('rentalId', min(id)),
      '{"orderLink": "https://crm.example.com/1"}') from mirror.rentals where _deleted_at is null;`
    expect(await tried(queued + block('sql', 'mirror.rentals_local'))).toMatchObject([
      { order_link: 'https://crm.example.com/1', pending_fields: ['order_link'] },
    ])
    const conflict = `${queued} update outbox.queue set status = 'conflict', settled_at = now(),
      conflict = '{"orderLink": {"base": "a", "local": "b", "remote": "c"}}' where status = 'queued';`
    expect(await tried(conflict + block('sql', 'jsonb_each(conflict)'))).toMatchObject([
      { field: 'orderLink', base: 'a', local: 'b', remote: 'c' },
    ])
  })
})
