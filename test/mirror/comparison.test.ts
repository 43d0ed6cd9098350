// `sync --check`: what differs between the API and the mirror, without changing anything.

import { beforeAll, expect, it } from 'vitest'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { compareWrites } from '../../src/mirror/comparison.ts'
import type { TableWrite } from '../../src/mirror/rows.ts'
import { opened } from '../helpers/opened.ts'
import { at, changeLog, openMirror, rowOf, tableOf } from '../helpers/rows.ts'

const mirror = opened(openMirror)
beforeAll(async () => {
  const option = (id: number) => rowOf('resource_options', { resource_id: 'a', id, name: `O${id}` })
  await mirror.write({
    tables: [
      tableOf(
        'harbours',
        1,
        [1, 2, 3, 4].map((id) => rowOf('harbours', { id, name: `H${id}` })),
      ),
      tableOf('resource_options', 1, [1, 2].map(option)),
    ],
  })
  await mirror.write({
    tombstones: [{ stream: streamNamed('harbours'), keys: [['4']], source: 'x', readAt: at(2) }],
  })
})

const compare = (...tables: TableWrite[]) => mirror.db.transaction((client) => compareWrites(client, tables))

it('finds nothing where the mirror equals the API', async () => {
  const same = tableOf(
    'harbours',
    9,
    [1, 2, 3].map((id) => rowOf('harbours', { id, name: `H${id}` })),
  )
  expect(await compare(same)).toEqual([])
  expect(await compare()).toEqual([])
})

it('names what is missing, gone here but not there, different, and only here', async () => {
  const before = await changeLog(mirror)
  const found = await compare(
    tableOf('harbours', 9, [
      rowOf('harbours', { id: 1, name: 'new', latitude: '1.5' }),
      rowOf('harbours', { id: 2, name: 'H2' }, { id: 2, more: true }),
      rowOf('harbours', { id: 3, name: 'H3' }),
      rowOf('harbours', { id: 4, name: 'H4' }),
      rowOf('harbours', { id: 5, name: 'H5' }),
    ]),
    tableOf('resource_options', 9, [rowOf('resource_options', { resource_id: 'a', id: 1, name: 'O1' })], {
      replace: [{ columns: ['resource_id'], values: ['a'] }],
    }),
  )
  expect(found).toEqual([
    {
      stream: 'harbours',
      missing: 2,
      different: 2,
      deleted: 0,
      samples: [
        { stream: 'harbours', key: ['1'], kind: 'different', columns: { name: ['H1', 'new'], latitude: [null, 1.5] } },
        {
          stream: 'harbours',
          key: ['2'],
          kind: 'different',
          columns: {
            _payload: [
              { id: 2, name: 'H2' },
              { id: 2, more: true },
            ],
          },
        },
        { stream: 'harbours', key: ['4'], kind: 'missing', columns: { id: [null, 4], name: [null, 'H4'] } },
        { stream: 'harbours', key: ['5'], kind: 'missing', columns: { id: [null, 5], name: [null, 'H5'] } },
      ],
    },
    {
      stream: 'resource_options',
      missing: 0,
      different: 0,
      deleted: 1,
      samples: [{ stream: 'resource_options', key: ['a', '2'], kind: 'deleted', columns: {} }],
    },
  ])
  expect(await changeLog(mirror)).toEqual(before)
  expect(await mirror.all('select name from mirror.harbours where id = 1')).toEqual([{ name: 'H1' }])
})

it('counts everything and shows the first twenty', async () => {
  const [found] = await compare(
    tableOf(
      'harbours',
      9,
      Array.from({ length: 500 }, (_, n) => rowOf('harbours', { id: 1_000 + n })),
    ),
  )
  expect(found).toMatchObject({ missing: 500, different: 0 })
  expect(found?.samples).toHaveLength(20)
})
