// Misspelt settings: named with the right name where they are ours for certain, let alone where they may be another's.

import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { settingNames } from '../../src/config/names.ts'
import { readConfig, readEnvironment } from '../../src/config.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'boat-mirror-names-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const refusal = (read: () => unknown): string => {
  try {
    read()
  } catch (error) {
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' })
    return (error as Error).message
  }
  return ''
}

describe('an unknown name in .env', () => {
  const refusalOf = async (line: string): Promise<string> => {
    await writeFile(join(folder, '.env'), `${line}\n`)
    const { inDotenv } = readEnvironment(folder)
    return refusal(() => readConfig({}, '/nonexistent', { tokenOptional: true, inDotenv }))
  }

  const wrong: readonly (readonly [string, string])[] = [
    ['API_PAGNG', ' (did you mean API_PAGING?).'],
    ['API_TOEKN', ' (did you mean API_TOKEN?).'],
    ['DATABSE_URL', ' (did you mean DATABASE_URL?).'],
    ['HSOT', ' (did you mean HOST?).'],
    ['api_token', ' (did you mean API_TOKEN?).'],
    ['API_URL', ' (did you mean API_BASE_URL?).'],
    ['PAGE_SIZE', ' (did you mean API_PAGE_SIZE?).'],
    ['TIMEZONE', ' (did you mean TIME_ZONE?).'],
    ['BOAT_MIRROR_CONFG', ' (did you mean BOAT_MIRROR_CONFIG?).'],
    ['API_KEY', '.'],
    ['SOMETHING_ELSE', '.'],
  ]
  for (const [name, end] of wrong)
    it(`${name} stops the start`, async () =>
      expect(await refusalOf(`${name}=secret`)).toBe(`${name} in .env is not a setting${end}`))

  it('stops it even where the setting itself is there', async () =>
    expect(await refusalOf('API_TOKEN=a\nAPI_TOKN=b')).toBe(
      'API_TOKN in .env is not a setting (did you mean API_TOKEN?).',
    ))

  it('is reported together with values that are wrong', async () => {
    await writeFile(join(folder, '.env'), 'API_PAGNG=page\nLOG_LEVEL=loud\n')
    const { environment, inDotenv } = readEnvironment(folder)
    expect(refusal(() => readConfig(environment, '/nonexistent', { tokenOptional: true, inDotenv }))).toMatch(
      /^API_PAGNG in \.env is not a setting .*\nLOG_LEVEL is "loud"\. /,
    )
  })

  it('is none of those that Docker, Postgres, Node and OpenTelemetry read from the same file', async () => {
    const names = [
      'POSTGRES_PASSWORD',
      'COMPOSE_PROJECT_NAME',
      'NODE_EXTRA_CA_CERTS',
      'PGPASSWORD',
      'TZ',
      'https_proxy',
    ]
    expect(await refusalOf([...names, 'OTEL_SERVICE_NAME'].map((name) => `${name}=1`).join('\n'))).toBe('')
  })

  it('is none that the project’s own compose file or sample names', async () => {
    const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
    const inCompose = [...read('docker-compose.yml').matchAll(/\$\{(\w+)/g)].map(([, name]) => `${name}=1`)
    expect(inCompose.length).toBeGreaterThan(5)
    const inSample = [...read('.env.sample').matchAll(/^#(\w+=.*)$/gm)].map(([, line]) => line)
    expect(inSample.length).toBeGreaterThan(3)
    expect(await refusalOf([...inCompose, ...inSample].join('\n'))).toBe('')
  })

  it('is not overlooked because the file cannot be read: that stops the start, too', async () => {
    const unreadable = await mkdtemp(join(folder, 'unreadable-'))
    expect(readEnvironment(unreadable).inDotenv).toEqual([])
    await mkdir(join(unreadable, '.env'))
    expect(refusal(() => readEnvironment(unreadable))).toMatch(/\.env cannot be read: EISDIR.*\.$/)
  })
})

describe('an unknown name in the file', () => {
  const inFile = async (text: string): Promise<string> => {
    await writeFile(join(folder, 'boat-mirror.yaml'), text)
    return refusal(() => readConfig({}, folder))
  }

  it('stops the start with the right name', async () => {
    expect(await inFile('API_PAGNG: page')).toBe('API_PAGNG in the file is not a setting (did you mean API_PAGING?).')
    expect(await inFile('schedule: { rentals: 2m }')).toBe(
      'schedule in the file is not a setting (did you mean schedules?).',
    )
    expect(await inFile('lists: { cities: { pageing: page } }')).toMatch(
      /^lists\.cities\.pageing .* \(did you mean paging\?\)\.$/,
    )
  })
})

describe('a variable of the environment', () => {
  const inEnvironment = (env: Readonly<Record<string, string>>): string =>
    refusal(() => readConfig({ ...env }, '/nonexistent'))

  it('one or two letters from a setting that is not set stops the start with the right name', () => {
    for (const [name, right] of [
      ['API_PAGNG', 'API_PAGING'],
      ['API_TOEKN', 'API_TOKEN'],
      ['DATABASE_URI', 'DATABASE_URL'],
      ['REDIS_URLS', 'REDIS_URL'],
      ['LOG_LEVL', 'LOG_LEVEL'],
    ] as const)
      expect(inEnvironment({ [name]: 'x' })).toBe(
        `${name} in the environment is not a setting, and ${right} is not set: rename it, or set ${right} to nothing if ${name} is another program's.`,
      )
  })

  it('is let alone where the setting is set, be it to nothing or in the file', async () => {
    expect(inEnvironment({ REDIS_URI: 'x', REDIS_URL: '' })).toBe('')
    await writeFile(join(folder, 'boat-mirror.yaml'), 'LOG_LEVEL: warn')
    expect(refusal(() => readConfig({ LOG_LEVL: 'x' }, folder))).toBe('')
  })

  it('that belongs to another is let alone', () => {
    const names = [
      'API_PORT',
      'API_AUTH_PORT',
      'API_TOKE_SERVICE_HOST',
      'REDIS_PORT_6379_TCP',
      'HOSTNAME',
      'API_KEY',
      'NPM_TOKEN',
      'CI_TOKEN',
      'APP_TOKEN',
      'HOME',
      'PATH',
      'POST',
      'SORT',
      'TIMEZONE',
      'SOMETHING_ELSE',
    ]
    expect(inEnvironment(Object.fromEntries(names.map((name) => [name, 'x'])))).toBe('')
  })

  it('of this machine is none', () => {
    const plain = Object.fromEntries(Object.entries(process.env).filter(([name]) => !settingNames.includes(name)))
    expect(refusal(() => readConfig(plain, '/nonexistent'))).toBe('')
  })
})
