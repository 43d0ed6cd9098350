// A list of children that has its own paging, as the configuration file may set for any list.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { json, startServer } from '../api/http-server.ts'
import { openTestMirror } from '../helpers/mirror.ts'

/** Hands everything on to the sandbox, and cuts the payments of a rental into pages by offset and limit. */
const pagesPayments = (sandboxUrl: string) =>
  startServer(async (response, { method, url, body }) => {
    const target = new URL(url, sandboxUrl)
    const query = target.searchParams
    const [offset, limit] = [Number(query.get('offset')), Number(query.get('limit'))]
    const isPaged = method === 'GET' && target.pathname.endsWith('/payments')
    if (isPaged) for (const name of ['offset', 'limit']) query.delete(name)
    const handed = await fetch(target, { method, ...(method === 'GET' ? {} : { body }) })
    const text = await handed.text()
    if (isPaged && handed.status === 200)
      return json(response, (JSON.parse(text) as unknown[]).slice(offset, offset + limit))
    response.writeHead(handed.status, { 'content-type': 'application/json' })
    return response.end(text)
  })

it('is read from its first record when it is paged by offset', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'boat-mirror-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'boat-mirror.yaml')
  await writeFile(
    file,
    'lists: { rental_payments: { paging: offset, pageParam: offset, sizeParam: limit, pageSize: 1 } }\n',
  )
  await using mirror = await openTestMirror({ size: 20 }, { BOAT_MIRROR_CONFIG: file }, undefined, pagesPayments)
  await mirror.sync({ streams: ['rental_payments'] })
  const rows = await mirror.all('select count(*)::int as n from mirror.rental_payments')
  expect(rows).not.toEqual([{ n: 0 }])
  expect((await mirror.differences()).filter((line) => line.includes('rental_payments'))).toEqual([])
})
