// `runs`: the history of runs; `show` explains one, `release` lets held deletions happen.

import { existingStream, findStream } from '../../catalog/catalog.ts'
import { sleep } from '../../clock.ts'
import { BoatMirrorError } from '../../errors.ts'
import { count, counted, instant, relative } from '../../format.ts'
import { runFacts, runLine, runSeconds } from '../../inspect/outcome.ts'
import { planFacts, runDetails } from '../../inspect/runs.ts'
import { patienceMs, workOn } from '../../jobs/worker.ts'
import { decideStream, findDecision, planOf } from '../../sync/decisions.ts'
import { preflight } from '../../sync/preflight.ts'
import { findRun, listRuns, type Run } from '../../sync/runs/runs.ts'
import { heldKeyPage } from '../../sync/runs/sweeps.ts'
import {
  type CommandContext,
  decidedBy,
  type ExitCode,
  type Expected,
  type Json,
  type OpenedApp,
  present,
} from '../context.ts'
import { exitCodeOfSync } from '../outcome.ts'
import {
  type Columns,
  fittingTable,
  lineWidth,
  oneLine,
  print,
  printJson,
  printText,
  table,
  tell,
} from '../terminal/output.ts'

type ListOptions = Json & { readonly limit: number }

export async function runList(
  context: CommandContext,
  stream: string | undefined,
  { limit, json }: ListOptions,
): Promise<void> {
  if (stream !== undefined) existingStream(stream)
  await using opened = await context.openDatabase()
  const runs = await listRuns(opened.database.pool, { limit, ...(stream === undefined ? {} : { stream }) })
  if (json) printJson(runs.map(runFacts))
  else if (runs.length === 0) print('No runs yet.')
  else {
    print(runsTable(runs, new Date()))
    const failed = runs.find(({ status }) => status === 'failed')
    if (failed !== undefined) printText(`\nSee why run ${failed.id} failed: boat-mirror runs show ${failed.id}`)
  }
}

/** Runs as a table; a narrow one leaves to `runs show` what takes more room. Pure. */
export function runsTable(runs: readonly Run[], now: Date, width = lineWidth()): string {
  const narrow: Columns<Run> = {
    ID: ({ id }) => id,
    STREAM: ({ stream }) => stream,
    STARTED: (run) => relative(run.started_at, now),
    STATUS: ({ status }) => status,
    READ: ({ read }) => Number(read),
    CHANGED: ({ inserted, updated, deleted }) => Number(inserted) + Number(updated) + Number(deleted),
  }
  return fittingTable(runs, [columns, narrow], width)
}

const columns: Columns<Run> = {
  ID: ({ id }) => id,
  STREAM: ({ stream }) => stream,
  TRIGGER: ({ trigger }) => trigger,
  'STARTED (UTC)': (run) => instant(run.started_at),
  S: (run) => (run.finished_at === null ? null : runSeconds(run)),
  STATUS: ({ status }) => status,
  READ: ({ read }) => Number(read),
  INS: ({ inserted }) => Number(inserted),
  UPD: ({ updated }) => Number(updated),
  DEL: ({ deleted }) => Number(deleted),
  HELD: ({ held }) => Number(held),
  REQUESTS: ({ requests }) => Number(requests),
  ERROR: ({ error }) => (error === null ? '' : oneLine(error, 60)),
}

const existing = <Found>(found: Found | null, id: string): Found =>
  present(found, `run ${id}`, 'List the runs with: boat-mirror runs')

export async function runShow(context: CommandContext, id: string, { json }: Json): Promise<void> {
  await using opened = await context.openDatabase()
  const { pool } = opened.database
  const { run, tasks, held } = existing(await runDetails(pool, id), id)
  const heldPlan = await planOf(pool, `run:${id}`)
  if (json) return printJson({ ...runFacts(run), tasks, waitingDeletions: held, heldPlan })
  printText(`Run ${run.id}, ${runLine(run)}`)
  print(`Started ${instant(run.started_at)} UTC by ${run.trigger}${run.full_read ? ', with all details' : ''}.`)
  if (tasks.length > 0)
    print(
      `\n${table(
        ['TASKS', 'STATUS', 'COUNT', 'ATTEMPTS', 'ERROR'],
        tasks.map((each) => [each.kind, each.status, each.tasks, each.attempts, each.error]),
      )}`,
    )
  for (const warning of run.warnings) printText(`\nWarning: ${oneLine(warning, 500)}`)
  if (run.plan !== null)
    print(
      `\n${planFacts(run.plan)
        .map((fact) => fact.join(': '))
        .join('\n')}`,
    )
  if (held.count > 0) {
    const more = held.count > held.keys.length ? ` and ${count(held.count - held.keys.length)} more` : ''
    print(
      `\n${counted(held.count, 'deletion')} ${held.count === 1 ? 'is' : 'are'} held: ${held.keys.map((key) => oneLine(key, 40)).join(', ')}${more}`,
    )
    print(`Plan: ${heldPlan}`)
    printText(`Release them with: boat-mirror runs release ${run.id}`)
  }
}

export async function runRelease(
  context: CommandContext,
  id: string,
  { json, expected }: Json & Expected,
): Promise<ExitCode> {
  const { config, log, signal } = context
  await using app = await context.open({ schema: 'migrate', creates: false, patienceMs })
  const held = existing(await findRun(app.database.pool, id), id)
  await preflight({ config, apiUrl: app.apiUrl, log, signal, limiter: app.limiter }, [held.stream])
  const { count: keys } = await heldKeyPage(app.database.pool, id, { after: '', limit: 0 })
  const release = (): Promise<string> => decideStream(app.database.pool, 'release', id, decidedBy({ expected }))
  const parent = findStream(held.stream)?.parent
  const backend = await app.openQueue(signal)
  const run = await workOn({ context: app.syncContext, backend, log }, release, (decision) => {
    const asked = parent === undefined ? '' : `${parent} for `
    tell(log, 'release', `Requesting ${asked}${counted(keys, 'record')} of ${held.stream} again.`)
    return ended(context, app, { decision, stream: held.stream })
  })
  const code = exitCodeOfSync({ runs: [run], quarantine: {} })
  if (json) printJson({ exitCode: code, run: runFacts(run) })
  else print(runLine(run))
  return code
}

const endedPollMs = 300

/** After this many checks, a release that has not started is reported as waiting for a run. */
const looksBeforeTelling = 5

/** The run that carries out a release; null: it has not started. @throws BoatMirrorError PLAN_CHANGED when it never will */
async function runOfRelease({ database }: OpenedApp, decision: string): Promise<Run | null> {
  const { resultId = null, error = null } = (await findDecision(database.pool, decision)) ?? {}
  if (error !== null) throw new BoatMirrorError('PLAN_CHANGED', error)
  return resultId === null ? null : existing(await findRun(database.pool, resultId), resultId)
}

/** Waits for the run of a release, and returns it. @throws the reason of the signal; the run then waits for the next worker or sync */
async function ended(
  { log, signal }: CommandContext,
  app: OpenedApp,
  { decision, stream }: { readonly decision: string; readonly stream: string },
): Promise<Run> {
  for (let looks = 1; ; looks++) {
    const run = await runOfRelease(app, decision)
    if (run !== null && run.status !== 'running') return run
    if (run === null && looks === looksBeforeTelling)
      tell(log, 'release', `Waiting for the current run of ${stream} to end.`)
    await sleep(endedPollMs, signal)
  }
}
