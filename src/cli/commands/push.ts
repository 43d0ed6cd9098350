// `push`: sends what is queued and waits until it is settled; `--dry-run` shows what would be sent, field by field.

import { messageOf } from '../../errors.ts'
import { counted, relative } from '../../format.ts'
import { outboxFacts } from '../../inspect/outbox.ts'
import { stringifyJson } from '../../json/plain.ts'
import type { Logger } from '../../log.ts'
import { copiedChanges } from '../../outbox/former.ts'
import { type ChangeInfo, changeFacts, changesForPerson, listChanges } from '../../outbox/inspect.ts'
import { codeIn } from '../../outbox/outcome.ts'
import { type Preview, previewChanges } from '../../outbox/preview.ts'
import { createPusher } from '../../outbox/pusher.ts'
import type { CommandContext, ExitCode, OpenedApp } from '../context.ts'
import { oneLine, print, printJson, printText, table, tell } from '../terminal/output.ts'

type PushOptions = { readonly dryRun: boolean; readonly limit: number; readonly json: boolean }

/** How long a read waits while the API is paused; the change is tried again after that. */
const patienceMs = 20_000
const tellEveryMs = 5_000

export async function runPush(context: CommandContext, options: PushOptions): Promise<ExitCode> {
  await using app = await context.open({ schema: options.dryRun ? 'check' : 'migrate', patienceMs })
  if (options.dryRun) return await dryRun(app, options, context.signal)
  const since = app.clock.now()
  const held = await pushAll(context, app)
  const changes = await listChanges(app.database.pool, { since, limit: options.limit })
  const waiting = await changesForPerson(app.database.pool)
  const copied = (await copiedChanges(app.database.pool))?.changes ?? 0
  const code = held !== null ? 1 : copied > 0 ? 3 : exitCode(changes, waiting)
  if (options.json) printJson({ exitCode: code, changes: changes.map(changeFacts), needPerson: waiting, copied, held })
  else report(changes, waiting, held)
  if (copied > 0 && !options.json) printText(`\n${copiedText(copied)}`)
  return code
}

/** @returns why changes are left that wait for the API to take the account; null: none is. */
async function pushAll({ signal, log }: CommandContext, app: OpenedApp): Promise<string | null> {
  const pusher = createPusher(app.pushContext)
  const telling = setInterval(() => {
    tellProgress(app, log).catch((error: unknown) => log.debug({ event: 'progress_failed', reason: messageOf(error) }))
  }, tellEveryMs)
  try {
    const { held } = await pusher.drain(signal, { until: 'settled' })
    if (signal.aborted)
      tell(log, 'stopped', 'Stopped. Unsettled changes stay queued; the next push or worker continues.')
    signal.throwIfAborted()
    return held
  } finally {
    clearInterval(telling)
    await pusher.close()
  }
}

/** Says on stderr what is left, so that waiting for an API that is down does not look like nothing. */
async function tellProgress(app: OpenedApp, log: Logger): Promise<void> {
  const { counts } = await outboxFacts(app.database.pool)
  const [next] = await listChanges(app.database.pool, { statuses: ['queued', 'sending'], limit: 1 })
  const left = counted((counts.queued ?? 0) + (counts.sending ?? 0), 'change')
  const when =
    next?.status === 'sending'
      ? 'in progress'
      : `next attempt ${relative(next?.next_attempt_at ?? null, app.clock.now()) ?? 'soon'}`
  const reason = next?.error ? `: ${oneLine(next.error, 200)}` : ''
  tell(log, 'push_waits', `${left} left, ${when}${reason}`)
}

/** 3: a conflict or an unknown outcome is left; 1: a change of this push did not succeed. */
function exitCode(changes: readonly ChangeInfo[], waiting: readonly string[]): ExitCode {
  if (waiting.length > 0) return 3
  return changes.some(({ status }) => status === 'failed' || status === 'expired' || status === 'blocked') ? 1 : 0
}

function report(changes: readonly ChangeInfo[], waiting: readonly string[], held: string | null): void {
  if (changes.length === 0) print('Nothing is queued.')
  else print(changesTable(changes))
  if (held !== null) printText(`\n${heldText(held)}`)
  if (waiting.length === 0) return
  printText(`\nThese need your decision: ${waiting.join(', ')}. See: boat-mirror changes show ID`)
}

const copiedText = (changes: number): string =>
  `This database is a copy of another one. ${counted(changes, 'change')} queued before ${changes === 1 ? 'is' : 'are'} not sent until you say what became of that one.\nIf it sends nothing any more: boat-mirror moved database gone. If it lives on: boat-mirror moved database lives.`

const heldText = (refusal: string): string => (codeIn(refusal) === 'API_QUOTA_USED' ? quotaText : refusalText(refusal))

const quotaText =
  'API_QUOTA has no requests left for the queued changes. A worker or a later push sends them. See: boat-mirror status'

const refusalText = (refusal: string): string =>
  `The API refuses this account: ${oneLine(refusal, 200)}\nThe other changes stay queued. Correct API_TOKEN and API_AUTH, then run: boat-mirror push. A worker continues automatically.`

/** Changes as a table, oldest first. Bodies are not shown: they hold personal data. */
export const changesTable = (changes: readonly ChangeInfo[]): string =>
  table(
    ['ID', 'OPERATION', 'RECORD', 'STATUS', 'ATTEMPTS', 'RESULT', 'REFERENCE', 'NOTE'],
    [...changes]
      .reverse()
      .map((change) => [
        change.id,
        change.operation,
        change.aggregate,
        change.status,
        change.attempts,
        change.result === null ? null : String(change.result.id),
        change.reference,
        oneLine([refusalWords(change.response), change.error ?? change.warning].filter(Boolean).join(' – '), 160),
      ]),
  )

async function dryRun(app: OpenedApp, { limit, json }: PushOptions, signal: AbortSignal): Promise<ExitCode> {
  const previews = await previewChanges(app.pushContext, limit, signal)
  if (json) printJson(previews)
  else if (previews.length === 0) print('Nothing is queued.')
  else for (const preview of previews) print(previewText(preview))
  return previews.every((preview) => preview.readable) ? 0 : 1
}

const shown = (value: unknown): string => oneLine(stringifyJson(value), 80)

function previewText({ id, operation, method, path, fields, note }: Preview): string {
  const lines = fields.map(({ field, from, to }) => `  ${field}: ${shown(from)} → ${shown(to)}`)
  return [`${id}  ${operation}  ${method} ${path}`, ...lines, ...(note === null ? [] : [`  ${note}`])].join('\n')
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textIn = (value: unknown, ...names: readonly string[]): string | undefined => {
  if (typeof value === 'string') return value || undefined
  if (!isObject(value)) return undefined
  return names.map((name) => value[name]).find((each) => typeof each === 'string' && each !== '') as string | undefined
}

/** Members under which APIs say which field is wrong and why. */
const lists = ['errors', 'violations', 'details', 'invalidParams', 'invalid-params']

/** One problem: `{field, message}`, a text, or `[field, texts]` of an object by fields. */
function problemText(problem: unknown): string | undefined {
  const field = isObject(problem)
    ? textIn(problem.field ?? problem.propertyPath ?? problem.name ?? problem.path)
    : undefined
  const message = textIn(problem, 'message', 'detail', 'reason', 'description', 'title')
  return field === undefined || message === undefined ? message : `${field}: ${message}`
}

function problemsIn(value: unknown): readonly string[] {
  const listed = Array.isArray(value)
    ? value.map(problemText)
    : isObject(value)
      ? Object.entries(value).map(([field, texts]) => {
          const text = (Array.isArray(texts) ? texts : [texts]).filter((each) => typeof each === 'string').join(', ')
          return text === '' ? undefined : `${field}: ${text}`
        })
      : []
  return listed.filter((each) => each !== undefined)
}

/** The words of a stored refusal: status, and the beginning of its body as text; null where it contains nothing readable. */
export function refusalWords(response: Readonly<Record<string, unknown>> | null): string | null {
  if (response === null || typeof response.body !== 'string' || Number(response.status) < 400) return null
  let body: unknown
  try {
    body = JSON.parse(response.body)
  } catch {
    return null // cut off, or a page for people: the response is shown as it is
  }
  if (!isObject(body)) return null
  for (const name of lists) {
    const problems = problemsIn(body[name])
    if (problems.length > 0) return problems.join('; ')
  }
  return (
    textIn(body, 'message', 'detail', 'error_description', 'error', 'title') ?? textIn(body.error, 'message') ?? null
  )
}
