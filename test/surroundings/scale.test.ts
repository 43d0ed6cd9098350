// `npm run scale` measures what it is to measure: a tiny slice of it, from the command line to what it writes; with `npm run test:all`
// its list alone. The statements that it measures are those of flat.test.ts.

import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ListResult } from '../../bench/scale/list.ts'
import type { StatementsResult } from '../../bench/scale/statements.ts'
import type { SyncsResult } from '../../bench/scale/syncs.ts'
import { isFull } from '../helpers/extent.ts'

type Written = {
  readonly statements: StatementsResult
  readonly list: { readonly small: readonly ListResult[]; readonly large: ListResult }
  readonly syncs: SyncsResult
}

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'boat-mirror-scale-test-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const parts = ['statements', 'list', 'syncs']

it.runIf(isFull)(`measures ${parts.join(', ')}, and leaves nothing behind`, { timeout: 300_000 }, async () => {
  const [json, temporary] = [join(folder, 'numbers.json'), join(folder, 'temporary')]
  await chmod(folder, 0o711) // Postgres may run as another user
  await mkdir(temporary, { mode: 0o711 })
  const sizes = ['--rows', '2000', '--rentals', '400', '--rounds', '1', '--syncs', '10']
  const args = ['scripts/run.mjs', 'bench/scale/main.ts', '--only', parts.join(','), ...sizes, '--json', json]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, TMPDIR: temporary } })
  expect(stdout).toContain('records/s')
  const written = JSON.parse(await readFile(json, 'utf8')) as Written
  const { syncs } = written.list.large
  expect(syncs.map(({ what, read, written: rows }) => [what, read, rows])).toEqual([
    ['first', 400, expect.any(Number)],
    ['unchanged', 400, 0],
    ['1 % changed', 400, 4],
  ])
  expect(await readdir(temporary)).toEqual([])
  for (const head of ['work, its most costly statement', 'tables that grew']) expect(stdout).toContain(head)
  expect(written.statements.works.every(({ large }) => large.rows > 0)).toBe(true)
  expect(written.statements.sums.map(({ what }) => what)).toContain('report.revenue')
  expect(written.syncs.late.find(({ table }) => table === 'sync.runs')?.rows).toBe(30)
})
