// The documents say what the code does: settings in docs/configuration.md, error codes and SQLSTATEs in docs/errors.md; and
// what they lead to is there.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../src/cli/program.ts'
import { errorCodes } from '../src/errors.ts'
import { alertKinds } from '../src/inspect/attention-kinds.ts'
import { repeatableSteps } from '../src/schema/repeatable-steps.ts'
import { readDocuments } from './helpers/document-index.ts'
import { documents } from './helpers/documents.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

describe('what follows from the code', () => {
  it.each(documents())('stands in $path (npm run docs)', ({ found, wanted }) => expect(found).toBe(wanted))
})

describe('docs/errors.md', () => {
  const document = read('docs/errors.md')
  const rows = document.split('\n').flatMap((line) => {
    const cells = line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, ''))
    return line.startsWith('| `') ? [cells] : []
  })

  it('lists every error code with its kind, its meaning and what to do, and no other', () => {
    const listed = rows.filter(([code = '']) => /^`[A-Z_]+`$/.test(code))
    expect(listed.map(([code, kind, meaning]) => [code, kind, meaning])).toEqual(
      Object.entries(errorCodes).map(([code, { kind, meaning }]) => [`\`${code}\``, kind, meaning]),
    )
    for (const [code, , , todo = ''] of listed) expect(todo.length, code).toBeGreaterThan(10)
  })

  it('lists every SQLSTATE that our functions raise, and no other', () => {
    const raised = repeatableSteps.flatMap(({ sql }) =>
      [...sql.matchAll(/errcode = '(\w{5})'/g)].map(([, state]) => state),
    )
    const listed = rows.flatMap(([cell = '']) =>
      [...cell.matchAll(/^`(?=\w*\d)([\dA-Z]{5})`$/g)].map(([, state]) => state),
    )
    expect(listed.sort()).toEqual([...new Set(raised)].sort())
  })

  it('explains each kind of error', () => {
    for (const kind of new Set(Object.values(errorCodes).map((error) => error.kind)))
      expect(document).toContain(`- **${kind}**`)
  })
})

it('docs/operations.md lists every kind of alert, and no other', () => {
  const [, listed = ''] = /^- `kind` is one of ([^.]*)\./m.exec(read('docs/operations.md')) ?? []
  expect([...listed.matchAll(/`(\w+)`/g)].map(([, kind]) => kind)).toEqual(Object.keys(alertKinds))
})

describe('docs/commands.md', () => {
  const rows = [...read('docs/commands.md').matchAll(/^\| `([a-z -]*[a-z])[^|]*` \| [^|]+ \| ([^|]*)\|$/gm)].map(
    ([, name = '', options = '']) => ({
      name,
      options: [...options.matchAll(/`(--[a-z-]+)/g)].map(([, flag]) => flag),
    }),
  )
  const named = (command: Command, above: string): readonly (readonly [string, Command])[] => {
    const name = `${above}${command.name()}`
    return [[name, command], ...command.commands.flatMap((each) => named(each, `${name} `))]
  }
  const commands = new Map(createProgram().commands.flatMap((command) => named(command, '')))

  it('has one row for every command, and for no other', () => {
    const listed = rows.map(({ name }) => name)
    const withoutSubcommands = [...commands].flatMap(([name, { commands }]) => (commands.length === 0 ? [name] : []))
    expect(listed).toEqual([...new Set(listed)])
    expect(listed.filter((name) => !commands.has(name))).toEqual([])
    expect(withoutSubcommands.filter((name) => !listed.includes(name))).toEqual([])
  })

  // The sandbox has too many; each command that prints facts has --json.
  it.each(rows.filter(({ name }) => name !== 'sandbox'))('names every option of $name', ({ name, options }) => {
    const flags = commands.get(name)?.options.map(({ long }) => long) ?? []
    expect(options.sort()).toEqual(flags.filter((flag) => flag !== '--json').sort())
  })
})

describe('docs/cases.md', () => {
  const cases = read('docs/cases.md')
    .split('\n')
    .filter((line) => /^\| [A-Z]\d/.test(line))
    .map((line) => line.slice(line.lastIndexOf(' | ') + 3, -2))

  it('leads from each case to a test, or says why there is none', () => {
    expect(cases.length).toBeGreaterThan(60)
    for (const shownBy of cases) {
      const [, group] = /^`npm run surroundings -- --only ([\w-]+)`$/.exec(shownBy) ?? []
      const [, file = `surroundings/${group}`, name = ''] = /^`([\w/-]+)(?: -t '([^']+)')?`$/.exec(shownBy) ?? []
      if (!shownBy.startsWith('tried by hand, because ')) expect(read(`test/${file}.test.ts`), shownBy).toContain(name)
    }
  })
})

// Tables of contents, llms.txt, links and cited files are held by `documents` above and by test/citations.test.ts.
describe('the documents', () => {
  const isThere = (path: string): boolean => existsSync(new URL(`../${path}`, import.meta.url))

  it.each(readDocuments())('$path names scripts that package.json has', ({ text }) => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: object }
    for (const [, script = ''] of text.matchAll(/\bnpm run ([a-z:]+)/g)) expect(scripts).toHaveProperty(script)
  })

  it('README.md stays within 200 lines and links to every document', () => {
    const readme = read('README.md')
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(200)
    const names = readDocuments().map(({ path }) => path)
    expect(names.filter((name) => name !== 'README.md' && !readme.includes(`](${name})`))).toEqual([])
  })

  it('docs/architecture.md has a row for every folder and file of src, and names files that there are', () => {
    const document = read('docs/architecture.md')
    const rooms = [...document.matchAll(/^\| (`[^|]+`) \| /gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    )
    expect([...rooms].sort()).toEqual(readdirSync(new URL('../src', import.meta.url)).sort())
    const folders = ['', 'src/', 'src/catalog/', 'src/api/paging/', 'src/outbox/', 'src/reports/']
    const paths = [...document.matchAll(/`([\w./-]+)`/g)].map(([, path = '']) => path)
    const files = paths.filter((path) => path.includes('/') || path.endsWith('.ts'))
    expect(files.length).toBeGreaterThan(30)
    expect(files.filter((path) => !folders.some((folder) => isThere(folder + path)))).toEqual([])
  })

  it('docs/decisions.md has when, what, why and at what cost of each decision, oldest first', () => {
    const [, ...decisions] = read('docs/decisions.md').split(/^### /m)
    expect(decisions.length).toBeGreaterThan(10)
    for (const decision of decisions)
      expect(decision).toMatch(
        /^\d{4}-\d\d-\d\d: [^\n]+\n\n- \*\*Decision:\*\* .+\n- \*\*Why:\*\* .+\n- \*\*Cost:\*\* .+\n$/s,
      )
    const days = decisions.map((decision) => decision.slice(0, 10))
    expect(days).toEqual([...days].sort())
  })
})
