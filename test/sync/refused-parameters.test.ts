// An API that refuses parameters it does not know: lists are read without them, whole, and that is said.

import { expect, it } from 'vitest'
import { openTestMirror } from '../helpers/mirror.ts'
import { opened } from '../helpers/opened.ts'
import { openStrictFront, type StrictFront } from '../helpers/strict-front.ts'

let front: StrictFront
const mirror = opened(() =>
  openTestMirror({ size: 30 }, { API_PAGE_SIZE: '7' }, undefined, async (url) => {
    front = await openStrictFront(url)
    return front
  }),
)

const streams = ['users', 'companies', 'resources', 'rentals']

it('reads its lists without what is refused, remembers that, and misses nothing', async () => {
  const first = await mirror.sync({ streams })
  expect(first.map(({ stream, status, error }) => `${stream} ${status} ${error}`).sort()).toEqual(
    streams.map((stream) => `${stream} done null`).sort(),
  )
  const about = (each: string): boolean => /^(users|rentals) /.test(each)
  // No list of this API shows users that are deactivated.
  const hidden = (await (await fetch(`${mirror.sandbox.url}/v3/users?deactivated=true&perPage=100`)).json()) as {
    readonly id: number
  }[]
  const unseen = hidden.map(({ id }) => `users {"id": ${id}}: missing in the mirror`)
  expect((await mirror.differences()).filter(about)).toEqual(unseen)
  expect(new Set(front.refused)).toEqual(new Set(['/v3/users deactivated', '/v3/rentals order']))

  // What is known is not asked for again.
  front.refused.length = 0
  const second = await mirror.sync({ streams: ['rentals', 'users'] })
  expect(second.map(({ status }) => status)).toEqual(['done', 'done'])
  expect(front.refused).toEqual([])
})
