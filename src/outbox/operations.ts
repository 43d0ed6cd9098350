// Where an operation's record is read: derived from the catalog, so that an endpoint is described nowhere else. Pure.

import { streamNamed } from '../catalog/catalog.ts'
import type { ReadEndpoint, StreamDef, WriteDef } from '../catalog/types.ts'
import { writeNamed } from '../catalog/writes.ts'

/** How a write is told to have taken effect. */
export type ProofKind = 'update' | 'removal' | 'addition' | 'document' | 'user' | 'rental' | 'assignment'

/** The kind of proof an operation needs. */
export function proofKind(write: WriteDef): ProofKind {
  switch (write.kind) {
    case 'update':
      return 'update'
    case 'delete':
    case 'remove':
      return 'removal'
    case 'assign':
      return 'assignment'
    case 'create':
      return write.stream === 'users' ? 'user' : 'rental'
    case 'add':
      return streamNamed(write.stream).reads.kind === 'document' ? 'document' : 'addition'
    default:
      return write.kind satisfies never
  }
}

/** Whether a second sending would make a second record. */
export const makesRecord = (write: WriteDef): boolean => ['rental', 'user', 'addition'].includes(proofKind(write))

/** The read that answers the record the operation writes. */
export function singleRead(write: WriteDef): ReadEndpoint {
  const { reads } = streamNamed(write.stream)
  if (reads.kind === 'list') return reads.single.endpoint
  if (reads.kind === 'collection' && reads.single !== undefined) return reads.single.endpoint
  if (reads.kind === 'document') return reads.endpoint
  throw new Error(`${write.stream} has no read of one record.`)
}

/** The read that answers the collection the operation adds to, or the list a created record appears in. */
export function listRead(write: Pick<WriteDef, 'stream'>): ReadEndpoint {
  const { reads } = streamNamed(write.stream)
  if (reads.kind === 'list' || reads.kind === 'collection') return reads.list
  throw new Error(`${write.stream} has no list.`)
}

/** The record an aggregate is about, as a stream and the path parameter that names it. */
export const holderOf = (write: WriteDef): { readonly stream: StreamDef; readonly param: 'rentalId' | 'userId' } =>
  write.aggregate === 'rental'
    ? { stream: streamNamed('rentals'), param: 'rentalId' }
    : { stream: streamNamed('users'), param: 'userId' }

/** The key of the written record in its mirror table; null while it has no id yet. */
export function mirrorKey(
  write: WriteDef,
  params: Readonly<Record<string, string>>,
  id: string | null,
): readonly string[] | null {
  const stream = streamNamed(write.stream)
  const values = Object.keys(write.target).map((name) => params[name] ?? '')
  const key = values.length < stream.key.length && id !== null ? [...values, id] : values
  return key.length === stream.key.length ? key : null
}

/** Whether the result of the operation is the id of a record. */
export const yieldsId = (operation: string): boolean => {
  const kind = proofKind(writeNamed(operation))
  return kind === 'user' || kind === 'rental' || kind === 'addition'
}
