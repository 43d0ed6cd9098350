// As whom Postgres runs, and which folders that account may pass.

import { describe, expect, it } from 'vitest'
import { canEnter, mayPass, parsePasswd, pickAccount } from '../../src/embedded/identity.ts'
import { makeFolder } from './folders.ts'

const line = (name: string, uid: number, gid = uid): string => `${name}:x:${uid}:${gid}::/:/usr/sbin/nologin`

describe('the account to run Postgres as', () => {
  const cases = [
    {
      name: 'postgres before all',
      lines: [line('root', 0), line('nobody', 65534), line('postgres', 70)],
      picked: 'postgres',
    },
    { name: 'nobody without it', lines: [line('root', 0), line('daemon', 1), line('nobody', 65534)], picked: 'nobody' },
    {
      name: 'any system account without both',
      lines: [line('root', 0), line('alice', 1000), line('www', 33)],
      picked: 'www',
    },
    { name: 'never a person', lines: [line('root', 0), line('alice', 1000)], picked: undefined },
    { name: 'never root under another name', lines: [line('root', 0), line('postgres', 0)], picked: undefined },
    { name: 'no account in a file without any', lines: ['', '# comment', 'broken:x', '+::::::'], picked: undefined },
  ]
  for (const { name, lines, picked } of cases)
    it(name, () => expect(pickAccount(parsePasswd(lines.join('\n')))?.name).toBe(picked))

  it('has the numbers of its line', () =>
    expect(pickAccount(parsePasswd(line('nobody', 65534, 65533)))).toEqual({ name: 'nobody', uid: 65534, gid: 65533 }))
})

describe('a folder may be passed', () => {
  const account = { name: 'nobody', uid: 7, gid: 8 }
  const cases = [
    { uid: 0, gid: 0, mode: 0o755, passes: true },
    { uid: 0, gid: 0, mode: 0o711, passes: true },
    { uid: 0, gid: 0, mode: 0o700, passes: false },
    { uid: 0, gid: 0, mode: 0o744, passes: false },
    { uid: 0, gid: 8, mode: 0o710, passes: true },
    { uid: 0, gid: 8, mode: 0o701, passes: false },
    { uid: 7, gid: 0, mode: 0o700, passes: true },
    { uid: 7, gid: 8, mode: 0o011, passes: false },
  ]
  for (const { passes, ...owner } of cases)
    it(`${passes ? '' : 'not '}by 7:8 when it is ${owner.uid}:${owner.gid} ${owner.mode.toString(8)}`, () =>
      expect(mayPass(owner, account)).toBe(passes))

  it('only when everything above may be, and always by ourselves', async () => {
    await using open = await makeFolder(0o711)
    await using closed = await makeFolder(0o700)
    const stranger = { name: 'stranger', uid: 4_000_000, gid: 4_000_000 }
    expect(await canEnter(open.path, stranger)).toBe(true)
    expect(await canEnter(closed.path, stranger)).toBe(false)
    expect(await canEnter(closed.path, null)).toBe(true)
  })
})
