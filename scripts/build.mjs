// `npm run build`, except the declarations, which tsc adds: the program and the library, bundled into `dist/src`.

import { rm } from 'node:fs/promises'
import { bundle } from './bundle.mjs'

await rm('dist', { recursive: true, force: true }) // files of an earlier build have other names
await bundle({
  entries: {
    'cli/main': 'src/cli/main.ts',
    index: 'src/index.ts',
    client: 'src/client.ts',
    'sandbox/start': 'src/sandbox/start.ts',
  },
  outDir: 'dist/src',
})
