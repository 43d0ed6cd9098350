// Calls that meet go together: what `inBatches` promises, and that changes that settle together end as each would alone.

import { describe, expect, it } from 'vitest'
import { doneChanges } from '../../src/mirror/kept-counts.ts'
import { inBatches } from '../../src/outbox/batches.ts'
import { sharedRig } from './rig.ts'

describe('calls', () => {
  it('of one turn, and those that come while these run, go together, at most so many; what fails concerns its own call', async () => {
    const batches: (readonly number[])[] = []
    const meanwhile: Promise<number>[] = []
    const call = inBatches(3, (items: readonly number[]) => {
      batches.push(items)
      if (items.includes(1)) meanwhile.push(call(5))
      if (items.includes(7)) throw new Error('7 fails at once')
      return items.map(async (item) => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        if (item === 4) throw new Error('4 fails')
        return item * 10
      })
    })
    const results = await Promise.allSettled([1, 2, 3, 4].map(call))
    expect(await Promise.all(meanwhile)).toEqual([50])
    expect(batches).toEqual([
      [1, 2, 3],
      [4, 5],
    ])
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)))).toEqual([
      10,
      20,
      30,
      'Error: 4 fails',
    ])
    for (const failed of await Promise.allSettled([7, 8].map(call)))
      expect(failed).toMatchObject({ status: 'rejected', reason: { message: '7 fails at once' } })
    expect(await call(6)).toBe(60)
  })
})

describe('changes of several rentals that settle together', () => {
  const rig = sharedRig()

  it('are done, in their order, with the rows of each; one that was taken over keeps none of the others back', async () => {
    const { pool } = rig.database
    const rentals = Array.from({ length: 6 }, () => rig.planner.rental())
    for (const id of rentals) await rig.mirror('rentals', { id })
    const ids: string[] = []
    for (const round of [1, 2, 3])
      for (const rentalId of rentals)
        ids.push(
          await rig.queue(
            'rental_crew_member.add',
            { rentalId },
            { firstName: `Round ${round}`, lastName: 'Together', type: 'ADULT' },
          ),
        )
    const [stolen = ''] = ids
    // Another pusher takes the first one over while its answer is on its way: it must not settle, and all others must.
    await pool.query(
      `create sequence public.taken_over;
       create function public.take_over() returns trigger language plpgsql as $$ begin
         perform nextval('public.taken_over');
         new.fence := new.fence + 1; new.lease_until := clock_timestamp() + interval '1 s'; return new; end $$`,
    )
    await pool.query(
      `create trigger take_over before update of departed on outbox.queue for each row
       when (new.id = ${stolen} and new.departed and not old.departed and new.attempts = 1) execute function public.take_over()`,
    )
    await rig.push()
    const { rows: taken } = await pool.query('select last_value::int, is_called from public.taken_over')
    expect(taken).toEqual([{ last_value: 1, is_called: true }])
    for (const id of ids) expect(await rig.change(id)).toMatchObject({ id, status: 'done' })
    // Counted once each, also the one that was settled after its batch had failed.
    expect(await doneChanges(pool)).toBe(ids.length)
    const { rows } = await pool.query(
      `select first_name, count(*)::int as count from mirror.rental_crew_members where last_name = 'Together' group by 1 order by 1`,
    )
    expect(rows).toEqual([1, 2, 3].map((round) => ({ first_name: `Round ${round}`, count: rentals.length })))
    for (const rentalId of rentals) {
      const sent = rig.writes().filter(({ path }) => path.includes(`/rentals/${rentalId}/`))
      expect(sent.map(({ body }) => (body as { firstName: string }).firstName)).toEqual([
        'Round 1',
        'Round 2',
        'Round 3',
      ])
    }
  })
})
