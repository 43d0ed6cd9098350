// Credentials in addresses: hidden wherever an address is shown, and those of API_BASE_URL used as HTTP clients use them.

import { describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { readConfig } from '../../src/config.ts'
import { shownAddress } from '../../src/text.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { isQuick } from '../helpers/extent.ts'
import { openCommandLine } from './program.ts'

describe('an address as it is shown', () => {
  const cases: readonly (readonly [string, string])[] = [
    [
      'postgres://me:secret@host:5432/db?sslmode=require&password=secret',
      'postgres://me:***@host:5432/db?sslmode=require&password=***',
    ],
    ['postgres:///db?host=/run/postgresql&user=secret', 'postgres:///db?host=%2Frun%2Fpostgresql&user=***'],
    ['postgres://me:se/c@ret@host/db', 'postgres://***@host/db'],
    ['postgres://me:1?secret@host/db', 'postgres://***@host/db'],
    ['postgres:/me:secret@host/db', 'postgres:/***@host/db'],
    ['postgres://me:secret@one,two/db', 'postgres://me:***@one,two/db'],
    ['redis://:secret@host:6379/1', 'redis://***@host:6379/1'],
    ['rediss://secret@host', 'rediss://***@host'],
    ['https://me:secret@host/base', 'https://***@host/base'],
    ['https://secret@host', 'https://***@host'],
    ['https://host?token=secret#secret', 'https://host/?token=***'],
    ['me:secret@host', 'me:***@host'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ]
  for (const [address, shown] of cases)
    it(`${address} is ${shown}`, () => {
      expect(shownAddress(address)).toBe(shown)
      expect(shown).not.toContain('secret')
    })
})

describe('a user and password in API_BASE_URL', () => {
  const read = (env: Readonly<Record<string, string>>) => readConfig(env, '/nonexistent').api

  it('log in by Basic authentication, and leave the address', () => {
    const api = read({ API_BASE_URL: 'https://me:p%40ss@api.test/base/v3/' })
    expect(api).toMatchObject({ baseUrl: 'https://api.test/base', token: 'me:p@ss', auth: { kind: 'basic' } })
  })

  it('agree with API_AUTH=basic', () => {
    expect(read({ API_BASE_URL: 'https://me:x@api.test', API_AUTH: 'basic' }).token).toBe('me:x')
  })

  const contradictions: readonly Readonly<Record<string, string>>[] = [
    { API_TOKEN: 'another' },
    { API_AUTH: 'bearer' },
    { API_AUTH: 'none' },
    { API_AUTH: 'basic', API_TOKEN: 'me:another' },
  ]
  for (const env of contradictions)
    it(`stop the start beside ${JSON.stringify(env)}`, () => {
      const wrong = () => read({ API_BASE_URL: 'https://me:secret@api.test', ...env })
      expect(wrong).toThrow(/^API_BASE_URL has a user and password, but API_TOKEN or API_AUTH sets other credentials/)
      expect(wrong).not.toThrow(/secret/)
    })

  const unreadable = ['https://me:100%@api.test', 'https://api.test?token=secret', 'https://api.test#secret']
  for (const address of unreadable)
    it(`${address} is refused without being quoted whole`, () => {
      const wrong = () => read({ API_BASE_URL: address, API_AUTH: 'none' })
      expect(wrong).toThrow(/It must be an http\(s\) address without \/v3 and query\.$/)
      expect(wrong).not.toThrow(/secret|100%/)
    })

  // Not with `npm test`: a minute, with a worker's whole first sync at the level `trace`.
  it.skipIf(isQuick)(
    'are in nothing that a worker, status, check or a failed sync writes, while the API is read with them',
    async () => {
      await using database = await createTestDatabase()
      const sandbox = await createSandbox({ size: 3, auth: 'basic', token: 'harbour-master:gehe1m' })
      const withLogin = sandbox.url.replace('//', '//harbour-master:gehe1m@')
      await using cli = await openCommandLine({
        DATABASE_URL: database.url,
        API_BASE_URL: withLogin,
        PORT: '0',
        LOG_LEVEL: 'trace',
      })
      const written: string[] = []
      try {
        const worker = cli.start(['worker'])
        await expect.poll(() => worker.text()).toContain('First sync done')
        worker.process.kill('SIGTERM')
        const { stdout, stderr } = await worker.ended
        expect(stdout).toContain(`API       ${sandbox.url}\n`)
        written.push(stdout, stderr)
        for (const args of [['status', '--json'], ['status'], ['check', '--json'], ['sync', 'harbours', '--json']]) {
          const ended = await cli.run(args)
          expect(ended.code, ended.stderr).toBe(0)
          written.push(ended.stdout, ended.stderr)
        }
      } finally {
        await sandbox.close()
      }
      const refused = await cli.run(['sync', 'harbours'])
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('API_UNREACHABLE') })
      written.push(refused.stdout, refused.stderr)
      const { rows } = await database.pool.query<{ gate: string }>('select id as gate from sync.gate')
      written.push(...rows.map(({ gate }) => gate))
      expect(written.join('\n')).not.toMatch(/harbour-master|gehe1m/)
    },
  )
})
