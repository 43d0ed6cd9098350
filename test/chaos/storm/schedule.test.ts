// The timetable of a storm follows from its seed, and no two faults of one target overlap.

import { describe, expect, it } from 'vitest'
import { allKinds, drawSchedule, kinds } from './schedule.ts'

const minutes = 10 * 60_000

describe('the timetable of a storm', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(drawSchedule(7, minutes)).toEqual(drawSchedule(7, minutes))
    expect(drawSchedule(8, minutes)).not.toEqual(drawSchedule(7, minutes))
  })

  it('holds every kind many times', () => {
    const counts = allKinds.map((kind) => drawSchedule(7, minutes).filter((fault) => fault.kind === kind).length)
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(8)
  })

  it('holds every kind at least once in a minute and a half', () => {
    for (let seed = 1; seed <= 20; seed++)
      expect(new Set(drawSchedule(seed, 90_000).map(({ kind }) => kind)).size).toBe(allKinds.length)
  })

  it('never lets two faults of one target overlap, nor one outlast the storm', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const faults = drawSchedule(seed, minutes)
      for (const target of new Set(Object.values(kinds).map((kind) => kind.target))) {
        const own = faults.filter(({ kind }) => kinds[kind].target === target)
        for (const [place, fault] of own.entries())
          expect(fault.atMs + fault.ms).toBeLessThanOrEqual(own[place + 1]?.atMs ?? minutes)
      }
    }
  })

  it('is made of the wanted kinds only', () => {
    const faults = drawSchedule(3, 60_000, ['API down'])
    expect(faults.length).toBeGreaterThan(5)
    expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(['API down']))
  })
})
