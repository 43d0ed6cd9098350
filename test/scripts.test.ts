// Programs for those who work on this project, which the other tests do not start.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Readonly<Record<string, string>> }

it.each(['bench', 'scale', 'chaos', 'surroundings'])('npm run %s -- --help says how it is used', (name) => {
  const [, entry = ''] = /run\.mjs (\S+)$/.exec(scripts[name] ?? '') ?? []
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/run.mjs', entry, '--help'], {
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain('Usage: ')
})
