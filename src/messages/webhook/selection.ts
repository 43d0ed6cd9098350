// What a webhook may tell: which streams, and what is left out of their changes. Pure.

import { holdsPerson, streams } from '../../catalog/catalog.ts'

/** Streams that are told, each with the members of a diff that are left out. */
export type Selection = Readonly<Record<string, readonly string[]>>

/** Named streams are told whole. With none named all are but documents, without what is personal and payloads that hold a person. */
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
