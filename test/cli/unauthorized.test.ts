// Wrong credentials: a worker whose every stream is refused says so once, with what it sent.

import { expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { openCommandLine } from './program.ts'

it('a worker says once that the API answers 401, and all runs have the same reason', async () => {
  await using database = await createTestDatabase()
  await using sandbox = await createSandbox({ size: 3, auth: 'bearer', token: 'the-right-token' })
  await using cli = await openCommandLine({
    DATABASE_URL: database.url,
    API_BASE_URL: sandbox.url,
    API_TOKEN: 'the-wrong-token',
    PORT: '0',
  })
  const worker = cli.start(['worker'])
  const failed = async (): Promise<number> => {
    const { rows } = await database.pool.query(`select count(*)::int as n from sync.runs where status = 'failed'`)
    return rows[0].n
  }
  await expect.poll(failed).toBeGreaterThan(8)
  worker.process.kill('SIGTERM')
  const { stdout, stderr } = await worker.ended
  const told = stderr.split('\n').filter((line) => line.includes('no stream can be read'))
  expect(told).toHaveLength(1)
  expect(told[0]).toContain('carried the header Authorization with Bearer')
  expect(told[0]).toContain('Check API_TOKEN, and API_AUTH')
  // Besides, each run's own line of the log has its reason.
  const others = stderr.split('\n').filter((line) => !line.includes('"run_finished"'))
  expect(others.join('\n').match(/answered 401/g)?.length ?? 0).toBeLessThanOrEqual(3) // message, error, progress
  expect(stdout + stderr).not.toContain('the-wrong-token')
  const { rows } = await database.pool.query(`select distinct error from sync.runs where status = 'failed'`)
  expect(rows).toEqual([{ error: expect.stringMatching(/^The API answered 401\. The request carried the header/) }])
})
