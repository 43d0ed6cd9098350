// Enough hostile cases in each run, on every surface, and docs/reliability.md says how many.

import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { surfaces } from './surfaces.ts'

const here = new URL('./', import.meta.url)
const names = Object.keys(surfaces) as (keyof typeof surfaces)[]

describe('hostile input', () => {
  const cases = names.reduce((sum, name) => sum + surfaces[name], 0)

  it('is at least 100,000 cases in one run of the tests', () => {
    expect(cases).toBeGreaterThanOrEqual(100_000)
  })

  it('reaches every surface', () => {
    const tests = readdirSync(here)
      .filter((file) => file.endsWith('.test.ts') && file !== 'surfaces.test.ts')
      .map((file) => readFileSync(new URL(file, here), 'utf8'))
      .join()
    for (const name of names) expect(tests).toMatch(new RegExp(`(settingsOf|sampleOf|casesOf)\\(\\s*'${name}'`))
  })

  it('has as many cases as docs/reliability.md says', () => {
    const document = readFileSync(new URL('../../docs/reliability.md', here), 'utf8')
    expect(document).toContain(`${cases.toLocaleString('en-US')} cases`)
  })
})
