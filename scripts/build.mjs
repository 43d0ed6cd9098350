// `npm run build`, except the declarations, which tsc adds: the program and the library, bundled into `dist`.

import { rm, writeFile } from 'node:fs/promises'

const { bundle, noticesOf } = await import('./bundle.mjs').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
  process.stderr.write('Building needs the development packages. Run: npm ci --include=dev\n')
  process.exit(1)
})
await rm('dist', { recursive: true, force: true }) // files of an earlier build have other names
const inlined = await bundle({
  entries: {
    'src/cli/main': 'src/cli/main.ts',
    'src/index': 'src/index.ts',
    'src/client': 'src/client.ts',
    'sandbox/start': 'sandbox/start.ts',
  },
  outDir: 'dist',
})
await writeFile('dist/licenses.txt', noticesOf(inlined))
