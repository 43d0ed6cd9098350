// What `privacy apply` rewrites in the outbox: what is shown of every change, and the input of ended ones. Body and evidence of
// any other stay until it has ended.

import { isObject, type Json, parseJson, stringifyJson } from '../api/wire/json.ts'
import { streamNamed } from '../catalog/catalog.ts'
import { writeNamed } from '../catalog/writes.ts'
import type { Privacy } from '../privacy/privacy.ts'
import { type Rewrite, rowsRewrite, type Texts } from '../privacy/rewrite.ts'
import { withoutQuote } from '../privacy/rewrites.ts'
import { keptChange, keptConflict, keptResponse } from './kept.ts'
import type { Conflict } from './merge.ts'
import type { Response } from './outcome.ts'
import { stateSets } from './states.ts'
import { veiledFields } from './veil.ts'

const jsonColumns = ['body', 'base', 'options', 'request', 'response', 'conflict', 'left_behind'] as const

const parsed = (text: string): Json => parseJson(text).value

/** The column as `kept` leaves it. */
const rewritten = (text: string | null | undefined, kept: (value: Json) => Json): string | null =>
  text === null || text === undefined ? null : stringifyJson(kept(parsed(text)))

function evidenceOf(privacy: Privacy, { operation, ...row }: Texts): Texts {
  const write = writeNamed(operation ?? '')
  return {
    request: rewritten(row.request, (request) =>
      isObject(request) && isObject(request.body)
        ? { ...request, body: veiledFields(privacy, write, request.body) }
        : request,
    ),
    response: rewritten(row.response, (response) => keptResponse(privacy, write, response as Response) as Json),
    conflict: rewritten(row.conflict, (conflict) => keptConflict(privacy, write, conflict as Conflict) as Json),
    left_behind: rewritten(row.left_behind, (left) => privacy.protect(streamNamed(write.stream), left)),
    warning: row.warning?.includes(' could not be mirrored: ') ? withoutQuote(row.warning) : (row.warning ?? null),
  }
}

function keptRow(privacy: Privacy, row: Texts): Texts | null {
  const { operation, status, body, base, options } = row as Record<string, string>
  const evidence = evidenceOf(privacy, row)
  const isOver = stateSets.final.some((state) => state === status) && body !== null
  const asked = isOver
    ? keptChange(privacy, { operation: operation ?? '', body: body ?? '', base: base ?? '', options: options ?? '' })
    : null
  const [keptBody, keptBase, keptOptions] = asked ?? []
  const kept: Texts = {
    ...row,
    ...evidence,
    ...(asked !== null && {
      body: keptBody ?? null,
      base: keptBase ?? null,
      options: keptOptions ?? null,
      veiled: 'true',
    }),
  }
  const isSame = (name: string): boolean => kept[name] === row[name]
  const isSameJson = (name: string): boolean =>
    isSame(name) ||
    (kept[name] !== null && stringifyJson(parsed(kept[name] ?? '')) === stringifyJson(parsed(row[name] ?? '')))
  return isSame('warning') && jsonColumns.every(isSameJson) ? null : kept
}

/** The queue. */
export const outboxRewrites = (privacy: Privacy): readonly Rewrite[] =>
  privacy.isActive
    ? [
        rowsRewrite({
          table: 'outbox.queue',
          key: [{ name: 'id', type: 'bigint' }],
          sees: ['operation', 'status'],
          columns: [
            { name: 'warning', type: 'text' },
            ...jsonColumns.map((name) => ({ name, type: 'jsonb' }) as const),
            { name: 'veiled', type: 'boolean' },
          ],
          change: (row) => keptRow(privacy, row),
        }),
      ]
    : []
