// docs/schema.md; that it is up to date, test/docs.test.ts holds.

import { expect, it } from 'vitest'
import { schemaDocument } from '../../scripts/schema-docs.ts'
import { readEndpoints, streams } from '../../src/catalog/catalog.ts'

it('names every table, column and read endpoint', () => {
  const document = schemaDocument()
  for (const stream of streams) {
    const section = document.split(`### mirror.${stream.name}\n`)[1]?.split('\n##')[0] ?? ''
    for (const { name, type } of stream.columns) expect(section).toContain(`| \`${name}\` | ${type} |`)
  }
  for (const endpoint of readEndpoints) expect(document).toContain(`\`${endpoint}\``)
})
