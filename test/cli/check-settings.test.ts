// The lines that `check --write` makes of settings: reading them gives back what was written.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { placesOf } from '../../src/cli/check-settings.ts'
import { settingLine, settingLines, variablesOf, withLines } from '../../src/cli/settings-file.ts'

const names = ['API_PAGE_PARAM', 'API_SIZE_PARAM', 'DATABASE_URL', 'API_TOKEN'] as const

/** Texts full of what files of variables take for something else. */
const awkward = fc
  .array(fc.oneof(fc.constantFrom(...'\'"`\\$#={}[] \n\r'), fc.string({ maxLength: 3 })), {
    minLength: 1,
    maxLength: 8,
  })
  .map((parts) => parts.join(''))
  .filter((text) => text !== '') // set to nothing is not set

function lineOf(name: string, value: string): string | null {
  try {
    return settingLine(name, value)
  } catch {
    return null
  }
}

describe('a line of settings', () => {
  it('is written plainly where it can be, and quoted where a reader would expand or cut it', () => {
    const lines = ['page[number]', '$skip', '_limit', 'a b#c', "it's", 'header:X-Key', 'http://127.0.0.1:80/a?b=c']
    expect(lines.map((value) => settingLine('X', value))).toEqual([
      ...["X='page[number]'", "X='$skip'", 'X=_limit', "X='a b#c'", 'X="it\'s"'],
      ...['X=header:X-Key', "X='http://127.0.0.1:80/a?b=c'"],
    ])
    expect(() => settingLine('X', '`\'"')).toThrow('no line of a settings file can hold')
    expect(() => settingLine('API_PAGING', 'page\nADMIN_TOKEN=x')).toThrow('no line of a settings file can hold')
  })

  it('is read back as it was written, or refused, whatever the value', () => {
    const value = fc.oneof(awkward, fc.string({ minLength: 1 }), fc.webUrl({ withQueryParameters: true }))
    fc.assert(
      fc.property(fc.array(value, { minLength: names.length, maxLength: names.length }), (values) => {
        const settings = names.flatMap((name, index) => {
          const text = values[index] ?? ''
          return lineOf(name, text) === null ? [] : [{ name, value: text, evidence: `because ${text}` }]
        })
        const text = withLines('# ours\nTIME_ZONE=UTC\n', settingLines(settings))
        const expected = Object.fromEntries(settings.map(({ name, value: written }) => [name, written]))
        expect(variablesOf(text)).toEqual({ TIME_ZONE: 'UTC', ...expected })
        expect(text.split('\n')).toHaveLength(3 + 2 * settings.length)
      }),
      { numRuns: 500 },
    )
  })

  it('refuses no name that an API may give a parameter', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[!-~]{1,40}$/), (name) => {
        fc.pre(!/['"`\\]/.test(name))
        expect(lineOf('API_PAGE_PARAM', name)).not.toBeNull()
      }),
    )
  })
})

describe('what a second terminal needs', () => {
  const environment = {
    ...{ API_BASE_URL: 'https://user:geheim@api.example/boats', API_TOKEN: 'geheim', ADMIN_TOKEN: 'geheim' },
    ...{
      DATABASE_URL: 'postgres://me:geheim@db/x?sslmode=require&password=geheim',
      REDIS_URL: 'redis://:geheim@r:1/2',
    },
    ...{ TIME_ZONE: 'Europe/Paris', HOST: '0.0.0.0', DATA_DIR: '' },
  }
  const values = (withSecrets: boolean) =>
    Object.fromEntries(placesOf(environment, withSecrets).map(({ name, value }) => [name, value]))

  it('is where API, database and queue are, and no secret', () => {
    expect(values(false)).toEqual({
      ...{ API_BASE_URL: 'https://api.example/boats', DATABASE_URL: 'postgres://me@db/x?sslmode=require' },
      ...{ REDIS_URL: 'redis://r:1/2', TIME_ZONE: 'Europe/Paris' },
    })
  })

  it('is all of that with its secrets where they are asked for, and not what other programs share', () => {
    const { ADMIN_TOKEN: _, HOST: __, DATA_DIR: ___, ...rest } = environment
    expect(values(true)).toEqual(rest)
  })
})
