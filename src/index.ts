// The library surface: what a partner's program may use. Everything else is internal.

export { findStream, readEndpoints, streams } from './catalog/catalog.ts'
export type { Column, StreamDef, WriteDef } from './catalog/types.ts'
export type { Operation } from './catalog/writes.ts'
export { writes } from './catalog/writes.ts'
export type { MirrorDatabase } from './database/schema.generated.ts'
export { ApiError, BoatMirrorError, type ErrorCode, type ErrorKind } from './errors.ts'
export {
  type BodyOf,
  type Command,
  type EnqueueOptions,
  enqueue,
  type Reference,
  resultOf,
  type TargetOf,
} from './outbox/enqueue.ts'
