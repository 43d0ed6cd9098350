// Documents, help, messages and comments are written as CONTRIBUTING.md, section "How we write", asks: without the phrases
// of test/helpers/prose.ts, and in documents with sentences that are not too long.

import { describe, expect, it } from 'vitest'
import { readTexts } from './helpers/citations.ts'
import { projectRoot } from './helpers/import-graph.ts'
import { faultsOfProse, longSentences } from './helpers/prose.ts'
import { proseOfDocument, proseOfSource } from './helpers/prose-parts.ts'

/** Among them docs/schema.md, whose texts are also the comments on tables and columns of the database. */
const documents = readTexts(projectRoot, ['docs'], ['CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'])
const sources = new Map(
  [...readTexts(projectRoot, ['bench', 'deploy', 'sandbox', 'scripts', 'src', 'test'], [])].filter(([path]) =>
    /\.(?:m?ts|mjs|sql)$/.test(path),
  ),
)

/** A sentence, or a part of it up to a colon or semicolon, has at most as many words as the guide asks for. */
const mostWords = 25

/** Folders whose comments are prose; of `src` and `sandbox` also the messages. */
const folders: readonly string[] = ['bench', 'deploy', 'sandbox', 'scripts', 'src', 'test']

/** Without the guide, which quotes what not to write. */
const withoutGuide = (text: string): string =>
  text.replace(/^## How we write\n[\s\S]*?(?=^## )/m, (guide) => guide.replace(/.+/g, ''))

const isBelow = (path: string, places: readonly string[]): boolean =>
  places.some((place) => path === place || path.startsWith(`${place}/`))

describe('prose', () => {
  it.each([...documents.keys()])('of %s has no phrase with a better wording', (path) => {
    expect(faultsOfProse(path, proseOfDocument(withoutGuide(documents.get(path) ?? '')))).toEqual([])
  })

  it.each([...documents.keys()])('of %s has short sentences', (path) => {
    expect(longSentences(path, proseOfDocument(withoutGuide(documents.get(path) ?? '')), mostWords)).toEqual([])
  })

  it.each([
    ['messages', ['src', 'sandbox']],
    ['comments', folders],
  ] as const)('of %s has no phrase with a better wording', (part, places) => {
    for (const place of places)
      expect(
        [...sources.keys()].some((path) => isBelow(path, [place])),
        place,
      ).toBe(true)
    const faults = [...sources]
      .filter(([path]) => isBelow(path, places))
      .flatMap(([path, text]) => faultsOfProse(path, proseOfSource(path, text, part)))
    expect(faults).toEqual([])
  })
})

it('the linter reads what is prose, names file, line and better wording, and counts words to the end of a sentence', () => {
  const markdown =
    '```sh\ntold\n```\nThe `told` [link](told.html) <a id="told"></a> https://told.example. All is\nwell.\n'
  expect(faultsOfProse('README.md', proseOfDocument(markdown))).toEqual([
    'README.md:4: "is well": write "is healthy", "check the health"',
  ])
  const source = [
    '// Runs by',
    '// itself.',
    "const pattern = /it's told/.test('a') ? sql`select told` : told",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    "throw new Error(`Run ${f({ a: `x ${'is told'} y` })} is told`)",
  ].join('\n')
  const linesIn = (part: 'messages' | 'comments') =>
    faultsOfProse('a.ts', proseOfSource('a.ts', source, part)).map((fault) => fault.split(': ')[0])
  expect([linesIn('comments'), linesIn('messages')]).toEqual([['a.ts:1'], ['a.ts:4', 'a.ts:4']])
  const long = proseOfDocument(
    '# One two\n\n- three `four five`\n- five. **Six.** Seven eight\nnine\n\n| ten | eleven |\n|---|---|\n',
  )
  expect(longSentences('README.md', long, 2)).toEqual(['README.md:4: 3 words: "Seven eight nine …"'])
})
