// `npm run build`, but for the declarations, which tsc adds: the program and the library, bundled into `dist/src`.

import { readFile, rm, writeFile } from 'node:fs/promises'
import { bundle } from './bundle.mjs'

await rm('dist', { recursive: true, force: true }) // files of an earlier build have other names
// Whoever installs us has these: the declarations name their types, and a program may share them with the library.
const besides = Object.keys(JSON.parse(await readFile('package.json', 'utf8')).dependencies)
const program = await bundle({
  entries: { main: 'src/cli/main.ts' },
  outDir: 'dist/src/cli',
  packages: 'inside',
  besides,
})
const library = await bundle({
  entries: { index: 'src/index.ts', client: 'src/client.ts', 'sandbox/start': 'src/sandbox/start.ts' },
  outDir: 'dist/src',
  packages: 'inside',
  besides,
})
// Which packages these files hold, for the list of packages of the image.
await writeFile('dist/bundled.json', JSON.stringify([...new Set([...program, ...library])].sort(), null, 2))
