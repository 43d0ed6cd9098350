// `check` under API_QUOTA: its requests count, the limits that the API states are the line to set, and when the quota is used
// nothing leaves.

import { beforeEach, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import type { Finding } from '../../src/cli/findings.ts'
import { openAlteringFront } from '../helpers/altering-front.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { openCommandLine } from './program.ts'

const database = opened(() => createTestDatabase())
const sandbox = opened(() => createSandbox({ size: 12 }))
const cli = opened(() => {
  const api = { API_BASE_URL: sandbox.url, API_AUTH: 'none', API_RATE_LIMIT: '0' }
  return openCommandLine({ DATABASE_URL: database.url, API_QUOTA: '1000/hour', ...api })
})

beforeEach(() => database.pool.query('truncate sync.request_counts'))

type Checked = {
  readonly code: number | null
  readonly ok: boolean
  readonly api: Finding
  readonly limits: Finding | undefined
}

async function check(env: Readonly<Record<string, string>> = {}): Promise<Checked> {
  const { code, stdout } = await cli.run(['check', '--json'], env)
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: readonly Finding[] }
  const named = (wanted: string): Finding | undefined => findings.find(({ name }) => name === wanted)
  return { code, ok, api: named('API') as Finding, limits: named('limits') }
}

/** What is used of the hour, as `status` says it. */
async function used(): Promise<unknown> {
  const { quota } = JSON.parse((await cli.run(['status', '--json'])).stdout)
  return quota.windows
}

it('each of its requests counts, those that search for settings and those that look at lists', async () => {
  const before = sandbox.requests().length
  expect(await check()).toMatchObject({ code: 0, ok: true, api: { status: 'ok' }, limits: undefined })
  const searched = sandbox.requests().length - before
  expect(await check({ API_PAGING: 'page' })).toMatchObject({ code: 0, ok: true })
  const asked = sandbox.requests().length - before
  expect(searched).toBeGreaterThan(20)
  expect(asked).toBeGreaterThan(searched)
  expect(await used()).toMatchObject([{ window: 'hour', allowed: 1_000, used: asked }])
})

it.each([
  [{ 'ratelimit-policy': '"burst";q=6000;w=60, "day";q=120000;w=86400' }, 'API_RATE_LIMIT=100 API_QUOTA=120000/day'],
  [{ 'x-ratelimit-limit': '5000;window=3600' }, 'API_QUOTA=5000/hour'],
])('the limits that the API tells by %j are the line to set', async (headers, line) => {
  await using front = await openAlteringFront(sandbox.url, ({ text }) => text, headers)
  const asked = { API_BASE_URL: front.url, API_PAGING: 'page' }
  const { API_RATE_LIMIT = '100', API_QUOTA = '' } = Object.fromEntries(line.split(' ').map((each) => each.split('=')))
  const looser = await check({ ...asked, API_RATE_LIMIT: '1000', API_QUOTA: '1000000/month' })
  expect(looser.limits).toMatchObject({ status: 'warn', remedy: `Set: ${line}` })
  expect(looser).toMatchObject({ code: 0, ok: true })
  // Once it is set, the hint is gone.
  expect((await check({ ...asked, API_RATE_LIMIT, API_QUOTA })).limits).toMatchObject({ status: 'ok', remedy: null })
})

it('when the quota is used, it asks nothing, ends with 1, and says until when and what to do', async () => {
  await database.pool.query(
    `insert into sync.request_counts values (date_trunc('minute', now()), 1000)
     on conflict (minute) do update set total = excluded.total`,
  )
  const before = sandbox.requests().length
  for (const env of [{}, { API_PAGING: 'page' }]) {
    const { code, ok, api } = await check(env)
    expect({ code, ok }).toEqual({ code: 1, ok: false })
    expect(api).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(/API_QUOTA is used up until about \d{4}-\d\d-\d\dT\d\d:\d\dZ\.$/),
      remedy: 'Wait, or raise API_QUOTA if the API allows more. `boat-mirror status` shows what is used.',
    })
  }
  expect((await check({ API_PAGING: 'page' })).api.detail).toMatch(/^The API at \S+ was not queried\. GET /)
  expect(sandbox.requests()).toHaveLength(before)
  expect(await used()).toMatchObject([{ used: 1_000 }])
})
