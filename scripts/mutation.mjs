// Mutation testing of the pure core: `npm run mutation [-- --mutate src/sync/plan.ts]`. Runs in a copy of the project, so
// that Stryker and its 150 packages are no dependency of it. Version 9 is the last that runs on Node 20.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const version = '9.6.1'
const folder = mkdtempSync(join(tmpdir(), 'boat-mirror-mutation-'))
process.on('SIGINT', () => {}) // Ctrl-C ends what runs below; the folder is removed after it
const run = (program, args) => spawnSync(program, args, { cwd: folder, stdio: 'inherit' }).status ?? 1
try {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  })
  for (const file of files.split('\0').filter(Boolean)) cpSync(file, join(folder, file), { recursive: true })
  cpSync('node_modules', join(folder, 'node_modules'), { recursive: true, verbatimSymlinks: true })
  const packages = [`@stryker-mutator/core@${version}`, `@stryker-mutator/vitest-runner@${version}`]
  const installed = run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', ...packages])
  const stryker = join(folder, 'node_modules/.bin/stryker')
  process.exitCode = installed || run(stryker, ['run', 'test/mutation/stryker.json', ...process.argv.slice(2)])
} finally {
  rmSync(folder, { recursive: true, force: true })
}
