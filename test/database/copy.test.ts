// Texts into Postgres as we write them ourselves: COPY in its text format, and arrays as one parameter.

import fc from 'fast-check'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { copyFields, copyRows, copyText } from '../../src/database/copy.ts'
import { textArray } from '../../src/database/sql.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { openMirror } from '../helpers/rows.ts'

const mirror = opened(openMirror)
beforeAll(async () => {
  await mirror.all('create table public.texts (n int, a text, b text)')
})
beforeEach(() => mirror.all('truncate public.texts'))

/** What Postgres can hold: everything but NUL and halves of surrogate pairs. */
const storable = fc.string({ unit: 'binary', maxLength: 300 }).map((text) => text.replaceAll('\0', '').toWellFormed())
const awkward = fc.constantFrom('', '\\N', '\\', '\t', '\n', '\r', '\\.', 'NULL', '"', '{}', ',', 'č', '\ud83d\ude00')
const anyText = fc.oneof(
  awkward,
  storable,
  fc.array(awkward, { maxLength: 200 }).map((texts) => texts.join('')),
)
const anyValue = fc.option(anyText, { nil: null })

async function copied(parts: Iterable<string>): Promise<readonly { a: string | null; b: string | null }[]> {
  await mirror.db.transaction((client) => copyRows(client, 'copy public.texts (n, a, b) from stdin', parts))
  return await mirror.all('select a, b from public.texts order by n')
}

describe('COPY', () => {
  it('brings every text as it is, and null as null', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(anyValue, anyValue), { maxLength: 30 }), async (rows) => {
        await mirror.all('truncate public.texts')
        const lines = rows.map((row, n) => `${copyFields([String(n), ...row])}\n`)
        expect(await copied(lines)).toEqual(rows.map(([a, b]) => ({ a, b })))
      }),
      { numRuns: runsOf(60) },
    )
  })

  it('takes a line in parts, of whatever length, across what is sent at once', async () => {
    const texts = [1, 60_000, 70_000, 200_000, 3, 65_536, 21_845].flatMap((length) => [
      'a'.repeat(length),
      'č'.repeat(length),
      '\ud83d\ude00'.repeat(length),
    ])
    function* parts(): Generator<string> {
      for (const [n, text] of texts.entries()) {
        yield copyFields([String(n), text])
        yield '\t'
        yield copyText(`\\${text}`)
        yield '\n'
      }
    }
    expect(await copied(parts())).toEqual(texts.map((text) => ({ a: text, b: `\\${text}` })))
  })

  it('takes no line at all', async () => {
    expect(await copied([])).toEqual([])
  })

  it('rejects with the error of Postgres, and leaves the connection usable', async () => {
    await mirror.db.transaction(async (client) => {
      await client.query('savepoint before')
      const line = `${copyFields(['no number', 'a', 'b'])}\n`
      const failing = copyRows(client, 'copy public.texts (n, a, b) from stdin', [line])
      await expect(failing).rejects.toMatchObject({ code: '22P02' })
      await client.query('rollback to savepoint before')
      expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    })
  })

  it('takes the fields at the places that are asked for', () => {
    expect(copyFields(['a', null, 'c\t'], [2, 0])).toBe('c\\t\ta')
    expect(copyFields(['a', null, 'c\t'])).toBe('a\t\\N\tc\\t')
  })
})

describe('an array of texts', () => {
  it('arrives as it was, whatever its texts hold', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyText, { maxLength: 30 }), async (texts) => {
        expect(await mirror.all('select $1::text[] as texts', [textArray(texts)])).toEqual([{ texts }])
      }),
      { numRuns: runsOf(60) },
    )
  })
})
