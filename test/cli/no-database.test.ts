// In a folder where nothing is set up, commands that only read create nothing, and say how to set it up.

import { readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { opened } from '../helpers/opened.ts'
import { errorOf, openCommandLine } from './program.ts'

const cli = opened(() => openCommandLine())

const commands = [
  ...['status', 'report freshness', 'explain rentals 1', 'runs', 'runs show 1', 'runs release 1', 'schedule'],
  ...['changes list', 'changes show 1', 'changes enqueue rental.update {"rentalId":1} {}', 'changes retry 1'],
  ...['changes resolve 1 --did-not', 'push --dry-run', 'refresh rentals', 'refresh rentals --wait'],
  ...['quarantine', 'quarantine retry --all', 'feed', 'drift', 'drift acknowledge rentals', 'pause rentals'],
  ...['resume rentals', 'access list', 'access token list', 'privacy export 1', 'moved database gone'],
  ...['webhook deliveries', 'migrate --status', 'db', 'db psql'],
]

describe('without settings', () => {
  for (const command of commands)
    it(`${command} creates nothing`, async () => {
      const ended = await cli.run(command.split(' '))
      expect(errorOf(ended)).toContain('Nothing is set up in this folder')
      expect(errorOf(ended)).toContain('boat-mirror init')
      expect(ended).toMatchObject({ code: 2, stdout: '' })
      expect(await readdir(cli.folder)).toEqual([])
    })

  it('check works without a database, and creates none', async () => {
    const { code, stdout } = await cli.run(['check', '--json'])
    const { findings } = JSON.parse(stdout) as { findings: { name: string; status: string; detail: string }[] }
    expect(code).toBe(0)
    expect(findings.find(({ name }) => name === 'database')).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining('Nothing is set up in this folder'),
    })
    expect(await readdir(cli.folder)).toEqual([])
  })
})

it('with the API of a service alone, it is the database that is missing', async () => {
  const ended = await cli.run(['status'], { API_BASE_URL: 'http://127.0.0.1:9', API_TOKEN: 'x' })
  expect(ended.code).toBe(2)
  expect(errorOf(ended)).toContain('No database is set up in this folder')
})
