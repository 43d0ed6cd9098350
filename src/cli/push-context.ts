// What the pusher needs, from an opened app: the one place where outbox and sync meet, because they stand side by side.

import type { App } from '../app.ts'
import type { PushContext } from '../outbox/context.ts'
import { projectRecord } from '../sync/project.ts'

/** The context of a pusher that works with this app's database and API. */
export const pushContextOf = (app: App): PushContext => ({
  database: app.database,
  api: app.api,
  clock: app.clock,
  log: app.log,
  settings: app.config,
  project: projectRecord,
  onCommit: app.syncContext.onCommit,
})
