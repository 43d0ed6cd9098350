// A first sync for paging styles, envelopes, numberings, auth kinds and summary lists, combined pairwise, with the settings
// that `check --write` finds from address and token alone. With `npm run test:all` two of the shapes are read whole; of the others a
// paged list, a list in one page and a list below a record, which are all the ways in which a shape is read.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'dotenv'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SandboxOptions } from '../../sandbox/index.ts'
import { searchSettings } from '../../src/cli/check-search.ts'
import { writeSettings } from '../../src/cli/check-settings.ts'
import { readConfig } from '../../src/config.ts'
import { authText } from '../../src/profile/search/auth.ts'
import { createAllowance } from '../../src/profile/search/inquiry.ts'
import { isFull } from '../helpers/extent.ts'
import { openTestMirror } from '../helpers/mirror.ts'
import { ranges } from './ranges.ts'

type Shape = {
  readonly paging: SandboxOptions['paging']
  readonly pageBase: 0 | 1
  readonly envelope: SandboxOptions['envelope']
  readonly auth: string
  readonly summary: boolean
  readonly beforeFirst: SandboxOptions['beforeFirst']
}

const factors = {
  paging: ['page', 'offset', 'cursor', 'link'],
  pageBase: [1, 0],
  envelope: ['bare', 'data', 'hydra', 'nested'],
  auth: ['bearer', 'basic', 'header:X-Api-Key', 'query:key'],
  summary: [false, true],
} as const

/** Some sixteen combinations in which every pair of values of two factors occurs, as a greedy search finds them. */
function pairwise(): readonly Shape[] {
  const names = Object.keys(factors) as (keyof typeof factors)[]
  const candidates = names.reduce<Partial<Shape>[]>(
    (shapes, name) => shapes.flatMap((shape) => factors[name].map((value) => ({ ...shape, [name]: value }))),
    [{}],
  ) as Shape[]
  const pairsOf = (shape: Shape): readonly string[] =>
    names.flatMap((a, i) => names.slice(i + 1).map((b) => `${a}=${shape[a]},${b}=${shape[b]}`))
  const open = new Set(candidates.flatMap(pairsOf))
  const chosen: Shape[] = []
  while (open.size > 0) {
    const gain = (shape: Shape): number => pairsOf(shape).filter((pair) => open.has(pair)).length
    const best = candidates.reduce((a, b) => (gain(b) > gain(a) ? b : a))
    chosen.push(best)
    for (const pair of pairsOf(best)) open.delete(pair)
  }
  return chosen.map(varied)
}

/** Values beyond those combined in pairs take turns; a cursor has no place in a bare array. */
function varied(shape: Shape, index: number): Shape {
  const beforeFirst = (['refuse', 'first', 'empty'] as const)[index % 3] ?? 'refuse'
  const turned =
    index % 2 === 0 ? shape.envelope : ({ data: 'items', nested: 'results' } as const)[String(shape.envelope)]
  const envelope = shape.paging === 'cursor' && shape.envelope === 'bare' ? 'items' : (turned ?? shape.envelope)
  return { ...shape, beforeFirst, envelope, auth: index === 3 ? 'none' : shape.auth }
}

const tokenOf = (auth: string): string => (auth === 'basic' ? 'partner:secret' : 'secret')

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'boat-mirror-shapes-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** What `check --write` writes for this API. */
async function foundSettings(url: string, given: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const config = readConfig({ ...given, API_BASE_URL: url }, folder)
  const { signal } = new AbortController()
  const how = { given: new Set<string>(), tryQuery: false, allowance: createAllowance(), signal, pause: async () => {} }
  const { settings, problem } = await searchSettings(config, how)
  expect(problem).toBeNull()
  const file = join(folder, `${new URL(url).port}.env`)
  await writeSettings(file, settings, {})
  return parse(await readFile(file))
}

const slice = ['rentals', 'rental_options', 'harbours'] as const

/** Which streams a shape is read with; none: all. */
const streams: readonly string[] = isFull ? [] : slice

describe('the mirror equals the truth', () => {
  for (const shape of pairwise().filter((_, at) => isFull || at % 8 === 0))
    it(`with ${JSON.stringify(shape)}`, async () => {
      const token = tokenOf(shape.auth)
      const given = { API_PAGE_SIZE: '7', API_TOKEN: token, ...ranges }
      await using mirror = await openTestMirror(
        { ...shape, token, size: 12, envelopeEverywhere: shape.envelope !== 'bare' },
        async (url) => ({ ...given, ...(await foundSettings(url, given)) }),
      )
      const { auth, paging } = mirror.config.api
      expect({ auth: authText(auth), paging: paging.style }).toEqual({
        auth: shape.auth === 'none' ? 'bearer' : shape.auth,
        paging: shape.paging,
      })
      const runs = await mirror.sync({ streams })
      expect(runs.filter((run) => run.status !== 'done').map((run) => `${run.stream}: ${run.error}`)).toEqual([])
      const differences = await mirror.differences()
      expect(
        differences.filter((each) => streams.length === 0 || streams.some((name) => each.startsWith(`${name} `))),
      ).toEqual([])
    })

  it('with default settings against an API that pages from 1 with bare arrays', async () => {
    const streams = isFull ? ['rentals', 'users', 'resources', 'companies'] : ['rentals']
    await using mirror = await openTestMirror({
      size: isFull ? 250 : 110, // more than a page of 100
      paging: 'page',
      pageBase: 1,
      envelope: 'bare',
      totals: false,
    })
    const runs = await mirror.sync({ streams })
    expect(runs.filter((run) => run.status !== 'done').map((run) => `${run.stream}: ${run.error}`)).toEqual([])
    const differences = await mirror.differences()
    expect(differences.filter((each) => streams.some((name) => each.startsWith(`${name} `)))).toEqual([])
  })
})
