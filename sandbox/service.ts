// What the requests to a sandbox and its handles share. Separate from the server, whose types a program that uses a
// sandbox does not have.

import type { FaultSet } from './http/faults.ts'
import type { RequestLog } from './http/request-log.ts'
import type { SandboxOptions } from './options.ts'
import type { World } from './world/world.ts'

/** All the state that requests share. */
export interface Service {
  readonly world: World
  readonly options: SandboxOptions
  readonly faults: FaultSet
  readonly log: RequestLog
}
