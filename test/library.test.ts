// The package as a program gets it: packed, in a project of its own that has nothing of ours besides.

import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import project from '../package.json' with { type: 'json' }
import { kyselyOn } from '../src/database/sql.ts'
import { changes, openMirror } from '../src/index.ts'
import { createTestDatabase, type TestDatabase } from './helpers/database.ts'
import { isQuick } from './helpers/extent.ts'
import { installOurselves, installPackage, linkPackages } from './helpers/npm-package.ts'

const execute = promisify(execFile)
type Semver = { readonly satisfies: (version: string, range: string) => boolean }
const { satisfies }: Semver = createRequire(import.meta.url)('semver') // without types
// Our declarations and those that they name are compiled, too: nothing that they need may be missing.
const compilerOptions = { target: 'es2022', module: 'nodenext', strict: true, skipLibCheck: false }

/** Every type that a program sees is one: `any` would take whatever is asserted of it. */
const typesSeen = `
import { type MirrorOptions, openMirror } from 'boat-mirror'
import type { Feed, MirrorRecord } from 'boat-mirror/client'
import { type RunningSandbox, startSandbox } from 'boat-mirror/sandbox'

type Mirror = Awaited<ReturnType<typeof openMirror>>
type Given<T> = T extends AsyncGenerator<infer U> ? U : never
type IsAny<T> = 0 extends 1 & T ? true : false
type Seen<T extends false> = T
export type All = [
  Seen<IsAny<Mirror['db']>>,
  Seen<IsAny<Awaited<ReturnType<Mirror['sync']>>['runs'][number]>>,
  Seen<IsAny<Awaited<ReturnType<Mirror['push']>>['changes'][number]>>,
  Seen<IsAny<Awaited<ReturnType<Mirror['status']>>['streams'][number]>>,
  Seen<IsAny<Given<Feed>['diff']>>,
  Seen<IsAny<MirrorRecord<'mirror.rentals'>['status']>>,
  Seen<IsAny<Parameters<RunningSandbox['control']['mutate']>[0][number]>>,
  Seen<IsAny<Parameters<RunningSandbox['control']['fault']>[0]>>,
]
export const options: MirrorOptions = { databaseUrl: '', apiPageSize: 50, detailMaxAge: '12h', mirrorDocuments: false }
// @ts-expect-error no such option
export const wrong: MirrorOptions = { databaseUrl: '', apiBaseUri: '' }
// @ts-expect-error no such style
export const wrongStyle: MirrorOptions = { databaseUrl: '', apiPaging: 'pages' }
// @ts-expect-error no such option of the sandbox
void startSandbox({ sise: 1 })
`

/** A program whose Kysely, and whose schema, are its own. */
const otherKysely = `
import { changes, enqueue, type MirrorDatabase } from 'boat-mirror/client'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const db = new Kysely<MirrorDatabase & { 'own.invoices': { id: number } }>({ dialect: new PostgresDialect({ pool }) })
const ids: number[] = (await db.selectFrom('mirror.harbours').select('id').execute()).map(({ id }) => Number(id))
const id = await db.transaction().execute((trx) =>
  enqueue(trx, { operation: 'rental.update', target: { rentalId: 1 }, body: { status: 'VALIDATED' } }),
)
console.log(\`queued \${id}\`)
// @ts-expect-error a change is queued in a transaction
void (() => enqueue(db, { operation: 'rental.update', target: { rentalId: 1 }, body: {} }))
const feed = changes(db, { consumer: 'other-kysely' })
let last: string | undefined
for await (const { cursor } of feed) {
  last = cursor
  if (ids.length > 1_000) break
}
console.log(\`given \${ids.length}\`)
if (last !== undefined) await db.transaction().execute((trx) => feed.ack(String(last), trx))
console.log('acknowledged')
await db.destroy()
`

describe('the package', () => {
  let folder: string
  let database: TestDatabase
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'boat-mirror-package-'))
    database = await createTestDatabase()
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
    await installOurselves(folder)
    await linkPackages(folder, [...Object.keys(project.dependencies), '@types/node'])
  })
  afterAll(async () => {
    await database[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })
  const node = (...args: readonly string[]) =>
    execute(process.execPath, args, {
      cwd: folder,
      env: { DATABASE_URL: database.url, API_PAGING: 'an environment that nobody reads' },
    })

  it('holds no source maps', async () => {
    const files = await readdir(join(folder, 'node_modules/boat-mirror/dist'), { recursive: true })
    expect(files.filter((file) => file.endsWith('.map'))).toEqual([])
    expect(files).toContain('src/cli/main.js')
  })

  it('holds what its documents link to, and nothing beside the program and what describes it', async () => {
    const home = join(folder, 'node_modules/boat-mirror')
    const files = await readdir(home, { recursive: true })
    expect(new Set(files.map((file) => file.split('/')[0]))).toEqual(
      new Set(['package.json', 'LICENSE', 'README.md', ...project.files.filter((name) => !name.startsWith('!'))]),
    )
    for (const name of files.filter((file) => /\.(md|txt)$/.test(file))) {
      const text = await readFile(join(home, name), 'utf8')
      for (const [link, path = ''] of text.matchAll(/\]\((?!\w+:)([^)#\s]+)(?:#[^)\s]*)?\)/g))
        expect(files, `${name}: ${link}`).toContain(join(dirname(name), path))
    }
  })

  /** The packages that a program in `folder` loads, by name. */
  const packagesLoadedBy = async (...args: readonly string[]): Promise<ReadonlySet<string>> => {
    const { stderr } = await node('--import', resolve('test/helpers/record-loads.mjs'), ...args)
    const loaded = [...stderr.matchAll(/^loaded .*node_modules\/((?:@[^/]+\/)?[^/]+)/gm)]
    return new Set(loaded.map(([, name]) => String(name)))
  }
  const own = { ...project.dependencies, ...project.optionalDependencies }

  it('lets a client of the mirror load nothing else', async () => {
    await writeFile(join(folder, 'client.js'), "import { enqueue } from 'boat-mirror/client'\nvoid enqueue\n")
    expect(await packagesLoadedBy('client.js')).toEqual(new Set(['boat-mirror']))
  })

  it('loads for help what writes it, and no more', async () => {
    const cli = 'node_modules/boat-mirror/dist/src/cli/main.js'
    for (const args of [['--help'], ['status', '--help']]) {
      const loaded = await packagesLoadedBy(cli, ...args)
      const direct = Object.keys(own).filter((name) => loaded.has(name))
      expect(direct.sort()).toEqual(['cli-table3', 'commander', 'pino'])
    }
  })

  it('runs on the packages that it names, and names no others', async () => {
    const home = join(folder, 'node_modules/boat-mirror/dist')
    const files = (await readdir(home, { recursive: true })).filter((file) => /\.(js|d\.ts)$/.test(file))
    const texts = await Promise.all(files.map((file) => readFile(join(home, file), 'utf8')))
    const names = [
      /\b(?:from|import)\s*\(?["'](?!node:)((?:@[a-z-]+\/)?[a-z][\w-]*)[\w./-]*["'](?:[;)]|$)/gm,
      /(?:\.resolve|import\.meta\.url\))\(["']([a-z-]+)["']\)/g,
    ]
    const imported = texts.flatMap((text) =>
      names.flatMap((name) => [...text.matchAll(name)].map(([, found]) => found)),
    )
    // Declarations that no export reaches name the types of Fastify: the compiler takes the rest without them, below.
    expect(new Set([...imported, '@types/pg'])).toEqual(new Set([...Object.keys(own), 'fastify']))
  })

  // It asks npm's registry. On Node 20, npm takes older versions where newest ones do not run, as yarn 1 and bun do not.
  it.skipIf(isQuick)('installs packages that take the oldest Node of ours, in their newest versions', async () => {
    const fresh = await mkdtemp(join(tmpdir(), 'boat-mirror-newest-'))
    try {
      const { dependencies, optionalDependencies } = project
      await writeFile(join(fresh, 'package.json'), JSON.stringify({ dependencies, optionalDependencies }))
      await execute('npm', ['install', '--package-lock-only', '--ignore-scripts', '--no-audit'], { cwd: fresh })
      const lock = JSON.parse(await readFile(join(fresh, 'package-lock.json'), 'utf8'))
      const packages: readonly [string, { version: string; engines?: { node?: string } }][] = Object.entries(
        lock.packages,
      )
      const oldest = project.engines.node.replace('>=', '')
      const refused = packages.filter(([, { engines }]) => !satisfies(oldest, engines?.node ?? '*'))
      expect(refused.map(([path, { version, engines }]) => `${path} ${version} ${engines?.node}`)).toEqual([])
      expect(packages.length).toBeGreaterThan(60)
    } finally {
      await rm(fresh, { recursive: true, force: true })
    }
  })

  // Not with `npm test`: a minute, most of it the compiler.
  it.skipIf(isQuick)('runs the program of docs/library.md, and the compiler knows its types', async () => {
    const [, program] = /^```ts\n(import .*?)^```/ms.exec(await readFile('docs/library.md', 'utf8')) ?? []
    await writeFile(join(folder, 'program.ts'), String(program))
    await writeFile(join(folder, 'types.ts'), typesSeen)
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
    await execute('node_modules/.bin/tsc', ['-p', folder]).catch((error) => expect.fail(error.stdout))
    const { stdout, stderr } = await node('program.js')
    expect(stderr).toBe('')
    const [done, pushed, ...given] = stdout.trimEnd().split('\n')
    expect([done, pushed]).toEqual(['true', "[ 'done' ]"])

    const db = kyselyOn(database.pool)
    const left = async (consumer: string): Promise<number> =>
      (await database.pool.query('select * from mirror.next_changes($1)', [consumer])).rows.length
    const log = `select operation || ' { id: ' || (key->>'id') || ' }' as told from mirror.change_log where stream = 'rentals' order by seq`
    // The feed ends before what was written while other transactions of the server run, of whatever database.
    await vi.waitFor(async () => {
      const rest = changes(db, { consumer: 'ledger', streams: ['rentals'] })
      for await (const { operation, key, cursor } of rest) {
        given.push(`${operation} { id: ${key.id} }`)
        await rest.ack(cursor)
      }
      expect(await left('ledger'), 'acknowledged').toBe(0)
      expect(given).toHaveLength((await database.pool.query(log)).rows.length)
    }, 60_000)
    expect(given).toEqual((await database.pool.query<{ told: string }>(log)).rows.map(({ told }) => told))
    expect(given.at(0)).toMatch(/^insert /)
    expect(given.at(-1)).toMatch(/^update /)
    for await (const change of changes(db, { consumer: 'quiet', streams: ['users'] }))
      expect(change.stream).toBe('users')
    expect(await left('quiet'), 'what it left out is done with, what it was given is not').toBeGreaterThan(0)
    for await (const _ of changes(db, { from: 'now' })) expect.fail('there is nothing after the end')
  })

  // Not with `npm test`: the compiler once more, with the next Kysely.
  it.skipIf(isQuick)('fits a Kysely of another version in the program, and serves it', async () => {
    await using own = await createTestDatabase()
    const other = await mkdtemp(join(tmpdir(), 'boat-mirror-kysely-'))
    const next = await mkdtemp(join(tmpdir(), 'boat-mirror-kysely-next-'))
    try {
      await writeFile(join(other, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
      await installOurselves(other)
      await linkPackages(other, [
        ...Object.keys(project.dependencies).filter((name) => name !== 'kysely'),
        '@types/node',
      ])
      await linkPackages(join(other, 'node_modules/boat-mirror'), ['kysely'])
      await installPackage('kysely', '0.29.9', next)
      await symlink(join(next, 'node_modules/kysely'), join(other, 'node_modules/kysely'), 'dir')
      await writeFile(join(other, 'program.ts'), otherKysely)
      await writeFile(join(other, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
      await execute('node_modules/.bin/tsc', ['-p', other]).catch((error) => expect.fail(error.stdout))
      const env = { DATABASE_URL: own.url }
      const { stdout } = await execute(process.execPath, ['program.js'], { cwd: other, env })
      expect(stdout).toMatch(/^queued \d+\ngiven \d+\nacknowledged\n$/)
    } finally {
      for (const folder of [other, next]) await rm(folder, { recursive: true, force: true })
    }
  })

  it('runs a worker, which serves its pages', async () => {
    const main = 'node_modules/boat-mirror/dist/src/cli/main.js'
    const worker = spawn(process.execPath, [main, 'worker'], {
      cwd: folder,
      env: { DATABASE_URL: database.url, API_BASE_URL: 'http://127.0.0.1:9', API_AUTH: 'none', PORT: '0' },
    })
    try {
      const url = await new Promise<string>((resolve, reject) => {
        let text = ''
        worker.once('exit', () => reject(new Error(text)))
        worker.stderr.on('data', (chunk) => {
          text += chunk
        })
        worker.stdout.on('data', (chunk) => {
          text += chunk
          const found = /^Pages +(http\S+)$/m.exec(text)?.[1]
          if (found !== undefined) resolve(found)
        })
      })
      expect((await fetch(url)).status).toBe(200)
    } finally {
      worker.kill('SIGKILL')
    }
  })
})

describe('openMirror', () => {
  const databaseUrl = 'postgres://nobody@127.0.0.1:9/none'

  it('names what is wrong as it was given', async () => {
    await expect(openMirror({ databaseUrl, ...{ apiBaseUri: 'x' } })).rejects.toThrow(
      'apiBaseUri is not an option (did you mean apiBaseUrl?).',
    )
    await expect(openMirror({ databaseUrl, apiPageSize: 0 })).rejects.toThrow(
      'apiPageSize is "0". It must be a whole number from 1 to 10000.',
    )
    await expect(openMirror({ databaseUrl, apiBaseUrl: 'https://api.example.com' })).rejects.toThrow(
      'apiToken is not set, but apiAuth is bearer. Set apiToken, or apiAuth=none.',
    )
    await expect(openMirror({ databaseUrl: '' })).rejects.toThrow('databaseUrl is not set.')
  })

  it('migrates nothing by itself, and starts no sandbox', async () => {
    await using empty = await createTestDatabase({ migrated: false })
    await expect(openMirror({ databaseUrl: empty.url })).rejects.toMatchObject({ code: 'DATABASE_SCHEMA' })
    await using migrated = await createTestDatabase()
    const mirror = await openMirror({ databaseUrl: migrated.url })
    await expect(mirror.sync()).rejects.toThrow('apiBaseUrl is not set.')
    expect((await mirror.status()).streams.length).toBeGreaterThan(30)
    await mirror.close()
    await expect(mirror.push()).rejects.toMatchObject({ code: 'ABORTED' })
  })
})
