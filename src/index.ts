// `boat-mirror`: what a program may import. Everything else is internal.

export { findStream, readEndpoints, streams } from './catalog/catalog.ts'
export type { Column, StreamDef, WriteDef } from './catalog/types.ts'
export type { Operation } from './catalog/writes.ts'
export { writes } from './catalog/writes.ts'
export * from './client.ts'
export { ApiError, type ErrorKind } from './errors.ts'
export {
  type Mirror,
  type MirrorOptions,
  openMirror,
  type PushOptions,
  type PushResult,
  type RefreshOptions,
  type RefreshResult,
  type SyncOptions,
  type SyncResult,
} from './library.ts'
