// The built program against the command line in the process of a test, which most tests use: each command loads from the
// bundle, says the same, and ends with the same exit code without a signal. `npm run surroundings` runs all of them; `worker` and
// `sandbox`, which run until stopped, have tests of their own.

import { beforeAll, describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { type Ended, openCommandLine } from '../cli/program.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isFull } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'

const database = opened(createTestDatabase)
const sandbox = opened(() => createSandbox({ size: 3 }))
const cli = opened(() => openCommandLine({ DATABASE_URL: database.url, API_BASE_URL: sandbox.url, API_AUTH: 'none' }))
beforeAll(async () => {
  expect(await cli.run(['sync', 'harbours'])).toMatchObject({ code: 0 })
  await database.pool.query(
    `select mirror.refresh('harbours'); select outbox.enqueue('user.update', '{"userId": 1}', '{"firstName": "Ann"}')`,
  )
})

/** Without what differs from call to call: numbers, with their units, and the columns that they widen. */
const worded = ({ code, stdout, stderr }: Ended): Ended => {
  const words = (text: string): string => text.replace(/\d[\d.,:]*( (ms|s|min|h|kB|MB)\b)?/g, '#').replace(/ +/g, ' ')
  return { code, stdout: words(stdout), stderr: words(stderr) }
}

/** With what each ends. */
const all = [
  { line: '--help', code: 0 },
  { line: 'sync harbours', code: 0 },
  { line: 'push --dry-run', code: 0 },
  { line: 'status', code: 0 },
  { line: 'report fleet', code: 0 },
  { line: 'check', code: 0 },
  { line: 'refresh harbours', code: 0 },
  { line: 'changes list', code: 0 },
  { line: 'runs harbours --limit 1', code: 0 },
  { line: 'schedule --plan', code: 0 },
  { line: 'quarantine', code: 0 },
  { line: 'explain harbours 999999', code: 1 },
  { line: 'feed --streams harbours', code: 0 },
  { line: 'drift', code: 0 },
  { line: 'alert --test', code: 2 },
  { line: 'access list', code: 0 },
  { line: 'migrate --status', code: 0 },
  { line: 'db', code: 0 },
  { line: 'frobnicate', code: 2 },
]
describe.runIf(isFull)('The built program, a process for each command', () => {
  it.each(all)('says what the same command says in the process of a test: $line', async ({ line, code }) => {
    const here = await cli.run(line.split(' '))
    const built = await cli.start(line.split(' ')).ended
    expect(built, built.stderr).toMatchObject({ code })
    expect(worded(built)).toEqual(worded(here))
  })
})
