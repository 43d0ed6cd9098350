// Writes docs/schema.md. Run by `npm run docs`, which builds first.

import { writeFileSync } from 'node:fs'
import { schemaDocument } from '../dist/src/schema/schema-docs.js'

writeFileSync(new URL('../docs/schema.md', import.meta.url), schemaDocument())
