// Awkward data survive unchanged; what cannot be mirrored is in quarantine with its reason, and nothing else is held up.

import { describe, expect, it } from 'vitest'
import { openTestMirror } from '../helpers/mirror.ts'

const rentalText = (id: string, more: string): string =>
  `{"id":${id},"creationDatetime":"2020-01-01T00:00:00Z",${more}}`

describe('awkward records', () => {
  it('survive unchanged: numbers to the last digit, texts, zones, unknown values and fields', async () => {
    await using mirror = await openTestMirror({ size: 5 }, { TIME_ZONE: 'Europe/Paris' })
    const { sandbox, app } = mirror
    const long = 'é'.repeat(100_000)
    const texts = [
      '🛥️ émoji',
      'שלום مرحبا',
      'tab\\tand\\u0001control',
      'a\\"quote\\\\backslash',
      'new\\nline',
      '\\\\N',
      '',
    ]
    sandbox.raw(
      { record: 'rentals', id: '9007199254740995' },
      rentalText(
        '9007199254740995',
        `"totalPaid":1234567890123456789.12345678901,"totalToPay":1e2,"status":"A_NEW_STATUS","newField":{"deep":[1,null]},"departureDatetime":"2026-07-01T09:00:00","arrivalDatetime":"2026-07-02T18:00:00+05:30","depositCurrency":"EUR","message":null`,
      ),
    )
    sandbox.raw(
      { record: 'rentals', id: '900001' },
      rentalText('900001', `"depositCurrency":{"code":"EUR"},"message":"${long}"`),
    )
    for (const [index, text] of texts.entries())
      sandbox.raw(
        { record: 'rentals', id: String(900_010 + index) },
        rentalText(String(900_010 + index), `"message":"${text}"`),
      )
    const runs = await mirror.sync()
    expect(runs.filter((run) => run.status !== 'done').map((run) => `${run.stream}: ${run.error}`)).toEqual([])

    const rows = await mirror.all<Record<string, string>>(
      `select id::text, total_paid::text, total_to_pay::text, status, deposit_currency::text, _payload ->> 'newField' as unknown,
         (departure_datetime at time zone 'UTC')::text as departure, (arrival_datetime at time zone 'UTC')::text as arrival
       from mirror.rentals where id = 9007199254740995`,
    )
    expect(rows).toEqual([
      {
        id: '9007199254740995',
        total_paid: '1234567890123456789.12345678901',
        total_to_pay: '100',
        status: 'A_NEW_STATUS',
        deposit_currency: '"EUR"',
        unknown: '{"deep": [1, null]}',
        departure: '2026-07-01 07:00:00',
        arrival: '2026-07-02 12:30:00',
      },
    ])
    const messages = await app.database.pool.query<{ message: string }>(
      'select message from mirror.rentals where id between 900010 and 900099 order by id',
    )
    expect(messages.rows.map((row) => row.message)).toEqual(texts.map((text) => JSON.parse(`"${text}"`)))
    const whole = await app.database.pool.query<{ same: boolean }>(
      'select message = $1 as same from mirror.rentals where id = 900001',
      [long],
    )
    expect(whole.rows).toEqual([{ same: true }])
    const unknown = await app.database.pool.query<{ path: string }>(
      `select path from sync.unknown_fields where stream = 'rentals'`,
    )
    expect(unknown.rows.map((row) => row.path)).toContain('newField')
  })

  it('with NUL and lone surrogates are mirrored with U+FFFD and a warning', async () => {
    await using mirror = await openTestMirror({ size: 5 })
    mirror.sandbox.raw(
      { record: 'rentals', id: '900001' },
      rentalText('900001', '"message":"a\\u0000b\\ud800c\\udc00"'),
    )
    const runs = await mirror.sync({ streams: ['rentals'] })
    const run = runs.find((each) => each.stream === 'rentals')
    expect([run?.status, run?.warnings.some((warning) => warning.includes('U+FFFD'))]).toEqual(['done', true])
    const rows = await mirror.all<{ message: string }>('select message from mirror.rentals where id = 900001')
    expect(rows[0]?.message).toBe('a\ufffdb\ufffdc\ufffd')
  })

  it('keep ids with slashes, colons, dots and spaces, and everything below them', async () => {
    await using mirror = await openTestMirror({ size: 5 })
    const ids = ['12/3:4', 'a b?c=d&e', '..', 'x%2Fy', 'é#1']
    mirror.sandbox.mutate(ids.map((id) => ({ record: 'resources', op: 'insert' as const, id })))
    const runs = await mirror.sync({ streams: ['resources', 'resource_options', 'resource_slots'] })
    expect(runs.filter((run) => run.status !== 'done').map((run) => `${run.stream}: ${run.error}`)).toEqual([])
    const rows = await mirror.all<{ id: string }>(
      'select id from mirror.resources where id = any($1) and _deleted_at is null',
      [ids],
    )
    expect(rows.map((row) => row.id).sort()).toEqual([...ids].sort())
  })
})

describe('records that cannot be mirrored', () => {
  it('are in quarantine whole, with the reason, while the rest of the page goes on; a good version clears them', async () => {
    await using mirror = await openTestMirror({ size: 12 })
    const { sandbox, app } = mirror
    const bad = {
      '900001': rentalText('900001', '"crewAdults":"many","message":"kept"'),
      '900002': rentalText('900002', '"departureDatetime":"yesterday"'),
      '900003': rentalText('900003', '"totalPaid":{"amount":1}'),
    }
    for (const [id, text] of Object.entries(bad)) sandbox.raw({ record: 'rentals', id }, text)
    await mirror.sync({ streams: ['rentals'] })
    const quarantined = await app.database.pool.query<{ key: string; reason: string; payload: unknown }>(
      `select key, reason, payload from sync.quarantine where stream = 'rentals' order by key`,
    )
    expect(quarantined.rows.map((row) => row.key)).toEqual(Object.keys(bad))
    expect(quarantined.rows[0]).toMatchObject({
      reason: expect.stringContaining('crewAdults'),
      payload: JSON.parse(bad['900001']),
    })
    const live = await app.database.pool.query<{ id: string }>(
      'select id from mirror.rentals where _deleted_at is null',
    )
    const known = sandbox.truth({ only: ['rentals'] }).rentals ?? []
    const good = known.map((row) => String(row.key.id)).filter((id) => !(id in bad))
    expect(live.rows.map((row) => row.id).sort()).toEqual(good.sort())

    sandbox.raw({ record: 'rentals', id: '900001' }, rentalText('900001', '"crewAdults":4'))
    await mirror.sync({ streams: ['rentals'] })
    const left = await app.database.pool.query<{ key: string }>(
      `select key from sync.quarantine where stream = 'rentals' order by key`,
    )
    expect(left.rows.map((row) => row.key)).toEqual(['900002', '900003'])
  })

  it('do not delete the version that is known', async () => {
    await using mirror = await openTestMirror({ size: 8 })
    await mirror.sync({ streams: ['rentals'] })
    const rows = await mirror.all<{ id: string }>('select id from mirror.rentals limit 1')
    const id = rows[0]?.id ?? ''
    mirror.sandbox.raw({ record: 'rentals', id }, rentalText(id, '"crewAdults":[]'))
    await mirror.sync({ streams: ['rentals'] })
    const after = await mirror.app.database.pool.query<{ alive: boolean }>(
      'select _deleted_at is null as alive from mirror.rentals where id = $1',
      [id],
    )
    expect(after.rows).toEqual([{ alive: true }])
  })
})
