// The program of a checkout: `npm start`, `npm run cli -- COMMAND`.

import { existsSync } from 'node:fs'

const main = new URL('../dist/src/cli/main.js', import.meta.url)
if (existsSync(main)) await import(main.href)
else {
  process.stderr.write('Boat Mirror is not built in this folder. Run: npm ci --include=dev && npm run build\n')
  process.exitCode = 1
}
