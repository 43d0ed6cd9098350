// Where the mirror holds hashes, or nothing: a record that is read from it and sent back changes nothing at the API.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/api/wire/json.ts'
import { streamNamed } from '../../src/catalog/catalog.ts'
import { writes } from '../../src/catalog/writes.ts'
import { type Action, privacySettings } from '../../src/privacy/rules.ts'
import { recordTag } from '../../src/serve/rights.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { openWrites, withoutHashes } from './writes-rig.ts'

const modes = ['keep', 'hash', 'drop'] as const satisfies readonly Action[]
const settingsOf = (mode: Action) =>
  privacySettings({ personalData: mode, personalDataKey: 'a key for tests, and nothing else', privacy: {} })

const updates = writes.filter(({ kind }) => kind === 'update')

for (const mode of modes)
  describe(`with PERSONAL_DATA=${mode}`, () => {
    // Of a document nothing is left that a row could hold, where all of it is dropped.
    const mirrored = updates.filter(({ stream }) => mode !== 'drop' || streamNamed(stream).document !== true)
    const served = opened(() => openWrites({ privacy: settingsOf(mode), env: { MIRROR_DOCUMENTS: 'on' } }))

    /** Path, stored record and truth of a record that an operation can update. */
    const stored = async (operation: string, index: number) => {
      const write = updates.find((each) => each.operation === operation)
      const rows = (served.rig.sandbox.truth({ only: [write?.stream ?? ''] })[write?.stream ?? ''] ?? []).filter(
        ({ record }) => record.status === undefined || record.status === 'VALIDATED',
      )
      const key = rows[index % rows.length]?.key ?? {}
      await served.rig.mirror(write?.stream ?? '', key as Record<string, string | number>)
      const stream = streamNamed(write?.stream ?? '')
      const values = stream.key.map((column) => key[column])
      const where = stream.key.map((column, at) => `${column} = $${at + 1}`).join(' and ')
      const { rows: found } = await served.rig.database.pool.query(
        `select _payload from mirror.${stream.name} where ${where}`,
        values,
      )
      let at = 0
      const path = (write?.endpoint.split(' ')[1] ?? '').replace(/\{\w+\}/g, () => String(values[at++]))
      const truth = () => {
        const { lastModificationDatetime: _, ...rest } =
          served.rig.truth(stream.name, key as Record<string, string | number>) ?? {}
        return rest
      }
      const id = { stream, key: values.map(String) }
      return { path, id, record: withoutHashes(found[0]?._payload as Json) as Record<string, Json>, truth }
    }

    it('a record goes back as it was read, whole or in part, under its tag or none, and changes nothing', async () => {
      const drawn = fc.record({
        operation: fc.constantFrom(...mirrored.map(({ operation }) => operation)),
        index: fc.nat({ max: 30 }),
        left: fc.func(fc.integer({ min: 0, max: 3 })),
        nulls: fc.boolean(),
        tagged: fc.boolean(),
      })
      await fc.assert(
        fc.asyncProperty(drawn, async ({ operation, index, left, nulls, tagged }) => {
          const { path, id, record, truth } = await stored(operation, index)
          const before = truth()
          const write = updates.find((each) => each.operation === operation)
          const required = (write?.body ?? []).filter((field) => field.required).map(({ name }) => name)
          const part = Object.entries(record).filter(([name]) => required.includes(name) || left(name) > 0)
          // What the mirror does not show stands as null in a program that knows the API's fields.
          const hidden = (write?.body ?? []).filter(
            ({ name, required: must }) => mode !== 'keep' && !must && !Object.hasOwn(record, name),
          )
          const body = {
            ...Object.fromEntries(part),
            ...(nulls && Object.fromEntries(hidden.map(({ name }) => [name, null]))),
          }
          const caller = served.callers.writer
          if (caller === undefined) throw new Error('There is no caller.')
          const headers = tagged ? { 'if-match': `"${recordTag(caller, id, record)}"` } : {}
          const got = await served.send({ method: 'PUT', path, body, headers })
          // Where nothing is left of it that can be written, nothing is queued.
          expect([200, 400], got.text).toContain(got.status)
          if (got.status === 400) expect(got.text).toContain('body is empty')
          expect(truth()).toEqual(before)
          expect(got.text).not.toContain('bmh1:')
        }),
        { numRuns: runsOf(25) },
      )
    })

    it('a new value is written, and a hash is refused by the name of its field', async () => {
      const { path, truth } = await stored('user.update', 1)
      expect((await served.send({ method: 'PUT', path, body: { addressCity: 'Sète' } })).status).toBe(200)
      expect(truth()).toMatchObject({ addressCity: 'Sète' })
      const got = await served.send({ method: 'PUT', path, body: { addressCity: `bmh1:${'a'.repeat(43)}` } })
      expect([got.status, got.json]).toMatchObject([422, { errors: [{ field: 'addressCity' }] }])
      const nested = await served.send({ method: 'PUT', path, body: { nationality: { code: 'bmh1:x' } } })
      expect([nested.status, nested.json]).toMatchObject([422, { errors: [{ field: 'nationality' }] }])
      expect(truth()).toMatchObject({ addressCity: 'Sète' })
    })

    it(`null ${mode === 'keep' ? 'clears a value' : 'counts as absent where the mirror does not show the value'}`, async () => {
      const { path, truth } = await stored('user.update', 2)
      await served.send({ method: 'PUT', path, body: { addressCity: 'Brest' } })
      const got = await served.send({ method: 'PUT', path, body: { addressCity: null, language: { code: 'en' } } })
      expect(got.status).toBe(200)
      expect(truth()).toMatchObject({ addressCity: mode === 'keep' ? null : 'Brest', language: { code: 'en' } })
    })
  })
