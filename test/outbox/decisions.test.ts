// What is decided twice, late, by two people at once, or after the plan changed, takes effect at most once. Roles, rights and
// limits of the functions that decide.

import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ReadCall } from '../../src/api/types.ts'
import * as client from '../../src/client.ts'
import { readConfig } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { kyselyOn } from '../../src/database/sql.ts'
import { ApiError } from '../../src/errors.ts'
import { openMirror } from '../../src/library.ts'
import { createLogger } from '../../src/log.ts'
import type { Choice, DecisionOptions, ResolveOptions } from '../../src/outbox/decide.ts'
import { carryOutDecisions, decideChange } from '../../src/outbox/decisions.ts'
import type { KyselyTransaction } from '../../src/outbox/enqueue.ts'
import { grantCompanies, revokeCompanies } from '../../src/serve/access/company-access.ts'
import { advance } from '../../src/sync/advance.ts'
import { decideStream } from '../../src/sync/decisions.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts'
import { runsOf } from '../helpers/extent.ts'
import { asRole, stateOf } from '../helpers/roles.ts'
import { contextFor } from './rig.ts'

const log = createLogger('silent')
const settings = readConfig({}, '/nonexistent')
const suffix = Math.random().toString(36).slice(2, 8)
const [ann, bob, shop] = [`ann_${suffix}`, `bob_${suffix}`, `shop_${suffix}`] as const

let test: TestDatabase
let database: Database
beforeAll(async () => {
  test = await createTestDatabase()
  database = openDatabase({ url: test.url, applicationName: 'decisions test', max: 10, log })
  await test.pool.query(`create role ${ann} in role boat_mirror_operator; create role ${bob} in role boat_mirror_operator;
    create role ${shop} in role boat_mirror_enqueue`)
  // Each effect of a decision on a change is a change of its state.
  await test.pool.query(`create table public.effects (id bigint, status text);
    grant insert on public.effects to public;
    create function public.note_effect() returns trigger language plpgsql as $$
      begin insert into public.effects values (new.id, new.status); return null; end $$;
    create trigger note_effect after update on outbox.queue for each row
      when (new.status in ('queued', 'canceled', 'done') and new.status <> old.status) execute function public.note_effect()`)
})
afterAll(async () => {
  await database.close()
  await test.pool.query(`drop owned by ${ann}, ${bob}, ${shop}; drop role ${ann}, ${bob}, ${shop}`)
  await test[Symbol.asyncDispose]()
})

beforeEach(() =>
  test.pool.query(`delete from sync.decisions; delete from outbox.queue; delete from public.effects;
    delete from sync.runs; update sync.streams set paused_by = null; update sync.settings set outbox_limit = null`),
)

/** A statement as a role; what the first row answers, or the SQLSTATE of its refusal. */
const as = (role: string, statement: string, values: readonly unknown[] = []): Promise<unknown> =>
  asRole(test.pool, role, async (client) => {
    const { rows } = await client.query(statement, [...values])
    return Object.values((rows[0] ?? {}) as object)[0]
  }).catch(stateOf)

const one = async <T>(statement: string, values: readonly unknown[] = []): Promise<T> =>
  Object.values((await test.pool.query(statement, [...values])).rows[0] as object)[0] as T

const operations = { replaces: 'rental.update', assigns: 'rental_user.assign', makes: 'rental_payment.add' } as const

let rentals = 0
/** A change in a state, as a pusher left it. */
async function change(status: string, kind: keyof typeof operations = 'replaces', by: string = shop): Promise<string> {
  const rental = ++rentals
  const conflict = status === 'conflict' ? { message: { base: 'a', local: 'b', remote: 'c' } } : null
  return await one(
    `insert into outbox.queue (operation, target, body, aggregate, enqueued_by, status, conflict, settled_at)
     values ($1, $2, '{"message": "b"}', $3, $4, $5, $6, case when $5 not in ('queued', 'blocked', 'sending') then now() end)
     returning id::text`,
    [operations[kind], { rentalId: rental }, `rental:${rental}`, by, status, conflict],
  )
}

/** A run that holds the deletion of so many records. */
async function heldRun(keys: number): Promise<string> {
  const id = await one<string>(
    `insert into sync.runs (stream, trigger, status, held, finished_at, phase)
     values ('rentals', 'schedule', 'held', $1, now(), 'finished') returning id::text`,
    [keys],
  )
  await test.pool.query(`insert into sync.held (run_id, key) select $1, n::text from generate_series(1, $2) n`, [
    id,
    keys,
  ])
  return id
}

/** What workers do: several of them, at once. Their API cannot be reached. */
async function workers(): Promise<void> {
  const { context, close } = contextFor({ database, sandbox: { url: 'http://127.0.0.1:1' } })
  const read = async ({ endpoint }: ReadCall): Promise<never> => {
    throw new ApiError('API_UNREACHABLE', 'No connection.', { endpoint })
  }
  const pushing = { ...context, api: { ...context.api, read } }
  const stopped = AbortSignal.timeout(100_000)
  await Promise.all([
    carryOutDecisions(pushing, stopped),
    carryOutDecisions(pushing, stopped),
    advance(database, settings),
    advance(database, settings),
  ])
  await close()
}

type Subject = {
  readonly target: string
  /** The hash of its plan as it is shown. */
  plan(): Promise<string | null>
  /** What may be decided about it, as calls of SQL whose last argument is the plan. */
  readonly calls: readonly string[]
  /** Something else changes the plan. */
  drift(): Promise<unknown>
}

const ofChange = (id: string): Subject => ({
  target: `change:${id}`,
  plan: () => one('select plan from outbox.changes where id = $1', [id]),
  calls: [
    `select outbox.retry(${id}, $1)`,
    `select outbox.cancel(${id}, $1)`,
    ...['local', 'remote', 'did_not', 'took_effect'].map(
      (choice) => `select outbox.resolve(${id}, '${choice}', null, $1)`,
    ),
  ],
  drift: () =>
    test.pool.query(
      `update outbox.queue set status = case status when 'queued' then 'unknown' else 'failed' end,
      settled_at = now(), left_out = left_out || 'x'::text where id = $1 and status <> 'done'
        and not exists (select from sync.decisions where target = 'change:' || $1 and done_at is null)`,
      [id],
    ),
})

const ofStream = (name: string): Subject => ({
  target: `stream:${name}`,
  plan: () => one('select plan from sync.stream_plans where stream = $1', [name]),
  calls: [`select sync.pause('${name}', $1)`, `select sync.resume('${name}', $1)`],
  drift: async () => undefined,
})

const ofRun = (id: string): Subject => ({
  target: `run:${id}`,
  plan: async () =>
    (await test.pool.query('select plan from sync.held_plans where run_id = $1', [id])).rows[0]?.plan ?? null,
  calls: [`select sync.release(${id}, $1)`],
  drift: () =>
    test.pool.query('delete from sync.held where ctid in (select ctid from sync.held where run_id = $1 limit 1)', [id]),
})

describe('a plan', () => {
  it('is decided at most once, whoever decides, how often, how late, and whatever changed meanwhile', async () => {
    const step = fc.record({
      /** Rarely another than the one that this run is about. */
      elsewhere: fc.constantFrom(0, 0, 0, 1),
      call: fc.constantFrom(0, 1, 0, 1, 0, 1, 2, 3, 4, 5),
      /** Which of the plans that were seen: the newest, or one of before. */
      seen: fc.constantFrom(0, 0, 1, 1, 2),
      people: fc.constantFrom(1, 1, 2, 3),
      before: fc.constantFrom('look', 'look', 'look', 'look', 'look', 'nothing', 'work', 'drift'),
    })
    await fc.assert(
      fc.asyncProperty(fc.nat(5), fc.array(step, { minLength: 4, maxLength: 14 }), async (about, steps) => {
        const subjects = [
          ofChange(await change('failed')),
          ofChange(await change('conflict')),
          ofChange(await change('unknown', 'makes')),
          ofChange(await change('conflict', 'assigns')),
          ofStream('users'),
          ofRun(await heldRun(3)),
        ]
        const last = await one<string>('select coalesce(max(id), 0)::text from sync.decisions')
        const seen = subjects.map((): (string | null)[] => [])
        const decided = new Set<string>()
        for (const { elsewhere, call, seen: age, people, before } of steps) {
          const index = (about + elsewhere) % subjects.length
          const subject = subjects[index] as Subject
          if (before === 'look') seen[index]?.unshift(await subject.plan())
          if (before === 'drift') await subject.drift()
          if (before === 'work') await workers()
          const expected = seen[index]?.[age] ?? 'never seen'
          const present = await subject.plan()
          const statement = subject.calls[call % subject.calls.length] ?? ''
          const answers = await Promise.all(
            Array.from({ length: people }, (_, person) => as(person % 2 === 0 ? ann : bob, statement, [expected])),
          )
          const taken = answers.filter((answer) => /^\d+$/.test(String(answer)) && String(answer).length < 5)
          expect(taken.length, `${statement}: ${answers}`).toBeLessThanOrEqual(1)
          if (taken.length === 0) continue
          expect(expected, 'a plan that has changed is refused').toBe(present)
          expect(decided.has(expected), 'no plan is decided twice').toBe(false)
          decided.add(expected)
          expect(await as(ann, statement, [expected]), 'the same form once more').toMatch(/^(PT412|P0002|55000)$/)
        }
        await workers()
        // Effects: each decision about a change moved it once, and each release began one run.
        const targets = subjects.map(({ target }) => target)
        const { rows } = await test.pool.query<{
          noted: number
          effective: number
          moves: number
          released: number
          runs: number
        }>(
          `select count(*)::int as noted,
             count(*) filter (where error is null and target like 'change:%')::int as effective,
             count(*) filter (where done_at is not null and error is null and target like 'run:%')::int as released,
             (select count(*)::int from public.effects where 'change:' || id = any($1)) as moves,
             (select count(*)::int from sync.tasks where 'run:' || (payload->>'heldRunId') = any($1)) as runs
           from sync.decisions where target = any($1) and id > $2`,
          [targets, last],
        )
        const [facts] = rows
        expect(facts?.noted).toBe(decided.size)
        expect(facts?.moves).toBe(facts?.effective)
        expect(facts?.runs).toBe(facts?.released)
        await test.pool.query(`update sync.runs set status = 'failed' where status = 'running'`)
      }),
      { numRuns: runsOf(40) },
    )
  })

  it('is refused when it comes again after others have led back to the same state', async () => {
    const subjects = [
      [ofChange(await change('failed')), 'retry', 'cancel'],
      [ofStream('harbours'), 'pause', 'resume'],
    ] as const
    for (const [subject, first, back] of subjects) {
      const call = (name: string): string => subject.calls.find((each) => each.includes(name)) ?? ''
      const noted = /^\d+$/
      expect(await as(ann, call(first), [await subject.plan()])).toMatch(noted)
      expect(await as(bob, call(back), [await subject.plan()])).toMatch(noted)
      const late = await subject.plan()
      expect(await as(ann, call(first), [late])).toMatch(noted)
      expect(await as(bob, call(back), [await subject.plan()])).toMatch(noted)
      expect(await as(ann, call(first), [late]), 'the same state, and not the same plan').toBe('PT412')
    }
  })

  it('is refused to a transaction that reads an old snapshot', async () => {
    const id = await change('canceled')
    const client = await test.pool.connect()
    try {
      await client.query('begin isolation level repeatable read')
      const { rows } = await client.query('select plan from outbox.changes where id = $1', [id])
      await decideChange(test.pool, { what: 'retry', id }, { via: 'command' })
      await decideChange(test.pool, { what: 'cancel', id }, { via: 'command' })
      await expect(client.query('select outbox.retry($1, $2)', [id, rows[0].plan])).rejects.toMatchObject({
        code: expect.stringMatching(/^(40001|PT412)$/),
      })
    } finally {
      await client.query('rollback')
      client.release()
    }
    expect(await one(`select string_agg(status, ' ') from public.effects`)).toBe('queued canceled')
  })

  it('that changed before a worker came is not carried out, and says so', async () => {
    const [taken, run] = [await change('unknown'), await heldRun(2)]
    await as(ann, `select outbox.resolve($1, 'took_effect')`, [taken])
    await as(ann, 'select sync.release($1)', [run])
    await test.pool.query(`update outbox.queue set body = null; delete from sync.held where key = '2'`)
    await workers()
    const { rows } = await test.pool.query('select what, error from sync.decisions order by id')
    const error = 'Not carried out: the plan changed before the decision took effect.'
    expect(rows).toEqual([
      { what: 'took_effect', error },
      { what: 'release', error },
    ])
    expect(await one('select count(*)::int from public.effects')).toBe(0)
    expect(await one(`select count(*)::int from sync.runs where trigger = 'release'`)).toBe(0)
  })
})

describe('who may decide', () => {
  it('members of boat_mirror_operator, about every change; nobody else but whoever queued it, to retry and to cancel it', async () => {
    const [own, foreign] = [await change('failed'), await change('failed', 'replaces', ann)]
    expect(await as(shop, 'select outbox.retry($1)', [foreign])).toBe('P0002')
    expect(await as(shop, 'select outbox.cancel($1)', [foreign])).toBe('P0002')
    expect(await as(shop, `select outbox.resolve($1, 'local')`, [own])).toBe('42501')
    for (const call of ['sync.release(1)', `sync.pause('users')`, `sync.resume('users')`])
      expect(await as(shop, `select ${call}`), call).toBe('42501')
    expect(await as(shop, 'select outbox.retry($1)', [own])).toMatch(/^\d+$/)
    expect(await as(shop, 'select outbox.cancel($1)', [own])).toMatch(/^\d+$/)
    expect(await as(ann, 'select count(*)::int from outbox.changes')).toBe(2)
    expect(await as(shop, 'select count(*)::int from outbox.changes')).toBe(1)
    expect(await as(bob, 'select outbox.cancel($1)', [foreign])).toMatch(/^\d+$/)
    const { rows } = await test.pool.query('select who, via, what, target from sync.decisions order by id')
    expect(rows).toEqual([
      { who: shop, via: 'sql', what: 'retry', target: `change:${own}` },
      { who: shop, via: 'sql', what: 'cancel', target: `change:${own}` },
      { who: bob, via: 'sql', what: 'cancel', target: `change:${foreign}` },
    ])
  })

  it('nobody in another name: what names somebody is the owner’s alone', async () => {
    const id = await change('failed')
    expect(await as(ann, `select outbox.decide('retry', $1, null, null, 'somebody', 'page')`, [id])).toBe('42501')
    expect(await as(ann, `select sync.decide('pause', 'users', null, 'somebody', 'page')`)).toBe('42501')
    for (const name of ['retry', 'cancel', 'resolve', 'decide', 'release', 'pause', 'resume'])
      expect(
        await one(
          `select count(*)::int from pg_proc p where p.pronamespace in ('outbox'::regnamespace, 'sync'::regnamespace)
          and p.proname = $1 and has_function_privilege('public', p.oid, 'execute')`,
          [name],
        ),
        name,
      ).toBe(0)
  })

  it('a role that sees some companies alone: about its own changes of these, and nothing else', async () => {
    await test.pool.query(`insert into mirror.rentals (id, company_id, _payload, _source, _read_at)
      values (9001, 1, '{}', 'GET', now()), (9002, 2, '{}', 'GET', now()) on conflict do nothing`)
    const [own, foreign] = [await change('failed'), await change('failed')]
    await test.pool.query(
      `update outbox.queue set aggregate = case id when $1 then 'rental:9001' else 'rental:9002' end`,
      [own],
    )
    for (const role of [shop, ann]) await database.transaction((client) => grantCompanies(client, role, ['1']))
    try {
      for (const role of [shop, ann]) {
        expect(await as(role, 'select outbox.cancel($1)', [foreign])).toBe('P0002')
        expect(await as(role, 'select outbox.cancel($1)', [own])).toMatch(/^\d+$/)
        expect(await as(role, 'select outbox.retry($1)', [own])).toMatch(/^\d+$/)
      }
      for (const call of [`sync.release(${await heldRun(1)})`, `sync.pause('users')`, `sync.resume('users')`])
        expect(await as(ann, `select ${call}`), call).toBe('42501')
      // An operator who sees everything may not send what the role that queued it must not.
      expect(await as(bob, 'select outbox.retry($1)', [foreign])).toBe('42501')
      expect(await as(bob, 'select outbox.cancel($1)', [foreign])).toMatch(/^\d+$/)
    } finally {
      for (const role of [shop, ann]) await database.transaction((client) => revokeCompanies(client, role))
    }
  })

  it('a retry counts against OUTBOX_LIMIT of the role that queued it, and needs its right to queue', async () => {
    const [failed, conflict] = [await change('failed'), await change('conflict')]
    await test.pool.query('update sync.settings set outbox_limit = 1')
    expect(await as(ann, 'select outbox.retry($1)', [failed])).toBe('53400')
    expect(await as(ann, 'select outbox.retry($1)', [conflict]), 'it was open before').toMatch(/^\d+$/)
    await test.pool.query(`update sync.settings set outbox_limit = null; revoke boat_mirror_enqueue from ${shop}`)
    expect(await as(ann, 'select outbox.retry($1)', [failed])).toBe('42501')
    await test.pool.query(`grant boat_mirror_enqueue to ${shop}`)
    expect(await as(ann, 'select outbox.retry($1)', [failed])).toMatch(/^\d+$/)
  })
})

describe('a program', () => {
  type Decides = {
    retry(id: string, options?: DecisionOptions): Promise<string>
    cancel(id: string, options?: DecisionOptions): Promise<string>
    resolve(id: string, choice: Choice, options?: ResolveOptions): Promise<string>
    release(runId: string, options?: DecisionOptions): Promise<string>
    pause(stream: string, options?: DecisionOptions): Promise<string>
    resume(stream: string, options?: DecisionOptions): Promise<string>
  }
  /** The functions of boat-mirror/client, each in a transaction of an operator's. */
  const ofClient = (role: string): Decides => {
    const run = (decide: (trx: KyselyTransaction) => Promise<string>): Promise<string> =>
      kyselyOn<unknown>(test.pool)
        .transaction()
        .execute(async (trx) => {
          await sql.raw(`set local role ${role}`).execute(trx)
          return await decide(trx)
        })
    return {
      retry: (...given) => run((trx) => client.retryChange(trx, ...given)),
      cancel: (...given) => run((trx) => client.cancelChange(trx, ...given)),
      resolve: (...given) => run((trx) => client.resolveChange(trx, ...given)),
      release: (...given) => run((trx) => client.releaseRun(trx, ...given)),
      pause: (...given) => run((trx) => client.pauseStream(trx, ...given)),
      resume: (...given) => run((trx) => client.resumeStream(trx, ...given)),
    }
  }

  const decidesAll = async (program: Decides, via: string): Promise<void> => {
    const [failed, conflict, unknown, made] = [
      await change('failed'),
      await change('conflict'),
      await change('unknown'),
      await change('unknown', 'makes'),
    ]
    const run = await heldRun(2)
    const planOf = (id: string): Promise<string> => one('select plan from outbox.changes where id = $1', [id])
    const seen = await planOf(failed)
    await program.retry(failed, { expected: seen })
    await program.cancel(failed, { expected: await planOf(failed) })
    const planChanged = { code: 'PLAN_CHANGED', remedy: expect.stringContaining('changes show') }
    await expect(program.retry(failed, { expected: seen })).rejects.toMatchObject(planChanged)
    await expect(program.cancel(failed, { expected: seen })).rejects.toMatchObject(planChanged)
    expect(await one('select status from outbox.queue where id = $1', [failed])).toBe('canceled')

    await expect(program.resolve(conflict, 'local', { expected: seen })).rejects.toMatchObject({ code: 'PLAN_CHANGED' })
    await program.resolve(conflict, 'local', { expected: await planOf(conflict) })
    await program.resolve(unknown, 'did_not')
    await program.resolve(made, 'took_effect', { resultId: 77 })
    await program.release(run, { expected: await one('select plan from sync.held_plans where run_id = $1', [run]) })
    const streamPlan = (): Promise<string> => one(`select plan from sync.stream_plans where stream = 'harbours'`)
    const before = await streamPlan()
    await program.pause('harbours', { expected: before })
    await expect(program.resume('harbours', { expected: before })).rejects.toMatchObject({ code: 'PLAN_CHANGED' })
    const resumed = await program.resume('harbours', { expected: await streamPlan() })

    const { rows } = await test.pool.query(
      'select id::text, via, what, target, result_id, done_at is null as open from sync.decisions d order by d.id',
    )
    expect(rows.map(({ what, target, open }) => `${what} ${target}${open ? ' (open)' : ''}`)).toEqual([
      `retry change:${failed}`,
      `cancel change:${failed}`,
      `local change:${conflict}`,
      `did_not change:${unknown}`,
      `took_effect change:${made} (open)`,
      `release run:${run} (open)`,
      'pause stream:harbours',
      'resume stream:harbours',
    ])
    expect(new Set(rows.map((row) => row.via))).toEqual(new Set([via]))
    expect([rows.at(-1)?.id, rows[4]?.result_id]).toEqual([resumed, '77'])
    // What is no id, no choice and no option reaches no statement.
    const wrong = [
      () => program.retry('one'),
      () => program.release('1; drop'),
      () => program.resolve(made, 'cancel' as Choice),
      () => program.resolve(made, 'took_effect', { resultId: 'x' }),
      () => program.pause('harbours', { expect: before } as DecisionOptions),
    ]
    for (const call of wrong) await expect(call()).rejects.toMatchObject({ code: 'USAGE' })
    await expect(program.retry('999999')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  }

  it('of an operator decides by the functions of boat-mirror/client, whose refusals say why', async () => {
    await decidesAll(ofClient(ann), 'sql')
    await expect(ofClient(shop).pause('users')).rejects.toMatchObject({ code: 'DATABASE_PRIVILEGE' })
  })

  it('that opens the mirror decides the same', async () => {
    const mirror = await openMirror({ databaseUrl: test.url })
    try {
      await decidesAll(mirror, 'library')
    } finally {
      await mirror.close()
    }
  })
})

describe('a decision says why it is refused', () => {
  const by = { via: 'command' } as const
  it('in states where it means nothing', async () => {
    const [finished, unknown, conflict] = [
      await change('done'),
      await change('unknown'),
      await change('conflict', 'assigns'),
    ]
    const cases = [
      [{ what: 'retry', id: finished }, 'USAGE', 'is done; only failed, conflict, expired, canceled can be retried.'],
      [{ what: 'cancel', id: unknown }, 'USAGE', 'is unknown; only queued'],
      [{ what: 'local', id: unknown }, 'USAGE', 'resolve it with took_effect or did_not.'],
      [{ what: 'did_not', id: conflict }, 'USAGE', 'resolve it with local or remote.'],
      [{ what: 'local', id: conflict }, 'USAGE', 'cannot replace the existing value'],
      [{ what: 'took_effect', id: unknown, resultId: '5' }, 'USAGE', 'creates no record that result_id could name.'],
      [{ what: 'retry', id: '999999' }, 'NOT_FOUND', 'There is no change 999999.'],
    ] as const
    for (const [wish, code, text] of cases)
      await expect(decideChange(test.pool, wish, by), text).rejects.toMatchObject({
        code,
        message: expect.stringContaining(text),
      })
    await expect(
      decideChange(test.pool, { what: 'cancel', id: conflict }, { ...by, expected: 'another' }),
    ).rejects.toMatchObject({ code: 'PLAN_CHANGED' })
    expect(await as(ann, `select outbox.resolve($1, 'both')`, [conflict])).toBe('22023')
  })

  it('of streams and runs, too', async () => {
    const [empty, held] = [await heldRun(0), await heldRun(1)]
    const cases = [
      ['release', '999999', 'NOT_FOUND', 'There is no run 999999.'],
      ['release', empty, 'NOT_FOUND', 'holds no deletions.'],
      ['pause', 'boats', 'USAGE', "There is no stream 'boats'."],
      ['pause', 'slot_prices', 'USAGE', 'There is no stream'],
      ['resume', 'users', 'USAGE', 'users is not paused.'],
    ] as const
    for (const [what, about, code, text] of cases)
      await expect(decideStream(test.pool, what, about, by), text).rejects.toMatchObject({
        code,
        message: expect.stringContaining(text),
      })
    await decideStream(test.pool, 'release', held, by)
    await expect(decideStream(test.pool, 'release', held, by)).rejects.toMatchObject({
      message: expect.stringContaining('already has a decision'),
    })
    await advance(database, settings)
    await expect(decideStream(test.pool, 'release', held, by)).rejects.toMatchObject({
      message: expect.stringContaining('Another run already releases the deletions that run'),
    })
    await decideStream(test.pool, 'pause', 'users', by)
    await expect(decideStream(test.pool, 'pause', 'users', by)).rejects.toMatchObject({
      message: expect.stringContaining('users is already paused, since'),
    })
    await expect(decideStream(test.pool, 'resume', 'user_licenses', by)).rejects.toMatchObject({
      message: 'user_licenses is paused together with users: resume that stream.',
    })
  })
})
