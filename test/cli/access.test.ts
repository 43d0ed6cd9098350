// `access` as people call it: what it says, and what it refuses.

import { beforeAll, expect, it } from 'vitest'
import { companyOfKey } from '../../src/serve/access/secrets.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror, rowOf, tableOf } from '../helpers/rows.ts'
import { errorOf, openCommandLine } from './program.ts'

const mark = Math.random().toString(36).slice(2, 8)
const [role, admin] = [`shop_${mark}`, `admin_${mark}`]

const mirror = opened(() => openMirror())
const cli = opened(() => openCommandLine({ DATABASE_URL: mirror.url }))
beforeAll(async () => {
  await mirror.write({ tables: [tableOf('companies', 1, [rowOf('companies', { id: 1 })])] })
  await mirror.all(`create role ${role} nologin in role boat_mirror_partner; create role ${admin} nologin bypassrls`)
})

it('grants, lists and revokes, and warns of a company that the mirror does not have', async () => {
  expect(await cli.run(['access', 'list'])).toMatchObject({
    code: 0,
    stdout: 'No role is restricted. Each sees everything that it was granted.\n',
  })
  expect(await cli.run(['access', 'grant', role, '--companies', '1, 2,1'])).toMatchObject({
    code: 0,
    stdout: `${role} and its members now see only companies 1, 2.\n`,
    stderr: 'The mirror has no company 2 yet.\n',
  })
  const again = await cli.run(['access', 'grant', role, '--companies', '1', '--json'])
  expect(JSON.parse(again.stdout)).toEqual({ role, companies: ['1'], unknown: [] })
  expect((await cli.run(['access', 'list'])).stdout).toMatch(
    new RegExp(`ROLE +COMPANIES +SINCE \\(UTC\\) +PROBLEM\n${role} +1 `),
  )
  await mirror.all(`grant ${admin} to ${role}`)
  const [listed] = JSON.parse((await cli.run(['access', 'list', '--json'])).stdout)
  expect(listed).toMatchObject({ role, companies: ['1'], exists: true, bypasses: `${admin} has BYPASSRLS` })
  expect(await cli.run(['access', 'revoke', role])).toMatchObject({ code: 0, stderr: '' })
  const repeated = await cli.run(['access', 'revoke', role])
  expect([repeated.code, errorOf(repeated)]).toEqual([1, expect.stringContaining('is not restricted. [NOT_FOUND]')])
})

it('refuses what it cannot restrict, and says why', async () => {
  const refused = async (...args: readonly string[]): Promise<readonly [number | null, string]> => {
    const ended = await cli.run(['access', 'grant', ...args])
    return [ended.code, errorOf(ended)]
  }
  expect(await refused(`nobody_${mark}`, '--companies', '1')).toEqual([
    1,
    expect.stringContaining(`There is no role nobody_${mark}. [NOT_FOUND]`),
  ])
  expect(await refused(role, '--companies', '1,x')).toEqual([
    2,
    expect.stringContaining('"x" is not the id of a company'),
  ])
  expect(await refused(role)).toEqual([2, expect.stringContaining('--companies')])
  expect(await refused(admin, '--companies', '1')).toEqual([
    2,
    expect.stringContaining(`Role ${admin} cannot be restricted: ${admin} has BYPASSRLS`),
  ])
  const [{ owner } = { owner: '' }] = await mirror.all<{ owner: string }>('select current_user as owner')
  expect(await refused(owner, '--companies', '1')).toEqual([2, expect.stringContaining(`${owner} is a superuser`)])
  expect(await mirror.all('select * from company_access.grants')).toEqual([])
})

it('prints the address of a report with a key that opens it, and revokes the key', async () => {
  const run = (...args: readonly string[]) => cli.run(['access', 'report', ...args])
  const made = await run('rentals', '--company', '1')
  expect(made).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('no longer open the report rentals of company 1.'),
  })
  const [, key = ''] = /^http:\/\/127\.0\.0\.1:8585\/reports\/rentals\.csv\?key=([\w-]{43})\n$/.exec(made.stdout) ?? []
  expect(await companyOfKey(mirror.db.pool, 'rentals', key)).toBe('1')
  const json = JSON.parse((await run('rentals', '--company', '1', '--json')).stdout)
  expect(json).toMatchObject({ report: 'rentals', company: '1', address: expect.stringContaining(json.key) })
  expect(await companyOfKey(mirror.db.pool, 'rentals', key)).toBeNull()
  expect(await run('rentals', '--company', '1', '--revoke')).toMatchObject({
    code: 0,
    stdout: 'The report rentals of company 1 no longer has a key.\n',
  })
  const refusals = [
    [['rentals', '--company', '1', '--revoke'], 'has no key.'],
    [['rentals', '--company', '9'], 'There is no company 9 in the mirror.'],
    [['rental', '--company', '1'], 'There is no report "rental" with rows of companies (did you mean rentals?).'],
    [['freshness', '--company', '1'], 'There is no report "freshness" with rows of companies'],
    [['rentals', '--company', 'x'], '"x" is not the id of a company'],
  ] as const
  for (const [args, message] of refusals) expect(errorOf(await run(...args))).toContain(message)
})
