// Documents, help, messages and comments are written as CONTRIBUTING.md, section "How we write", asks: without the phrases
// of test/helpers/prose.ts, and in documents with sentences that are not too long.

import { describe, expect, it } from 'vitest'
import type { RepeatableStep } from '../src/database/repeatable-step.ts'
import { repeatableSteps } from '../src/schema/repeatable-steps.ts'
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

/** The comments that a step writes into the database: [what it is about, text]. */
function databaseComments({ sql, views = [] }: RepeatableStep): readonly (readonly [string, string])[] {
  const written = [...sql.matchAll(/comment on (.+?) is\s+'((?:[^']|'')*)'/g)].map(
    ([, about = '', text = '']) => [about, text.replaceAll("''", "'")] as const,
  )
  const ofViews = views.flatMap(({ schema, name, comment, columns }) => [
    [`view ${schema}.${name}`, comment] as const,
    ...Object.entries(columns).map(([column, [, text = '']]) => [`column ${schema}.${name}.${column}`, text] as const),
  ])
  return [...written, ...ofViews]
}

describe('comments in the database', () => {
  const found = repeatableSteps.flatMap(databaseComments)

  it('have no phrase with a better wording', () => {
    expect(found.length).toBeGreaterThan(1000)
    expect(found.flatMap(([about, text]) => faultsOfProse(about, text))).toEqual([])
  })

  it('have short sentences', () => {
    expect(found.flatMap(([about, text]) => longSentences(about, text, mostWords))).toEqual([])
  })
})

describe('the linter of prose', () => {
  it('names file, line, phrase and better wording', () => {
    expect(faultsOfProse('README.md', proseOfDocument('# Head\n\nAll is\nwell.\n'))).toEqual([
      'README.md:3: "is well": write "is healthy", "check the health"',
    ])
  })

  it('ignores code, inline code, addresses and the arguments of HTML in documents', () => {
    const text = '```sh\ntold\n```\nThe `told` [link](told.html) <a id="told"></a> https://told.example\n'
    expect(faultsOfProse('README.md', proseOfDocument(text))).toEqual([])
    expect(faultsOfProse('README.md', proseOfDocument(`${text}It was told.`))).toHaveLength(1)
  })

  it('finds messages in strings and templates of TypeScript, and ignores names, SQL and comments', () => {
    const text = [
      '// You are told.',
      "const told = 'told'",
      "const pattern = /it's told/.test('a') ? 1 : 2 / 3",
      'const query = sql`select told from a where b is told`',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
      "throw new Error(`Run ${f({ a: `x ${'is told'} y` })} is told ${n} times`)",
    ].join('\n')
    expect(faultsOfProse('a.ts', proseOfSource('a.ts', text, 'messages')).map((fault) => fault.slice(0, 14))).toEqual([
      'a.ts:5: "told"',
      'a.ts:5: "told"',
    ])
  })

  it('finds phrases of comments over two lines, in TypeScript and in SQL', () => {
    const typescript = "const a = 'by itself'\n/**\n * Runs by\n * itself.\n */\n  // Runs by\n  // itself.\n"
    expect(faultsOfProse('a.ts', proseOfSource('a.ts', typescript, 'comments'))).toHaveLength(2)
    expect(
      faultsOfProse('a.sql', proseOfSource('a.sql', "select 'by itself' -- Runs by\n  -- itself.", 'comments')),
    ).toEqual(['a.sql:1: "by itself": write automatically'])
  })

  it('counts the words of a sentence to its end, or to that of its paragraph, item or cell', () => {
    expect(longSentences('README.md', proseOfDocument('One two three\nfour `five six`. One two.\n'), 4)).toEqual([
      'README.md:1: 5 words: "One two three four  …"',
    ])
    expect(longSentences('README.md', proseOfDocument('**One two.** Three four.\n'), 2)).toEqual([])
    expect(longSentences('README.md', proseOfDocument('**One two** three.\n'), 2)).toHaveLength(1)
    expect(
      longSentences(
        'README.md',
        proseOfDocument('# One two\n\n- three four\n- five\n\n| six | seven |\n|---|---|\n'),
        2,
      ),
    ).toEqual([])
  })
})
