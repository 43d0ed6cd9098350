// `migrate`: brings the database up to date, BullMQ's own tables too; `--status` only looks.

import { openServer, prepareSchema } from '../../app.ts'
import type { Config } from '../../config.ts'
import { openDatabase } from '../../database/database.ts'
import type { Logger } from '../../log.ts'
import { saveOutboxLimit } from '../../outbox/inspect.ts'
import { isCurrent, type MigrationStatus, migrationStatus } from '../../schema/migrate.ts'
import type { CommandContext, ExitCode, Json } from '../context.ts'
import { print, printJson, printText, table } from '../terminal/output.ts'
import { seekDatabase } from '../worker-mark.ts'

export async function runMigrate(
  { config, log, signal }: CommandContext,
  options: Json & { readonly status: boolean },
): Promise<ExitCode> {
  await seekDatabase(config, log, !options.status)
  const server = await openServer(config, log)
  try {
    const before = await migrationStatus(server.directUrl)
    if (options.status) return showStatus(before, options.json)
    await prepareSchema(config, server.directUrl, log, signal)
    await saveLimit(server.url, config, log)
    if (options.json) printJson({ applied: before.pending })
    else if (before.pending.length > 0) print(`Applied ${before.pending.join(', ')}.`)
    else print(before.repeatableCurrent ? 'The database is up to date.' : 'Updated views, functions and grants.')
    return 0
  } finally {
    await server.close()
  }
}

async function saveLimit(url: string, { outboxLimit }: Config, log: Logger): Promise<void> {
  const database = openDatabase({ url, applicationName: 'boat-mirror migrate', max: 1, log })
  try {
    await saveOutboxLimit(database.pool, outboxLimit)
  } finally {
    await database.close()
  }
}

function showStatus(status: MigrationStatus, json: boolean): ExitCode {
  const current = isCurrent(status)
  if (json) {
    printJson({ current, ...status })
    return current ? 0 : 1
  }
  const rows = [
    ...status.applied.map((name) => [name, 'applied']),
    ...status.pending.map((name) => [name, 'missing']),
    ...status.unknown.map((name) => [name, 'applied by a newer version']),
    ['views, functions, comments, grants', status.repeatableCurrent ? 'of this version' : 'of another version'],
  ]
  print(table(['MIGRATION', 'STATE'], rows))
  if (status.unknown.length > 0)
    print('\nThe database is newer than this program. Use the newer version of boat-mirror.')
  else if (!current) printText('\nApply the missing migrations with: boat-mirror migrate')
  return current ? 0 : 1
}
