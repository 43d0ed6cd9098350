// What an update does not mean to change is upstream afterwards as it was before, to the last character and digit.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { BodyField, WriteDef } from '../../src/catalog/types.ts'
import { writeNamed, writes } from '../../src/catalog/writes.ts'
import type { ChangeInfo } from '../../src/outbox/inspect.ts'
import { previewChanges } from '../../src/outbox/preview.ts'
import { runsOf } from '../helpers/extent.ts'
import { opened } from '../helpers/opened.ts'
import { canonical, startRawApi } from './raw-api.ts'
import { sharedRig } from './rig.ts'

const api = opened(startRawApi)
const rig = sharedRig({ front: async () => ({ url: api.url, [Symbol.asyncDispose]: async () => {} }) })
let lastId = 0

type Place = {
  readonly write: WriteDef
  readonly target: Record<string, number>
  readonly path: string
  readonly id: number
}

/** A place of its own for each record. */
function placeOf(operation: string): Place {
  const write = writeNamed(operation)
  const id = ++lastId
  const target = Object.fromEntries(Object.keys(write.target).map((name) => [name, id]))
  const path = write.endpoint.slice('PUT '.length).replace(/\{\w+\}/g, String(id))
  return { write, target, path, id }
}

const queue = ({ write, target }: Place, body: object, options: object | string = {}): Promise<string> =>
  rig.queue(write.operation, target, body, options)

async function push(id: string): Promise<ChangeInfo> {
  await rig.push()
  return await rig.change(id)
}

const withText = (place: Place, members: string): string => `{"id":${place.id},${members}}`

/** JSON texts of awkward values. None holds what stands for lost bytes: two halves that no text has. */
const awkwardText = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.string({ maxLength: 8, unit: 'binary' }) },
      fc.constantFrom('\0', '\ud800', '\udc00', '\ufffd', '🛥️', '\\u0000', '"', '\u2028', '‮', '\u007f', 'é', 'é'),
    ),
    { maxLength: 5 },
  )
  .map((parts) => JSON.stringify(parts.join('')))
const number = fc.constantFrom(
  '1.10',
  '1e2',
  '1E+2',
  '-0',
  '0.00',
  '12345678901234567890.1234567890',
  '0.00000001',
  '1e-7',
  '120.5',
  '"120.50"',
)
const date = fc.constantFrom('"1990-05-01"', '"1990-05-01T00:00:00Z"', '"0000-00-00"')

function awkwardFor(field: BodyField): fc.Arbitrary<string> {
  if (field.values !== undefined)
    return fc
      .constantFrom(...field.values, ...(field.name === 'status' ? ['PENDING'] : ['DR']))
      .map((each) => JSON.stringify(each))
  if (field.type === 'number' || field.type === 'integer') return number
  if (field.type === 'date') return date
  if (field.type !== 'object') return awkwardText
  const members = fc
    .tuple(awkwardText, awkwardText)
    .map(([name, extra]) => `"name":${name},"extra":{"a":[${extra},1.0]}`)
  const id = field.members?.[0]?.type === 'integer' ? '3' : '"FR"'
  return members.map((rest) => `{"${field.members?.[0]?.name}":${id},${rest}}`)
}

/** Members of a record: some awkward, some null, some absent. */
const recordOf = (fields: readonly BodyField[]): fc.Arbitrary<Record<string, string | undefined>> =>
  fc.record(
    Object.fromEntries(
      fields.map((field) => [
        field.name,
        field.clearable === false ? awkwardFor(field) : fc.option(awkwardFor(field), { nil: 'null', freq: 6 }),
      ]),
    ),
    { requiredKeys: [] },
  )

/** A plain new value for a field of a change. */
const wishFor = (field: BodyField): unknown => {
  if (field.values !== undefined) return field.values[0]
  if (field.type === 'object')
    return { [field.members?.[0]?.name ?? '']: field.members?.[0]?.type === 'integer' ? 7 : 'IT' }
  if (field.type === 'number' || field.type === 'integer') return 77
  return { date: '2001-02-03', email: 'new@example.com', uri: 'https://example.com/new' }[field.type as string] ?? 'new'
}

/** What a mirror shows of a JSON text, as JSON text. */
const shown = (value = 'null'): string =>
  /^["{]/.test(value)
    ? JSON.stringify(JSON.parse(value), (_, each) =>
        typeof each === 'string' ? each.replace(/\0|\p{Surrogate}/gu, '\ufffd') : each,
      )
    : value

const updates = writes.filter((write) => write.kind === 'update').map((write) => write.operation)

describe('an update of one field leaves every other as it was, and finds no conflict and nothing moved', () => {
  it('for every update of the catalog', () => expect(updates.length).toBeGreaterThanOrEqual(7))

  for (const operation of updates)
    it(operation, async () => {
      const { body: fields } = writeNamed(operation)
      const touching = fc.constantFrom(...fields)
      await fc.assert(
        fc.asyncProperty(recordOf(fields), touching, fc.boolean(), async (members, touched, knowsBase) => {
          const place = placeOf(operation)
          const record: Record<string, string | undefined> = {
            unknownToUs: '[1.0,"\\ud800"]',
            number: '"7"',
            ...members,
          }
          api.show(
            place.path,
            withText(
              place,
              Object.entries(record)
                .map(([name, value]) => `"${name}":${value}`)
                .join(),
            ),
          )
          const before = new Map(Object.keys(record).map((name) => [name, api.member(place.path, name)]))
          const wish = wishFor(touched)
          const base = knowsBase ? `{"base":{"${touched.name}":${shown(record[touched.name])}}}` : '{}'
          const change = await push(await queue(place, { [touched.name]: wish }, base))
          expect([change.status, change.error]).toEqual(['done', null])
          expect(change.warning ?? '').not.toMatch(/Changed by others|Not accepted|Kept the value|Left as/)
          for (const [name, value] of before)
            if (name !== touched.name) expect([name, api.member(place.path, name)]).toEqual([name, value])
          expect(JSON.parse(api.member(place.path, touched.name) ?? '')).toEqual(wish)
        }),
        { numRuns: runsOf(20) },
      )
    })
})

describe('a lost answer', () => {
  it.each(['"a\\u0000b"', '"\\ud800"', '1.10', '"\ufffd"'])(
    'is proven with %s among the fields that were sent',
    async (odd) => {
      const place = placeOf('user.update')
      api.show(place.path, withText(place, `"firstName":"Ann","lastName":${odd},"addressCity":"x\\u0000"`))
      const id = await queue(place, { firstName: 'Anne', addressCity: 'Brest' })
      const puts = api.puts.length
      api.loseNextAnswer()
      const change = await push(id)
      expect(change).toMatchObject({ status: 'done', attempts: 1 })
      expect(change.warning).toBe('Replaced, although the mirror could not show all of it: addressCity.')
      expect(api.puts.length - puts).toBe(1)
      expect(api.member(place.path, 'lastName')).toBe(canonical(odd))
    },
  )
})

describe('bytes that are none of the character set', () => {
  const latin1 = (place: Place, members: string): Buffer => Buffer.from(withText(place, members), 'latin1')

  it('are not sent back as U+FFFD: the change fails before anything is sent, and says what to do', async () => {
    const place = placeOf('user.update')
    api.show(place.path, latin1(place, '"firstName":"Ann","lastName":"March\xe9"'))
    const puts = api.puts.length
    const id = await queue(place, { firstName: 'Anne' })
    const change = await push(id)
    expect(change).toMatchObject({ status: 'failed', sent_at: null, request: null })
    expect(change.error).toMatch(new RegExp(`^Nothing was sent: lastName .* changes retry ${id}\\.$`))
    expect(api.puts.length).toBe(puts)

    api.show(place.path, withText(place, '"firstName":"Ann","lastName":"Marché"'))
    await rig.decide('retry', id)
    expect(await push(id)).toMatchObject({ status: 'done', warning: null })
    expect(api.member(place.path, 'lastName')).toBe('"Marché"')
  })

  it('give way to a change that names their field, with a warning', async () => {
    const place = placeOf('user.update')
    api.show(place.path, latin1(place, '"firstName":"Ann","lastName":"March\xe9"'))
    const id = await queue(place, { lastName: 'Marché' }, { base: { lastName: 'March\ufffd' } })
    expect(await push(id)).toMatchObject({
      status: 'done',
      warning: 'Replaced, although the mirror could not show all of it: lastName.',
    })
    expect(api.member(place.path, 'lastName')).toBe('"Marché"')
  })

  it('in a field that is not written do no harm', async () => {
    const place = placeOf('rental.update')
    api.show(place.path, latin1(place, '"message":"\xe9t\xe9","orderLink":"https://example.com/1"'))
    const change = await push(await queue(place, { contractLink: 'https://example.com/2' }))
    expect([change.status, change.warning]).toEqual(['done', null])
  })

  it('that the API declares are text like any other', async () => {
    const place = placeOf('user.update')
    api.show(
      place.path,
      latin1(place, '"firstName":"Ann","lastName":"March\xe9"'),
      'application/json; charset=ISO-8859-1',
    )
    expect(await push(await queue(place, { firstName: 'Anne' }))).toMatchObject({ status: 'done', warning: null })
    expect(api.member(place.path, 'lastName')).toBe('"Marché"')
  })
})

describe('a change that repeats what the mirror shows', () => {
  it('of a character it can’t show leaves that field as it is upstream', async () => {
    const place = placeOf('user.update')
    api.show(place.path, withText(place, '"firstName":"Ann","lastName":"a\\u0000b"'))
    const change = await push(await queue(place, { firstName: 'Anne', lastName: 'a\ufffdb' }))
    expect(change).toMatchObject({
      status: 'done',
      warning: 'Left as received, because the mirror cannot show all of it: lastName.',
    })
    expect([api.member(place.path, 'firstName'), api.member(place.path, 'lastName')]).toEqual(['"Anne"', '"a\\u0000b"'])
  })

  it('with something added fails, and nothing is sent', async () => {
    const place = placeOf('user.update')
    api.show(place.path, withText(place, '"firstName":"Ann","lastName":"a\\u0000b"'))
    const puts = api.puts.length
    const change = await push(await queue(place, { lastName: 'a\ufffdb and Co' }))
    expect(change).toMatchObject({ status: 'failed', error: expect.stringContaining('lastName has U+FFFD') })
    expect(api.puts.length).toBe(puts)
  })
})

describe('what people see of a change', () => {
  it('has U+FFFD where the request had what Postgres can’t store', async () => {
    const place = placeOf('user.update')
    api.show(place.path, withText(place, '"firstName":"Ann","lastName":"a\\u0000\\ud800b"'))
    const id = await queue(place, { firstName: 'Anne' })
    const [preview] = await previewChanges(rig.context, 10, AbortSignal.timeout(100_000))
    expect(preview?.body).toEqual({ firstName: 'Anne', lastName: 'a\ufffd\ufffdb' })
    const change = await push(id)
    expect(change.request).toMatchObject({ body: { firstName: 'Anne', lastName: 'a\ufffd\ufffdb' } })
    expect(api.puts.at(-1)).toContain('"lastName":"a\\u0000\\ud800b"')
  })
})

describe('a price', () => {
  it('whose present value the API refuses is not left out, which would reset it: the change fails', async () => {
    const place = placeOf('rental.update')
    api.show(place.path, withText(place, '"rentalPrice":-1.50,"orderLink":"https://example.com/1"'))
    api.refuseNext({ errors: [{ field: 'rentalPrice', message: 'must not be negative' }] })
    const change = await push(await queue(place, { orderLink: 'https://example.com/2' }))
    expect(change.status).toBe('failed')
    expect(api.member(place.path, 'rentalPrice')).toBe('-1.50')
  })

  it('with more digits than a number holds can be decided with local', async () => {
    const place = placeOf('rental.update')
    api.show(place.path, withText(place, '"rentalPrice":12345678901234567890.10'))
    const id = await queue(place, { rentalPrice: 5 }, { base: { rentalPrice: 4 } })
    expect((await push(id)).status).toBe('conflict')
    await rig.decide('local', id)
    expect((await push(id)).status).toBe('done')
    expect(api.member(place.path, 'rentalPrice')).toBe('5')
  })
})
