// A program that projects records in another way than the one before it: the lists are read once, their rows compared, and no
// detail falls due for it.

import { expect, it } from 'vitest'
import { json, startServer } from '../api/http-server.ts'
import { isQuick } from '../helpers/extent.ts'
import { openTestMirror, type TestMirror } from '../helpers/mirror.ts'

const count = 1_000
const perPage = 100
const pages = count / perPage + 1 // an empty one ends the list

// Not with `npm test`: a whole world twice, for what an upgrade of the projection costs.
it.skipIf(isQuick)(
  'an upgrade costs the pages of the lists; a record that changed meanwhile is read itself',
  async () => {
    const records = Array.from({ length: count }, (_, index) => ({ id: index + 1, reference: `R${index}`, adults: 2 }))
    let asked: string[] = []
    const api = () =>
      startServer((response, { url }) => {
        const { pathname, searchParams } = new URL(url, 'http://api')
        asked.push(pathname)
        const id = Number(pathname.split('/')[3] ?? 0)
        if (id > 0) return json(response, records[id - 1])
        const first = (Number(searchParams.get('page')) - 1) * perPage
        return json(response, records.slice(first, first + perPage))
      })
    await using mirror = await openTestMirror({ size: 20 }, { API_PAGE_BASE: '1' }, undefined, api)
    const { pool } = mirror.app.database
    const sync = async (): Promise<{ readonly lists: number; readonly details: readonly string[] }> => {
      asked = []
      const runs = await mirror.sync({ streams: ['rentals'] })
      expect(runs.map(({ status }) => status)).toEqual(['done'])
      return { lists: asked.filter((path) => path === '/v3/rentals').length, details: rentalsIn(asked) }
    }
    await sync()
    expect(await sync()).toEqual({ lists: pages, details: [] })
    const before = await rowsOf(mirror)

    const upgrade = () => pool.query('update sync.records set projection = 77')
    expect((await upgrade()).rowCount).toBe(count)
    expect(await sync()).toEqual({ lists: pages, details: [] })
    expect(await rowsOf(mirror)).toEqual(before)
    const rows = await mirror.all('select count(*)::int as renewed from sync.records where projection <> 77')
    expect(rows).toEqual([{ renewed: count }])

    await upgrade()
    for (const index of [7, 800])
      records[index] = { ...records[index], adults: (records[index]?.adults ?? 0) + 1 } as never
    expect(await sync()).toEqual({ lists: pages, details: ['8', '801'] })
  },
)

/** The ids of the rentals of which something was read itself. */
const rentalsIn = (paths: readonly string[]): readonly string[] =>
  [...new Set(paths.flatMap((path) => path.split('/')[3] ?? []))].sort()

/** The rows, with the transactions that wrote them. */
const rowsOf = async (mirror: TestMirror): Promise<object[]> =>
  await mirror.all('select xmin::text, id, _payload::text from mirror.rentals order by id')
