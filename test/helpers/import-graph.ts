// Which file imports which, and which of these imports the layers allow. Pure except `readImports`.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'

/** One import of a file of ours by another; paths from the project's folder, with `/`. `later`: by `import()`, when it is reached. */
export type Import = { readonly from: string; readonly to: string; readonly typeOnly: boolean; readonly later: boolean }

/** Upper layers may use lower ones; folders of one layer do not know each other. */
const layers: readonly (readonly string[])[] = [
  ['cli'],
  ['index'],
  ['library'],
  ['app', 'client'],
  ['web', 'jobs', 'messages'],
  ['schema', 'embedded'],
  ['serve'],
  ['inspect'],
  ['reports', 'outbox'],
  ['sync'],
  ['mirror'],
  ['privacy', 'profile'],
  ['api'],
  ['database'],
  ['catalog'],
]

/** What everybody may use, and may itself use nothing above it. */
const foundation = [
  'errors',
  'log',
  'clock',
  'date-time',
  'addresses',
  'decimal',
  'memo',
  'near-names',
  'text',
  'format',
  'json',
  'service',
]
const withSettings = ['cli', 'index', 'library', 'app', 'jobs', 'web', 'serve']

/** Parts that stand apart: they may use what is listed and nothing else. */
const apart: Readonly<Record<string, readonly string[]>> = {
  embedded: foundation,
  sandbox: [],
  migrations: [],
  config: ['text', 'errors', 'near-names', 'settings'],
  settings: ['addresses'],
  addresses: [],
  log: ['errors', 'text'],
  text: [],
  format: [],
  errors: [],
  clock: ['date-time'],
  'date-time': [],
  decimal: [],
  json: ['decimal', 'errors'],
  memo: [],
  'near-names': ['errors'],
  service: ['errors', 'log'],
}

/** The part of the program a file belongs to: its folder below src, the name of a file in src itself, or `migrations`. */
export function partOf(path: string): string {
  const [top, second = ''] = path.split('/')
  return top === 'src' ? second.replace(/\.ts$/, '') : (top ?? '')
}

/** Says what is wrong with an import, or null when it is allowed. */
export function judge({ from, to, typeOnly }: Import): string | null {
  const [user, used] = [partOf(from), partOf(to)]
  const verdict = (why: string): string => `${from} imports ${to}: ${why}`
  if (user === used) return null
  if (to.startsWith('test/')) return verdict('the program does not use its tests')
  if (used === 'sandbox') return user === 'cli' ? null : verdict('only the CLI and tests know the sandbox')
  const few = apart[user]
  if (few !== undefined) return few.includes(used) ? null : verdict(`${user} may use ${few.join(', ') || 'nothing'}`)
  if (foundation.includes(used)) return null
  if (used === 'config' || used === 'settings')
    return typeOnly || withSettings.includes(user) ? null : verdict(`${user} may use types of ${used} only`)
  if (used === 'migrations') return user === 'schema' ? null : verdict('only the schema applies migrations')
  const [upper, lower] = [user, used].map((part) => layers.findIndex((layer) => layer.includes(part)))
  if (upper === undefined || lower === undefined || upper < 0 || lower < 0)
    return verdict('one of them belongs to no layer; see test/helpers/import-graph.ts')
  return upper < lower ? null : verdict(`${user} stands ${upper === lower ? 'beside' : 'below'} ${used}`)
}

const statement =
  /^[ \t]*(?:import|export)\b(?<clause>[^'"`;()]*?)\bfrom\s*['"](?<source>[^'"]+)['"]|^[ \t]*import\s*['"](?<bare>[^'"]+)['"]|\bimport\s*\(\s*['"](?<dynamic>[^'"]+)['"]/gm

/** Finds the relative imports in a file's text: static, re-exports, bare and dynamic ones. Comments do not count. */
export function parseImports(path: string, text: string): Import[] {
  return [...withoutComments(text).matchAll(statement)].flatMap((match) => {
    const { clause, source, bare, dynamic } = match.groups ?? {}
    const target = source ?? bare ?? dynamic
    if (target === undefined || !target.startsWith('.')) return []
    const to = posix.normalize(posix.join(posix.dirname(path), target))
    return [{ from: path, to, typeOnly: clause !== undefined && isTypeOnly(clause), later: dynamic !== undefined }]
  })
}

/** `type { A }`, and `{ type A, type B }`, leave nothing of the import when the program runs. */
function isTypeOnly(clause: string): boolean {
  if (/^\s*type\b/.test(clause)) return true
  const names = /^\s*\{(?<names>[^}]*)\}\s*$/.exec(clause)?.groups?.names
  const list = names?.split(',').map((name) => name.trim()) ?? []
  return names !== undefined && list.filter((name) => name !== '').every((name) => name.startsWith('type '))
}

/** Blanks comments. A `//` inside a string (an address) has a character other than white space before it. */
function withoutComments(text: string): string {
  return text.replace(/(^|\s)\/\*[\s\S]*?\*\//g, '$1').replace(/(^|[\s;{}])\/\/.*$/gm, '$1')
}

/** Finds circles of imports. Each is a list of files that ends where it began. */
export function findCycles(imports: readonly Import[]): string[][] {
  const targets = new Map<string, string[]>()
  for (const { from, to } of imports) targets.set(from, [...(targets.get(from) ?? []), to])
  const cycles: string[][] = []
  const done = new Set<string>()
  const visit = (file: string, trail: readonly string[]): void => {
    const start = trail.indexOf(file)
    if (start >= 0) cycles.push([...trail.slice(start), file])
    if (start >= 0 || done.has(file)) return
    for (const next of targets.get(file) ?? []) visit(next, [...trail, file])
    done.add(file)
  }
  for (const file of targets.keys()) visit(file, [])
  return cycles
}

/** Reads the imports of every TypeScript file below these folders of the project. */
export function readImports(root: string, folders: readonly string[]): { files: string[]; imports: Import[] } {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/')),
  )
  return { files, imports: files.flatMap((file) => parseImports(file, readFileSync(join(root, file), 'utf8'))) }
}

/** The project's folder. */
export const projectRoot = dirname(dirname(import.meta.dirname))
