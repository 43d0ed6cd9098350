// What a webhook may send: which streams, and which parts of their changes. Pure.

import { holdsPerson, streams } from '../../catalog/catalog.ts'

/** Streams to send, each with the members of a diff to omit. */
export type Selection = Readonly<Record<string, readonly string[]>>

/**
 * Named streams are sent whole. With none named, all except documents are sent, without personal columns and payloads
 * that hold a person.
 */
export function selectionOf(named: readonly string[] | null): Selection {
  if (named !== null) return Object.fromEntries(named.map((name) => [name, []]))
  return Object.fromEntries(
    streams
      .filter((stream) => stream.document !== true)
      .map((stream) => [
        stream.name,
        [
          ...stream.columns.filter((column) => column.personal === true).map((column) => column.name),
          ...(holdsPerson(stream) ? ['_payload'] : []),
        ],
      ]),
  )
}
