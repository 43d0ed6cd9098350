// Runs a TypeScript file of this project with the Node at hand: `node scripts/run.mjs FILE [ARGUMENT…]`.
// Node 20 reads no TypeScript, so the file is bundled first; packages stay outside the bundle.

import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { bundle } from './bundle.mjs'

const [entry, ...args] = process.argv.slice(2)
if (entry === undefined) throw new Error('Which file? Usage: node scripts/run.mjs FILE [ARGUMENT…]')
const cache = resolve('node_modules/.cache')
mkdirSync(cache, { recursive: true })
const outDir = mkdtempSync(join(cache, 'run-')) // below the project, so that packages are found
process.on('exit', () => rmSync(outDir, { recursive: true, force: true }))
await bundle({ entries: { program: resolve(entry) }, outDir })
const child = spawn(process.execPath, ['--enable-source-maps', join(outDir, 'program.js'), ...args], {
  stdio: 'inherit',
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 130)))
