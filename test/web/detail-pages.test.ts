// The pages about one thing say what the database says; every link leads somewhere, and none of them shows a person.

import { beforeAll, expect, it } from 'vitest'
import { noteWorker } from '../../src/database/presence.ts'
import { noteDelivery } from '../../src/mirror/webhook-deliveries.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'
import { openPages, textOf } from './pages-rig.ts'

let change: string
let held: string
const mirror = opened(() => openTestMirror({ size: 40 }, { SLOT_DAYS: '0', PRICE_DAYS: '0' }))
const pages = opened(() => openPages(mirror, { API_BASE_URL: mirror.sandbox.url, API_AUTH: 'none' }))
beforeAll(async () => {
  await mirror.sync()
  const gone = await query('select id::text from mirror.rentals order by id limit 25')
  mirror.sandbox.mutate(gone.map(({ id }) => ({ record: 'rentals', op: 'delete', id: String(id) })))
  mirror.sandbox.raw({ record: 'harbours', id: 990_001 }, '{"id":990001,"latitude":"no number"}')
  mirror.sandbox.raw({ record: 'users', id: 990_002 }, '{"id":990002,"email":{"of":"hidden@person.example"}}')
  mirror.sandbox.fault({ op: 'GET /v3/equipments', respond: 'forbidden' })
  await mirror.sync({ streams: ['rentals', 'harbours', 'users', 'equipments'] })
  held = String((await query(`select id from sync.runs where status = 'held'`))[0]?.id)
  const [user] = await query('select id::text from mirror.users order by id limit 1')
  const [queued] = await query(
    `select outbox.enqueue('user.update', '{"userId": ${user?.id}}', '{"firstName": "Secretname"}') as id`,
  )
  change = String(queued?.id)
})

type Row = Record<string, unknown>
const query = async (sql: string): Promise<Row[]> => (await mirror.app.database.pool.query(sql)).rows
const page = async (path: string): Promise<string> => textOf(await (await pages.get(path)).text())

it('of a stream show its state, every run, its quarantine, and the commands that help', async () => {
  const rentals = await page('/streams/rentals')
  for (const { id, status, requests } of await query(
    `select id, status, requests from sync.runs where stream = 'rentals'`,
  )) {
    expect(rentals).toContain(` ${id} ${status} `)
    expect(rentals).toContain(` ${Number(requests).toLocaleString('en-US')} `)
  }
  expect(rentals).toContain(`boat-mirror runs release ${held}`)
  expect(rentals).toContain('GET /v3/rentals/{rentalId}')
  const harbours = await page('/streams/harbours')
  const [bad] = await query(`select id, reason from sync.quarantine where stream = 'harbours'`)
  expect(harbours).toContain(` ${bad?.id} 990001 ${bad?.reason}`)
  expect(await page('/streams/resource_equipments')).toContain(
    'This stream has no runs of its own. It is read with resources.',
  )
  expect(await page('/streams/equipments')).toMatch(/failing .* 403/)
})

it('of a run, a change and a quarantined record show what is theirs', async () => {
  const run = await page(`/runs/${held}`)
  expect(run).toContain(`Run ${held} rentals · held`)
  expect(run).toContain('25 deletions need your decision')
  expect(run).toMatch(/Trigger test .*Why deletions are held What Found Held because \S/)
  const [first] = await query(`select min(key) as key from sync.held where run_id = ${held}`)
  expect(run).toContain(String(first?.key))
  expect(await page(`/changes/${change}`)).toMatch(
    new RegExp(
      `Change ${change} user.update · queued .*firstName.*boat-mirror changes show ${change} boat-mirror changes cancel ${change}`,
    ),
  )
  const [bad] = await query(`select id from sync.quarantine where stream = 'harbours'`)
  expect(await page(`/quarantine/${bad?.id}`)).toContain(`boat-mirror quarantine retry ${bad?.id}`)
  for (const path of [
    '/streams/rental',
    '/streams/toString',
    '/runs/999999',
    '/runs/x',
    '/changes/0',
    '/quarantine/-1',
  ])
    expect((await pages.get(path)).status, path).toBe(404)
})

it('of changes and of quarantine list them, by state and by stream', async () => {
  const open = await page('/changes')
  expect(open).toContain(
    `open 1 queued 1 Change State Operation Record Queued ${change} queued user.update`.replace(
      ' Change',
      ' Changes, the newest first Change',
    ),
  )
  expect(await page('/changes?status=queued')).toContain(` ${change} queued user.update `)
  expect(await page('/changes?status=failed')).toContain('No changes are failed.')
  for (const path of ['/changes?status=no', '/changes?status=queued&status=failed'])
    expect(await page(path)).toContain(` ${change} queued `)
  const all = await query('select id, stream from sync.quarantine order by last_seen_at desc, id desc')
  const listed = await page('/quarantine')
  expect(listed).toContain(`all ${all.length} harbours 1 users 1`)
  for (const { id } of all) expect(listed).toContain(` ${id} `)
  const harbours = await page('/quarantine?stream=harbours')
  expect(harbours).toContain(' 990001 ')
  expect(harbours).not.toContain(' 990002 ')
})

it('join what has nothing to show in one line, at the end', async () => {
  expect(await page('/streams/countries')).toMatch(
    /No records are in quarantine\. The catalog knows every field of this stream\. As of [^.]* boat-mirror \S+ $/,
  )
})

it('of the webhook shows whether the receiver accepts calls, and each attempt', async () => {
  const { pool } = mirror.app.database
  expect(await page('/webhook')).toContain('Nothing is sent because WEBHOOK_URL is not set.')
  const env = {
    ...{ API_BASE_URL: mirror.sandbox.url, API_AUTH: 'none', WEBHOOK_URL: 'https://hooks.example/secret-path' },
    WEBHOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}`,
  }
  await using configured = await openPages(mirror, env)
  const shown = async (path: string): Promise<string> => textOf(await (await configured.get(path)).text())
  expect(await shown('/webhook')).toContain('No calls were sent in the last 7 days.')
  const sent = { id: 'msg_1', changes: 7, durationMs: 1_035, afterCursor: null }
  await noteDelivery(pool, { ...sent, status: null, error: 'https://hooks.example did not answer within 20 s.' })
  await noteDelivery(pool, { ...sent, status: 204, error: null })
  const text = await shown('/webhook')
  expect(text).toMatch(
    / accepted 204 7 1,035 ms msg_1 .* failed no answer 7 1,035 ms https:\/\/hooks\.example did not answer within 20 s\. msg_1 /,
  )
  expect(text).toContain('Webhook waiting · starts with the next worker')
  expect(await shown('/')).toContain('Webhook https://hooks.example starts with the next worker')
  expect(text).not.toContain('secret-path')
})

it('are all reached by links that lead somewhere, and show nobody', async () => {
  const people = await query('select email, last_name from mirror.users')
  const seen = new Map<string, string>()
  const open = ['/']
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const answer = await pages.get(path)
    expect(answer.status, path).toBe(200)
    const markup = await answer.text()
    seen.set(path, markup)
    const links = [...markup.matchAll(/href="(\/(?:streams|runs|changes|quarantine)[^"#]*)"/g)].map(([, to]) =>
      String(to),
    )
    open.push(...new Set(links.filter((to) => !seen.has(to) && !open.includes(to))))
  }
  for (const path of [
    '/streams/rentals',
    '/streams/countries',
    `/runs/${held}`,
    `/changes/${change}`,
    '/changes?status=queued',
    '/quarantine?stream=users',
  ])
    expect([...seen.keys()]).toContain(path)
  const all = [...seen.values()].join('\n')
  for (const secret of ['Secretname', 'hidden@person.example', ...people.map(({ email }) => String(email))])
    expect(all).not.toContain(secret)
})

it('lie behind a status page that tells refused credentials as one matter, and every worker', async () => {
  const { pool } = mirror.app.database
  await noteWorker(pool, { id: 'boats:7:x', host: 'boats', pid: 7, version: '9.9.9' })
  mirror.sandbox.fault({ op: 'GET /v3/*', respond: { status: 401 } })
  await mirror.sync({ streams: ['countries', 'cities'] })
  const told = async (): Promise<string> => await page('/')
  await expect
    .poll(told)
    .toMatch(/needs? your attention: the API refuses the credentials.* boat-mirror check \. 0 of 35 streams are fresh/)
  const text = await told()
  expect(text).not.toContain('countries, cities: the last run')
  expect(text).toMatch(/boats:7 idle 9\.9\.9 \d+ s \d+ s ago idle/)
  mirror.sandbox.clearFaults()
  await mirror.sync({ streams: ['countries', 'cities'] })
})
