// Which documents a text cites, and whether each can be opened in this project and has the part that is cited. Pure except
// `readTexts`.

import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative, sep } from 'node:path'

/** Path from the project's folder, with `/` → text. */
export type Texts = ReadonlyMap<string, string>

const publicRoot = 'docs.digital-nautic.com/digitalnautic-api/'
const sources = 'docs/sources.md'
const binary = /\.(?:gz|ico|pem|png|zip)$/

/** Reads every file below these folders, and these files of the project's folder. A binary file, which can be linked to, counts as empty. */
export function readTexts(root: string, folders: readonly string[], files: readonly string[]): Texts {
  const below = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/')),
  )
  const textOf = (path: string): string => (binary.test(path) ? '' : readFileSync(join(root, path), 'utf8'))
  return new Map([...below, ...files].map((path) => [path, textOf(path)]))
}

/** Without line comments: what of a migration or a step reaches the database. */
export const withoutComments = (text: string): string => text.replace(/^\s*(?:\/\/|\/?\*).*$/gm, '')

/** A text with its lines joined, so that a citation over two lines of a comment is one. */
const joined = (text: string): string => text.replace(/\s*\n\s*(?:(?:\/\/|\/?\*+|--|#)\s)?\s*/g, ' ')

/** Citations of documents that are no part of the project: by a short name and a number, in brackets, by a number alone. */
const elsewhere = [
  /\b(?:design|spec|specification|upstream-api|reliability),? (?:sections? |row )?[A-Z]?\d+(?:\.\d+)*\b/gi,
  /\[(?:spec|public|upstream-api|reliability)\b[^\]]*\]/gi,
  /\[unknown(?:\]|:[^\]]*\])/gi,
  /(?<!\bRFC \d{1,5},? )\bsections? \d[\d.]*/gi,
  /\u00a7 ?\d[\d.]*/g,
  /\bissue (?:#|no\. )?\d+/gi,
]

const sectionKey = String.raw`(?:\d[\d.]*|[\w-]+\/[\w/-]+|differences|silence)`
const ofSources = new RegExp(String.raw`docs\/sources\.md, ([\w./-]+(?:, ${sectionKey})*)`, 'g')

/** Sections of docs/sources.md that a text cites. */
export const citedSections = (text: string): readonly string[] =>
  [...joined(text).matchAll(ofSources)].flatMap(([, list = '']) =>
    list.split(', ').map((key) => key.replace(/[./]+$/, '')),
  )

/** What a heading is called in a link: its own anchor where the document gives one, else the usual one. */
function anchorsOf(document: string): ReadonlySet<string> {
  const given = [...document.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id = '']) => id)
  return new Set([...given, ...headingsOf(document).map(anchorOf)])
}

/** The anchor that a heading gets where its document gives it none. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const headingsOf = (document: string): readonly string[] =>
  [...withoutCode(document).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading)

/** Without blocks of code: a comment of a shell looks like a heading. */
const withoutCode = (document: string): string => document.replace(/^```[\s\S]*?^```$/gm, '')

/** The file that a path stands for, as seen from the project's folder, from a document's or from docs. */
function fileAt(texts: Texts, from: string, path: string): string | undefined {
  const places = [path, posix.join(posix.dirname(from), path), posix.join('docs', path)]
  const ours = path.replace(/^.*\/(?=docs\/)/, '') // where the package is installed: /opt/…/docs/operations.md
  return [...places, ours].map((place) => posix.normalize(place)).find((place) => texts.has(place))
}

/** Says what is wrong with the citations of a text: one sentence for each that leads nowhere. */
export function faultsOf(texts: Texts, from: string, text: string): readonly string[] {
  const whole = joined(text)
  const known = anchorsOf(texts.get(sources) ?? '')
  const faults = elsewhere.flatMap((pattern) =>
    [...whole.matchAll(pattern)].map(([cited]) => `no such document: ${cited}`),
  )
  for (const [path] of whole.matchAll(/[\w./-]*\w\.md\b/g))
    if (fileAt(texts, from, path) === undefined) faults.push(`no such file: ${path}`)
  for (const key of citedSections(text)) if (!known.has(key)) faults.push(`${sources} has no section ${key}`)
  for (const [, page = ''] of whole.matchAll(/docs\.digital-nautic\.com\/(?:digitalnautic-api\/)?([\w/-]*)/g))
    if (page !== '' && !known.has(page)) faults.push(`${sources} has no section ${page}, a page of ${publicRoot}`)
  for (const [, path = '', heading = ''] of whole.matchAll(/([\w./-]+\.md), (?:section )?"([^"]+)"/g))
    if (!headingsOf(texts.get(fileAt(texts, from, path) ?? '') ?? '').includes(heading))
      faults.push(`${path} has no heading "${heading}"`)
  if (from.endsWith('.md')) faults.push(...brokenLinks(texts, from, text), ...unknownFiles(texts, text))
  return faults.map((fault) => `${from}: ${fault}`)
}

/** Links to files, which must be there with the anchor, and to public pages, which are not asked: only their form is checked. */
function brokenLinks(texts: Texts, from: string, text: string): readonly string[] {
  const pages = [...text.matchAll(/<(https?:[^>]*)>/g)]
  return [...text.matchAll(/\]\(([^)]*)\)/g), ...pages].flatMap(([, link = '']) => {
    if (/^[a-z]+:/.test(link)) return isAddress(link) ? [] : [`not the address of a page: ${link}`]
    const [, path = '', anchor] = /^([^#\s]*)(?:#(\S+))?$/.exec(link) ?? []
    const file = path === '' && anchor !== undefined ? from : posix.normalize(posix.join(posix.dirname(from), path))
    const target = texts.get(file)
    if (target === undefined) return [`no such file: ${link}`]
    return anchor === undefined || anchorsOf(target).has(anchor) ? [] : [`${file} has no anchor ${anchor}`]
  })
}

const isAddress = (link: string): boolean =>
  !/\s/.test(link) && URL.canParse(link) && /^https:\/\/[^/]+\.[a-z]+(?:\/|$)|^http:\/\/127\.0\.0\.1:/.test(link)

/** Names of source files in a document, by the end of their path (`sync/plan.ts`), that no file has. */
const unknownFiles = (texts: Texts, document: string): readonly string[] =>
  [...document.matchAll(/(?<=`)[\w./-]+\.(?:ts|mjs|sql)(?=`)/g)]
    .map(([name]) => name)
    .filter((name) => !name.startsWith('NNNN') && ![...texts.keys()].some((path) => `/${path}`.endsWith(`/${name}`)))
    .map((name) => `no such file: ${name}`)
