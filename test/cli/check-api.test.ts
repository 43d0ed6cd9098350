// What `check` says of the lists of an API, as they are read with the settings it has.

import { describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { unlimited } from '../../src/api/admission/rate-limit.ts'
import { checkApi, limitsFinding } from '../../src/cli/check-api.ts'
import { searchAndCheckApi } from '../../src/cli/check-search.ts'
import type { CommandContext } from '../../src/cli/context.ts'
import type { Finding } from '../../src/cli/findings.ts'
import { readConfig } from '../../src/config.ts'
import { createLogger } from '../../src/log.ts'
import { openJsonApi, openOData } from '../discovery/other-servers.ts'
import { openAlteringFront } from '../helpers/altering-front.ts'
import { opened } from '../helpers/opened.ts'
import { openStrictFront } from '../helpers/strict-front.ts'
import { type Asked, frontedSandbox, openListFront, pageOf, type Reply } from '../surroundings/list-front.ts'

/** What is found of an API. */
async function findingsOf(url: string, env: Readonly<Record<string, string>> = {}): Promise<readonly Finding[]> {
  const config = readConfig({ API_BASE_URL: url, API_AUTH: 'none', ...env }, '/nonexistent')
  const signal = new AbortController().signal
  return await checkApi({ config, apiUrl: url, log: createLogger('silent'), signal, limiter: unlimited }, null)
}

const named = (findings: readonly Finding[], wanted: string): Finding | undefined =>
  findings.find(({ name }) => name === wanted)

it('says which parameters a list refuses and is read without', async () => {
  await using sandbox = await createSandbox({ size: 12 })
  await using front = await openStrictFront(sandbox.url)
  const found = named(await findingsOf(front.url), 'list rentals')
  expect(found).toMatchObject({ status: 'ok', detail: expect.stringContaining('12 records on the first page') })
  expect(found?.detail).toMatch(/; the API refuses order, so it is no longer sent$/)
})

it('says that an encoding does not exist, and reads the answers', async () => {
  await using sandbox = await createSandbox({ size: 5 })
  await using front = await openAlteringFront(sandbox.url, ({ text }) => text, { 'content-encoding': 'UTF-8' })
  const findings = await findingsOf(front.url)
  expect(findings).toContainEqual(
    expect.objectContaining({ name: 'encoding', detail: expect.stringContaining('utf-8') }),
  )
  expect(findings.filter(({ status }) => status === 'fail')).toEqual([])
})

describe('a total', () => {
  const sandbox = opened(() => createSandbox({ size: 30, ...frontedSandbox }))

  /** Pages of seven of the sandbox's rentals, and a total that says so many more than there are. */
  type Wrong = { readonly says: (count: number) => number; readonly past?: 'empty' | 'refused' | 'last' }
  const answerOf =
    ({ says, past = 'empty' }: Wrong) =>
    (asked: Asked): Reply => {
      const size = Math.min(asked.size, 7)
      const lastPage = Math.ceil(asked.all.length / size)
      if (past === 'refused' && asked.page > lastPage) return { status: 404, body: {} }
      const page = past === 'last' ? Math.min(asked.page, lastPage) : asked.page
      const headers = { 'x-total-count': String(says(asked.all.length)) }
      return { body: pageOf({ ...asked, page, size }), headers }
    }
  const cases: readonly (Wrong & { readonly name: string; readonly problem: RegExp | null })[] = [
    { name: 'that is right is not spoken of', says: (count) => count, problem: null },
    { name: 'that is right, where the last page comes again', says: (count) => count, past: 'last', problem: null },
    {
      name: 'that is right, where pages past the end are refused',
      says: (count) => count,
      past: 'refused',
      problem: null,
    },
    { name: 'that is a little too large', says: (count) => count + 1, problem: /has 2 records instead of 3$/ },
    { name: 'that is much too large', says: (count) => count + 70, problem: /should be the last is empty$/ },
    {
      name: 'that is too large by far',
      says: (count) => count * 9,
      past: 'refused',
      problem: /should be the last is empty$/,
    },
    { name: 'that is too small', says: (count) => count - 9, problem: /more records follow/ },
    { name: 'that ends at some number', says: (count) => Math.min(count, 10), problem: /more records follow/ },
  ]
  for (const { name, problem, ...wrong } of cases)
    it(`${name}${problem === null ? '' : ' is named with the setting that passes it over'}`, async () => {
      await using front = await openListFront(sandbox.url, answerOf(wrong))
      const findings = await findingsOf(front.url)
      const total = findings.filter((finding) => finding.name.startsWith('total '))
      // A short list is read to the end that it does not have.
      for (const { remedy } of findings.filter(({ status }) => status === 'fail'))
        expect(remedy).toMatch(/^If the total is wrong, set API_TOTAL_PATH=none/)
      if (problem === null) return expect(total).toEqual([])
      expect(total).toEqual([
        expect.objectContaining({
          name: 'total rentals',
          status: 'warn',
          detail: expect.stringMatching(problem),
          remedy: expect.stringContaining('API_TOTAL_PATH=none'),
        }),
      ])
    })

  it('that is wrong is passed over with that setting', async () => {
    await using front = await openListFront(sandbox.url, answerOf({ says: (count) => count - 9 }))
    const cured = await findingsOf(front.url, { API_TOTAL_PATH: 'none' })
    expect(cured.filter(({ name, status }) => name.startsWith('total ') || status === 'fail')).toEqual([])
  })
})

describe('a list whose answers say that there is more than its pages show', () => {
  it('is wrong, with the parameter that its next link names', async () => {
    await using server = await openJsonApi({ count: 30, fixed: true })
    const found = named(await findingsOf(server.url, { API_PAGING: 'page' }), 'list rentals')
    expect(found).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(/returned the first page again when asked for the second/),
    })
    expect(found?.remedy).toMatch(/API_PAGING=link, or API_PAGE_PARAM .*page\[number\]/)
    const right = named(await findingsOf(server.url, { API_PAGING: 'link' }), 'list rentals')
    expect(right).toMatchObject({ status: 'ok', detail: expect.stringContaining('10 on the second page') })
  })

  it('is looked into although everything is set, and the right settings are named', async () => {
    await using server = await openJsonApi({ count: 30, fixed: true })
    const environment = { API_BASE_URL: server.url, API_AUTH: 'none', API_PAGING: 'page' }
    const config = readConfig(environment, '/nonexistent')
    const unopened = () => Promise.reject(new Error('nothing is to be opened'))
    const context: CommandContext = {
      ...{ config, environment, log: createLogger('silent'), signal: new AbortController().signal },
      ...{ open: unopened, openDatabase: unopened },
    }
    const { findings, found } = await searchAndCheckApi(context, null, { isToWrite: false, tryQuery: false })
    expect(named(findings, 'settings')).toMatchObject({
      status: 'fail',
      detail: expect.stringContaining('API_PAGE_PARAM=page[number]'),
    })
    expect(found?.settings.map(({ name }) => name)).toContain('API_PAGE_PARAM')
  })

  it('is wrong where it names a link and a larger total, as OData does', async () => {
    await using server = await openOData({ count: 30 })
    const found = named(await findingsOf(server.url, { API_PAGING: 'page' }), 'list rentals')
    expect(found).toMatchObject({ status: 'fail', detail: expect.stringMatching(/total of 30, and 10 records/) })
    expect(found?.remedy).toMatch(/API_PAGING=link, or API_PAGE_PARAM .*\$skip/)
  })
})

describe('the limits that an API tells by headers', () => {
  const config = (env: Readonly<Record<string, string>>) => readConfig({ API_RATE_LIMIT: '5', ...env }, '/nonexistent')
  const headers = { 'ratelimit-policy': '"second";q=10;w=1, "day";q=120000;w=86400' }
  it('are shown as the line to set', () => {
    const found = limitsFinding(headers, config({}))
    expect(found).toMatchObject({ status: 'warn', remedy: 'Set: API_RATE_LIMIT=10 API_QUOTA=120000/day' })
    expect(limitsFinding(headers, config({ API_QUOTA: '130000/day' }))).toMatchObject({ status: 'warn' })
  })
  it('are no matter where the settings keep to them, or none are told', () => {
    expect(limitsFinding(headers, config({ API_QUOTA: '100000/day' }))).toMatchObject({ status: 'ok', remedy: null })
    expect(limitsFinding({ 'x-ratelimit-limit': '60' }, config({}))).toBe(null)
  })
})
