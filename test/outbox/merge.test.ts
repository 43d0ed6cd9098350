// The three-way merge and what counts as the same value.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/api/wire/json.ts'
import { writeNamed } from '../../src/catalog/writes.ts'
import { mergeChange, type OnConflict, overlayBase } from '../../src/outbox/merge.ts'

const fields = writeNamed('rental.update').body
const names = ['contractLink', 'orderLink', 'referenceId'] as const
const value = fc.constantFrom<Json>(null, 'a', 'b', 'c')
const record = fc.record({ contractLink: value, orderLink: value, referenceId: value })
const change = fc.record({ contractLink: value, orderLink: value, referenceId: value }, { requiredKeys: [] })
const merge = (
  base: JsonObject,
  local: JsonObject,
  remote: JsonObject,
  onConflict: OnConflict = 'fail',
  own: JsonObject = {},
) => mergeChange({ fields, base, local, remote, own, onConflict })

/** The record after a merge, or null when it is a conflict. */
const result = (remote: JsonObject, merged: ReturnType<typeof merge>): JsonObject | null =>
  merged.kind === 'conflict' ? null : { ...remote, ...merged.apply }

describe('a merge', () => {
  it('takes every field of the change when nobody else changed anything', () => {
    fc.assert(
      fc.property(record, change, (base, local) => {
        expect(result(base, merge(base, local, base))).toEqual({ ...base, ...local })
      }),
    )
  })

  it('changes nothing when the editor changed nothing', () => {
    fc.assert(
      fc.property(record, record, (base, remote) => {
        expect(result(remote, merge(base, base, remote))).toEqual(remote)
      }),
    )
  })

  it('keeps both sides when they changed different fields', () => {
    fc.assert(
      fc.property(record, value, value, (base, ours, theirs) => {
        const remote = { ...base, orderLink: theirs }
        expect(result(remote, merge(base, { contractLink: ours }, remote))).toEqual({ ...remote, contractLink: ours })
      }),
    )
  })

  it('is a conflict exactly for the fields that both changed, differently', () => {
    fc.assert(
      fc.property(record, change, record, (base, local, remote) => {
        const both = names.filter((name) => {
          const own = local[name]
          return own !== undefined && own !== base[name] && remote[name] !== base[name] && own !== remote[name]
        })
        const merged = merge(base, local, remote)
        expect(merged.kind === 'conflict' ? Object.keys(merged.conflict).sort() : []).toEqual([...both].sort())
      }),
    )
  })

  it('applies what one wants over what is one’s own, and keeps what others changed where one changed nothing', () => {
    fc.assert(
      fc.property(record, change, record, change, (base, local, remote, own) => {
        const merged = merge(base, local, remote, 'remote_wins', own)
        if (merged.kind !== 'merged') throw new Error('remote_wins decides.')
        for (const name of names.filter((each) => local[each] !== undefined && local[each] !== remote[each])) {
          const wins = remote[name] === base[name] || (local[name] !== base[name] && own[name] === remote[name])
          expect([name, merged.kept.includes(name)]).toEqual([name, !wins])
        }
      }),
    )
  })

  it('shows base, local and remote of a conflict', () => {
    const merged = merge({ orderLink: 'a' }, { orderLink: 'b' }, { orderLink: 'c' })
    expect(merged).toEqual({ kind: 'conflict', conflict: { orderLink: { base: 'a', local: 'b', remote: 'c' } } })
  })

  it('never is a conflict when the change says who wins, and then that side has every disputed field', () => {
    fc.assert(
      fc.property(record, change, record, (base, local, remote) => {
        for (const winner of ['local_wins', 'remote_wins'] as const) {
          const merged = merge(base, local, remote, winner)
          expect(merged.kind).toBe('merged')
          for (const name of names) {
            const own = local[name]
            if (own === undefined || own === base[name] || remote[name] === base[name] || own === remote[name]) continue
            expect(result(remote, merged)?.[name]).toBe(winner === 'local_wins' ? own : remote[name])
          }
        }
      }),
    )
  })

  it('accepts what is there where the editor’s view is not known', () => {
    expect(merge({}, { orderLink: 'b' }, { orderLink: 'c' })).toEqual({
      kind: 'merged',
      apply: { orderLink: 'b' },
      kept: [],
    })
  })

  it('names the fields that give way because only the other side changed them', () => {
    const merged = merge({ orderLink: 'a' }, { orderLink: 'a' }, { orderLink: 'c' })
    expect(merged).toEqual({ kind: 'merged', apply: {}, kept: ['orderLink'] })
    const insistent = merge({ orderLink: 'a' }, { orderLink: 'a' }, { orderLink: 'c' }, 'local_wins')
    expect(insistent, 'to win takes a change of one’s own').toEqual(merged)
  })

  it('sees what one’s own earlier changes left as the base', () => {
    const base = overlayBase({ orderLink: 'a', status: 'PENDING' }, [{ orderLink: 'b' }, { orderLink: 'c' }])
    expect(base).toEqual({ orderLink: 'c', status: 'PENDING' })
    expect(merge(base, { orderLink: 'd' }, { orderLink: 'c' })).toMatchObject({ kind: 'merged' })
  })
})
