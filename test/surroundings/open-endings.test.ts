// Lists whose answers say that there is more, and lists of which nothing says where they end: a run is never done with
// records missing, and it names the setting that helps.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkStreams } from '../../src/sync/check.ts'
import type { Run } from '../../src/sync/runs/runs.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { type Asked, frontedSandbox, openListFront, pageOf, type Reply } from './list-front.ts'

type Answer = (asked: Asked) => Reply

const open = (answer: Answer, env: Readonly<Record<string, string>> = {}): Promise<TestMirror> =>
  openTestMirror({ size: 40, ...frontedSandbox }, env, undefined, (url) => openListFront(url, answer))

const boats = async (mirror: TestMirror): Promise<Run | undefined> =>
  (await mirror.sync({ streams: ['resources'] })).find(({ stream }) => stream === 'resources')

const rowsOf = async ({ app }: TestMirror): Promise<number> =>
  (await app.database.pool.query('select from mirror.resources where _deleted_at is null')).rowCount ?? 0

/** At most five records, whatever is asked for. */
const fewAt = ({ all, size }: Asked, from: number): readonly unknown[] => all.slice(from, from + Math.min(size || 5, 5))

const hrefOf = ({ path }: Asked, query: string): string => `${path}?${query}`

const jsonApi: Answer = (asked) => {
  const number = Number(asked.query['page[number]'] ?? 1)
  const more = number * 5 < asked.all.length
  const links = {
    self: asked.path,
    ...(more && { next: hrefOf(asked, `page%5Bnumber%5D=${number + 1}&page%5Bsize%5D=5`) }),
  }
  return { body: { data: fewAt({ ...asked, size: 5 }, (number - 1) * 5), links } }
}

const hubspot =
  (wrap: (after: string) => object): Answer =>
  (asked) => {
    const from = Number(asked.query.after ?? 0)
    const results = fewAt({ ...asked, size: Number(asked.query.limit) }, from)
    return { body: { results, ...(from + results.length < asked.all.length && wrap(String(from + results.length))) } }
  }

// Messages about other servers are shown by test/api/{page,remedies}.test.ts.
describe('a list that is read by page numbers', () => {
  let answer: Answer
  let mirror: TestMirror
  beforeAll(async () => {
    answer = (asked) => ({ body: asked.all })
    mirror = await open((asked) => answer(asked))
  })
  afterAll(() => mirror?.[Symbol.asyncDispose]())

  const always: Answer = (asked) => ({ body: fewAt({ ...asked, size: 5 }, 0) })
  const cases: readonly (readonly [name: string, answer: Answer, status: string, error: string])[] = [
    [
      'and always answers the same five of 13 is partial',
      always,
      'partial',
      'the API returns the same 5 records for any page and size.*lists.resources.paging: none',
    ],
    [
      'and names its next page as JSON:API does is failed',
      jsonApi,
      'failed',
      'links.next.*API_PAGING=link, or API_PAGE_PARAM.*page\\[number\\]',
    ],
    [
      'and names a total that is too large is partial',
      (asked) => ({ body: { data: pageOf(asked), total: 99 } }),
      'partial',
      'a total of 99, but returned 13 records.*lists.resources.totalPath: none',
    ],
    [
      'and names a total that is too small is partial',
      (asked) => ({ body: { data: pageOf(asked), total: 7 } }),
      'partial',
      'a total of 7, but returned 13 records.*API_TOTAL_PATH=none',
    ],
  ]
  for (const [name, reply, status, error] of cases)
    it(`${name}, and names what to set`, async () => {
      answer = reply
      expect(await boats(mirror)).toMatchObject({ status, error: expect.stringMatching(error), deleted: '0' })
    })

  it('and whose end nothing proves is named by a check, too', async () => {
    answer = always
    const { signal } = new AbortController()
    const [found] = await checkStreams({ ...mirror.app.syncContext, onTasks: () => undefined }, ['resources'], {
      signal,
    })
    expect(found?.problems).toContainEqual(expect.stringContaining('lists.resources.paging: none'))
  })

  it('is done where it comes whole, and nothing was deleted by the others', async () => {
    answer = (asked) => ({ body: { data: pageOf(asked), total: asked.all.length } })
    expect(await boats(mirror)).toMatchObject({ status: 'done', deleted: '0' })
    expect(await rowsOf(mirror)).toBe(13)
  })
})

describe('what helps', () => {
  it('a wrong total that does not count: the run is done, and a deletion is noticed', async () => {
    await using mirror = await open((asked) => ({ body: { data: pageOf(asked), total: 99 } }), {
      API_TOTAL_PATH: 'none',
    })
    expect(await boats(mirror)).toMatchObject({ status: 'done' })
    const [gone] = mirror.sandbox.truth().resources ?? []
    mirror.sandbox.mutate([{ record: 'resources', op: 'delete', id: String(gone?.key.id) }])
    expect(await boats(mirror)).toMatchObject({ status: 'done' })
    expect(await rowsOf(mirror)).toBe(12)
  })

  const ways: readonly (readonly [string, Answer, Readonly<Record<string, string>>])[] = [
    ['JSON:API, by links', jsonApi, { API_PAGING: 'link' }],
    [
      'a cursor at paging.next.after',
      hubspot((after) => ({ paging: { next: { after } } })),
      { API_PAGE_PARAM: 'after' },
    ],
    [
      'a cursor at a place that is set',
      hubspot((after) => ({ forward: { to: after } })),
      { API_PAGE_PARAM: 'after', API_NEXT_PATH: 'forward.to' },
    ],
  ]
  for (const [name, answer, env] of ways)
    it(`${name}: all records come`, async () => {
      await using mirror = await open(answer, { API_PAGING: 'cursor', ...env })
      expect(await boats(mirror)).toMatchObject({ status: 'done' })
      expect(await rowsOf(mirror)).toBe(13)
    })

  it('a cursor that is not found is named, though the API lowers the size of a page', async () => {
    await using mirror = await open(
      hubspot((after) => ({ forward: { to: after } })),
      {
        API_PAGING: 'cursor',
        API_PAGE_PARAM: 'after',
      },
    )
    expect(await boats(mirror)).toMatchObject({ status: 'failed', error: expect.stringContaining('API_NEXT_PATH') })
  })
})
