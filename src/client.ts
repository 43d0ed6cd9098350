// `boat-mirror/client`: what a partner's program needs of a mirror that a worker keeps. Loads Kysely and nothing else.

export type { MirrorDatabase } from './database/schema.generated.ts'
export { BoatMirrorError, type ErrorCode } from './errors.ts'
export { changes, type Feed, type FeedChange, type FeedOptions } from './mirror/changes.ts'
export {
  type Choice,
  cancelChange,
  type DecisionOptions,
  pauseStream,
  type ResolveOptions,
  releaseRun,
  resolveChange,
  resumeStream,
  retryChange,
} from './outbox/decide.ts'
export {
  type BodyOf,
  type Command,
  type EnqueueOptions,
  enqueue,
  type Reference,
  resultOf,
  type TargetOf,
} from './outbox/enqueue.ts'

import type { Selectable } from 'kysely'
import type { MirrorDatabase } from './database/schema.generated.ts'

/** A row as a query gives it: `MirrorRecord<'mirror.rentals'>`. */
export type MirrorRecord<T extends keyof MirrorDatabase> = Selectable<MirrorDatabase[T]>
