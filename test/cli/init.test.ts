// `init`: what it asks, what it keeps in `.env`, what it refuses, and that no secret is shown.

import { execFileSync } from 'node:child_process'
import { chmod, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { createSandbox } from '../../sandbox/index.ts'
import { parseAnswers } from '../../src/cli/answers.ts'
import { variablesOf, withSettings } from '../../src/cli/settings-file.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { findOnPath } from '../helpers/redis-server.ts'
import { type CommandLine, errorOf, openCommandLine } from './program.ts'
import { runOnTerminal } from './typed.ts'

const token = 'Geheim-77'
/** What must not be shown: the token, and the password of the database. */
let secrets: RegExp
const database = opened(() => createTestDatabase())
const sandbox = opened(() =>
  createSandbox({ size: 12, auth: 'header:X-Boat-Key', token, paging: 'offset', envelope: 'data' }),
)
beforeAll(async () => {
  const { password } = new URL(database.url)
  expect(password).toMatch(/^[\w-]{16}/)
  secrets = new RegExp(`Geheim|${password}`)
})

const lines = (): string => `API_BASE_URL=${sandbox.url}\nAPI_TOKEN=${token}\n# ours\nDATABASE_URL="${database.url}"\n`
const textOf = ({ folder }: CommandLine): Promise<string> => readFile(join(folder, '.env'), 'utf8')
const modeOf = async ({ folder }: CommandLine): Promise<number> => (await stat(join(folder, '.env'))).mode & 0o777
const git = (folder: string, ...args: readonly string[]): void => {
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: folder, stdio: 'ignore' })
}

describe('on a terminal', () => {
  const script = findOnPath('script')

  it.skipIf(script === undefined)('asks, shows no secret, and writes what a second terminal needs', async () => {
    await using cli = await openCommandLine()
    const { code, screen, echoes } = await runOnTerminal(['init'], {
      ...{ script: script ?? '', folder: cli.folder, env: {} },
      keys: [
        ['Address of the API', 'ftp://boats\r'],
        ['takes an http(s) address', ''],
        ['built-in sandbox]: ', `${sandbox.url}\r`],
        ['Token of the API (not shown as you type) [Enter: none]: ', `${token}\r`],
        ['embedded Postgres]: ', `${database.url}\r`],
      ],
    })
    expect(screen).toContain(sandbox.url)
    expect(screen).toContain('Next: boat-mirror worker')
    expect(screen).not.toMatch(secrets)
    expect({ code, echoes, mode: await modeOf(cli) }).toEqual({ code: 0, echoes: true, mode: 0o600 })
    expect(variablesOf(await textOf(cli))).toMatchObject({
      ...{ API_BASE_URL: sandbox.url, API_TOKEN: token, DATABASE_URL: database.url },
      ...{ API_AUTH: 'header:X-Boat-Key', API_PAGING: 'offset', API_PAGE_PARAM: 'offset' },
    })
    const second = await cli.run(['db'])
    expect(second).toMatchObject({ code: 0, stdout: `${database.url}\n` })

    // Enter keeps what .env holds.
    const before = await textOf(cli)
    const again = await runOnTerminal(['init'], {
      ...{ script: script ?? '', folder: cli.folder, env: { DATABASE_URL: database.url } },
      keys: [
        [`keep ${sandbox.url}]: `, '\r'],
        ['keep the one in .env]: ', '\r'],
      ],
    })
    expect(again).toMatchObject({ code: 0, screen: expect.stringContaining('.env already holds these settings.') })
    expect(again.screen).not.toMatch(secrets)
    expect(await textOf(cli)).toBe(before)
  })

  it.skipIf(script === undefined)('takes lines that are pasted at once, without showing them', async () => {
    await using cli = await openCommandLine()
    const pasted = `${sandbox.url}\r${token}\r${database.url}\r`
    const { code, screen } = await runOnTerminal(['init'], {
      ...{ script: script ?? '', folder: cli.folder, env: {} },
      keys: [['built-in sandbox]: ', pasted]],
    })
    expect({ code, token: variablesOf(await textOf(cli)).API_TOKEN }).toEqual({ code: 0, token })
    expect(screen).not.toMatch(secrets)
  })

  it.skipIf(script === undefined).each([
    ['Ctrl-C', '\u0003', ''],
    ['Ctrl-D', '\u0004', 'The input ended before'],
  ])('ends at %s, writes nothing and leaves the terminal as it was', async (_name, key, says) => {
    await using cli = await openCommandLine()
    const ended = await runOnTerminal(['init'], {
      ...{ script: script ?? '', folder: cli.folder, env: { API_BASE_URL: sandbox.url } },
      keys: [['Token of the API', key]],
    })
    expect(ended).toMatchObject({ code: 1, echoes: true, screen: expect.stringContaining(says) })
    expect(await readdir(cli.folder)).not.toContain('.env')
  })
})

describe('without a terminal', () => {
  it('reads lines, keeps what else .env holds, and says what it replaced', async () => {
    await using cli = await openCommandLine()
    const own = '# ours\nTIME_ZONE=Europe/Paris\nexport API_TOKEN=Geheim-old\nAPI_PAGING=cursor # guessed\nPORT=0'
    await writeFile(join(cli.folder, '.env'), own)
    await chmod(join(cli.folder, '.env'), 0o644)
    const ended = await cli.run(['init'], {}, lines())
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ended.stdout).toMatch(/Added to \.env:\nAPI_BASE_URL=/)
    expect(ended.stdout).toContain('Replaced in .env:\nAPI_TOKEN=*** (was ***)\nAPI_PAGING=offset (was cursor)')
    expect(ended.stdout).not.toMatch(secrets)
    const text = await textOf(cli)
    expect(text).toMatch(
      /^# ours\nTIME_ZONE=Europe\/Paris\n# .+\nAPI_TOKEN=Geheim-77\n# .+\nAPI_PAGING=offset\nPORT=0\n/,
    )
    expect(variablesOf(text)).toMatchObject({ DATABASE_URL: database.url, PORT: '0' })
    expect(await modeOf(cli)).toBe(0o600)
    expect(await readdir(cli.folder)).not.toContainEqual(expect.stringMatching(/\.tmp$/))
  })

  it('takes the environment, which wins, and says so where it contradicts what was found', async () => {
    await using cli = await openCommandLine()
    const environment = { API_BASE_URL: sandbox.url, API_TOKEN: token, DATABASE_URL: database.url }
    const ended = await cli.run(['init'], { ...environment, API_PAGING: 'cursor' })
    expect(ended.code).toBe(3)
    expect(ended.stdout).toContain('API_PAGING has another value in the environment; detected: offset.')
    expect(variablesOf(await textOf(cli))).toMatchObject({ ...environment, API_PAGING: 'offset' })
  })

  it('writes nothing where the check fails', async () => {
    await using cli = await openCommandLine()
    const before = 'PORT=0\n'
    await writeFile(join(cli.folder, '.env'), before)
    const refused = await cli.run(['init'], {}, lines().replace(token, 'Geheim-wrong'))
    expect(refused).toMatchObject({ code: 1, stdout: expect.stringMatching(/fail {2}API .*Tried: /) })
    const gone = lines().replace(/^DATABASE_URL.*$/m, 'DATABASE_URL=postgres://me:Geheim@127.0.0.1:1/x')
    const unreachable = await cli.run(['init'], {}, gone)
    expect(unreachable).toMatchObject({ code: 1, stdout: expect.stringMatching(/fail {2}database /) })
    for (const { stdout, stderr } of [refused, unreachable]) {
      expect(stdout).toContain('Nothing was written to .env.')
      expect(stdout + stderr).not.toMatch(secrets)
    }
    expect(await textOf(cli)).toBe(before)
  })

  it('has nothing to write where nothing is given', async () => {
    await using cli = await openCommandLine()
    const ended = await cli.run(['init'])
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('every command runs with its defaults') })
    expect(await readdir(cli.folder)).not.toContain('.env')
  })

  it.each([
    ['a line of another name', 'API_TOKEN=a\nSECRET_KEY=Geheim\n', {}, 'Line 2 of standard input sets none of'],
    ['a line that sets nothing', 'Geheim\n', {}, 'Line 1 of standard input sets none of'],
    ['two values', 'API_TOKEN=Geheim-1\n', { API_TOKEN: 'Geheim-2' }, 'give two values for API_TOKEN'],
    ['a token without an address', 'API_TOKEN=Geheim\n', {}, 'API_BASE_URL is not'],
    ['a wrong value', 'DATABASE_URL=mysql://me:Geheim@x/y\n', {}, 'DATABASE_URL is '],
  ])('refuses %s, and does not show it', async (_name, input, env, says) => {
    await using cli = await openCommandLine()
    const ended = await cli.run(['init'], env, input)
    expect(errorOf(ended)).toContain(says)
    expect(ended.stdout + ended.stderr).not.toMatch(secrets)
    expect(ended.code).toBe(2)
  })

  it.each(['--token', '--api-token', 'Geheim'])('takes nothing from the command line: %s', async (word) => {
    await using cli = await openCommandLine()
    expect(await cli.run(['init', word])).toMatchObject({ code: 2 })
  })
})

describe('git', () => {
  it('a tracked .env, also behind a link, is refused before anything is asked', async () => {
    await using cli = await openCommandLine()
    git(cli.folder, 'init', '-q')
    await writeFile(join(cli.folder, '.env'), 'PORT=0\n')
    git(cli.folder, 'add', '-f', '.env')
    const ended = await cli.run(['init'], {}, lines())
    expect(ended.code).toBe(2)
    expect(errorOf(ended)).toMatch(/\.env is tracked by git.*\n.*git rm --cached \.env/)
    await writeFile(join(cli.folder, 'shared.env'), 'PORT=0\n')
    git(cli.folder, 'rm', '-q', '--cached', '.env')
    git(cli.folder, 'add', 'shared.env')
    await rm(join(cli.folder, '.env'))
    await symlink('shared.env', join(cli.folder, '.env'))
    expect(errorOf(await cli.run(['init'], {}, lines()))).toContain('.env is tracked by git')
    expect(await readFile(join(cli.folder, 'shared.env'), 'utf8')).toBe('PORT=0\n')
  })

  it('a warning says that .env is not ignored, until it is; without git there is none', async () => {
    await using cli = await openCommandLine()
    git(cli.folder, 'init', '-q')
    const open = await cli.run(['init'], {}, lines())
    expect(open).toMatchObject({ code: 0, stdout: expect.stringContaining('.env is not ignored by git') })
    await writeFile(join(cli.folder, '.gitignore'), '.env\n')
    const ignored = await cli.run(['init'], {}, lines())
    await rm(join(cli.folder, '.gitignore'))
    const withoutGit = await cli.run(['init'], { PATH: cli.folder }, lines())
    for (const ended of [ignored, withoutGit])
      expect(ended).toMatchObject({ code: 0, stdout: expect.not.stringContaining('git') })
  })
})

describe('settings in a text', () => {
  const name = fc.constantFrom('API_BASE_URL', 'API_TOKEN', 'DATABASE_URL', 'API_PAGING', 'PORT', 'HOST')
  const value = fc.stringMatching(/^[\w.:@/?&=#%+, -]*[\w/]$/).filter((text) => text === text.trim())
  const quoted = (text: string): string => `'${text}'`
  const line = fc.oneof(
    fc.tuple(name, value).map(([key, text]) => `${key}=${quoted(text)}`),
    fc.tuple(name, value).map(([key, text]) => `export ${key} = ${quoted(text)} # why`),
    fc.constantFrom('', '# a comment', '# API_TOKEN=none', '  '),
  )

  it('get their values, other variables and comments stay, and a second time nothing changes', () =>
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 12 }),
        fc.constantFrom('\n', '\r\n'),
        fc.dictionary(name, value, { maxKeys: 4 }),
        (given, end, wanted) => {
          const text = given.join(end)
          const settings = Object.entries(wanted).map(([key, text]) => ({ name: key, value: text, evidence: 'asked' }))
          const whole = withSettings(text, settings)
          expect(variablesOf(whole)).toEqual({ ...variablesOf(text), ...wanted })
          const comments = given.filter((each) => each.startsWith('#'))
          const kept = whole.split(/\r?\n/).filter((each) => comments.includes(each))
          expect(kept).toEqual(comments)
          expect(withSettings(whole, settings)).toBe(whole)
        },
      ),
    ))

  it('an answer is the rest of its line, whatever characters it holds', () =>
    fc.assert(
      fc.property(fc.stringMatching(/^[!-~]([ -~]*[!-~])?$/), fc.constantFrom('', "'", '"'), (secret, quote) => {
        fc.pre(!/^(["']).*\1$/.test(secret) && !(quote === '' && secret === ''))
        expect(parseAnswers(`\n# note\nexport API_TOKEN=${quote}${secret}${quote}\r\n`)).toEqual({ API_TOKEN: secret })
      }),
    ))
})
