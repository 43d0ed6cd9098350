// A clone in which something of the usual `npm ci` is missing: the development packages, or the build.

import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'

let clone: string
beforeAll(async () => {
  clone = await mkdtemp(join(inject('runFolder'), 'clone-'))
  for (const name of ['package.json', 'scripts']) await cp(name, join(clone, name), { recursive: true })
})
afterAll(() => rm(clone, { recursive: true, force: true }))

const npm = (...args: readonly string[]): Promise<{ code: unknown; output: string }> =>
  new Promise((resolve) => {
    execFile('npm', ['--silent', ...args], { cwd: clone }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    )
  })

it('is built only with the development packages, as `npm ci` finds out with NODE_ENV=production', async () => {
  expect(await npm('run', 'postprepare')).toEqual({
    code: 1,
    output: 'Building needs the development packages. Run: npm ci --include=dev\n',
  })
})

it('says what to do where it was not built, as after `npm ci --ignore-scripts`', async () => {
  await rm(join(clone, 'dist'), { recursive: true, force: true })
  const sentence = 'Boat Mirror is not built in this folder. Run: npm ci --include=dev && npm run build\n'
  for (const args of [['start'], ['run', 'cli', '--', 'status']])
    expect(await npm(...args)).toEqual({ code: 1, output: sentence })
})

it('runs the program with its arguments where it was built', async () => {
  const built = join(clone, 'dist', 'src', 'cli')
  await mkdir(built, { recursive: true })
  await writeFile(join(built, 'main.js'), `console.log(process.argv.slice(2).join(' '))`)
  expect(await npm('start')).toEqual({ code: 0, output: 'worker\n' })
  expect(await npm('run', 'cli', '--', 'sync', '--full')).toEqual({ code: 0, output: 'sync --full\n' })
})
