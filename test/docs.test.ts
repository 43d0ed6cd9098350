// The documents say what the code does: settings in README.md, error codes and SQLSTATEs in docs/errors.md.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorCodes } from '../src/errors.ts'
import { repeatableSteps } from '../src/mirror/repeatable/index.ts'
import { settings } from '../src/settings.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

/** One row of the table of settings. */
const settingRow = ({ name, fallback, takes, meaning }: (typeof settings)[keyof typeof settings]): string =>
  `| \`${name}\` | ${fallback === null ? '–' : `\`${fallback}\``} | ${meaning} | ${takes} |`

describe('README.md', () => {
  it('lists every setting with its default, its meaning and what it takes', () => {
    const table = [
      '| variable | default | meaning | takes |',
      '|---|---|---|---|',
      ...Object.values(settings).map(settingRow),
    ].join('\n')
    const [, found = ''] = /<!-- settings -->\n([\s\S]*?)\n<!-- \/settings -->/.exec(read('README.md')) ?? []
    expect(found).toBe(table)
  })
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
    const listed = rows.flatMap(([cell = '']) => [...cell.matchAll(/^`(\d{5})`$/g)].map(([, state]) => state))
    expect(listed.sort()).toEqual([...new Set(raised)].sort())
  })

  it('explains each kind of error', () => {
    for (const kind of new Set(Object.values(errorCodes).map((error) => error.kind)))
      expect(document).toContain(`- **${kind}**`)
  })
})
