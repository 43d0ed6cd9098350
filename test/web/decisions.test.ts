// Decisions on the pages: who may, what is shown first, and that each form counts once, for its session, target and plan.

import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPusher } from '../../src/outbox/pusher.ts'
import { changeActions } from '../../src/web/actions.ts'
import { formSeconds, issueForm, readForm, typedName } from '../../src/web/forms.ts'
import { cookieName, issueSession } from '../../src/web/session.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { letWait, type Waiting } from './decisions-rig.ts'
import { openPages, type Pages, textOf } from './pages-rig.ts'

const token = 'a-token-of-sixteen-and-more'
const now = new Date('2030-05-01T12:00:00Z')
const later = (seconds: number): Date => new Date(now.getTime() + seconds * 1_000)

describe('a form', () => {
  const bound = { session: 'one', path: '/changes/1/retry' }
  const form = issueForm(token, bound, { plan: 'abc', asksToken: false }, now)
  const cases = [
    ['is good at once', bound, form, now, 'good'],
    ['is good for five minutes', bound, form, later(formSeconds), 'good'],
    ['is old after that', bound, form, later(formSeconds + 1), 'old'],
    ['is of its session alone', { ...bound, session: 'two' }, form, now, 'wrong'],
    ['is of what it decides alone', { ...bound, path: '/changes/2/retry' }, form, now, 'wrong'],
    ['is of its plan alone', bound, form.replace('.abc.', '.abd.'), now, 'wrong'],
    ['can not be made younger', bound, form.replace(/^\d+/, String(later(600).getTime() / 1_000)), now, 'wrong'],
    ['can not be made to ask for no token', bound, form.replace('plain', 'token'), now, 'wrong'],
    ['needs its signature', bound, form.slice(0, form.lastIndexOf('.')), now, 'wrong'],
  ] as const
  for (const [name, of, given, at, kind] of cases)
    it(name, () => expect(readForm(token, of, given, at).kind).toBe(kind))

  it('is never something made up, and a new token ends all of them', () => {
    fc.assert(fc.property(fc.string(), (text) => readForm(token, bound, text, now).kind === 'wrong'))
    expect(readForm(`${token}2`, bound, form, now).kind).toBe('wrong')
  })
})

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
  let mirror: TestMirror
  let pages: Pages
  let open: Pages
  let waiting: Waiting
  const cookie = `${cookieName}=${issueSession(token, new Date())}`
  beforeAll(async () => {
    mirror = await openTestMirror({ size: 20 })
    await mirror.sync({ streams: ['rentals'] })
    pages = await openPages(mirror, { ADMIN_TOKEN: token })
    open = await openPages(mirror)
  })
  afterAll(async () => {
    await pages[Symbol.asyncDispose]()
    await open[Symbol.asyncDispose]()
    await mirror[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    await query('delete from outbox.queue; delete from sync.decisions; update sync.streams set paused_by = null')
    await query(`delete from sync.runs where status = 'held'`)
    waiting = await letWait(mirror)
  })

  const query = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    (await mirror.app.database.pool.query(text, values)).rows
  const decisions = () => query('select what, target, who, via, error from sync.decisions order by id')

  const look = async (path: string): Promise<string> => (await pages.get(path, { cookie })).text()
  const formOn = (page: string): string => /name="form" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const post = (
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> =>
    fetch(`${pages.url}${path}`, {
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: pages.url, cookie, ...headers },
    })
  /** Looks, and sends the form that is shown. */
  const decide = async (path: string, fields: Readonly<Record<string, string>> = {}): Promise<Response> =>
    await post(path, { form: formOn(await look(path)), who: 'Ann', ...fields })

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
    ] as const
    for (const [path] of cases) {
      const form = formOn(await look(path))
      const answer = await post(path, { form, who: ' Ann\n' })
      expect([answer.status, answer.headers.get('location')], path).toEqual([303, path.slice(0, path.lastIndexOf('/'))])
      const again = await post(path, { form, who: 'Ann' })
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

  it('refuse a form of another session, target or site, one that is not there, and one without a name', async () => {
    const path = `/changes/${waiting.failed}/retry`
    const form = formOn(await look(path))
    const other = `${cookieName}=${issueSession(token, new Date(Date.now() - 60_000))}`
    const statuses = [
      (await post(path, { form, who: 'Ann' }, { cookie: other })).status,
      (await post(`/changes/${waiting.failed}/cancel`, { form, who: 'Ann' })).status,
      (await post(path, { who: 'Ann' })).status,
      (await post(path, { form, who: 'Ann' }, { origin: 'https://evil.example' })).status,
      (await post(path, { form, who: 'Ann' }, { 'sec-fetch-site': 'cross-site' })).status,
      (await post(path, { form, who: ' ' })).status,
      (await post(path, { form, who: 'Ann' }, { cookie: '' })).status,
      (await post(path, { form, who: 'Ann' }, { cookie: '', authorization: `Bearer ${token}` })).status,
    ]
    expect(statuses).toEqual([403, 403, 403, 403, 403, 422, 401, 403])
    expect(await decisions()).toEqual([])
  })

  it('ask for the token where the form is older than five minutes', async () => {
    const path = `/changes/${waiting.failed}/cancel`
    const session = cookie.slice(cookieName.length + 1)
    const [{ plan = '' } = {}] = (await query('select plan from outbox.changes where id = $1', [waiting.failed])) as {
      plan: string
    }[]
    const old = issueForm(token, { session, path }, { plan, asksToken: false }, new Date(Date.now() - 301_000))
    const asked = await post(path, { form: old, who: 'Ann' })
    const page = await asked.text()
    expect(asked.status).toBe(401)
    expect(textOf(page)).toContain('This page is older than five minutes.')
    expect(page).toContain('value="Ann"')
    expect((await post(path, { form: formOn(page), who: 'Ann' })).status).toBe(401)
    expect((await post(path, { form: formOn(page), who: 'Ann', token: 'not the token at all' })).status).toBe(401)
    expect(await decisions()).toEqual([])
    expect((await post(path, { form: formOn(page), who: 'Ann', token })).status).toBe(303)
    expect(await decisions()).toMatchObject([{ what: 'cancel' }])
  })

  it('show it again where the plan has changed, and say so where nothing is left to decide', async () => {
    const path = `/changes/${waiting.conflict}/remote`
    const form = formOn(await look(path))
    await query(
      `update outbox.queue set conflict = jsonb_set(conflict, '{orderLink,remote}', '"https://example.com/newest"')
      where id = $1`,
      [waiting.conflict],
    )
    const answer = await post(path, { form, who: 'Ann' })
    const page = textOf(await answer.text())
    expect(answer.status).toBe(409)
    expect(page).toContain(`Change ${waiting.conflict} has changed since you reviewed it`)
    expect(page).toContain('https://example.com/newest')
    expect((await decide(path)).status).toBe(303)
    expect(textOf(await look(path))).toContain('There is nothing to decide')
    expect((await pages.get('/changes/999999/retry', { cookie })).status).toBe(404)
    expect((await pages.get(`/changes/${waiting.conflict}/release`, { cookie })).status).toBe(404)
  })

  it('show values and buttons to sessions alone, in no frame', async () => {
    const bearer = { authorization: `Bearer ${token}` }
    expect((await pages.get(`/changes/${waiting.conflict}/local`, bearer)).status).toBe(403)
    expect((await pages.get(`/changes/${waiting.conflict}/local`)).status).toBe(401)
    for (const path of [`/changes/${waiting.conflict}`, `/runs/${waiting.run}`, '/streams/rentals']) {
      expect(textOf(await (await pages.get(path, bearer)).text()), path).toContain('sign in with the token')
      expect(await look(path), path).toContain('class="action"')
    }
    const { headers } = await pages.get(`/changes/${waiting.conflict}/local`, { cookie })
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
