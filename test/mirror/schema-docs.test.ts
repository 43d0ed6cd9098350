// docs/schema.md is what the catalog says today.

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { readEndpoints, streams } from '../../src/catalog/catalog.ts'
import { schemaDocument } from '../../src/schema/schema-docs.ts'

it('docs/schema.md is up to date (npm run docs)', () => {
  expect(readFileSync(new URL('../../docs/schema.md', import.meta.url), 'utf8')).toBe(schemaDocument())
})

it('names every table, column and read endpoint', () => {
  const document = schemaDocument()
  for (const stream of streams) {
    const section = document.split(`### mirror.${stream.name}\n`)[1]?.split('\n##')[0] ?? ''
    for (const { name, type } of stream.columns) expect(section).toContain(`| \`${name}\` | ${type} |`)
  }
  for (const endpoint of readEndpoints) expect(document).toContain(`\`${endpoint}\``)
})
