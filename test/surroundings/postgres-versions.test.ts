// The suite runs on every supported version of Postgres; here is what happens on one that is too old. Its binaries are
// fetched from npm's registry, so it runs where that is asked for: with `npm run surroundings`.

import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { errorOf, openCommandLine } from '../cli/program.ts'
import { ask } from '../embedded/folders.ts'
import { isFull } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { openPostgresVersion, tooOldVersion } from '../helpers/postgres-versions.ts'

describe.runIf(isFull)(`Postgres ${tooOldVersion}`, () => {
  const server = opened(() => openPostgresVersion(tooOldVersion, join(inject('runFolder'), 'too-old'), {}))
  const cli = opened(() => openCommandLine({ DATABASE_URL: server.url }))

  const said = /Postgres 13\.\d+ is too old\. \[DATABASE_REFUSED\]\s+Use Postgres 14 or newer\./

  for (const command of ['worker', 'sync', 'push', 'migrate'])
    it(`is refused by ${command}, and left as it was`, async () => {
      const ended = await cli.run([command])
      expect(ended.stdout + errorOf(ended)).toMatch(said)
      expect(ended.code).toBe(1)
      const own = `select count(*)::int from pg_namespace where nspname !~ '^pg_' and nspname not in ('information_schema', 'public')`
      expect(await ask(server.url, own)).toBe(0)
    })

  it('is named by check, without advice that does not help there', async () => {
    const { code, stdout } = await cli.run(['check', '--json'])
    const { findings } = JSON.parse(stdout) as { findings: { name: string; status: string; detail: string }[] }
    expect(code).toBe(1)
    expect(JSON.stringify(findings.find(({ name }) => name === 'database'))).toMatch(/Postgres 13\.\d+ is too old/)
    expect(findings.map(({ name }) => name)).not.toContain('schema')
  })
})
