// Every document that code, SQL or another document cites is in the project and has what is cited; what a user of the
// database reads cites only what can be opened from there.

import { describe, expect, it } from 'vitest'
import { streams } from '../src/catalog/catalog.ts'
import { writes } from '../src/catalog/writes.ts'
import { repeatableSteps } from '../src/schema/repeatable-steps.ts'
import { anchorsOf, citedSections, faultsOf, readTexts, type Texts, withoutComments } from './helpers/citations.ts'
import { projectRoot } from './helpers/import-graph.ts'

const folders = ['src', 'sandbox', 'test', 'bench', 'scripts', 'migrations', 'docs', 'deploy', '.ci', '.github']
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

describe('docs/sources.md', () => {
  it('has an anchor before each section, called as the section is', () => {
    const sections = [...sources.matchAll(/(?:<a id="([^"]+)"><\/a>\n)?^#{2,3} (.+)$/gm)]
    const parts = sections.filter(([, id]) => id === undefined).map(([, , heading]) => heading)
    expect(parts).toEqual(['The interface specification', 'The public documentation'])
    for (const [, id, heading = ''] of sections)
      if (id !== undefined)
        expect(heading === id || heading.startsWith(`${id} `) || heading.startsWith(`${id}:`), id).toBe(true)
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

describe('a citation that leads nowhere is found', () => {
  const project: Texts = new Map([
    ['docs/sources.md', '<a id="2.5"></a>\n### 2.5 Rental\n<a id="resources/rental"></a>\n### resources/rental\n'],
    ['docs/guide.md', '# Guide\n## Two things to know\n'],
    ['README.md', ''],
  ])
  const wrong = [
    '// May it be deleted? (design, section 6.5)',
    '// May it be deleted? (design,\n// section 6.5)',
    '/**\n * Kept (upstream-api section 12, row 34).\n */',
    '// Half a gigabyte [reliability G6].',
    '// A dead link (reliability F2).',
    "source: 'spec 2.5, 4.4'",
    '// Users [public: resources/user].',
    '/** Shape [unknown]. */',
    '// The fields of specification 2.5.',
    '// See section 7.2.',
    '// As \u00a74 says.',
    '// Asked for in issue 14.',
    '// docs/nowhere.md has it.',
    '// (docs/sources.md, 2.6)',
    '// (docs/sources.md, 2.5, 2.6)',
    '// (docs/sources.md, 2.5, resources/user)',
    '// (docs/sources.md,\n// resources/user)',
    '// (docs/sources.md, rentals)',
    '// docs/guide.md, section "Three things"',
    '// https://docs.digital-nautic.com/digitalnautic-api/resources/user',
  ]
  for (const text of wrong)
    it(JSON.stringify(text), () => {
      expect(faultsOf(project, 'src/a.ts', text).length).toBeGreaterThan(0)
    })

  it('also as a link of a document', () => {
    for (const link of ['[a](nowhere.md)', '[a](guide.md#three-things)', '[a](#three-things)'])
      expect(faultsOf(project, 'docs/other.md', link).length, link).toBeGreaterThan(0)
  })

  it('also as the name of a source file in a document', () => {
    const files: Texts = new Map([['src/sync/plan.ts', '']])
    const right = '`sync/plan.ts`, `plan.ts`, `src/sync/{plan}.ts`, `NNNN_what.ts`'
    expect(faultsOf(files, 'docs/other.md', right)).toEqual([])
    expect(faultsOf(files, 'docs/other.md', '`sync/{plan,budget}.ts`, `an.ts`')).toEqual([
      'docs/other.md: no such file: sync/budget.ts',
      'docs/other.md: no such file: an.ts',
    ])
  })
})

describe('what leads somewhere is no fault', () => {
  const project: Texts = new Map([
    ['docs/sources.md', '<a id="2.5"></a>\n### 2.5 Rental\n<a id="resources/rental"></a>\n### resources/rental\n'],
    ['docs/guide.md', '# Guide\n## Two things to know\n'],
  ])
  const right = [
    '// (docs/sources.md, 2.5, resources/rental)',
    '// (docs/sources.md, 2.5, and the `source` of each).',
    '// docs/guide.md, section "Two things to know"',
    '// Date-times of RFC 3339, section 5.6.',
    '// https://docs.digital-nautic.com/digitalnautic-api/resources/rental',
    'const pair: readonly [unknown, unknown] = design(2)',
  ]
  for (const text of right)
    it(JSON.stringify(text), () => {
      expect(faultsOf(project, 'src/a.ts', text)).toEqual([])
    })

  it('nor is a link to a heading', () => {
    expect(anchorsOf('## Two things to know\n')).toContain('two-things-to-know')
    expect(faultsOf(project, 'docs/other.md', '[a](guide.md#two-things-to-know) [b](sources.md#2.5)')).toEqual([])
  })
})
