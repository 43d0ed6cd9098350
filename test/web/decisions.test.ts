// Decisions on the pages: who may, what is shown first, and that each plan is decided once.

import fc from 'fast-check'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPusher } from '../../src/outbox/pusher.ts'
import { typedName } from '../../src/web/decision-pages.ts'
import { changeActions } from '../../src/web/parts/decisions.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'
import { letWait, type Waiting } from './decisions-rig.ts'
import { openPages, textOf } from './pages-rig.ts'

const token = 'a-token-of-sixteen-and-more'
describe('a name that is typed', () => {
  it('is kept as unproven, in one short line', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (given) => {
        const name = typedName(given)
        expect(name === '' || /^\P{C}{1,60} \(unproven\)$/u.test(name)).toBe(true)
      }),
    ))
})

it('each state of a change offers what its functions of SQL take', () => {
  expect(changeActions('conflict', true)).toEqual(['local', 'remote', 'retry', 'cancel'])
  expect(changeActions('conflict', false)).toEqual(['remote', 'retry', 'cancel'])
  expect(changeActions('unknown', false)).toEqual(['took-effect', 'did-not'])
  expect(changeActions('failed', true)).toEqual(['retry', 'cancel'])
  expect(changeActions('sending', true)).toEqual([])
  expect(changeActions('done', true)).toEqual([])
})

describe('pages on which a person decides', () => {
  let waiting: Waiting
  const authorization = `Basic ${Buffer.from(`ann:${token}`).toString('base64')}`
  const mirror = opened(() => openTestMirror({ size: 20 }))
  const pages = opened(() => openPages(mirror, { ADMIN_TOKEN: token }))
  const open = opened(() => openPages(mirror))
  beforeAll(async () => {
    await mirror.sync({ streams: ['rentals'] })
  })
  beforeEach(async () => {
    await query('delete from outbox.queue; delete from sync.decisions; update sync.streams set paused_by = null')
    await query(`delete from sync.runs where status = 'held'`)
    waiting = await letWait(mirror)
  })

  const query = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    (await mirror.app.database.pool.query(text, values)).rows
  const decisions = () => query('select what, target, who, via, error from sync.decisions order by id')

  const look = async (path: string): Promise<string> => (await pages.get(path, { authorization })).text()
  const planOn = (page: string): string => /name="plan" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const post = (
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> =>
    fetch(`${pages.url}${path}`, {
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: pages.url, authorization, ...headers },
    })
  /** Looks, and decides the plan that is shown. */
  const decide = async (path: string, fields: Readonly<Record<string, string>> = {}): Promise<Response> =>
    await post(path, { plan: planOn(await look(path)), who: 'Ann', ...fields })

  it('show first what happens: both sides, what is sent, which records go', async () => {
    const conflict = textOf(await look(`/changes/${waiting.conflict}/local`))
    for (const side of ['before', 'ours', 'theirs']) expect(conflict).toContain(`https://example.com/${side}`)
    expect(conflict).toMatch(
      /What is sent .*orderLink "https:\/\/example.com\/theirs" "https:\/\/example.com\/ours" PUT \/v3\/rentals\/\d+/,
    )
    const retried = textOf(await look(`/changes/${waiting.failed}/retry`))
    expect(retried).toMatch(/What is sent .*orderLink .*"https:\/\/example.com\/refused"/)
    const unknown = textOf(await look(`/changes/${waiting.unknown}/took-effect`))
    expect(unknown).toContain('{"id":501,"price":10}')
    expect(unknown).toContain('Id of the record that the change created')
    const held = textOf(await look(`/runs/${waiting.run}/release`))
    for (const key of waiting.keys) expect(held).toContain(key)
    expect(held).toContain('4 records of rentals are on hold.')
    expect(textOf(await look('/streams/rentals/pause'))).toMatch(
      /rentals, rental_\w+, .* are not read until you resume rentals\./,
    )
  })

  it('make each decision once, in the name that was typed, and lead back to what it is about', async () => {
    const cases = [
      [`/changes/${waiting.conflict}/local`, 'local', `change:${waiting.conflict}`],
      [`/changes/${waiting.failed}/retry`, 'retry', `change:${waiting.failed}`],
      [`/changes/${waiting.queued}/cancel`, 'cancel', `change:${waiting.queued}`],
      [`/runs/${waiting.run}/release`, 'release', `run:${waiting.run}`],
      ['/streams/harbours/pause', 'pause', 'stream:harbours'],
      ['/streams/harbours/resume', 'resume', 'stream:harbours'],
      ['/streams/harbours/acknowledge', 'acknowledge', 'stream:harbours'],
    ] as const
    await mirror.app.database.pool.query(
      `insert into sync.unknown_fields (stream, path, times) values ('harbours', 'depth', 1)`,
    )
    // Viewers share one reading of the status for some seconds.
    await expect.poll(() => look('/streams/harbours')).toContain('href="/streams/harbours/acknowledge"')
    for (const [path] of cases) {
      const plan = planOn(await look(path))
      const answer = await post(path, { plan, who: ' Ann\n' })
      expect([answer.status, answer.headers.get('location')], path).toEqual([303, path.slice(0, path.lastIndexOf('/'))])
      const again = await post(path, { plan, who: 'Ann' })
      expect([409, 422], `${path} once more`).toContain(again.status)
    }
    expect(await decisions()).toEqual(
      cases.map(([, what, target]) => ({ what, target, who: 'Ann (unproven)', via: 'page', error: null })),
    )
    const page = textOf(await look(`/changes/${waiting.failed}`))
    expect(page).toMatch(/Decisions .*retry Ann \(unproven\) page .*carried out/)
  })

  it('hand what needs the API to a worker', async () => {
    const answer = await decide(`/changes/${waiting.unknown}/took-effect`, { resultId: '' })
    expect(answer.status).toBe(303)
    expect(textOf(await look(`/changes/${waiting.unknown}`))).toContain('waits for a worker')
    const pusher = createPusher(mirror.app.pushContext)
    await pusher.drain(AbortSignal.timeout(100_000))
    await pusher.close()
    expect(await query('select status from outbox.queue where id = $1', [waiting.unknown])).toEqual([
      { status: 'done' },
    ])
    expect(await decisions()).toMatchObject([{ what: 'took_effect', error: null }])
  })

  it('refuse a form of another site, of nowhere, without a plan, a name or the token', async () => {
    const path = `/changes/${waiting.failed}/retry`
    const plan = planOn(await look(path))
    const other = planOn(await look(`/changes/${waiting.conflict}/retry`))
    const form = { plan, who: 'Ann' }
    const statuses = [
      (await post(path, form, { origin: 'https://evil.example' })).status,
      (await post(path, form, { origin: 'null' })).status,
      (await post(path, form, { origin: '' })).status,
      (await post(path, form, { 'sec-fetch-site': 'cross-site' })).status,
      (await post(path, { who: 'Ann' })).status,
      (await post(path, { ...form, plan: other })).status,
      (await post(path, { ...form, who: ' ' })).status,
      (await post(path, form, { authorization: '' })).status,
      (await post(path, form, { authorization: `Bearer ${token}` })).status,
    ]
    expect(statuses).toEqual([403, 403, 403, 403, 422, 409, 422, 401, 403])
    expect(await decisions()).toEqual([])
  })

  it('show it again where the plan has changed, and say so where nothing is left to decide', async () => {
    const path = `/changes/${waiting.conflict}/remote`
    const plan = planOn(await look(path))
    await query(
      `update outbox.queue set conflict = jsonb_set(conflict, '{orderLink,remote}', '"https://example.com/newest"')
      where id = $1`,
      [waiting.conflict],
    )
    const answer = await post(path, { plan, who: 'Ann' })
    const page = textOf(await answer.text())
    expect(answer.status).toBe(409)
    expect(page).toContain(`Change ${waiting.conflict} has changed since you reviewed it`)
    expect(page).toContain('https://example.com/newest')
    expect((await decide(path)).status).toBe(303)
    expect(textOf(await look(path))).toContain('There is nothing to decide')
    expect((await pages.get('/changes/999999/retry', { authorization })).status).toBe(404)
    expect((await pages.get(`/changes/${waiting.conflict}/release`, { authorization })).status).toBe(404)
  })

  it('show values and buttons to browsers alone, in no frame', async () => {
    const bearer = { authorization: `Bearer ${token}` }
    expect((await pages.get(`/changes/${waiting.conflict}/local`, bearer)).status).toBe(403)
    expect((await pages.get(`/changes/${waiting.conflict}/local`)).status).toBe(401)
    for (const path of [`/changes/${waiting.conflict}`, `/runs/${waiting.run}`, '/streams/rentals']) {
      expect(textOf(await (await pages.get(path, bearer)).text()), path).toContain(
        'open them in a browser and enter the token',
      )
      expect(await look(path), path).toContain('class="action"')
    }
    const { headers } = await pages.get(`/changes/${waiting.conflict}/local`, { authorization })
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it('are not there without ADMIN_TOKEN, and the others say how to turn them on', async () => {
    for (const path of ['/', `/changes/${waiting.conflict}`, `/runs/${waiting.run}`, '/streams/rentals']) {
      const page = await (await open.get(path)).text()
      expect(textOf(page), path).toContain('To make decisions on these pages, set ADMIN_TOKEN')
      expect(page, path).not.toContain('class="action"')
      expect(page, path).not.toContain('example.com')
    }
    const path = `/changes/${waiting.conflict}/local`
    expect((await open.get(path)).status).toBe(404)
    const posted = await fetch(`${open.url}${path}`, { method: 'POST', headers: { origin: open.url } })
    expect(posted.status).toBe(405)
    expect(await decisions()).toEqual([])
  })
})
