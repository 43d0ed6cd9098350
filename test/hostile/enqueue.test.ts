// outbox.enqueue with hostile arguments, in real SQL, as a partner calls it and as the owner: refused with a sentence of
// ours that names the place, or accepted and stored as it is.

import type { PoolClient } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase } from '../helpers/database.ts'
import { opened } from '../helpers/opened.ts'
import { type Call, calls } from './changes.ts'
import { sampleOf } from './draw.ts'

type Answer = {
  readonly place: number
  readonly id: string | null
  readonly state: string | null
  readonly message: string | null
}

/** Tries many calls in one round trip, each under a savepoint of its own. */
const helper = `create function public.try_calls(operations text[], targets text[], bodies text[], options text[])
  returns table (place int, id bigint, state text, message text) language plpgsql as $$
  declare t jsonb; b jsonb; o jsonb;
  begin
    for n in 1 .. array_length(operations, 1) loop
      place := n; id := null; state := null; message := null;
      t := targets[n]; b := bodies[n]; o := options[n];
      begin
        id := outbox.enqueue(operations[n], t, b, o);
      exception when others then
        get stacked diagnostics state = returned_sqlstate, message = message_text;
      end;
      return next;
    end loop;
  end $$`

/** What a schema holds besides rows: nothing of it may change. */
const shape = `select md5(string_agg(x, E'\\n' order by x)) as shape from (
    select format('%s.%s %s %s', table_schema, table_name, column_name, data_type) as x from information_schema.columns
    where table_schema in ('outbox', 'mirror', 'sync', 'report')
    union all select p.oid::regprocedure::text || md5(p.prosrc) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('outbox', 'mirror', 'sync', 'report')) s`

const arrays = (given: readonly Call[]): readonly (readonly (string | null)[])[] => [
  given.map((call) => call.operation),
  given.map((call) => call.target),
  given.map((call) => call.body),
  given.map((call) => call.options),
]

/** Few enough that their advisory locks fit into the lock table. */
const portion = 400

describe('outbox.enqueue', () => {
  let client: PoolClient
  let before: unknown
  const database = opened(() => createTestDatabase())
  beforeAll(async () => {
    client = await database.pool.connect()
    await client.query(helper)
    before = (await client.query(shape)).rows
    // Changes that others may refer to: one of another role, and done ones whose result no id should ever look like.
    await client.query(`insert into outbox.queue (operation, target, body, aggregate, enqueued_by, status, result)
      select operation, '{}', '{}', 'change:0', coalesce(owner, current_user)::name, 'done', result::jsonb from (values
        ('rental.create', 'somebody_else', '{"id": 1}'), ('user.create', null, '{"id": "x'' or true"}'),
        ('rental.create', 'boat_mirror_enqueue', '{"id": "../users/1"}'), ('user.create', 'boat_mirror_enqueue', '{"id": {"a": 1}}'),
        ('rental.create', 'boat_mirror_enqueue', '{"id": 1e400}'), ('rental_option.add', 'boat_mirror_enqueue', 'null'),
        ('rental.create', 'boat_mirror_enqueue', '{"id": "abc"}'), ('user.create', 'boat_mirror_enqueue', '{"id": "abc"}')
      ) as v (operation, owner, result)`)
  })
  afterAll(async () => {
    client?.release()
  })

  for (const [index, [caller, role]] of [
    ['a partner', 'boat_mirror_enqueue'],
    ['the owner', 'none'],
  ].entries())
    it(`refuses with a sentence that names the place, or stores what it was given, for ${caller}`, async () => {
      const all = sampleOf(12_000, calls, index + 1, 2)
      const problems: string[] = []
      let accepted = 0
      for (let start = 0; start < all.length; start += portion) {
        const given = all.slice(start, start + portion)
        await client.query(`set role ${role}`)
        const { rows } = await client.query<Answer>(
          'select * from public.try_calls($1, $2, $3, $4)',
          arrays(given) as unknown[],
        )
        await client.query('reset role')
        for (const { place, state, message } of rows)
          if (state !== null) problems.push(...wrongRefusal(given[place - 1], state, message))
        const stored = rows.filter(({ id }) => id !== null)
        accepted += stored.length
        problems.push(...(await differing(client, given, stored)))
      }
      expect(problems.slice(0, 20)).toEqual([])
      expect(accepted).toBeGreaterThan(all.length / 10)
      expect(accepted).toBeLessThan((all.length * 9) / 10)
      expect((await client.query(shape)).rows).toEqual(before)
    })
})

function wrongRefusal(call: Call | undefined, state: string, message: string | null): readonly string[] {
  const operation = call?.operation ?? null
  const ours = ['22023', '23505'].includes(state)
  const said = message ?? ''
  const named =
    said.startsWith('The operation ') || (said.startsWith(`${operation}: `) && /: (target|body|options)\b/.test(said))
  return ours && named && said.length < 3_000
    ? []
    : [`${state} ${said.slice(0, 300)} ← ${JSON.stringify(call).slice(0, 600)}`]
}

/** Texts of digits as numbers: where a number is expected, both are the same change, and the number is stored. */
const plain = (json: string): string =>
  `regexp_replace((${json})::text, '(?<=[[ ])"(-?)0*([0-9]{1,200}([.][0-9]{1,200})?)"(?!:)', '\\1\\2', 'g')::jsonb`

/** Accepted calls whose stored change is not what was given. */
async function differing(
  client: PoolClient,
  given: readonly Call[],
  stored: readonly Answer[],
): Promise<readonly string[]> {
  const kept = stored.map(({ place }) => given[place - 1] as Call)
  const { rows } = await client.query<{ place: string }>(
    `select g.place from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) with ordinality
         as g(id, operation, target, body, options, place)
       left join outbox.queue q on q.id = g.id
     where (q.operation, ${plain('q.target')}, ${plain('q.body')}) is distinct from
       (g.operation, ${plain("coalesce(g.target::jsonb, '{}')")}, ${plain("coalesce(g.body::jsonb, '{}')")})
       or q.reference is distinct from (g.options::jsonb ->> 'reference')
       or (q.reference is null and q.options is distinct from coalesce(g.options::jsonb, '{}'))`,
    [stored.map(({ id }) => id), ...arrays(kept)],
  )
  return rows.map(({ place }) => `stored differently: ${JSON.stringify(kept[Number(place) - 1]).slice(0, 500)}`)
}
