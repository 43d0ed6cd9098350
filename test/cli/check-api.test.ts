// What `check` says of the lists of an API, as they are read with the settings it has.

import { expect, it } from 'vitest'
import { checkApi } from '../../src/cli/check-api.ts'
import type { Finding } from '../../src/cli/findings.ts'
import { readConfig } from '../../src/config.ts'
import { createLogger } from '../../src/log.ts'
import { createSandbox } from '../../src/sandbox/index.ts'
import { openStrictFront } from '../helpers/strict-front.ts'

/** What is found of the list of rentals. */
async function rentalsOf(url: string, env: Readonly<Record<string, string>> = {}): Promise<Finding | undefined> {
  const config = readConfig({ API_BASE_URL: url, API_AUTH: 'none', ...env }, '/nonexistent')
  const signal = new AbortController().signal
  const findings = await checkApi({ config, apiUrl: url, log: createLogger('silent'), signal }, null)
  return findings.find(({ name }) => name === 'list rentals')
}

it('says which parameters a list refuses and is read without', async () => {
  await using sandbox = await createSandbox({ size: 12 })
  await using front = await openStrictFront(sandbox.url)
  const found = await rentalsOf(front.url)
  expect(found).toMatchObject({ status: 'ok', detail: expect.stringContaining('12 records on the first page') })
  expect(found?.detail).toMatch(/; order is refused, and left out$/)
})
