// The request that a push would send, field by field, without sending or claiming anything.

import { asRead, isObject, type Json, type JsonObject } from '../api/wire/json.ts'
import { ApiError, messageOf } from '../errors.ts'
import { type Change, type ChangeRow, changeColumns, referredChange, toChange } from './change.ts'
import type { PushContext } from './context.ts'
import { prepareChange } from './deliver.ts'
import { shownPath } from './dispatch.ts'
import type { Conflict } from './merge.ts'
import { sameValue, writeShape } from './values.ts'

type FieldPreview = { readonly field: string; readonly from: Json; readonly to: Json }

export type Preview = {
  readonly id: string
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly body: JsonObject | null
  /** Fields whose value would change; for creates and adds, all fields. */
  readonly fields: readonly FieldPreview[]
  /** Why nothing would be sent, or what is unknown before earlier changes are done; null: it would be sent as shown. */
  readonly note: string | null
  /** False if the present record could not be read. */
  readonly readable: boolean
}

/** Earlier changes whose results are missing. */
function waitsFor(change: Change): readonly string[] {
  return [...Object.values(change.target), ...Object.values(change.body)].flatMap((value) => {
    const id = referredChange(value)
    return id === null || change.results.has(id) ? [] : [id]
  })
}

function fieldsOf(change: Change, body: JsonObject, before: Json): readonly FieldPreview[] {
  return change.write.body.flatMap((field) => {
    const to = body[field.name]
    const from = isObject(before) ? (before[field.name] ?? null) : null
    if (to === undefined || sameValue(field, from, to)) return []
    return [{ field: field.name, from: writeShape(field, from), to }]
  })
}

/** Why the present record could not be read; null: the error is another. */
function unreadable(error: unknown): string | null {
  if (error instanceof ApiError) return messageOf(error)
  return error instanceof Error && error.name === 'TimeoutError' ? 'the API does not answer, or is paused.' : null
}

async function preview(context: PushContext, change: Change, signal: AbortSignal): Promise<Preview> {
  const [method = '', path = ''] = change.write.endpoint.split(' ')
  const plain = { id: change.id, operation: change.operation, method, path, readable: true }
  const nothing = { ...plain, body: null, fields: [] }
  const waiting = waitsFor(change)
  if (waiting.length > 0) {
    const fields = Object.entries(change.body).map(([field, to]) => ({ field, from: null, to }))
    return { ...plain, body: change.body, fields, note: `Waits for change ${waiting.join(', ')}.` }
  }
  try {
    const prepared = await prepareChange({ context, change, signal, startedAt: context.clock.now(), knownMs: 0 })
    if (prepared.kind !== 'prepared') return { ...nothing, note: noteOf(prepared) }
    const body = change.write.body.length === 0 ? null : (asRead(prepared.body) as JsonObject)
    const before = asRead(prepared.evidence.before ?? null)
    return {
      ...plain,
      path: shownPath(change.write.endpoint, prepared.params),
      body,
      fields: body === null ? [] : fieldsOf(change, body, before),
      note: prepared.warnings.join(' ') || null,
    }
  } catch (error) {
    const why = unreadable(error)
    if (why === null) throw error
    return { ...nothing, note: `The current value cannot be read: ${why}`, readable: false }
  }
}

function noteOf(outcome: Exclude<Awaited<ReturnType<typeof prepareChange>>, { kind: 'prepared' }>): string {
  switch (outcome.kind) {
    case 'conflict':
      return `Conflict: ${Object.keys(outcome.conflict).join(', ')} changed in the API and in this change.`
    case 'done':
      return `Nothing to send. ${outcome.warnings.join(' ')}`
    default:
      return outcome.error
  }
}

/** A change after the decision to send it again. */
function decided(change: Change, what: SendingDecision, conflict: Conflict | null): Change {
  const fields = Object.entries(conflict ?? {})
  switch (what) {
    case 'local': {
      const seen = fields.map(([name, { remote }]) => [name, remote])
      return {
        ...change,
        base: { ...change.base, ...Object.fromEntries(seen) },
        seenAt: new Date(),
        seenSnapshot: null,
      }
    }
    case 'remote':
      return { ...change, keptRemote: [...change.keptRemote, ...fields.map(([name]) => name)] }
    case 'retry':
      return { ...change, evidence: {}, leftOut: [] }
    case 'did_not':
      return { ...change, evidence: {} }
    default:
      return what satisfies never
  }
}

/** Decisions after which a change is sent again. */
export type SendingDecision = 'retry' | 'local' | 'remote' | 'did_not'

/** How long a preview waits for the API. */
const previewMs = 8_000

/** Previews the request after a decision about a change; null when the change does not exist. */
export async function previewDecision(
  context: PushContext,
  id: string,
  what: SendingDecision,
): Promise<Preview | null> {
  const { rows } = await context.database.pool.query<ChangeRow & { conflict: Conflict | null }>(
    `select ${changeColumns}, q.conflict from outbox.queue q where q.id = $1`,
    [id],
  )
  if (rows[0] === undefined) return null
  const { conflict, ...row } = rows[0]
  return await preview(context, decided(toChange(row), what, conflict), AbortSignal.timeout(previewMs))
}

/** Previews the queued changes, oldest first, one request at a time: reads of the API, no write anywhere. */
export async function previewChanges(
  context: PushContext,
  limit: number,
  signal: AbortSignal,
): Promise<readonly Preview[]> {
  const { rows } = await context.database.pool.query<ChangeRow>(
    `select ${changeColumns} from outbox.queue q where q.status = 'queued' order by q.id limit $1`,
    [limit],
  )
  const previews: Preview[] = []
  for (const row of rows) {
    signal.throwIfAborted()
    previews.push(await preview(context, toChange(row), signal))
  }
  return previews
}
