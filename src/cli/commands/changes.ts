// `changes`: the outbox for people: list, show, enqueue, retry, cancel, resolve.

import { writes } from '../../catalog/writes.ts'
import type { Database } from '../../database/database.ts'
import { BoatMirrorError } from '../../errors.ts'
import { instant } from '../../format.ts'
import { stringifyJson } from '../../json/plain.ts'
import { meant } from '../../near-names.ts'
import { type ChangeDecision, carryOutDecision, decideChange } from '../../outbox/decisions.ts'
import { refusalOf } from '../../outbox/enqueue.ts'
import {
  type ChangeInfo,
  changeFacts,
  changesForPerson,
  findChange,
  listChanges,
  neighboursOf,
} from '../../outbox/inspect.ts'
import type { Status } from '../../outbox/states.ts'
import type { DecidedBy } from '../../sync/decisions.ts'
import { type CommandContext, decidedBy, type Expected, type Json, type OpenedDatabase, present } from '../context.ts'
import { oneLine, print, printJson, printText, table } from '../terminal/output.ts'
import { changesTable, refusalWords } from './push.ts'

type ListOptions = { readonly status: readonly Status[]; readonly aggregate?: string; readonly limit: number }

export async function runList(context: CommandContext, options: ListOptions & Json): Promise<void> {
  await using opened = await context.openDatabase()
  const changes = await listChanges(opened.database.pool, {
    limit: options.limit,
    ...(options.status.length === 0 ? {} : { statuses: options.status }),
    ...(options.aggregate === undefined ? {} : { aggregate: options.aggregate }),
  })
  if (options.json) printJson([...changes].reverse().map(changeFacts))
  else if (changes.length === 0) print('No changes match.')
  else print(changesTable(changes))
}

const existing = async (database: Database, id: string): Promise<ChangeInfo> =>
  present(await findChange(database.pool, id), `change ${id}`, 'List them with: boat-mirror changes list')

export async function runShow(context: CommandContext, id: string, { json }: Json): Promise<void> {
  await using opened = await context.openDatabase()
  const change = await existing(opened.database, id)
  const neighbours = await neighboursOf(opened.database.pool, id)
  if (json) printJson({ ...changeFacts(change), ...neighbours })
  else printText(describe(change, neighbours))
}

const shown = (value: unknown): string => oneLine(stringifyJson(value), 300)

function describe(change: ChangeInfo, { waitsFor, neededBy }: Awaited<ReturnType<typeof neighboursOf>>): string {
  const facts: readonly (readonly [string, string | null])[] = [
    ['API says', refusalWords(change.response)],
    ['Status', change.status],
    ['Note', change.error],
    ['Warning', change.warning],
    ['Record', change.aggregate],
    ['Target', shown(change.target)],
    ['Body', change.body === null ? 'erased with the user' : shown(change.body)],
    ['Reference', change.reference],
    ['Enqueued', `${instant(change.enqueued_at)} UTC by ${change.enqueued_by}`],
    ['Attempts', String(change.attempts)],
    ['Next attempt', instant(change.next_attempt_at)],
    ['Sent', instant(change.sent_at)],
    ['Settled', instant(change.settled_at)],
    ['Request', change.request === null ? null : shown(change.request)],
    ['Response', change.response === null ? null : shown(change.response)],
    ['Result', change.result === null ? null : shown(change.result)],
    ['Waits for', waitsFor.map((each) => `${each.id} (${each.operation}, ${each.status})`).join(', ') || null],
    ['Needed by', neededBy.map((each) => `${each.id} (${each.operation}, ${each.status})`).join(', ') || null],
    ['Plan', change.plan ?? null],
  ]
  const lines = facts.filter(([, value]) => value !== null).map(([name, value]) => `${name.padEnd(13)}${value}`)
  return [`Change ${change.id}, ${change.operation}`, ...lines, ...adviceFor(change)].join('\n')
}

function adviceFor(change: ChangeInfo): readonly string[] {
  if (change.status === 'conflict' && change.conflict !== null) {
    const rows = Object.entries(change.conflict).map(([field, { base, local, remote }]) => [
      field,
      shown(base),
      shown(local),
      shown(remote),
    ])
    return [
      `\n${table(['FIELD', 'BASE', 'LOCAL', 'REMOTE'], rows)}`,
      `\nDecide with: boat-mirror changes resolve ${change.id} --take local|remote`,
    ]
  }
  if (change.status === 'unknown')
    return [`\nDecide with: boat-mirror changes resolve ${change.id} --took-effect [--id ID] | --did-not`]
  return []
}

type EnqueueFlags = { readonly target?: string; readonly body?: string; readonly options?: string }

/** @throws BoatMirrorError USAGE for a name that is none, with the nearest one */
function assertOperation(name: string): void {
  const all = writes.map((write) => write.operation)
  if (all.includes(name)) return
  throw new BoatMirrorError('USAGE', `There is no operation ${JSON.stringify(oneLine(name))}${meant(name, all)}.`, {
    remedy: `Operations are ${all.join(', ')}.`,
  })
}

export async function runEnqueue(
  context: CommandContext,
  ...given: [operation: string, target: string, body: string, options: string, flags: EnqueueFlags & Json]
): Promise<void> {
  const [operation, target, body, options, flags] = given
  assertOperation(operation)
  await using opened = await context.openDatabase()
  const values = [operation, flags.target ?? target, flags.body ?? body, flags.options ?? options]
  try {
    const { rows } = await opened.database.pool.query<{ id: string }>(
      'select outbox.enqueue($1, $2::jsonb, $3::jsonb, $4::jsonb) as id',
      values,
    )
    const id = String(rows[0]?.id)
    if (flags.json) printJson({ id })
    else print(`Queued as change ${id}.`)
  } catch (error) {
    throw refusalOf(operation, error)
  }
}

export async function runRetry(
  context: CommandContext,
  ids: readonly string[],
  { all, json, expected }: { readonly all: boolean } & Json & Expected,
): Promise<void> {
  if (ids.length === 0 && !all) throw new BoatMirrorError('USAGE', 'Give the numbers of changes, or --all.')
  await using opened = await context.openDatabase()
  const { database } = opened
  const chosen = all
    ? (await listChanges(database.pool, { statuses: ['failed', 'expired'], limit: 100_000 })).map((change) => change.id)
    : ids
  // Oldest first: what another one waits for comes before it.
  const sorted = [...chosen].sort((a, b) => Number(BigInt(a) - BigInt(b)))
  const by = aboutOne(ids, { expected })
  return await decideEach(opened, sorted, json, (id) => decideChange(database.pool, { what: 'retry', id }, by))
}

export async function runCancel(
  context: CommandContext,
  ids: readonly string[],
  { json, expected }: Json & Expected,
): Promise<void> {
  const by = aboutOne(ids, { expected })
  await using opened = await context.openDatabase()
  return await decideEach(opened, ids, json, (id) => decideChange(opened.database.pool, { what: 'cancel', id }, by))
}

/** @throws BoatMirrorError USAGE for `--expected` with several changes: each has its own plan */
function aboutOne(ids: readonly string[], { expected }: Expected): DecidedBy {
  if (expected !== undefined && ids.length !== 1)
    throw new BoatMirrorError('USAGE', '--expected is the plan of one change. Give exactly one number.')
  return decidedBy({ expected })
}

async function decideEach(
  opened: OpenedDatabase,
  ids: readonly string[],
  json: boolean,
  decide: (id: string) => Promise<unknown>,
): Promise<void> {
  for (const id of ids) await decide(id)
  const changes = await Promise.all(ids.map((id) => existing(opened.database, id)))
  if (json) printJson(changes.map(({ id, operation, status }) => ({ id, operation, status })))
  else if (changes.length === 0) print('No changes match.')
  else print(changesTable([...changes].reverse()))
}

/** How long a read waits while the API is paused. */
const patienceMs = 10_000

type ResolveFlags = {
  readonly take?: 'local' | 'remote'
  readonly tookEffect: boolean
  readonly didNot: boolean
  readonly id?: string
}

/** @throws BoatMirrorError USAGE unless exactly one flag says how */
function choiceOf({ take, tookEffect, didNot }: ResolveFlags): ChangeDecision {
  const given = { local: take === 'local', remote: take === 'remote', took_effect: tookEffect, did_not: didNot }
  const [choice, ...more] = Object.entries(given).flatMap(([name, is]) => (is ? [name as keyof typeof given] : []))
  if (choice !== undefined && more.length === 0) return choice
  throw new BoatMirrorError('USAGE', 'Give one of --take local, --take remote, --took-effect, --did-not.')
}

export async function runResolve(
  context: CommandContext,
  id: string,
  flags: ResolveFlags & Json & Expected,
): Promise<void> {
  const what = choiceOf(flags)
  await using app = await context.open({ schema: 'check', patienceMs })
  const { database } = app
  const resultId = what === 'took_effect' ? (flags.id ?? null) : null
  const decision = await decideChange(database.pool, { what, id, resultId }, decidedBy(flags))
  await carryOutDecision(app.pushContext, decision, context.signal)
  const change = await existing(database, id)
  const left = await changesForPerson(database.pool)
  if (flags.json) printJson({ id, operation: change.operation, status: change.status, needPerson: left })
  else
    print(
      `Change ${id} (${change.operation}) is ${change.status}.${change.warning === null ? '' : ` ${change.warning}`}`,
    )
}
