// How lists end, as APIs really answer them: each ending is read to the truth, and deletions are still noticed. With
// `npm run test:all` one list stands for all four, which end alike. What each status after the last page means is shown by
// test/api/pages.test.ts, other endings by test/api/paging-servers.test.ts.

import { describe, expect, it } from 'vitest'
import { isFull } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'
import { type Asked, frontedSandbox, goesOn, openListFront, pageOf, type Reply } from './list-front.ts'

const paged = isFull ? ['companies', 'rentals', 'resources', 'users'] : ['rentals']

const openFronted = (answer: (asked: Asked) => Reply, env: Readonly<Record<string, string>>): Promise<TestMirror> =>
  openTestMirror({ size: 12, ...frontedSandbox }, env, undefined, (url) => openListFront(url, answer))

async function differences(mirror: TestMirror): Promise<readonly string[]> {
  const all = await mirror.differences()
  return all.filter((each) => paged.some((stream) => each.startsWith(`${stream} `)))
}

const statuses = async (mirror: TestMirror): Promise<readonly string[]> =>
  (await mirror.sync({ streams: paged }))
    .filter((run) => paged.includes(run.stream))
    .map((run) => `${run.stream} ${run.status}${run.error === null ? '' : ` ${run.error}`}`)
    .sort()

const done = paged.map((stream) => `${stream} done`)

type Ending = {
  readonly name: string
  readonly answer: (asked: Asked) => Reply
  readonly env?: Readonly<Record<string, string>>
}

const invalidPage = { status: 404, body: { detail: 'Invalid page.' } }

/** What the drawn servers of paging-servers.test.ts do not do: shapes that frameworks answer in, and cursors of 0. */
const endings: readonly Ending[] = [
  {
    name: 'a next cursor of 0',
    env: { API_PAGING: 'cursor', API_PAGE_PARAM: 'cursor' },
    answer: ({ all, query }) => {
      const [from, size] = [Number(query.cursor ?? 0), Number(query.limit)]
      const next_cursor = from + size < all.length ? from + size : 0
      return { body: { data: all.slice(from, from + size), next_cursor } }
    },
  },
  {
    name: 'the first page again after the last, and the total in a header',
    answer: (asked) => {
      const pages = Math.max(1, Math.ceil(asked.all.length / asked.size))
      const page = ((asked.page - 1) % pages) + 1
      return { body: pageOf({ ...asked, page }), headers: { 'x-total-count': String(asked.all.length) } }
    },
  },
  {
    name: 'Django REST: count, next, previous, 404 past the last page',
    answer: (asked) => {
      const results = pageOf(asked)
      if (results.length === 0 && asked.page > 1) return invalidPage
      const next = goesOn(asked) ? `http://api.example/v3${asked.path}?page=${asked.page + 1}` : null
      return { body: { count: asked.all.length, next, previous: null, results } }
    },
  },
  {
    name: 'Spring: content, last, totalElements, an empty page past the last',
    answer: (asked) => {
      const content = pageOf(asked, 0)
      return { body: { content, last: !goesOn(asked, 0), number: asked.page, totalElements: asked.all.length } }
    },
  },
  {
    name: 'HAL: _links.next left out, followed as links',
    env: { API_PAGING: 'link' },
    answer: (asked) => {
      const next = { href: `${asked.path}?page=${asked.page + 1}&perPage=${asked.size}` }
      return { body: { _embedded: { records: pageOf(asked) }, _links: goesOn(asked) ? { next } : {} } }
    },
  },
]

for (const { name, answer, env } of isFull ? endings : endings.slice(0, 2))
  describe(`lists that end with ${name}`, () => {
    it('a first sync equals the truth, and a deletion is noticed by the next', async () => {
      await using mirror = await openFronted(answer, { API_PAGE_SIZE: '5', ...env })
      expect(await statuses(mirror)).toEqual(done)
      expect(await differences(mirror)).toEqual([])
      const [gone] = mirror.sandbox.truth().rentals ?? []
      mirror.sandbox.mutate([{ record: 'rentals', op: 'delete', id: String(gone?.key.id) }])
      expect(await statuses(mirror)).toEqual(done)
      expect(await differences(mirror)).toEqual([])
    })
  })

const idless = { kind: 'left behind', note: 'no id' }

/** The first pages as they are, and at the end of each list records without an id. */
const withIdless =
  (...more: readonly unknown[]) =>
  (asked: Asked): Reply => {
    const all = [...asked.all, ...more] as Asked['all']
    return { body: { data: pageOf({ ...asked, all }), meta: { total: all.length } } }
  }

describe('lists with records that have no id, and a total that counts them', () => {
  it('a first sync equals the truth in one pass, deletions are noticed, and the bad records are in quarantine once', async () => {
    let note = 0
    const answer = (asked: Asked): Reply => withIdless(idless, {}, {}, null, { seenAt: note++ })(asked)
    await using mirror = await openFronted(answer, { API_PAGE_SIZE: '5' })
    const { pool } = mirror.app.database
    const quarantined = async (): Promise<unknown[]> =>
      (await pool.query(`select payload from sync.quarantine where stream = 'rentals' order by key`)).rows
    const pagesOfLastRun = async (): Promise<number> =>
      (await pool.query(`select pages::int from sync.runs where stream = 'rentals' order by id desc limit 1`)).rows[0]
        .pages
    expect(await statuses(mirror)).toEqual(done)
    expect(await differences(mirror)).toEqual([])
    expect(await pagesOfLastRun()).toBe(4)
    const [first] = mirror.sandbox.truth().rentals ?? []
    mirror.sandbox.mutate([{ record: 'rentals', op: 'delete', id: String(first?.key.id) }])
    for (let round = 0; round < 3; round++) expect(await statuses(mirror)).toEqual(done)
    expect(await differences(mirror)).toEqual([])
    expect((await quarantined()).length).toBe(4)
    const { rows } = await pool.query(
      `select reason, times::int from sync.quarantine where stream = 'rentals' and payload = '{}'`,
    )
    expect(rows).toEqual([{ reason: 'id: the key is missing.', times: 8 }])
  })

  it('a record that hides its id is not deleted while its single read still answers', async () => {
    let hide = false
    const answer = (asked: Asked): Reply => {
      if (!hide || asked.path !== '/v3/rentals') return withIdless()(asked)
      const [first = {}, ...others] = asked.all
      const { id: _, ...nameless } = first
      return withIdless()({ ...asked, all: [nameless, ...others] })
    }
    await using mirror = await openFronted(answer, { API_PAGE_SIZE: '5' })
    expect(await statuses(mirror)).toEqual(done)
    hide = true
    expect(await statuses(mirror)).toEqual(done)
    expect(await differences(mirror)).toEqual([])
    hide = false
    expect(await statuses(mirror)).toEqual(done)
    expect((await mirror.app.database.pool.query('select from sync.quarantine')).rowCount).toBe(0)
  })

  it('a list whose records all lose their ids deletes nothing', async () => {
    let hide = false
    const answer = (asked: Asked): Reply =>
      withIdless()({ ...asked, all: hide ? asked.all.map(({ id: _, ...rest }) => rest) : asked.all })
    await using mirror = await openFronted(answer, { API_PAGE_SIZE: '5' })
    expect(await statuses(mirror)).toEqual(done)
    hide = true
    const runs = await statuses(mirror)
    expect(runs.filter((run) => run.startsWith('rentals'))).toEqual(['rentals held'])
    expect(await differences(mirror)).toEqual([])
  })
})
