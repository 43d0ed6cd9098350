// The documents say what the code does: settings in README.md.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { settings } from '../src/config.ts'

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
