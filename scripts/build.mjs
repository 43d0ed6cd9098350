// `npm run build`, except the declarations, which tsc adds: the program and the library, bundled into `dist`.

import { rm } from 'node:fs/promises'
import { bundle } from './bundle.mjs'

await rm('dist', { recursive: true, force: true }) // files of an earlier build have other names
await bundle({
  entries: {
    'src/cli/main': 'src/cli/main.ts',
    'src/index': 'src/index.ts',
    'src/client': 'src/client.ts',
    'sandbox/start': 'sandbox/start.ts',
  },
  outDir: 'dist',
})
