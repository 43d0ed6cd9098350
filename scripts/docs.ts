// Writes what follows from the code into the documents. Run by `npm run docs`.

import { writeFileSync } from 'node:fs'
import { documents } from '../test/helpers/documents.ts'

for (const { path, wanted } of documents()) writeFileSync(path, wanted)
