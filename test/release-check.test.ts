// The rehearsal of a release, with what was built: it packs, and has no fault; a wrong tag is one.

import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'

const releaseCheck = (...args: readonly string[]): Promise<{ code: unknown; output: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, ['scripts/release-check.mjs', ...args], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    )
  })

it('finds nothing wrong with the package, its types, licenses and engines', async () => {
  const { code, output } = await releaseCheck()
  expect(output).toContain('nothing stands against a release')
  expect(output).toMatch(/^publint +no problem\nattw +no problem$/m)
  expect(code).toBe(0)
})

it('refuses a tag that is not the version', async () => {
  const { code, output } = await releaseCheck('v0.0.0')
  expect(output).toMatch(/^FAULT +The tag is v0\.0\.0, the version /m)
  expect(code).toBe(1)
})
