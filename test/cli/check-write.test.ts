// `check --write`: what it adds to a file, what it leaves alone, and how it ends.

import { chmod, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { settingsToWrite } from '../../src/cli/check-settings.ts'
import { variablesOf, withLines } from '../../src/cli/settings-file.ts'
import { openJsonApi } from '../discovery/other-servers.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { openCommandLine } from './program.ts'

const database = opened(() => createTestDatabase())
const sandbox = opened(() =>
  createSandbox({
    size: 12,
    auth: 'header:X-Boat-Key',
    token: 'Geheim-77',
    paging: 'offset',
    envelope: 'data',
  }),
)
const cli = opened(() => openCommandLine({ DATABASE_URL: database.url }))

it('adds what it finds to .env, for its owner alone, and a second time nothing', async () => {
  const file = join(cli.folder, '.env')
  const before = `# ours\nAPI_BASE_URL=${sandbox.url}\nAPI_TOKEN=Geheim-77\nAPI_PAGE_SIZE=7`
  await writeFile(join(cli.folder, 'shared.env'), before)
  await chmod(join(cli.folder, 'shared.env'), 0o644)
  await symlink('shared.env', file)

  // Not set yet: what is needed is said, and nothing written.
  const asked = await cli.run(['check'])
  expect(asked.code).toBe(1)
  expect(asked.stdout).toMatch(/^API_AUTH=header:X-Boat-Key$/m)
  expect(await readFile(file, 'utf8')).toBe(before)

  const first = await cli.run(['check', '--write', '--json'])
  const { ok, written, findings } = JSON.parse(first.stdout)
  expect({ code: first.code, ok, written }).toEqual({ code: 0, ok: true, written: '.env' })
  expect(findings.filter(({ status }: { status: string }) => status === 'fail')).toEqual([])
  const text = await readFile(file, 'utf8')
  expect(text.startsWith(`${before}\n`)).toBe(true)
  expect(text.slice(before.length).match(/^[A-Z_]+=.*$/gm)).toEqual([
    expect.stringMatching(/^DATABASE_URL=postgres/),
    `DATA_DIR=${join(cli.folder, 'data')}`,
    'API_AUTH=header:X-Boat-Key',
    'API_PAGING=offset',
    'API_PAGE_PARAM=offset',
    'API_PAGE_BASE=0',
    'API_SIZE_PARAM=limit',
    'SERVE_SIZE_PARAMS=perPage',
  ])
  expect((await stat(file)).mode & 0o777).toBe(0o600)

  const second = await cli.run(['check', '--write'])
  expect(second).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing to add to .env.') })
  expect(await readFile(file, 'utf8')).toBe(text)
  expect([asked, first, second].some(({ stdout, stderr }) => `${stdout}${stderr}`.includes('Geheim-77'))).toBe(false)

  const contradicted = await cli.run(['check', '--write', 'other.env'], { API_PAGING: 'cursor' })
  expect(contradicted.code).toBe(3)
  expect(contradicted.stdout).toContain('API_PAGING has another value in the environment; detected: offset.')
  expect(await readFile(join(cli.folder, 'other.env'), 'utf8')).toMatch(/^API_PAGING=offset$/m)
})

it('ends with 1 and writes nothing when nobody is let in, and with 2 without an address', async () => {
  const wrong = { API_BASE_URL: sandbox.url, API_TOKEN: 'wrong' }
  const refused = await cli.run(['check', '--write', 'refused.env'], wrong)
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringMatching(/fail {2}API .*Tried: /) })
  await expect(stat(join(cli.folder, 'refused.env'))).rejects.toThrow('ENOENT')
  const unset = await cli.run(['check', '--write', 'x.env'], { API_BASE_URL: '', API_TOKEN: '' })
  expect(unset).toMatchObject({ code: 2, stderr: expect.stringContaining('API_BASE_URL is not set') })
})

it('compares with the file and the environment, which wins', () => {
  const found = [
    { name: 'API_AUTH', value: 'header:X-Key', evidence: '' },
    { name: 'API_PAGING', value: 'page', evidence: '' },
    { name: 'API_PAGE_BASE', value: '1', evidence: '' },
  ]
  const file = { name: 'my.env', variables: { API_AUTH: 'header:x-key', API_PAGING: 'link' } }
  const [auth, paging, base] = settingsToWrite(found, file, { API_PAGE_BASE: '0', API_AUTH: '' })
  expect(auth).toMatchObject({ isThere: true, contradictedBy: null })
  expect(paging).toMatchObject({ isThere: true, contradictedBy: 'my.env' })
  expect(base).toMatchObject({ isThere: false, contradictedBy: 'the environment' })
})

it('keeps the line ends of a file', () => {
  expect(withLines('A=1\r\nB=2', ['# why', 'C=3'])).toBe('A=1\r\nB=2\r\n# why\r\nC=3\r\n')
})

it('finds that an API asks for no credentials, and refuses nobody who only looks at the mirror', async () => {
  await using open = await createSandbox({ size: 12 })
  await using fresh = await openCommandLine({ DATABASE_URL: database.url, API_BASE_URL: open.url })
  const asked = await fresh.run(['check', '--json'])
  expect(asked.code).toBe(1)
  expect(JSON.parse(asked.stdout).settings[0]).toMatchObject({ name: 'API_AUTH', value: 'none' })
  const unset = await fresh.run(['sync', 'harbours'])
  expect(unset).toMatchObject({ code: 2, stderr: expect.stringContaining('API_TOKEN is not set') })
  const written = await fresh.run(['check', '--write'])
  expect(written.code).toBe(0)
  const text = await readFile(join(fresh.folder, '.env'), 'utf8')
  expect(text).toContain(`\nAPI_BASE_URL=${open.url}\n`)
  expect(text).toContain('\nAPI_AUTH=none\n')
  expect(text).not.toContain('API_TOKEN')
  const looked = await fresh.run(['db'], { API_AUTH: 'bearer' })
  expect(looked).toMatchObject({ code: 0, stdout: `${database.url}\n` })
})

it('writes what a second terminal needs, and passwords only if that is asked for', async () => {
  const withPassword = new URL(database.url)
  withPassword.password = 'pass word#1'
  const settings = { API_BASE_URL: sandbox.url, API_TOKEN: 'Geheim-77', DATABASE_URL: withPassword.href }
  const path = join(cli.folder, 'second.env')
  const plain = await cli.run(['check', '--write', 'second.env'], settings)
  const first = variablesOf(await readFile(path, 'utf8'))
  withPassword.password = ''
  expect(first).toMatchObject({ API_BASE_URL: sandbox.url, DATABASE_URL: withPassword.href })
  expect(first.API_TOKEN).toBeUndefined()
  const whole = await cli.run(['check', '--write', 'second.env', '--with-secrets', '--json'], settings)
  expect(variablesOf(await readFile(path, 'utf8'))).toMatchObject(settings)
  const told = [plain, whole].map(({ stdout, stderr }) => stdout + stderr).join()
  expect(told).not.toMatch(/Geheim|pass( |%20)word/)
  const again = await cli.run(['check', '--write', 'second.env'], settings)
  expect(again.stdout).toContain('Nothing to add to second.env.')
  const alone = await cli.run(['check', '--with-secrets'], settings)
  expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining('needs --write') })
})

it('writes names with brackets so that they are read again', async () => {
  await using server = await openJsonApi({ count: 47, refusesUnknown: true })
  await using fresh = await openCommandLine({ DATABASE_URL: database.url })
  const written = await fresh.run(['check', '--write'], { API_BASE_URL: server.url })
  expect(written.stdout).toMatch(/ok +settings .*API_PAGE_PARAM=page\[number\].*API_SIZE_PARAM=page\[size\]/)
  expect(written.stdout).toMatch(/^API_PAGE_PARAM='page\[number\]'$/m)
  // From here on, everything comes from the file.
  const again = await fresh.run(['check'])
  expect(again.stdout).toMatch(
    /ok +list rentals .*paging by page from 1 .*a total of 47; 20 records on the first page, 20/,
  )
  expect([written.code, again.code]).toEqual([0, 0])
})

it('shows what it found where the file cannot be written', async () => {
  const found = await cli.run(['check', '--write', 'no/folder/x.env'], {
    ...{ API_BASE_URL: sandbox.url, API_TOKEN: 'Geheim-77' },
  })
  expect(found.code).toBe(1)
  expect(found.stdout).toMatch(/fail {2}settings file .*cannot be written/)
  expect(found.stdout).toMatch(/^API_PAGING=offset$/m)
})
