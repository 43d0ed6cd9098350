// What leads through the documents and follows from their headings: tables of contents, and llms.txt. Pure except for
// `readDocuments`.

import { readdirSync, readFileSync } from 'node:fs'
import { anchorOf } from './citations.ts'
import { withBlock } from './doc-block.ts'

/** Documents with more lines than this have a table of contents, where they have sections to list. */
const longest = 150
const fewestSections = 2

const block = /<!-- contents -->[\s\S]*?<!-- \/contents -->\n\n?/

/** The lines of a document outside of fenced code. */
const proseLines = (text: string): readonly string[] => text.replace(/^```[\s\S]*?^```$/gm, '').split('\n')

const sectionsOf = (text: string): readonly string[] =>
  proseLines(text).flatMap((line) => (line.startsWith('## ') ? [line.slice(3)] : []))

/** A document with its table of contents before its first section, or without one where it is short. */
export function withContents(text: string): string {
  const plain = text.replace(block, '')
  const sections = sectionsOf(plain)
  if (plain.trimEnd().split('\n').length <= longest || sections.length < fewestSections) return plain
  const empty = plain.replace(/^## /m, '<!-- contents -->\n<!-- /contents -->\n\n## ')
  return withBlock(
    empty,
    'contents',
    sections.map((section) => `- [${section}](#${anchorOf(section)})`),
  )
}

/** Title and first sentence of a document, without links. @throws Error for a document without them */
export function headOf(path: string, text: string): { readonly title: string; readonly sentence: string } {
  const [title, ...paragraphs] = text.replace(block, '').split(/\n\n+/)
  const first = paragraphs.find((each) => /^[A-Z`]/.test(each))
  if (title?.startsWith('# ') !== true || first === undefined)
    throw new Error(`${path} has no title or no first sentence.`)
  const line = first.replaceAll('\n', ' ').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return { title: title.slice(2), sentence: /^.+?[.:](?= |$)/.exec(line)?.[0].replace(/:$/, '.') ?? line }
}

type Document = { readonly path: string; readonly text: string }

/** Every document: README, those of the folder docs by name, then what is about the project itself. */
export function readDocuments(): readonly Document[] {
  const docs = readdirSync('docs').filter((name) => name.endsWith('.md'))
  const paths = ['README.md', ...docs.sort().map((name) => `docs/${name}`), ...aboutProject]
  return paths.map((path) => ({ path, text: readFileSync(path, 'utf8') }))
}

const aboutProject = ['CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']

/** llms.txt (llmstxt.org): every document with its first sentence, for programs that look for the right one. */
export function llmsText(documents: readonly Document[]): string {
  const line = ({ path, text }: Document): string => {
    const { title, sentence } = headOf(path, text)
    return `- [${title}](${path}): ${sentence}`
  }
  const isAbout = ({ path }: Document): boolean => aboutProject.includes(path)
  const [readme, ...others] = documents
  if (readme === undefined) throw new Error('There is no README.md.')
  const { title, sentence } = headOf(readme.path, readme.text)
  return [
    `# ${title}\n\n> ${sentence}`,
    ['## Documents\n', line(readme), ...others.filter((each) => !isAbout(each)).map(line)].join('\n'),
    ['## Optional\n', ...others.filter(isAbout).map(line)].join('\n'),
    '',
  ].join('\n\n')
}
