// Every form of address that libpq knows is taken, or refused by the name of its variable; and what its sslmode asks for.

import fc from 'fast-check'
import pg from 'pg'
import { describe, expect, inject, it, vi } from 'vitest'
import { streams } from '../../src/catalog/catalog.ts'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/database/database.ts'
import { clientConfig } from '../../src/database/session.ts'
import { translateDatabaseError } from '../../src/database/sql-states.ts'
import { withTls } from '../../src/database/tls.ts'
import type { BoatMirrorError } from '../../src/errors.ts'
import { streamProblems } from '../../src/jobs/schedule.ts'
import { recordingLog } from '../api/recording-log.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { quiet } from '../helpers/rows.ts'

const database = opened(() => createTestDatabase({ migrated: false }))

const part = fc.constantFrom('', 'db', 'a%20b', 'a b', '%', '%ff', 'ü', 'a@b', "o'b", '100%25')
const parameter = fc.constantFrom(
  ...['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify', 'on'].map(
    (m) => `sslmode=${m}`,
  ),
  ...['host=/tmp', 'host=a,b', 'port=5433', 'port=x', 'port=1,2', 'dbname=x', 'user=x', 'password=%ff', 'ssl=true'],
  ...['options=-c%20geqo%3Doff', 'target_session_attrs=read-write', 'application_name=x', 'connect_timeout=10'],
  ...['sslrootcert=/nonexistent', 'sslrootcert=system', 'sslnegotiation=direct', 'sslnegotiation=x', 'keepalives=1'],
  ...['channel_binding=prefer', 'gssencmode=disable', 'client_encoding=UTF8', 'passfile=/nonexistent', 'fallback=%'],
)
const address = fc
  .tuple(
    fc.constantFrom('postgres', 'postgresql', 'mysql'),
    fc.option(fc.tuple(part, fc.option(part))),
    fc.constantFrom('', 'h', '127.0.0.1:1', '[::1]:1', 'a,b', 'a:1,b:2', '%2Ftmp', 'h:99999', 'ü.test'),
    fc.option(part),
    fc.array(parameter, { maxLength: 3 }),
  )
  .map(([scheme, login, host, name, parameters]) => {
    const who = login === null ? '' : `${login[0]}${login[1] === null ? '' : `:${login[1]}`}@`
    return `${scheme}://${who}${host}${name === null ? '' : `/${name}`}${parameters.length === 0 ? '' : `?${parameters.join('&')}`}`
  })

describe('an address of a database', () => {
  it('ends in a connection that can be tried, or in an error that names the variable', async () => {
    await fc.assert(
      fc.asyncProperty(address, async (url) => {
        try {
          const { databaseUrl } = readConfig({ DATABASE_URL: url }, '/nonexistent')
          const mode = new URL(String(databaseUrl)).searchParams.get('sslmode') ?? ''
          // The server is asked for TLS then, which is another test.
          const given = { url: String(databaseUrl), directUrl: String(databaseUrl) }
          const known = ['prefer', 'allow'].includes(mode) ? given : await withTls(given, quiet)
          new pg.Client(clientConfig({ url: known.url.replace(/sslrootcert=[^&]*/g, ''), applicationName: 'test' }))
        } catch (error) {
          expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringMatching(/^DATABASE_URL /) })
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('that gives a parameter twice means the last one', () => {
    const read = (url: string): unknown => readConfig({ DATABASE_URL: url }, '/nonexistent').databaseUrl
    expect(read('postgres://h/db?sslmode=verify-ca&port=5433&sslmode=disable')).toBe(
      'postgres://h/db?sslmode=disable&port=5433',
    )
    const direct = 'postgres://h/db?sslmode=verify-ca&sslmode=disable&sslnegotiation=direct'
    expect(() => read(direct)).toThrow(/^DATABASE_URL /)
  })

  it.each(['postgres://u@h1:5432,h2:5432/db', 'postgres://u@h1,h2/db', 'postgres:///db?host=h1,h2'])(
    '%s is refused because it names several hosts',
    (url) => expect(() => readConfig({ DATABASE_URL: url }, '/nonexistent')).toThrow(/^DATABASE_URL .* of one host/),
  )
})

describe('an address as psql and pg take it', () => {
  const read = (url: string): string => String(readConfig({ DATABASE_URL: url }, '/nonexistent').databaseUrl)
  const place = (url: string): unknown => {
    const { host, port, user, password, database } = new pg.Client(
      clientConfig({ url: read(url), applicationName: 'test' }),
    )
    return { host, port, user, password, database }
  }
  const usual = { host: 'h', port: 5432, user: 'me', password: 'p/w', database: 'db' }
  it.each([
    ['postgres://me:p%2Fw@/db?host=/cloudsql/p:r:i', { ...usual, host: '/cloudsql/p:r:i' }],
    ['postgresql://me:p%2Fw@/db?host=%2Frun&port=5433', { ...usual, host: '/run', port: 5433 }],
    ['postgres://me:p%2Fw@%2Frun%2Fpostgresql:5433/db', { ...usual, host: '/run/postgresql', port: 5433 }],
    ['postgres:///db?host=/run&user=me&password=p%2Fw', { ...usual, host: '/run' }],
    ['postgres://me:p%2Fw@h/Boats%20%26%20More', { ...usual, database: 'Boats & More' }],
    ['postgres://me:p%2Fw@h/a%2Fb%3Fc%23d%25e', { ...usual, database: 'a/b?c#d%e' }],
    ['postgres://me:p%2Fw@h/x?dbname=db', usual],
    ['postgres://me:p%2Fw@[::1]/db', { ...usual, host: '::1' }],
  ])('%s', (url, expected) => expect(place(url)).toEqual(expected))

  it('without a host leads where PGHOST says, and to this machine otherwise', () => {
    vi.stubEnv('PGHOST', '/run/x')
    expect(place('postgres://me:p%2Fw@/db')).toEqual({ ...usual, host: '/run/x' })
    vi.stubEnv('PGHOST', '')
    expect(place('postgres://me:p%2Fw@/db')).toEqual({ ...usual, host: 'localhost' })
    vi.unstubAllEnvs()
  })

  it('leads to a database whose name has escapes', async () => {
    const name = `${inject('databasePrefix')}Boats & More, 100%/year?#"x"`
    await database.pool.query(`create database ${pg.escapeIdentifier(name)}`)
    const url = new URL(database.url)
    url.pathname = `/${encodeURIComponent(name)}`
    const opened = openDatabase({ url: read(url.href), applicationName: 'test', max: 1, log: quiet })
    try {
      expect((await opened.pool.query('select current_database() as name')).rows).toEqual([{ name }])
    } finally {
      await opened.close()
      await database.pool.query(`drop database ${pg.escapeIdentifier(name)} with (force)`)
    }
  })
})

describe('a Postgres without TLS', () => {
  const connect = async (parameters: string): Promise<readonly string[]> => {
    const { log, lines } = recordingLog()
    const given = `${database.url}?${parameters}`
    const { url } = await withTls({ url: given, directUrl: given }, log)
    const opened = openDatabase({ url, applicationName: 'test', max: 1, log: quiet })
    try {
      await opened.pool.query('select 1')
    } catch (error) {
      throw translateDatabaseError(error, url)
    } finally {
      await opened.close()
    }
    return lines.map((line) => JSON.stringify(line))
  }
  it.each(['disable', 'prefer', 'allow'])(
    'is taken with sslmode=%s, which says once what it does without',
    async (mode) => {
      const said = await connect(`sslmode=${mode}&application_name=x&connect_timeout=10&options=-c%20geqo%3Doff`)
      expect(said.filter((line) => line.includes('has no TLS'))).toHaveLength(mode === 'disable' ? 0 : 1)
    },
  )
  it.each(['require', 'verify-full', 'no-verify'])('is refused with sslmode=%s, and what helps', async (mode) => {
    await expect(connect(`sslmode=${mode}`)).rejects.toMatchObject({
      code: 'DATABASE_REFUSED',
      remedy: expect.stringContaining('sslmode=prefer'),
    } satisfies Partial<BoatMirrorError>)
  })
  it('a certificate that is not there is named', async () => {
    await expect(connect('sslmode=verify-full&sslrootcert=/nonexistent/root.crt')).rejects.toThrow(
      'DATABASE_URL names sslrootcert=/nonexistent/root.crt, which cannot be read.',
    )
  })
})

it('WEBHOOK_STREAMS takes every stream there is', () => {
  const names = streams.map(({ name }) => name)
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`
  const env = { WEBHOOK_URL: 'http://127.0.0.1:9', WEBHOOK_SECRET: secret, WEBHOOK_STREAMS: names.join(',') }
  const config = readConfig(env, '/nonexistent')
  expect(config.webhookStreams).toEqual(names)
  expect(streamProblems({ ...config, lists: {} })).toEqual([])
})
