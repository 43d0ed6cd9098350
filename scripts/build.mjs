// `npm run build`, but for the declarations, which tsc adds: the program and the library, bundled into `dist/src`.

import { rm } from 'node:fs/promises'
import { bundle } from './bundle.mjs'

await rm('dist', { recursive: true, force: true }) // files of an earlier build have other names
await bundle({ entry: 'src/cli/main.ts', outDir: 'dist/src/cli', name: 'main', packages: 'inside' })
await bundle({ entry: 'src/index.ts', outDir: 'dist/src', name: 'index', packages: 'outside' })
