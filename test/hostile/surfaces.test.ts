// Enough hostile cases in each run, and docs/reliability.md says how many by surface.

import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { surfaces } from './surfaces.ts'

const here = new URL('./', import.meta.url)
const names = Object.keys(surfaces) as (keyof typeof surfaces)[]

describe('hostile input', () => {
  it('is at least 100,000 cases in one run of the tests', () => {
    expect(names.reduce((sum, name) => sum + surfaces[name], 0)).toBeGreaterThanOrEqual(100_000)
  })

  it('reaches every surface', () => {
    const tests = readdirSync(here)
      .filter((file) => file.endsWith('.test.ts') && file !== 'surfaces.test.ts')
      .map((file) => readFileSync(new URL(file, here), 'utf8'))
      .join()
    for (const name of names) expect(tests).toMatch(new RegExp(`(settingsOf|sampleOf|casesOf)\\(\\s*'${name}'`))
  })

  it('is listed in docs/reliability.md as it is', () => {
    const document = readFileSync(new URL('../../docs/reliability.md', here), 'utf8')
    const [, found = ''] = /<!-- hostile -->\n([\s\S]*?)\n<!-- \/hostile -->/.exec(document) ?? []
    const rows = names.map((name) => `| ${name} | ${surfaces[name].toLocaleString('en-US')} |`)
    expect(found).toBe(['| surface | cases |', '|---|---|', ...rows].join('\n'))
  })
})
