// The command line's part of `npm run build`: its program, bundled into `dist/src/cli`.

import { rm } from 'node:fs/promises'
import { bundle } from './bundle.mjs'

const outDir = 'dist/src/cli'
await rm(outDir, { recursive: true, force: true }) // files of an earlier build have other names
await bundle({ entry: 'src/cli/main.ts', outDir, name: 'main', packages: 'inside' })
