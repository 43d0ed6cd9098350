// Settings from a hostile environment and a hostile file: a complete configuration, or one error that names each place
// and repeats no secret.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { validateHeaderValue } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { buildTarget } from '../../src/api/wire/request.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { BoatMirrorError } from '../../src/errors.ts'
import { pagingStyles, settings } from '../../src/settings.ts'
import { settingsOf } from './draw.ts'
import { digits, jsonText, names, text } from './generators.ts'

const folder = mkdtempSync(join(tmpdir(), 'boat-mirror-hostile-'))
const file = join(folder, 'boat-mirror.yaml')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const secret = 'Geheim-77'
const variables = Object.values(settings).map(({ name }) => name)

const nearly = fc.constantFrom(
  'on',
  'off',
  'ON',
  'true',
  '0',
  '1',
  '-1',
  '1e3',
  '010',
  '99999999999',
  '24h',
  '999999999d',
  '0s',
  '10%',
  '101%',
  'UTC',
  '+02:00',
  'europe/paris',
  'Mars/Olympus',
  'page',
  'none',
  'bearer',
  'basic',
  'header:X-Key',
  'query:',
  'info',
  '::',
  '0.0.0.0',
  'localhost',
  ' ',
  '~',
  'null',
)
const tokens = fc.constantFrom(secret, `${secret}\nx`, `user:${secret}`, `Bearer ${secret}`, `header:X ${secret}`)
const addresses = fc.constantFrom(
  `postgres://me:${secret}@host/db`,
  `postgres:/me:${secret}@host/db`,
  `mysql://me:p/a@${secret}@host/db`,
  `me:${secret}@host`,
  `redis://:x/${secret}@host`,
  `http://host/?token=${secret}`,
  `ftp://host?password=${secret}`,
)
const value = fc.oneof(nearly, text, digits, fc.constantFrom(...names))

/** Where secrets may stand. */
const tokenNames = ['API_TOKEN', 'ADMIN_TOKEN', 'API_AUTH']
const addressNames = ['DATABASE_URL', 'REDIS_URL', 'API_BASE_URL']

const pair = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom(...variables), value) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...tokenNames), tokens) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...addressNames), addresses) },
)

const streams = fc.oneof(fc.constantFrom('rentals', 'harbours', ...names), text)
const yamlValue = fc.oneof(
  value.map((each) => JSON.stringify(each)),
  nearly,
  jsonText,
  fc.constantFrom('*x', '&x [*x]', '&x 1', '!t 1', '|\n  a', '{', '[', '- 1', '"'),
)
const yamlLine = fc.oneof(
  pair.map(([name, given]) => `${name}: ${JSON.stringify(given)}`),
  fc
    .tuple(fc.constantFrom(...tokenNames), fc.constantFrom('*', '&', '!', '{', '"', '? ', '| ', '%'))
    .map(([name, sign]) => `${name}: ${sign}${secret}`),
  fc
    .tuple(
      fc.oneof(
        fc.constantFrom(...variables, 'schedules', 'targets', 'lists', ...names),
        text.map((each) => JSON.stringify(each)),
      ),
      yamlValue,
    )
    .map(([name, given]) => `${name}: ${given}`),
  fc
    .tuple(
      fc.constantFrom('schedules', 'targets', 'lists'),
      streams,
      fc.constantFrom('', 'paging', 'pageSize', 'pageBase', '__proto__', 'constructor'),
      yamlValue,
    )
    .map(
      ([section, stream, key, given]) =>
        `${section}: { ${JSON.stringify(stream)}: ${key === '' ? given : `{ ${JSON.stringify(key)}: ${given} }`} }`,
    ),
)
const yaml = fc.oneof(
  { weight: 6, arbitrary: fc.array(yamlLine, { maxLength: 5 }).map((lines) => lines.join('\n')) },
  {
    weight: 1,
    arbitrary: fc.oneof(
      text,
      jsonText,
      fc.constant(
        'a: &a [1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]',
      ),
    ),
  },
)

/** Every value of a configuration is one the program can work with. */
function assertUsable(config: Config): void {
  const { api } = config
  assert(pagingStyles.includes(api.paging.style) && api.paging.style !== 'none')
  for (const paging of [api.paging, ...Object.values(api.lists)]) {
    if (paging.pageSize !== undefined) assert(paging.pageSize >= 1 && paging.pageSize <= 10_000)
    for (const name of [paging.pageParam, paging.sizeParam])
      assert(name === undefined || (typeof name === 'string' && name !== ''))
  }
  for (const flag of [config.autoMigrate, config.mirrorDocuments]) assert.equal(typeof flag, 'boolean')
  for (const number of [
    api.concurrency,
    api.timeoutMs,
    config.port,
    config.historyDays,
    config.calendarYears,
    config.priceDays,
    config.slotDays,
    config.slotDurations,
  ])
    assert(Number.isSafeInteger(number))
  assert(config.deleteLimit >= 0 && config.deleteLimit <= 1)
  for (const ms of [config.detailMaxAgeMs, ...Object.values(config.schedules), ...Object.values(config.targets)])
    new Date(Date.now() - ms).toISOString()
  for (const name of [config.host, config.dataDir, config.logLevel]) assert(typeof name === 'string' && name !== '')
  new Intl.DateTimeFormat('en', { timeZone: config.timeZone })
  const target = buildTarget({ ...api, baseUrl: api.baseUrl ?? 'http://sandbox' }, '1')
  for (const [name, content] of Object.entries(target.headers)) validateHeaderValue(name, content)
}

const line =
  /^([A-Z_]+|schedules|targets|lists|"?.*"? in the file|BOAT_MIRROR_CONFIG|\/.*boat-mirror\.yaml)\b.* (is|takes|must|names|holds|can't) .*\.$/s

describe('settings', () => {
  it('are complete and usable, or refused by one error that names each place and shows no secret', () => {
    const plain = Object.getOwnPropertyNames(Object.prototype).join()
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 4 }), yaml, (environment, content) => {
        writeFileSync(file, content)
        let config: Config
        try {
          config = readConfig(Object.fromEntries(environment), folder)
        } catch (error) {
          if (!(error instanceof BoatMirrorError)) throw error
          assert.equal(error.code, 'CONFIG_INVALID')
          assert(!error.message.includes(secret), error.message)
          for (const each of error.message.split('\n')) assert.match(each, line)
          assert(error.message.length < 20_000)
          return
        }
        assertUsable(config)
      }),
      settingsOf(4_000),
    )
    expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(plain)
  })

  const refused: readonly (readonly [string, Readonly<Record<string, string>>, string, RegExp])[] = [
    [
      'a name every object has is no on or off',
      { AUTO_MIGRATE: 'constructor' },
      '',
      /^AUTO_MIGRATE is "constructor". It must be on or off\.$/,
    ],
    [
      'a name every object has is no paging setting',
      {},
      'lists: { rentals: { constructor: 1 } }',
      /^lists\.rentals\.constructor is "1". Known are paging/,
    ],
    ['an object is no text', {}, 'DATA_DIR: { toString: 1 }', /^DATA_DIR is a map. It must be a folder\.$/],
    [
      'a list that holds itself is no duration',
      {},
      'schedules: { rentals: &a [*a] }',
      /^schedules\.rentals is a list. It must be a duration/,
    ],
    [
      'a password with a slash is not shown',
      { DATABASE_URL: `mysql://me:a/${secret}@host/db` },
      '',
      /^DATABASE_URL is "mysql:\/\/\*\*\*@host\/db". It must be a postgres/,
    ],
    ['a token with a sign of YAML is not shown', {}, `API_TOKEN: *${secret}`, /boat-mirror\.yaml is not valid YAML\.$/],
    [
      'a token given as the way to send it is not shown',
      { API_AUTH: `Bearer ${secret}` },
      '',
      /^API_AUTH is a value that is not shown. It must be bearer/,
    ],
    [
      'an age beyond all dates',
      { DETAIL_MAX_AGE: '999999999d' },
      '',
      /^DETAIL_MAX_AGE is "999999999d". It must be a duration/,
    ],
    [
      'an offset is no zone: Postgres would take it the other way round',
      { TIME_ZONE: '+02:00' },
      '',
      /^TIME_ZONE is "\+02:00". It must be an IANA zone/,
    ],
    [
      'a token that no header can carry',
      { API_TOKEN: 'a\nb' },
      '',
      /^API_TOKEN has a character that a header cannot carry/,
    ],
  ]
  for (const [name, environment, content, message] of refused)
    it(`refuse: ${name}`, () => {
      writeFileSync(file, content)
      expect(() => readConfig(environment, folder)).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) }),
      )
    })

  it('keep every digit that the file has, and take an empty value for none', () => {
    writeFileSync(file, 'API_TOKEN: 00123456789012345678901\nADMIN_TOKEN:\nAPI_PAGING: ""\nAPI_BASE_URL: http://api\n')
    const config = readConfig({}, folder)
    expect([config.api.token, config.adminToken, config.api.paging.style]).toEqual([
      '00123456789012345678901',
      null,
      'page',
    ])
  })
})
