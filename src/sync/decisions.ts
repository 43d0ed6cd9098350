// What people decided: `sync.decisions`, the plans that they decide about, and what is still to be carried out.

import { descendantsOf, streams, windowsOf } from '../catalog/catalog.ts'
import type { RepeatableStep } from '../database/repeatable-step.ts'
import { fillSql, literal, now, on, type Queryable } from '../database/sql.ts'
import functions from './decisions.sql'
import { refreshChannel } from './due/refreshes.ts'
import { decided } from './refused-decision.ts'
import { isNewField } from './unknown-fields.ts'

/** SQL that makes a hash of a JSON value: what is decided about. */
const hashOf = (value: string): string => `left(encode(sha256(convert_to((${value})::text, 'UTF8')), 'hex'), 32)`

/**
 * SQL of the hash of a plan: the effect of a decision about `target`, and the number of decisions before. So each
 * decision changes the plan, and a decision made on an older plan is refused. `before`: the plan before the decision
 * of this id.
 */
export function planSql(target: string, content: readonly string[], before?: string): string {
  const earlier = before === undefined ? '' : ` and (${before} is null or d.id < ${before})`
  const decided = `(select count(*) from sync.decisions d where d.target = ${target}${earlier})`
  return hashOf(`jsonb_build_array(${[target, decided, ...content].join(', ')})`)
}

const runPlan = (before?: string): string =>
  planSql(
    `'run:' || r.id`,
    ['(select jsonb_agg(h.key order by h.key) from sync.held h where h.run_id = r.id and h.released_at is null)'],
    before,
  )
const streamPlan = (before?: string): string =>
  planSql(
    `'stream:' || s.stream`,
    ['s.paused_by', '(select count(*) from sync.unknown_fields u where u.stream = s.stream)'],
    before,
  )

const cases = (entries: readonly (readonly [string, string])[]): string =>
  entries.map(([name, value]) => `when ${literal(name)} then ${value}`).join(' ')

/** The functions that note decisions about runs and streams. */
export const decisionFunctions: RepeatableStep = {
  name: 'decision-functions',
  sql: fillSql(functions, {
    run_plan: runPlan('before'),
    stream_plan: streamPlan('before'),
    parents: cases(
      streams.flatMap(({ name, reads, parent }) =>
        reads.kind === 'inside' && parent !== undefined ? [[name, literal(parent)] as const] : [],
      ),
    ),
    below: cases(
      streams.flatMap(({ name }) => {
        const below = descendantsOf(name).map((child) => literal(child.name))
        return below.length === 0 ? [] : [[name, `array[${below.join(', ')}]`] as const]
      }),
    ),
    channel: literal(refreshChannel),
    is_new_field: isNewField,
  }),
}

/** Their hot runs see no more than their complete ones, which settle what those hold. */
const withoutWindows = streams.flatMap((stream) => (windowsOf(stream) === undefined ? [literal(stream.name)] : []))

/** The possible decisions about streams and runs, each with the hash of its plan. */
export const decisionViews: RepeatableStep = {
  name: 'decision-views',
  views: [
    {
      schema: 'sync',
      name: 'held_plans',
      comment:
        'Deletions that need your decision, from the newest complete run and the newest hot run of each stream. Decide with sync.release(run_id, plan).',
      columns: {
        run_id: ['r.id', 'sync.runs.id. The keys are in sync.held.'],
        stream: ['r.stream', 'Name of the stream.'],
        held: ['h.held', 'Number of held deletions.'],
        started_at: ['r.started_at', 'When the run that missed the records started.'],
        found: ['r.plan', 'Why they are held, and what the run found.'],
        plan: [runPlan(), 'The hash of the plan, which changes with the keys and with each decision.'],
      },
      source: `from sync.runs r cross join lateral (
          select count(*)::int as held from sync.held k where k.run_id = r.id and k.released_at is null) h
        where r.status = 'held' and r.record_key is null and h.held > 0
          and not exists (select from sync.runs n where n.stream = r.stream and n.id > r.id and n.status <> 'running'
            and n.record_key is null
            and (n.hot = r.hot or n.hot = false and r.stream in (${withoutWindows.join(', ')})))
          and (select company_access.refuse('held deletions'))`,
    },
    {
      schema: 'sync',
      name: 'stream_plans',
      comment:
        'Which streams are paused. Decide with sync.pause(stream, plan), sync.resume(stream, plan) and sync.acknowledge(stream, plan).',
      columns: {
        stream: ['s.stream', 'Name of the stream.'],
        paused_since: ['d.at', 'When it was paused; null: it is not paused.'],
        paused_by: ['d.who', 'Who paused it.'],
        plan: [streamPlan(), 'The hash of the plan, which changes with each decision and each new field.'],
      },
      source: `from sync.streams s left join sync.decisions d on d.id = s.paused_by
        where (select company_access.refuse('decisions about streams'))`,
    },
  ],
  sql: '',
}

/** What a decision does; `local` to `did_not` resolve a change. */
export type DecisionKind =
  | 'retry'
  | 'cancel'
  | 'local'
  | 'remote'
  | 'took_effect'
  | 'did_not'
  | 'release'
  | 'pause'
  | 'resume'
  | 'acknowledge'

/** Decisions about streams, and about runs. */
export type StreamDecision = Extract<DecisionKind, 'release' | 'pause' | 'resume' | 'acknowledge'>

/** In whose name a decision is made, and about which plan. */
export type DecidedBy = {
  readonly via: 'command' | 'library' | 'page'
  /** Missing: the database role. */
  readonly who?: string
  /** The plan as it was read: any other is refused. Missing: the present one. */
  readonly expected?: string
}

/**
 * Releases what a run holds (by its id), pauses or resumes a stream, acknowledges its new fields.
 * @returns the id of the decision
 * @throws BoatMirrorError NOT_FOUND, USAGE, PLAN_CHANGED
 */
export const decideStream = (
  db: Queryable,
  what: StreamDecision,
  about: string,
  { via, who, expected }: DecidedBy,
): Promise<string> => decided(db, 'sync.decide', [what, about, expected ?? null, who ?? null, via])

export type Decision = {
  readonly id: string
  readonly at: Date
  readonly who: string
  readonly via: 'sql' | DecidedBy['via']
  readonly what: DecisionKind
  /** `change:17`, `run:52`, `stream:rentals`, `role:crm`. */
  readonly target: string
  readonly plan: string
  readonly resultId: string | null
  /** null: a worker is to carry it out. */
  readonly doneAt: Date | null
  /** Why it did not take effect. */
  readonly error: string | null
}

const decisions = (db: Queryable) =>
  on(db)
    .selectFrom('sync.decisions')
    .select(['id', 'at', 'who', 'via', 'what', 'target', 'plan'])
    .select(['result_id as resultId', 'done_at as doneAt', 'error'])
    .$narrowType<Pick<Decision, 'via' | 'what'>>()

export const decisionsAbout = (db: Queryable, target: string, limit: number): Promise<readonly Decision[]> =>
  decisions(db).where('target', '=', target).orderBy('id', 'desc').limit(limit).execute()

/** One decision; null when there is none of this number. */
export const findDecision = async (db: Queryable, id: string): Promise<Decision | null> =>
  (await decisions(db).where('id', '=', id).executeTakeFirst()) ?? null

/** The decisions about changes, or about runs, that are still to be carried out, the oldest first. */
export const openDecisions = (db: Queryable, about: 'change' | 'run'): Promise<readonly Decision[]> =>
  decisions(db).where('done_at', 'is', null).where('target', 'like', `${about}:%`).orderBy('id').execute()

/** SQL: whether a decision about a change is still to be carried out. */
export const isChangeDecisionOpen = `exists (select from sync.decisions d where d.done_at is null and d.target like 'change:%')`

/** Locks a decision, so that it is carried out once; null when it is no longer open. */
export const lockDecision = async (db: Queryable, id: string): Promise<Decision | null> =>
  (await decisions(db).where('id', '=', id).where('done_at', 'is', null).forUpdate().executeTakeFirst()) ?? null

/** Ends a decision: it took effect, or could not (`error`). */
export async function closeDecision(
  db: Queryable,
  id: string,
  { error = null, resultId }: { readonly error?: string | null; readonly resultId?: string },
): Promise<void> {
  await on(db)
    .updateTable('sync.decisions')
    .set({ done_at: now, error, ...(resultId === undefined ? {} : { result_id: resultId }) })
    .where('id', '=', id)
    .where('done_at', 'is', null)
    .execute()
}

/** The reason given for a decision whose plan changed before it was carried out. */
export const planChanged = 'Not carried out: the plan changed before the decision took effect.'

/** The plan of a target, as it is shown; null: there is none. */
export async function planOf(db: Queryable, target: string): Promise<string | null> {
  const [kind = '', id = ''] = target.split(':')
  const functions: Readonly<Record<string, string>> = {
    change: 'outbox.plan_of($1::bigint)',
    run: 'sync.plan_of_run($1::bigint)',
    stream: 'sync.plan_of_stream($1)',
  }
  const { rows } = await db.query<{ plan: string | null }>(`select ${functions[kind]} as plan`, [id])
  return rows[0]?.plan ?? null
}
