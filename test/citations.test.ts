// Every document that code, SQL or another document cites is in the project and has what is cited; what a user of the
// database reads cites only what can be opened from there.

import { describe, expect, it } from 'vitest'
import { streams } from '../src/catalog/catalog.ts'
import { writes } from '../src/catalog/writes.ts'
import { repeatableSteps } from '../src/schema/repeatable-steps.ts'
import { citedSections, faultsOf, readTexts, type Texts, withoutComments } from './helpers/citations.ts'
import { projectRoot } from './helpers/import-graph.ts'

const folders = [
  'src',
  'sandbox',
  'test',
  'bench',
  'scripts',
  'migrations',
  'docs',
  'examples',
  'deploy',
  '.ci',
  '.github',
]
const files = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'LICENSE',
  'Dockerfile',
  'docker-compose.yml',
  '.env.sample',
  'package.json',
]
const texts = readTexts(projectRoot, folders, files)
const sources = texts.get('docs/sources.md') ?? ''

/** What is searched: all but this file; of migrations, which are never edited, what reaches the database. */
const searched = [...texts]
  .filter(([path]) => path !== 'test/citations.test.ts')
  .map(([path, text]): readonly [string, string] => [
    path,
    path.startsWith('migrations/') ? withoutComments(text) : text,
  ])

/** Texts of the repeatable steps, comments on views among them. */
const sqlOfSteps = repeatableSteps.flatMap(({ name, sql, views = [] }) => [
  { name, text: sql },
  ...views.map((view) => ({
    name: view.name,
    text: [view.comment, ...Object.values(view.columns).map(([, comment]) => comment ?? '')].join('\n'),
  })),
])

describe('the citations of code, SQL and documents', () => {
  it('lead to documents of this project, and to headings that these have', () => {
    expect(searched.length).toBeGreaterThan(400)
    expect(searched.flatMap(([path, text]) => faultsOf(texts, path, text))).toEqual([])
  })

  it('are found in what the catalog says of every record type and of every write', () => {
    for (const { source } of [...streams, ...writes]) expect(citedSections(source).length, source).toBeGreaterThan(0)
  })

  it('name every section of docs/sources.md at least once', () => {
    const cited = new Set(
      searched.flatMap(([path, text]) => (/^(src|sandbox)\//.test(path) ? citedSections(text) : [])),
    )
    const given = [...sources.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id = '']) => id)
    expect(given.length).toBeGreaterThan(40)
    expect(given.filter((id) => !cited.has(id))).toEqual([])
  })
})

describe('what a user of the database reads', () => {
  it('names no document of the project, only public pages', () => {
    expect(sqlOfSteps.length).toBeGreaterThan(40)
    const migrations = searched.filter(([path]) => path.startsWith('migrations/'))
    const all = [...sqlOfSteps, ...migrations.map(([name, text]) => ({ name, text }))]
    expect(all.filter(({ text }) => /\.md\b|\bdocs\//.test(text)).map(({ name }) => name)).toEqual([])
    expect(all.flatMap(({ name, text }) => faultsOf(texts, name, text))).toEqual([])
  })

  it('says with each table where its record is published, if it is', () => {
    const comments = sqlOfSteps.find(({ name }) => name === 'comments')?.text ?? ''
    const page = 'https://docs.digital-nautic.com/digitalnautic-api/resources/rental-option'
    expect(comments).toContain(`comment on table mirror."rental_options" is 'Options booked with a rental.`)
    expect(comments).toContain(`/v3/rentals/{rentalId}/options/{optionId}. ${page}';`)
  })
})

const project: Texts = new Map([
  ['docs/sources.md', '<a id="2.5"></a>\n### 2.5 Rental\n<a id="resources/rental"></a>\n### resources/rental\n'],
  ['docs/guide.md', '# Guide\n## Two things to know\n```sh\n# In a block of code\n```\n'],
  ['src/sync/plan.ts', ''],
])

it.each([
  ['src/a.ts', '// May it be deleted? (design,\n// section 6.5)'],
  ['src/a.ts', '// Users [public: resources/user].'],
  ['src/a.ts', '// See section 7.2.'],
  ['src/a.ts', '// Asked for in issue 14.'],
  ['src/a.ts', '// docs/nowhere.md has it.'],
  ['src/a.ts', '// (docs/sources.md, 2.5, 2.6)'],
  ['src/a.ts', '// docs/guide.md, section "Three things"'],
  ['src/a.ts', '// https://docs.digital-nautic.com/digitalnautic-api/resources/user'],
  ['docs/other.md', '[a](nowhere.md)'],
  ['docs/other.md', '[a](guide.md#three-things)'],
  ['docs/other.md', '[a](guide.md#in-a-block-of-code)'],
  ['docs/other.md', '[a](guide.md "Guide")'],
  ['docs/other.md', '[a]()'],
  ['docs/other.md', '[a](http://example.com/page)'],
  ['docs/other.md', '[a](https//example.com/page)'],
  ['docs/other.md', '[a](https://example/page)'],
  ['docs/other.md', '[a](https://example.com/a page)'],
  ['docs/other.md', '<https:/example.com>'],
  ['docs/other.md', '`sync/budget.ts`'],
])('in %s, a citation that leads nowhere is found: %s', (from, text) => {
  expect(faultsOf(project, from, text)).not.toEqual([])
})
