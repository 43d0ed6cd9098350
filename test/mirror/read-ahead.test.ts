// No row is stored as read later than now, whatever a worker believes the time to be, or later reads would be dropped.

import { describe, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { repairReadAhead } from '../../src/mirror/read-ahead.ts'
import { saveRecords } from '../../src/mirror/records.ts'
import type { TableWrite, Tombstones } from '../../src/mirror/rows.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const day = 86_400_000
const tomorrow = (): Date => new Date(Date.now() + day)
const harbour = (id: number, name: string, readAt: Date, extra: Partial<TableWrite> = {}): TableWrite => ({
  ...tableOf('harbours', 0, [rowOf('harbours', { id, name })]),
  readAt,
  ...extra,
})

const mirror = opened(openMirror)
const stored = async (id: number) =>
  (
    await mirror.all<{ name: string; gone: boolean; ahead: boolean }>(
      `select name, _deleted_at is not null as gone, _read_at > clock_timestamp() as ahead from mirror.harbours where id = $1`,
      [id],
    )
  )[0]

describe('a read of tomorrow', () => {
  const ways: readonly (readonly [string, Partial<TableWrite>])[] = [
    ['of a record that may be known', {}],
    ['of a record that is thought to be new', { newKeys: true }],
  ]
  for (const [index, [way, extra]] of ways.entries())
    it(`${way} is stored as of now, and the next read stands`, async () => {
      await mirror.write({ tables: [harbour(index, 'first', tomorrow(), extra)] })
      expect(await stored(index)).toEqual({ name: 'first', gone: false, ahead: false })
      await new Promise((later) => setTimeout(later, 5))
      await mirror.write({ tables: [harbour(index, 'second', new Date())] })
      expect(await stored(index)).toEqual({ name: 'second', gone: false, ahead: false })
    })

  it('of an absence is stored as of now, and a record that comes back is there', async () => {
    const gone: Tombstones = { stream: streamNamed('harbours'), keys: [['10']], source: 'test', readAt: tomorrow() }
    await mirror.write({ tables: [harbour(10, 'first', new Date())] })
    for (const _again of [1, 2]) {
      await mirror.write({ tombstones: [gone] })
      expect(await stored(10)).toMatchObject({ gone: true, ahead: false })
    }
    await new Promise((later) => setTimeout(later, 5))
    await mirror.write({ tables: [harbour(10, 'back', new Date())] })
    expect(await stored(10)).toEqual({ name: 'back', gone: false, ahead: false })
  })

  it('of details is remembered as of now', async () => {
    await saveRecords(mirror.db.pool, [{ stream: 'harbours', key: '20', detailHash: 'h', detailReadAt: tomorrow() }])
    const state = { stream: 'harbours', key: '20', detailHash: 'h', detailReadAt: tomorrow(), unchanged: true }
    await saveRecords(mirror.db.pool, [state])
    const [row] = await mirror.all(
      `select detail_read_at > clock_timestamp() as ahead from sync.records where key = '20'`,
    )
    expect(row).toEqual({ ahead: false })
  })
})

describe('a row that is ahead already', () => {
  const leaveAhead = (id: number) =>
    mirror.all(`update mirror.harbours set _read_at = now() + interval '1 day' where id = $1`, [id])

  it('gives way to any read, and to an absence', async () => {
    await mirror.write({ tables: [harbour(30, 'old', new Date()), harbour(31, 'old', new Date())] })
    await leaveAhead(30)
    await leaveAhead(31)
    await mirror.write({
      tables: [harbour(30, 'new', new Date())],
      tombstones: [{ stream: streamNamed('harbours'), keys: [['31']], source: 'test', readAt: new Date() }],
    })
    expect(await stored(30)).toEqual({ name: 'new', gone: false, ahead: false })
    expect(await stored(31)).toMatchObject({ gone: true, ahead: false })
  })

  it('is set back by the repair, which forgets what was remembered of it and of nothing else', async () => {
    await mirror.write({ tables: [harbour(40, 'ahead', new Date()), harbour(41, 'well', new Date())] })
    await saveRecords(mirror.db.pool, [
      { stream: 'harbours', key: '40', listHash: 'a' },
      { stream: 'harbours', key: '41', listHash: 'b' },
    ])
    await leaveAhead(40)
    expect(await repairReadAhead(mirror.db.pool, streamNamed('harbours'), new Date())).toBe(1)
    expect(await repairReadAhead(mirror.db.pool, streamNamed('harbours'), new Date())).toBe(0)
    expect(await stored(40)).toEqual({ name: 'ahead', gone: false, ahead: false })
    expect(await mirror.all(`select key, list_hash from sync.records where key in ('40', '41') order by key`)).toEqual([
      { key: '40', list_hash: null },
      { key: '41', list_hash: 'b' },
    ])
  })
})
